"""Lessons and habits: the same mistake in two or more sessions, the same request in three or more.

Two things count as the same mistake: an error whose text is equal once numbers, paths and ids are masked, and a
correction of the person in nearly the same words. A habit is what they ask for in such words again. What a tool
printed is no evidence; the lesson rests on what the person said, or on what the assistant said right behind each
failure about its cause. Mistakes are small and can be stored, so that a run needs to read new sessions only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crawler.compress.candidates import NARRATION, error_line
from crawler.quotes import Quote, SessionTurns, quote_of
from crawler.transcripts.turns import Role, Turn
from dream.records import LESSON_LEAD, Candidate, Kind
from dream.statements.mistakes import LOOK_AHEAD, MIN_SESSIONS, error_template, is_same_correction, telling
from dream.statements.wording import statement_of
from memory_server.language.cues import folded
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words

SHARED_WORDS = 3  # telling words of an error that a sentence must repeat to be about it
MIN_REQUESTS = 3  # sessions, from which a request is a habit
MAX_WORDS = 12  # telling words of what is said again and again
MAX_MISTAKES = 200  # of one session: a loop of failing calls is one mistake, told often
CAUSE = folded(
    r"\b(?:because|since|the (?:issue|problem|cause|reason|error|fix|failure) (?:is|was)|needs? to|has to|must"
    r"|requires?|instead of|should (?:be|have|use)|doesn't (?:exist|support|have|accept)|isn't|cannot|can't"
    r"|not (?:found|installed|supported|available)|wrong|missing|only (?:works|accepts|supports)|expects?)\b"
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake of one session: what kind it is, and what was said of it."""

    template: str  # equal for the same error; the telling words of a correction, sorted
    text: str
    quote: Quote
    project: str
    is_error: bool  # else words of the person
    is_request: bool = False  # else, of the person, a correction


def mistakes_in(session: SessionTurns, corrections: Iterable[Candidate]) -> list[Mistake]:
    """The mistakes of a session: its errors, told by the assistant, and what the person corrected or asked for."""
    found = [*_told_errors(session), *_corrected(session, corrections)]
    return list({(mistake.template, mistake.quote.entry, mistake.is_request): mistake for mistake in found}.values())[
        :MAX_MISTAKES
    ]


def lessons_from(mistakes: Sequence[Mistake]) -> list[Candidate]:
    """A candidate for everything that happened in enough sessions; its quotes are one of each session."""
    lessons = []
    for group in _groups(mistakes):
        by_session = {mistake.quote.session_id: mistake for mistake in reversed(group)}  # the first of each
        entries = {mistake.quote.entry for mistake in by_session.values()}  # a fork repeats entries
        needed = MIN_REQUESTS if group[0].is_request else MIN_SESSIONS
        if len(by_session) >= needed and len(entries) >= needed:
            lessons.append(_lesson(list(reversed(by_session.values()))))
    return lessons


def _told_errors(session: SessionTurns) -> Iterator[Mistake]:
    turns = session.turns
    for place, failed in enumerate(turns):
        if not failed.is_error or not failed.text or failed.role is not Role.TOOL:
            continue
        template = error_template(failed.text)
        told = _told_behind(turns, place, set(content_words(error_line(failed.text))))
        if told and len(content_words(template)) >= MIN_SESSIONS:
            turn, first, end = told
            text = statement_of(turn.text[first:end], turn.time)
            yield Mistake(template, text, quote_of(session, turn, first, end), session.project, is_error=True)


def _told_behind(turns: Sequence[Turn], place: int, failed: set[str]) -> tuple[Turn, int, int] | None:
    """The first sentence of the assistant behind a failure that names a cause, in words of the error."""
    for turn in turns[place + 1 : place + 1 + LOOK_AHEAD]:
        if turn.role is Role.PERSON:
            return None
        if turn.role is Role.ASSISTANT:
            for first, end in sentence_spans(turn.text):
                sentence = turn.text[first:end]
                about = failed & set(content_words(sentence))
                if CAUSE.search(sentence) and len(about) >= SHARED_WORDS and not NARRATION.match(sentence):
                    return turn, first, end
    return None


def _corrected(session: SessionTurns, candidates: Iterable[Candidate]) -> Iterator[Mistake]:
    for candidate in candidates:
        quote, words = candidate.quotes[0], telling(candidate.text)
        if quote.role is not Role.PERSON or not 1 < len(words.split()) <= MAX_WORDS:
            continue
        yield Mistake(words, candidate.text, quote, session.project, is_error=False, is_request=True)
        if candidate.kind in (Kind.CORRECTION, Kind.PREFERENCE):
            yield Mistake(words, candidate.text, quote, session.project, is_error=False)


def _groups(mistakes: Sequence[Mistake]) -> Iterator[list[Mistake]]:
    """Those that tell the same: errors by their template, words of the person by those of the first who said so."""
    errors: dict[str, list[Mistake]] = {}
    spoken: list[list[Mistake]] = []
    by_word: dict[tuple[str, str], list[list[Mistake]]] = {}  # groups by a telling word; a request is of one project
    for mistake in mistakes:
        if mistake.is_error:
            errors.setdefault(mistake.template, []).append(mistake)
            continue
        of = f"request in {mistake.project}" if mistake.is_request else "correction"
        near = [group for word in mistake.template.split() for group in by_word.get((of, word), ())]
        same = next((group for group in near if is_same_correction(group[0].template, mistake.template)), None)
        if same is None:
            spoken.append([mistake])
            for word in mistake.template.split():
                by_word.setdefault((of, word), []).append(spoken[-1])
        else:
            same.append(mistake)
    yield from errors.values()
    yield from spoken


def _lesson(mistakes: Sequence[Mistake]) -> Candidate:
    newest, first = mistakes[-1], mistakes[0]
    if first.is_request:
        why, sure = f"asked for in {len(mistakes)} sessions", min(0.9, 0.5 + 0.05 * len(mistakes))
        quotes = tuple(mistake.quote for mistake in mistakes)  # all are like the first
        return Candidate(first.text, Kind.PREFERENCE, quotes, sure, why, "deterministic", project=first.project)
    what = "the same error" if newest.is_error else "the same correction"
    return Candidate(
        text=f"{LESSON_LEAD}{newest.text}",  # as it was said: its first word may be a name
        kind=Kind.LESSON,
        quotes=tuple(mistake.quote for mistake in reversed(mistakes)),
        confidence=min(0.9, 0.5 + 0.1 * len(mistakes)),
        why=f"{what} in {len(mistakes)} sessions" + (f": {newest.template}" if newest.is_error else ""),
        extractor="deterministic",
        project=newest.project,
    )
