"""What readings suggest for the topics: their lines as candidates, without what a later one took back.

A selection and no more: nothing is worded here, and the gate checks each as if a stranger had sent it. What only the
assistant said is a finding, unless the person agreed to it. A habit rests on every session in which it was asked for, a
lesson on two in which the same error was met; with one it is a finding like others. What a reader worded beyond its
proof is offered in the words of its quote; whoever proposes one statement is told which sentence would pass.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from crawler.quotes import Quote, SessionTurns, make_quote, with_agreement
from crawler.reading.record import Holds, Line, LineKind, Reading, Request
from crawler.reading.repeats import MIN_SESSIONS
from crawler.reading.rules import find_signs, find_typed_sentences, trim_sentence
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role
from dream.judge.compare import CONTRADICTS_FROM, pairs_of_one_thing
from dream.judge.contradiction import measure_contradiction
from dream.judge.gate import Refusal, RefusalReason
from dream.records import Candidate, Kind
from dream.statements.reading import read_statement
from dream.statements.values import find_values
from memory_server.language.words import content_words, measure_rarity

KINDS: Mapping[LineKind, Kind] = {
    **{one: Kind(one) for one in LineKind if one is not LineKind.IDEA},
    LineKind.LESSON: Kind.FINDING,
}  # an idea becomes a skill, never a topic; a lesson of one session is a finding
CONFIDENCE = {Holds.SURELY: 0.85, Holds.PROBABLY: 0.7}  # what holds for now is not offered
FINDING_LESS = 0.1  # than the person's own words
SAME = 0.5  # share of the telling words of a line that what was taken back must hold
LEAST_SHARED = 2  # telling words of an error that a line about it holds
AROUND_CHARS = 200  # on each side of a quote, which tell what it is about
Check = Callable[[Candidate], Sequence[Refusal]]

MENDABLE = frozenset(
    {RefusalReason.NOT_FOUND, RefusalReason.BEYOND_QUOTE}
)  # what other words of the same place may mend; the rest is about what was said
NEAR = 0.5  # of 1.5: from which on a clause may be what was meant; a quote that was given always may
LEAST_LIKENESS = 0.4  # of 1: of a sentence to the wording in whose place it stands; below are orders of the hour
TRIED = 6  # clauses offered to the gate for one refusal


@dataclass(frozen=True, slots=True)
class Dated:
    """A line of a reading that holds beyond the hour, and whose it is."""

    line: Line
    reading: Reading

    @property
    def key(self) -> tuple[str, str]:
        return self.reading.session_id, self.line.text

    def is_later(self, other: "Dated") -> bool:
        """Whether it was said after another, as far as both are dated."""
        mine, theirs = self.line.quotes[0].time, other.line.quotes[0].time
        return mine is not None and theirs is not None and mine > theirs


def lasting(readings: Iterable[Reading]) -> Iterator[Dated]:
    """The lines that may stand in a topic."""
    for reading in readings:
        yield from (Dated(line, reading) for line in reading.lines if line.kind in KINDS and line.holds in CONFIDENCE)


def make_candidates(
    reading: Reading,
    session: SessionTurns,
    *,
    gone: Collection[tuple[str, str]] = (),
    habits: Sequence[Sequence[Request]] = (),
) -> Iterator[Candidate]:
    """The candidates of a session. `gone`: keys of lines that were taken back since; `habits`: what was asked for again
    and again, of all sessions.
    """
    for one in lasting([reading]):
        if one.key not in gone:
            yield _candidate(one.line, reading, session, habits)


def _candidate(line: Line, reading: Reading, session: SessionTurns, habits: Sequence[Sequence[Request]]) -> Candidate:
    quotes, kind = with_agreement(session, line.quotes), KINDS[line.kind]
    is_assistants = all(quote.role is Role.ASSISTANT for quote in quotes)
    if kind is Kind.FINDING and quotes[0].role is Role.PERSON:
        kind = Kind.FACT
    if is_assistants or is_of_plan(session, quotes[0]):  # few details of an accepted plan are theirs, see RESULTS.md
        kind = Kind.FINDING
    if kind is Kind.HABIT:
        group = next((one for one in habits if any(request.quote.overlaps(quotes[0]) for request in one)), ())
        quotes = (*quotes, *(one.quote for one in group if one.quote.session_id != session.session_id))
    return Candidate(
        line.text,
        kind,
        quotes,
        CONFIDENCE[line.holds] - FINDING_LESS * (kind is Kind.FINDING),
        why=f"{f'{reading.reader} read it as' if reading.is_by_model else 'by its words'} a {line.kind}"
        f" that holds {line.holds}",
        extractor=reading.reader,
        topic=line.topic.partition("#")[0],
        project=reading.project,
        context=_cut_context(session, quotes[0]),
        questions=line.questions,
    )


def is_of_plan(session: SessionTurns, quote: Quote) -> bool:
    """Whether a quote stands in a plan that the person accepted as a whole."""
    return any(quote.entry in turn.entries and turn.kind is PartKind.PLAN for turn in session.turns)


def _cut_context(session: SessionTurns, quote: Quote) -> str:
    turn = next((turn for turn in session.turns if quote.entry in turn.entries), None)
    return turn.text[max(0, quote.first - AROUND_CHARS) : quote.end + AROUND_CHARS] if turn else ""


def find_taken_back(readings: Iterable[Reading]) -> set[tuple[str, str]]:
    """The keys of lines that a later one of the same project took back: it names them as ended, or says otherwise of
    the same thing.
    """
    projects: dict[str, list[Dated]] = defaultdict(list)
    for one in lasting(readings):
        projects[one.reading.project].append(one)
    return {one.key for lines in projects.values() for one in (*_find_ended(lines), *_find_contradicted(lines))}


def select_quotes(readings: Iterable[Reading], keys: Collection[tuple[str, str]]) -> list[Quote]:
    """The first quote of each line with one of these keys: what an offer of it rests on."""
    return [one.line.quotes[0] for one in lasting(readings) if one.key in keys]


def _find_ended(lines: Sequence[Dated]) -> Iterator[Dated]:
    words = [frozenset(content_words(one.line.text)) for one in lines]
    for new in lines:
        ended = frozenset(content_words(new.line.takes_back))
        for old, held in zip(lines, words, strict=True):
            if ended and held and len(ended & held) >= SAME * len(held) and new.is_later(old):
                yield old


def _find_contradicted(lines: Sequence[Dated]) -> Iterator[Dated]:
    read = [read_statement(one.line.text) for one in lines]
    rarity = measure_rarity(one.line.text for one in lines)
    for one, other in pairs_of_one_thing(read):
        old, new = (one, other) if lines[other].is_later(lines[one]) else (other, one)
        is_against = measure_contradiction(read[new], read[old], rarity).score >= CONTRADICTS_FROM
        if is_against and lines[new].is_later(lines[old]):
            yield lines[old]


def make_lessons(readings: Iterable[Reading], gone: Collection[tuple[str, str]] = ()) -> list[Candidate]:
    """A candidate for every error that was met in two sessions of a project or more and noted in two of them."""
    noted: dict[tuple[str, str], dict[str, Dated]] = defaultdict(dict)  # by project and error, a line of each session
    for one in lasting(readings):
        if one.line.kind in (LineKind.LESSON, LineKind.FINDING) and one.key not in gone:
            about = set(content_words(one.line.text))
            for failure in one.reading.failures:
                if len(about & set(content_words(f"{failure.error} {failure.worked}"))) >= LEAST_SHARED:
                    noted[one.reading.project, failure.template].setdefault(one.reading.session_id, one)
    return [
        _lesson(template, list(of_session.values()))
        for (_, template), of_session in noted.items()
        if len({one.line.quotes[0].entry for one in of_session.values()}) >= MIN_SESSIONS
    ]


def _lesson(template: str, lines: Sequence[Dated]) -> Candidate:
    newest, *others = sorted(lines, key=lambda one: str(one.line.quotes[0].time), reverse=True)
    return Candidate(
        newest.line.text,
        Kind.LESSON,
        (*newest.line.quotes, *(one.line.quotes[0] for one in others)),
        CONFIDENCE[newest.line.holds],
        why=f"the same error in {len(lines)} sessions: {template}",
        extractor=newest.reading.reader,
        project=newest.reading.project,
    )


# -- what passes in the place of a statement that the gate refused --------------------------------------------------


def settle(candidate: Candidate, session: SessionTurns, check: Check) -> tuple[Candidate, Sequence[Refusal]]:
    """A line of a reading as it passes: where its wording is more than its proof, a sentence of its own quote that may
    stand by itself; else as it is, with what is against it. A habit rests on several quotes, and stays as it is.
    """
    refusals = check(candidate)
    is_wording = all(refusal.reason in MENDABLE for refusal in refusals) and candidate.kind is not Kind.HABIT
    if (
        refusals
        and is_wording
        and (near := nearest(session, candidate, candidate.quotes[0].text, check, is_within=True))
    ):
        quote, stated = near.quotes[0], content_words(candidate.text)
        has_veto = any(find_signs(quote.text, "veto", is_persons=quote.role is Role.PERSON))
        if _likeness(near.text, stated) >= LEAST_LIKENESS and not has_veto:
            return replace(near, questions=(), why=f"{near.why}; in the words of its quote"), ()
    return candidate, refusals


def nearest(
    session: SessionTurns, wanted: Candidate, words: str, check: Check, *, is_within: bool = False
) -> Candidate | None:
    """Of the words given and a session's sentences the most like what is wanted that the gate lets pass by itself, with
    the same values. `is_within`: of sentences of its first quote alone.
    """
    wanted_values = {value.value for value in find_values(wanted.text)}
    stated, quoted = content_words(wanted.text), content_words(words)

    def likeness(quote: Quote) -> float:
        return _likeness(quote.text, stated) + _likeness(quote.text, quoted) / 2

    given = wanted.quotes[:1]
    sentences = (one for one in _sentences(session) if not is_within or one.overlaps(given[0]))
    near = [quote for quote in (*given, *sentences) if likeness(quote) >= NEAR]
    for quote in sorted(near, key=likeness, reverse=True)[:TRIED]:
        candidate = replace(wanted, text=trim_sentence(quote.text), quotes=with_agreement(session, [quote]))
        has_same = wanted_values <= {value.value for value in find_values(quote.text)}
        if has_same and not check(candidate):
            return candidate
    return None


def _sentences(session: SessionTurns) -> Iterator[Quote]:
    for turn in session.spoken_turns:
        yield from (make_quote(session, turn, *span) for span in find_typed_sentences(turn))


def _likeness(text: str, meant: Sequence[str]) -> float:
    """How many telling words two texts share in their order, 0 to 1."""
    words = content_words(text)
    return SequenceMatcher(None, words, meant, autojunk=False).ratio() if words else 0.0
