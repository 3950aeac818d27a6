"""The gate: what every candidate must pass, whoever suggests it.

A reader may be a model that was misled by what it read, so nothing it says is believed: each quote is looked up in the
archive byte for byte, and the statement must be supported by what was said there (`crawler/reading/proof.py`). What
only the assistant said passes as a finding, and only where nobody took it back. A passage of a file must still stand
there; what a person told counts only where the caller itself heard it. Passing means that a person may be asked, no
more than that. A candidate is refused for every reason that holds, so that a model can mend it at once.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from crawler.outcome import find_outcomes
from crawler.quotes import Quote, SessionTurns, is_true_of
from crawler.reading.ground import Bag, tokenize
from crawler.reading.proof import Objection, ObjectionKind, find_new_words, find_objections
from crawler.reading.repeats import MIN_SESSIONS, find_failures, is_same_request, telling
from crawler.spoken import find_picked
from crawler.transcripts.entry import PartKind
from crawler.transcripts.injected import OWN_SESSION_MARK, TAG
from crawler.transcripts.turns import Role
from dream.evidence import Evidence
from dream.judge.compare import find_known
from dream.judge.rejections import Rejections
from dream.records import LESSON_LEAD, Candidate, DirectWords, Given, Kind, Written, split_words
from dream.topics import Topics
from memory_server.document import Standing
from memory_server.escaping import HIDDEN
from memory_server.language.cues import INJECTION, NEGATION, is_agreement
from memory_server.language.words import content_words
from memory_server.redaction import Redactor


class RefusalReason(StrEnum):
    """Why a candidate does not pass."""

    NO_QUOTE = "no quote"
    NOT_FOUND = "quote not found"
    WRONG_ROLE = "wrong role"
    NOT_AGREED = "not agreed"
    TAKEN_BACK = "taken back"
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
    RefusalReason.NOT_AGREED: "The assistant said this; quote the person's next words that agree to it.",
    RefusalReason.TAKEN_BACK: "This was taken back, rejected or undone later in the session.",
    RefusalReason.NOT_REPEATED: "A lesson needs the same mistake in two sessions, each with its words.",
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


ENDED: Mapping[Standing | None, str] = {
    Standing.AGREED: "you agreed",
    Standing.DONE: "what it says was done",
    Standing.DROPPED: "it was taken back",
    None: "you let it stand",
}  # what became of a finding
MOST_STRAY = 1  # words of a wording that stand nowhere: with more most planted additions pass, see RESULTS.md
MAX_TEXT = 400  # characters of a statement
UNSAID = "words that were not said: "
LETTERS = re.compile(r"[^\W\d_]+")
LOOK_ALIKE, FOR_SHOW = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}, {"FULLWIDTH", "MATHEMATICAL"}  # names of scripts


class Gate:
    """Checks candidates against the archive, the topics and what was rejected.

    `direct`: what a person has just said to the command that asks.
    """

    def __init__(
        self,
        evidence: Evidence,
        topics: Topics,
        rejections: Rejections,
        redactor: Redactor,
        direct: Collection[DirectWords] = (),
    ):
        self._evidence = evidence
        self._direct = direct
        self._topics = topics
        self._rejections = rejections
        self._redactor = redactor

    def check(self, candidate: Candidate) -> tuple[Refusal, ...]:
        """Every reason against a candidate, each once; none where it passes."""
        return tuple(dict.fromkeys(self._refusals(candidate)))

    def annotate(self, candidate: Candidate) -> Candidate:
        """A candidate that passed, with what a reviewer should know: how a finding ended, and which words are new."""
        if not candidate.quotes:
            return candidate
        session = self._evidence.session(candidate.quotes[0].session_id)
        notes = [candidate.why]
        if candidate.kind is Kind.FINDING:
            notes.append(f"Claude said it, {ENDED[find_status(session, candidate.quotes[0])]}")
        if new := find_new_words(candidate.text, _own_quotes(candidate), session):
            notes.append(f"{UNSAID}{', '.join(new)}")
        return replace(candidate, why="; ".join(notes))

    def reword(self, candidate: Candidate, text: str) -> Candidate:
        """A candidate in other words, where these pass as its own did; else as it is."""
        reworded = replace(candidate, text=text)
        quotes, session = _grounds(reworded, self._evidence)
        if text == candidate.text or not quotes or _find_strays(text, candidate.text, quotes, session):
            return candidate
        if self.check(reworded):
            return candidate
        new = find_new_words(text, quotes, session)
        why = [one for one in candidate.why.split("; ") if not one.startswith(UNSAID)]
        return replace(reworded, why="; ".join([*why, "worded anew", *([f"{UNSAID}{', '.join(new)}"] if new else [])]))

    def _refusals(self, candidate: Candidate) -> Iterator[Refusal]:
        yield from self._about_quotes(candidate)
        yield from _about_text(candidate)
        if self._holds_secret(candidate):
            yield Refusal.of(RefusalReason.SECRET)
        if find_known(candidate, self._topics):
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
        unfounded = [refusal for quote in quotes for refusal in self._about_quote(quote)]
        yield from unfounded
        if quotes and not unfounded:
            yield from self._about_source(candidate)
        if candidate.evidence and not unfounded:  # whether the words of its session, or of its file's section, say it
            yield from map(_make_refusal, _objections(candidate, self._evidence))

    def _about_quote(self, quote: Quote) -> Iterator[Refusal]:
        if quote.role not in (Role.PERSON, Role.ASSISTANT):
            yield Refusal(RefusalReason.WRONG_ROLE, f"What a {quote.role} said is no evidence.")
        elif self._evidence.find_turn(quote) is None:
            yield Refusal(RefusalReason.NOT_FOUND, f"`{quote.entry[:8]}` does not say exactly this at this place.")

    def _about_given(self, given: Given) -> Iterator[Refusal]:
        if isinstance(given, DirectWords):
            if given not in self._direct:
                yield Refusal(RefusalReason.NOT_FOUND, "Nobody has said this here.")
        elif not self._evidence.resolve(given):
            yield Refusal(RefusalReason.NOT_FOUND, f"`{given.describe_place('')}` does not hold these words.")

    def _about_source(self, candidate: Candidate) -> Iterator[Refusal]:
        """Whether who said it is enough: the person, an agreement of theirs, or nobody's contradiction of a finding."""
        quotes, session = candidate.quotes, self._evidence.session(candidate.quotes[0].session_id)
        if candidate.kind is Kind.LESSON and not self._is_repeated(quotes):
            yield Refusal.of(RefusalReason.NOT_REPEATED)
        if quotes[0].role is Role.PERSON or candidate.kind is Kind.LESSON:
            return
        if find_status(session, quotes[0]) is Standing.DROPPED:
            yield Refusal.of(RefusalReason.TAKEN_BACK)
        elif candidate.kind is not Kind.FINDING and not self._is_agreed(quotes, session):
            yield Refusal.of(RefusalReason.NOT_AGREED)

    def _is_agreed(self, quotes: tuple[Quote, ...], session: SessionTurns) -> bool:
        """Whether the person accepted the plan that says it, or their next turn, the second quote, agrees without a
        condition or picks just this.
        """
        stated = self._evidence.find_turn(quotes[0])
        if stated is not None and stated.kind is PartKind.PLAN:
            return True
        theirs = next((quote for quote in quotes[1:] if quote.role is Role.PERSON), None)
        if theirs is None or theirs.session_id != quotes[0].session_id:
            return False
        answer = self._evidence.find_turn(theirs)
        if stated is None or answer is None:
            return False
        following = (
            turn for turn in session.spoken_turns[session.spoken_turns.index(stated) + 1 :] if turn.role is Role.PERSON
        )
        if next(following, None) != answer:
            return False
        is_picked = (quotes[0].first, quotes[0].end) in find_picked(stated.text, answer.text)
        return is_picked or is_agreement(answer.text)

    def _is_repeated(self, quotes: tuple[Quote, ...]) -> bool:
        """Whether the quotes tell the same mistake in different sessions; copies of an entry in a fork count once."""
        sessions = {quote.session_id: self._evidence.session(quote.session_id) for quote in quotes}
        if min(len(sessions), len({quote.entry for quote in quotes})) < MIN_SESSIONS:
            return False
        if any(quote.role is Role.ASSISTANT for quote in quotes):
            met = [{one.template for one in find_failures(session)} for session in sessions.values()]
            return bool(set.intersection(*met))
        words = [telling(quote.text) for quote in quotes]
        return all(is_same_request(words[0], other) for other in words[1:])

    def _holds_secret(self, candidate: Candidate) -> bool:
        return any("[redacted:" in text or self._redactor.redact(text).spans for text in _list_texts(candidate))


def is_supported(candidate: Candidate, evidence: Evidence) -> bool:
    """Whether a statement says no more than its words: what an offer that was kept is asked again when it is accepted.

    Words of the person as they stand always do.
    """
    quoted = " ".join(quote.text for quote in candidate.quotes)
    is_verbatim = " ".join(candidate.text.casefold().rstrip(".").split()) in " ".join(quoted.casefold().split())
    return is_verbatim or not _objections(candidate, evidence)


def _own_quotes(candidate: Candidate) -> list[Quote]:
    """The quotes of the session that the first one stands in."""
    return [quote for quote in candidate.quotes if quote.session_id == candidate.quotes[0].session_id]


def _objections(candidate: Candidate, evidence: Evidence) -> tuple[Objection, ...]:
    """What the proof has against a candidate. Words of a file that stand as they are written are not asked about."""
    text = candidate.text.removeprefix(LESSON_LEAD) if candidate.kind is Kind.LESSON else candidate.text
    if candidate.given:
        given_words = set(content_words(" ".join(one.text for one in candidate.given)))
        extra = tuple(word for word in content_words(text) if word not in given_words and not word.isdigit())
        if not _is_reworded(candidate):
            return (Objection(ObjectionKind.NEW, extra),) if extra else ()
    quotes, session = _grounds(candidate, evidence)
    if not quotes:
        return (Objection(ObjectionKind.FOREIGN, ()),)
    written = " ".join(one.text for one in candidate.given)
    return (*(_find_strays(text, written, quotes, session) if written else ()), *find_objections(text, quotes, session))


def _find_strays(text: str, written: str, quotes: list[Quote], session: SessionTurns) -> tuple[Objection, ...]:
    """What a wording has that the words it stands for have not: more or fewer denials, several words out of nowhere."""
    held, denials = Bag(tokenize(written)), NEGATION.findall(text)
    new = [one for one in tokenize(" ".join(find_new_words(text, quotes, session))) if not held.holds(one)]
    if len(denials) != len(NEGATION.findall(written)):
        return (Objection(ObjectionKind.NEGATION, tuple(denials)),)
    return (Objection(ObjectionKind.NEW, tuple(one.text for one in new)),) if len(new) > MOST_STRAY else ()


def _is_reworded(candidate: Candidate) -> bool:
    """Whether a statement of a file is not word by word what the file says, its leading line ahead."""
    written = [one.text for one in candidate.given if isinstance(one, Written)]
    return bool(written) and split_words(candidate.text) != [
        word for one in reversed(written) for word in split_words(one)
    ]


def _grounds(candidate: Candidate, evidence: Evidence) -> tuple[list[Quote], SessionTurns]:
    """The quotes of the session that the first one stands in, or words of a file as quotes of its section; none of
    words that no file holds any more, or that a person told.
    """
    if written := [one for one in candidate.given if isinstance(one, Written)]:
        return evidence.quotes_in_section(written, candidate.project)
    if not candidate.quotes:
        return [], SessionTurns("", "", ())
    return _own_quotes(candidate), evidence.session(candidate.quotes[0].session_id)


def find_status(session: SessionTurns, quote: Quote) -> Standing | None:
    """How what was said ended later in the session: agreed, done, dropped; None where the session does not tell."""
    outcomes = find_outcomes(session.turns)
    places = (number for number, turn in enumerate(session.turns, start=1) if is_true_of(quote, turn))
    return next((outcomes[number].standing for number in places if number in outcomes), None)


def _make_refusal(objection: Objection) -> Refusal:
    """An objection of the proof, in words that say what to mend."""
    reason = RefusalReason.TAKEN_BACK if objection.kind is ObjectionKind.RETRACTED else RefusalReason.BEYOND_QUOTE
    return Refusal(reason, objection.describe())


def _about_text(candidate: Candidate) -> Iterator[Refusal]:
    text = candidate.text
    if not text.strip() or len(text) > MAX_TEXT or "\n" in text.strip():
        yield Refusal(RefusalReason.SEVERAL, f"Write one statement of at most {MAX_TEXT} characters on one line.")
    shown = _list_texts(candidate)
    if any(map(is_deceptive, shown)):
        yield Refusal.of(RefusalReason.HIDDEN)
    if any(INJECTION.search(part) or TAG in part or OWN_SESSION_MARK in part for part in shown):
        yield Refusal.of(RefusalReason.INSTRUCTION)


def _list_texts(candidate: Candidate) -> list[str]:
    """Every text that a candidate brings."""
    filed = (value for values in candidate.metadata.collect_values().values() for value in values)
    return [candidate.text, candidate.topic, *filed, *(words.text for words in candidate.evidence)]


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
