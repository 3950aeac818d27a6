"""The reader that asks nobody: title, goal and outcome by what was said and done, and of lines only what is sure.

Only the person's own typed sentences are lines, whole, and only those that bear a sign of being meant for good and none
that speaks against it. Every sign is a row of `signs.tsv`: a pattern of words, with a sentence that bears it and one
that does not, who must say it, and what it is used for: `offer` (the person says it for good), `veto` (what is not
offered, whatever else it bears), `lines` (the kind of a typed line) and `digest` (the section of a digest). Which signs
these are was chosen with each project left out; see RESULTS.md. They are English but for a few words of explicit
markers: who writes another language is read by a model, or offered little.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from crawler.facts import SessionFacts
from crawler.quotes import SessionTurns, make_quote
from crawler.reading.proof import is_ahead
from crawler.reading.record import RULES, Holds, Line, LineKind, Outcome, Reading
from crawler.reading.repeats import find_failures, find_requests
from crawler.reading.titles import make_title
from crawler.spoken import find_spoken, prose_regions
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import Span, sentence_spans, split_sentences
from memory_server.language.shortening import clip

VERSION = 1
MIN_CHARS, MAX_CHARS = 20, 260  # of a sentence that is a statement
MIN_WORDS = 4
MAX_LINES = 8  # of one session: who says more for good has it read by a model
GOAL_CHARS = 420
ASKS_TO_KEEP = ignore_case(  # behind it stands a clause; `remember that week`, `note that down` point
    r"^(?:note|remember|(?:keep|bear) in mind|(?:do not|don['’]?t) forget) that\s+"
    r"(?=`|(?-i:[A-Z])\S*\s+(?:can|must|may|will|should|\w+s)\b|(?:the|an?|i|you|we|it|he|she|they|there|this|these|those"
    r"|my|your|our|his|her|its|their|all|every|each|no|any|if|when|for|only)\b)"
)
GIVEN_UP = ("never mind", "forget it", "nevermind", "abandon", "scrap this", "drop this", "let's stop")
Use = Literal["offer", "veto", "lines", "digest"]
PERSON = "person"  # who alone may bear some signs


def read_by_rules(session: SessionTurns, turns: Sequence[Turn], facts: SessionFacts, mark: str) -> Reading:
    """A session's reading. `turns` are all of it, `session` what may be quoted."""
    return Reading(
        session_id=session.session_id,
        mark=mark,
        reader=RULES,
        version=VERSION,
        project=session.project,
        title=make_title(turns, facts),
        goal=find_goal(turns)[0],
        outcome=find_outcome(turns, facts),
        proof=facts.commits[-1].entries[-1] if facts.commits else "",
        lines=tuple(sure_lines(session))[:MAX_LINES],
        requests=tuple(find_requests(session)),
        failures=tuple(find_failures(session)),
    )


def find_goal(turns: Sequence[Turn]) -> tuple[str, tuple[str, ...]]:
    """What the person first asked for, or the plan that the session began with, and its entries; empty where none."""
    for turn in turns:
        if turn.kind is PartKind.PLAN or (turn.role is Role.PERSON and turn.is_live):
            text = " ".join(split_sentences(turn.text))
            if len(text) >= 12 or turn.kind is PartKind.COMMAND:
                return clip(text or turn.text, GOAL_CHARS), turn.entries
    return "", ()


def sure_lines(session: SessionTurns) -> Iterator[Line]:
    """The person's sentences that are meant for good, each once."""
    seen = set[str]()
    for turn in session.spoken_turns:
        for first, end in find_typed_sentences(turn):
            sentence = turn.text[first:end]
            if (kind := find_kind(sentence)) and (text := trim_sentence(sentence)) not in seen:
                seen.add(text)
                yield Line(kind, text, (make_quote(session, turn, first, end),), Holds.SURELY)


def find_typed_sentences(turn: Turn) -> Iterator[Span]:
    """The sentences that the person typed themselves, by their places in the turn."""
    if turn.role is not Role.PERSON:
        return
    for part in find_spoken(turn):
        text = "" if part.is_chosen else turn.text[part.first : part.end]
        for first, end in prose_regions(text):
            for start, stop in sentence_spans(text[first:end]):
                yield part.first + first + start, part.first + first + stop


def find_kind(sentence: str) -> LineKind | None:
    """What a sentence of the person is a line of; None where it is not sure that it holds beyond the hour."""
    is_statement = MIN_CHARS <= len(sentence) <= MAX_CHARS and len(sentence.split()) >= MIN_WORDS
    if not is_statement or any(find_signs(sentence, "veto", is_persons=True)):
        return None
    found = next(find_signs(sentence, "offer", is_persons=True), None)
    return LineKind(found[0].kind) if found else None


def trim_sentence(sentence: str) -> str:
    """A sentence without the words of the talk ahead of it, as a line of its own."""
    words = sentence.split()
    while len(words) > MIN_WORDS and _is_ahead(words[0], words[1]):
        words = words[1:]
    without = ASKS_TO_KEEP.sub("", " ".join(words)).split()
    words = without if len(without) >= MIN_WORDS else words
    text = " ".join(words).rstrip(" ,;:-")
    text = text[:1].upper() + text[1:] if words[0].isalpha() else text  # an identifier keeps its case
    return text if text.endswith((".", "!", "。")) else f"{text}."


def _is_ahead(word: str, following: str) -> bool:
    bare = word.strip(",.!:;")
    return is_ahead(bare.casefold(), following.casefold() if word.endswith(bare) else word[-1])


def find_outcome(turns: Sequence[Turn], facts: SessionFacts) -> Outcome:
    """How a session ended, as far as deeds tell: `shipped` only with a commit, `unknown` rather than a guess."""
    spoken = [turn for turn in turns if turn.role is Role.PERSON and turn.is_live]
    last_words = spoken[-1].text.lower() if spoken else ""
    if any(sign in last_words for sign in GIVEN_UP):
        return Outcome.ABANDONED
    live = [turn for turn in turns if turn.is_live and turn.kind is not PartKind.TITLE]
    was_stopped = bool(live) and live[-1].kind is PartKind.INTERRUPTION
    if facts.commits:
        return Outcome.PARTIAL if was_stopped else Outcome.SHIPPED
    if was_stopped:
        return Outcome.ABANDONED if not facts.touched else Outcome.PARTIAL
    return Outcome.PARTIAL if facts.touched and live and live[-1].role is Role.TOOL else Outcome.UNKNOWN


@dataclass(frozen=True, slots=True)
class Sign:
    """One row of the table."""

    id: str
    kind: str  # of the line or section; empty for a veto
    speaker: str  # person or anybody
    use: Use
    pattern: re.Pattern[str]
    example: str
    counter: str


def read_signs(file: Path) -> tuple[Sign, ...]:
    """The signs of a table, in its order, which is that in which they count."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(msgspec.convert({**row, "pattern": re.compile(row["pattern"], re.IGNORECASE)}, Sign) for row in rows)


SIGNS = read_signs(Path(__file__).with_name("signs.tsv"))


def find_signs(text: str, use: Use, *, is_persons: bool) -> Iterator[tuple[Sign, re.Match[str]]]:
    """The signs of one use that a sentence bears, each with where."""
    for sign in SIGNS:
        if sign.use == use and (is_persons or sign.speaker != PERSON) and (match := sign.pattern.search(text)):
            yield sign, match


def bears(text: str, id: str) -> bool:  # noqa: A002  the column's name
    """Whether a sentence bears one sign."""
    return next(sign for sign in SIGNS if sign.id == id).pattern.search(text) is not None
