"""The gate: what every candidate must pass, whoever suggests it.

A back end may be a model that was misled by what it read, so nothing it says is believed: each quote is looked up in
the archive byte for byte, and the statement may say no more than the quote does. A passage of a file must still stand
there; what a person told counts only where the caller itself heard it. Passing means that a person may be asked, no
more than that. A candidate is refused for every reason that holds, so that a model can mend it at once.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from crawler.quotes import Quote, is_true_of
from crawler.spoken import picked_in
from crawler.transcripts.injected import OWN_SESSION_MARK, TAG
from crawler.transcripts.turns import Role, Turn
from dream.evidence import Evidence
from dream.judge.compare import is_known
from dream.judge.contradiction import REPLACED
from dream.judge.rejections import Rejections
from dream.records import LESSON_LEAD, Candidate, Given, Kind, Told, Written
from dream.statements.acts import SILENT, Act, clauses_of
from dream.statements.halves import cuts_in
from dream.statements.mistakes import LOOK_AHEAD, MIN_SESSIONS, error_template, is_same_correction, telling
from dream.statements.values import ValueKind, values_in
from dream.statements.wording import OPENER, absolute
from dream.topics import Topics
from memory_server.escaping import HIDDEN
from memory_server.language.cues import INJECTION, NEGATION, folded, is_agreement
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words
from memory_server.redaction import Redactor


class RefusalReason(StrEnum):
    """Why a candidate does not pass."""

    NO_QUOTE = "no quote"
    NOT_FOUND = "quote not found"
    WRONG_ROLE = "wrong role"
    NOT_SAID = "not said"  # a question, a supposition, a paste, a role: words that assert nothing
    NOT_AGREED = "not agreed"
    NOT_REPEATED = "not repeated"
    BEYOND_QUOTE = "beyond the quote"
    SEVERAL = "several statements"
    SECRET = "secret"  # noqa: S105  a reason's name
    HIDDEN = "hidden characters"
    INSTRUCTION = "injected instruction"
    KNOWN = "already known"
    REJECTED = "rejected before"


SENTENCES = {
    RefusalReason.NO_QUOTE: "Give the words that somebody said, with session and entry.",
    RefusalReason.NOT_SAID: "These words ask, suppose, quote, paste or play; they assert nothing.",
    RefusalReason.NOT_AGREED: "The assistant said this; quote the person's next words that agree to it.",
    RefusalReason.NOT_REPEATED: "A lesson needs the same mistake in two sessions, each with its words.",
    RefusalReason.SEVERAL: "It says more than one thing; propose each by itself.",
    RefusalReason.SECRET: "The statement or its quote holds what looks like a secret; leave it out.",
    RefusalReason.HIDDEN: "It holds characters that a reader cannot see or tell apart.",
    RefusalReason.INSTRUCTION: "It speaks to an assistant, not about the work.",
    RefusalReason.KNOWN: "A topic says this already.",
    RefusalReason.REJECTED: "A person rejected this before; only new evidence brings it back.",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, with a sentence that a person or a model can act on."""

    reason: RefusalReason
    what: str

    @classmethod
    def of(cls, reason: RefusalReason) -> "Refusal":
        return cls(reason, SENTENCES[reason])


MAX_TEXT = 400  # characters of a statement
LETTERS = re.compile(r"[^\W\d_]+")
LOOK_ALIKE, FOR_SHOW = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}, {"FULLWIDTH", "MATHEMATICAL"}  # names of scripts
MIN_COVERED = 0.75  # share of a statement's telling words that the quotes must hold; the rest may be grammar
JOINS = folded(
    r"(?:;|\s[-–—]\s|,?\s+(?:and|but|also|plus)\s+(?=(?:also|always|never|we|you|the|our|it|use|do|don't|is|i)\b))"
)


class Gate:
    """Checks candidates against the archive, the topics and what was rejected.

    `told`: what a person has just said to the command that asks.
    """

    def __init__(
        self,
        evidence: Evidence,
        topics: Topics,
        rejections: Rejections,
        redactor: Redactor,
        told: Collection[Told] = (),
    ):
        self._evidence = evidence
        self._told = told
        self._topics = topics
        self._rejections = rejections
        self._redactor = redactor

    def check(self, candidate: Candidate) -> tuple[Refusal, ...]:
        """Every reason against a candidate, each once; none where it passes."""
        return tuple(dict.fromkeys(self._refusals(candidate)))

    def _refusals(self, candidate: Candidate) -> Iterator[Refusal]:
        yield from self._about_quotes(candidate)
        yield from _about_text(candidate)
        if self._holds_secret(candidate):
            yield Refusal.of(RefusalReason.SECRET)
        if is_known(candidate, self._topics):
            yield Refusal.of(RefusalReason.KNOWN)
        if self._rejections.knows(candidate):
            yield Refusal.of(RefusalReason.REJECTED)

    def _about_quotes(self, candidate: Candidate) -> Iterator[Refusal]:
        quotes = candidate.quotes
        if not candidate.evidence:
            yield Refusal.of(RefusalReason.NO_QUOTE)
        if quotes and candidate.given:
            yield Refusal(RefusalReason.SEVERAL, "Quotes and words from elsewhere do not go together.")
        for given in candidate.given:
            yield from self._about_given(given)
        for quote in quotes:
            yield from self._about_quote(quote)
        if candidate.kind is Kind.LESSON:
            if not self._is_repeated(quotes):
                yield Refusal.of(RefusalReason.NOT_REPEATED)
        elif quotes and quotes[0].role is Role.ASSISTANT:
            if not self._is_agreed(quotes):
                yield Refusal.of(RefusalReason.NOT_AGREED)
        elif len(quotes) > 1 and not self._is_repeated(quotes):
            yield Refusal(RefusalReason.SEVERAL, "The quotes are of different statements; propose each by itself.")

    def _about_quote(self, quote: Quote) -> Iterator[Refusal]:
        if quote.role not in (Role.PERSON, Role.ASSISTANT):
            yield Refusal(RefusalReason.WRONG_ROLE, f"What a {quote.role} said is no evidence.")
        elif (turn := self._evidence.turn_of(quote)) is None:
            yield Refusal(RefusalReason.NOT_FOUND, f"`{quote.entry[:8]}` does not say exactly this at this place.")
        elif quote.role is Role.PERSON and not is_said(turn, quote) and not is_agreement(turn.text):
            yield Refusal.of(RefusalReason.NOT_SAID)

    def _about_given(self, given: Given) -> Iterator[Refusal]:
        if isinstance(given, Told):
            if given not in self._told:
                yield Refusal(RefusalReason.NOT_FOUND, "Nobody has said this here.")
        elif not self._evidence.resolve(given):
            yield Refusal(RefusalReason.NOT_FOUND, f"`{given.place_in('')}` does not hold these words.")

    def _is_agreed(self, quotes: tuple[Quote, ...]) -> bool:
        """Whether the second quote is the person's next turn, and agrees without a condition or picks just this."""
        if len(quotes) < 2 or quotes[1].role is not Role.PERSON or quotes[1].session_id != quotes[0].session_id:
            return False
        stated, answer = self._evidence.turn_of(quotes[0]), self._evidence.turn_of(quotes[1])
        if stated is None or answer is None:
            return False
        spoken = self._evidence.session(quotes[0].session_id).spoken
        following = (turn for turn in spoken[spoken.index(stated) + 1 :] if turn.role is Role.PERSON)
        if next(following, None) != answer:
            return False
        is_picked = (quotes[0].first, quotes[0].end) in picked_in(stated.text, answer.text)
        return is_picked or is_agreement(answer.text)

    def _is_repeated(self, quotes: tuple[Quote, ...]) -> bool:
        """Whether the quotes tell the same mistake in different sessions; copies of an entry in a fork count once."""
        different = min(len({quote.session_id for quote in quotes}), len({quote.entry for quote in quotes}))
        if different < MIN_SESSIONS:
            return False
        if any(quote.role is Role.ASSISTANT for quote in quotes):
            templates = [self._templates_before(quote) for quote in quotes]
            return bool(set.intersection(*templates))
        words = [telling(quote.text) for quote in quotes]
        return all(is_same_correction(words[0], other) for other in words[1:])

    def _templates_before(self, quote: Quote) -> set[str]:
        """The templates of the errors that came right before the assistant said this."""
        turns = self._evidence.session(quote.session_id).turns
        place = next((place for place, turn in enumerate(turns) if is_true_of(quote, turn)), 0)
        failed = [turn for turn in turns[max(0, place - LOOK_AHEAD) : place] if turn.is_error and turn.text]
        return {error_template(turn.text) for turn in failed}

    def _holds_secret(self, candidate: Candidate) -> bool:
        return any("[redacted:" in text or self._redactor.redact(text).spans for text in _shown(candidate))


def is_said(turn: Turn, quote: Quote) -> bool:
    """Whether a quote of a person's turn lies in clauses of their own that state something or ask for it for good."""
    inside = [c for c in clauses_of(turn) if c.own < quote.end and quote.first < c.end]
    covered = sum(min(c.end, quote.end) - max(c.own, quote.first) for c in inside)
    if any(c.act in SILENT or (c.act is Act.CHOOSES and quote.end < c.end - 1) for c in inside):
        return False  # a question without the answer that was chosen is not theirs; the mark behind that may be missing
    return bool(inside) and covered * 2 > quote.end - quote.first


def _about_text(candidate: Candidate) -> Iterator[Refusal]:
    text = candidate.text
    if not text.strip() or len(text) > MAX_TEXT or "\n" in text.strip():
        yield Refusal(RefusalReason.SEVERAL, f"Write one statement of at most {MAX_TEXT} characters on one line.")
    shown = _shown(candidate)
    if any(map(is_deceptive, shown)):
        yield Refusal.of(RefusalReason.HIDDEN)
    if any(INJECTION.search(part) or TAG in part or OWN_SESSION_MARK in part for part in shown):
        yield Refusal.of(RefusalReason.INSTRUCTION)
    if not _is_as_written(candidate) and is_chained(
        text.removeprefix(LESSON_LEAD) if candidate.kind is Kind.LESSON else text
    ):
        yield Refusal.of(RefusalReason.SEVERAL)
    if candidate.evidence and (extra := beyond_quote(candidate)):
        yield Refusal(RefusalReason.BEYOND_QUOTE, f"The quote does not say: {', '.join(extra[:5])}.")


def _shown(candidate: Candidate) -> list[str]:
    """Every text that a candidate brings."""
    filed = (value for values in candidate.metadata.told().values() for value in values)
    return [candidate.text, candidate.topic, *filed, *(words.text for words in candidate.evidence)]


def _is_as_written(candidate: Candidate) -> bool:
    """Whether a statement is a line of a person's file as it stands there, or with the line that leads to it ahead:
    what they put together stays together.
    """
    return any(isinstance(words, Written) and candidate.text.endswith(words.text) for words in candidate.given[:1])


def is_deceptive(text: str) -> bool:
    """Whether a text holds what a reader cannot see, or cannot tell from something else."""
    return bool(HIDDEN.search(text.replace("\n", " "))) or mixes_scripts(text)


def mixes_scripts(text: str) -> bool:
    """Whether a word mixes Latin letters with look-alikes of another alphabet, or is made of letters for show."""
    for word in LETTERS.findall(text):
        scripts = {unicodedata.name(letter, "?").split()[0] for letter in word} if not word.isascii() else set()
        if scripts & FOR_SHOW or ("LATIN" in scripts and scripts & LOOK_ALIKE):
            return True
    return False


def is_chained(text: str) -> bool:
    """Whether a text makes more than one statement: several sentences, or several values of its own joined by `and`."""
    if len(sentence_spans(text)) > 1 or any(cuts_in(text)):
        return True
    parts = [part for part in JOINS.split(text) if part and len(content_words(part)) >= 2]
    return len(parts) > 1


def beyond_quote(candidate: Candidate) -> list[str]:
    """What a statement says that its words do not: values, a turned negation, what was done away with, other words."""
    text, said = candidate.text, candidate.evidence[0].text  # further quotes are a yes, or other times of the same
    if candidate.given:  # and further words of a file are the line that leads to these
        said = " ".join(one.text for one in reversed(candidate.given))
    if candidate.kind is Kind.LESSON:
        text = text.removeprefix(LESSON_LEAD)  # a form of ours
    dated = absolute(said, candidate.evidence[0].time)
    return [*_values_beyond(text, said, dated), *_turned(text, said), *_words_beyond(text, said)]


def _values_beyond(text: str, said: str, dated: str) -> list[str]:
    """Values that the quote does not give, or gives as what no longer holds; `dated` is it with absolute dates."""
    folded = " ".join(f"{said} {dated}".casefold().split())
    days = {value.value for value in values_in(dated) if value.kind is ValueKind.DATE}
    gone = _done_away_with(said) - _done_away_with(text)
    extra = []
    for value in values_in(text):
        written = text[value.first : value.end].strip()
        is_new = value.value not in days and " ".join(written.casefold().split()) not in folded
        if is_new or value.value in gone:
            extra.append(written)
    tokens = {token.casefold() for token in re.findall(r"[\w./:@+#-]*\w", text)}
    return extra + sorted(tokens & gone)


def _done_away_with(text: str) -> set[str]:
    """What a text says was so before, or names as replaced."""
    former = {value.value for value in values_in(text) if value.is_former}
    return former | {match["what"].casefold() for match in REPLACED.finditer(text)}


def _turned(text: str, said: str) -> list[str]:
    """Negations that stand on one side alone; a `no,` ahead of a sentence answers and negates nothing."""
    ours, theirs = (Counter(map(str.casefold, NEGATION.findall(OPENER.sub("", part)))) for part in (text, said))
    return sorted((ours - theirs) + (theirs - ours))


def _words_beyond(text: str, said: str) -> list[str]:
    """Telling words that the quote does not hold; and where most are not in its order, that they are not."""
    ours = [word for word in content_words(text) if not word.isdigit()]  # a date made absolute has digits of its own
    theirs = content_words(said)
    known = set(theirs)
    if beyond := [word for word in ours if word not in known]:
        return beyond
    kept = sum(block.size for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks())
    return [] if not ours or kept / len(ours) >= MIN_COVERED else ["the words in this order"]
