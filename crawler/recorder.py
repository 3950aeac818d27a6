"""The recorder: what a session said, as typed lines, so that recall can be asked for decisions or lessons alone.

Made from the archive by rules, the same lines each time, whether the session goes on or is over. They belong to the
session: they are no evidence (the quote is) and never become a topic.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from crawler.compress.candidates import SUPERSEDED, DigestCandidate, SectionName, candidates_of
from crawler.facts import SessionFacts
from crawler.transcripts.turns import Role, Turn

MAX_LINES = 60  # of one session


class DigestType(StrEnum):
    """What kind of thing a line says."""

    DECISION = "decision"
    LESSON = "lesson"
    PREFERENCE = "preference"
    FACT = "fact"
    TOPIC = "topic"
    SKILL_IDEA = "skill_idea"


@dataclass(frozen=True, slots=True)
class DigestLine:
    """One typed line of a session."""

    type: DigestType
    text: str  # 1 to 3 sentences
    why: str  # what made it this type
    project: str
    entries: tuple[str, ...]  # of the archive
    time: datetime | None = None  # of the first of them, aware


PREFERENCE = re.compile(
    r"\b(?:i (?:prefer|like|want|hate|don'?t like|always|never)|please (?:always|never|use|avoid|don'?t)"
    r"|(?:always|never) (?:use|write|run|commit|add|ask)|from now on|by default)\b",
    re.IGNORECASE,
)
CHOICE = re.compile(
    r"\b(?:decid\w+|chose|chosen|instead of|rather than|switch(?:ed|ing)? to|go(?:ing)? with|agreed|settled on"
    r"|opt(?:ed|ing)? (?:for|to)|we(?:'ll| will) use|let'?s use)\b",
    re.IGNORECASE,
)
REPEATED = re.compile(
    r"\b(?:every time|each time|again and again|automat\w+|a (?:script|command|skill|alias) (?:for|that|to)|as usual"
    r"|the same steps)\b",
    re.IGNORECASE,
)
CAUSE = re.compile(
    r"\b(?:root cause|because|turns? out|the (?:problem|issue|bug|reason|cause|fix) (?:is|was)|fixed by|must not)\b",
    re.IGNORECASE,
)
STATED = re.compile(
    r"\b(?:is|are|was|runs?|listens?|lives?|uses?|requires?|takes?|costs?|means|contains?|supports?|expects?)\b",
    re.IGNORECASE,
)
NAMED = re.compile(r"`[^`]+`|\b\d[\d.:,]*\b|\b\w+[./_-]\w[\w./-]*|\b[a-z]+[A-Z]\w*")


def digest_lines(turns: Sequence[Turn], facts: SessionFacts, project: str) -> list[DigestLine]:
    """The typed lines of a session, in the order in which they were said, none twice."""
    times = {entry: turn.time for turn in turns for entry in turn.entries}
    said_by_person = {entry for turn in turns if turn.role is Role.PERSON for entry in turn.entries}
    lines: dict[str, DigestLine] = {}
    goal = next((turn.entries for turn in turns if turn.role is Role.PERSON and turn.text), ())
    for candidate in candidates_of(turns, facts):
        is_persons = bool(said_by_person.intersection(candidate.entries))
        found = type_of(candidate, is_persons=is_persons, is_goal=candidate.entries == goal)
        if found is not None:
            text = candidate.text.removeprefix("Person: ")
            said = times.get(candidate.entries[0])
            lines.setdefault(text, DigestLine(found[0], text, found[1], project, candidate.entries, said))
    return list(lines.values())[:MAX_LINES]


def type_of(candidate: DigestCandidate, *, is_persons: bool, is_goal: bool) -> tuple[DigestType, str] | None:
    """The type of a line and what made it so; None for what says nothing lasting."""
    for kind, why, holds in _signs(candidate, is_persons=is_persons, is_goal=is_goal):
        if holds:
            return kind, why
    return None


def _signs(candidate: DigestCandidate, *, is_persons: bool, is_goal: bool) -> Iterator[tuple[DigestType, str, bool]]:
    """The signs in the order in which they count."""
    text = candidate.text
    is_question = text.rstrip().endswith("?")
    wish, choice, again = PREFERENCE.search(text), CHOICE.search(text), REPEATED.search(text)
    cause, stated = CAUSE.search(text), STATED.search(text)
    is_dead = candidate.section is SectionName.SUPERSEDED or bool(SUPERSEDED.search(text))
    yield DigestType.PREFERENCE, _quoted("the person said", wish), bool(wish and is_persons and not is_question)
    yield DigestType.DECISION, _quoted("names a choice", choice), bool(choice and not is_question and not is_dead)
    yield DigestType.LESSON, "an error and what followed it", candidate.section is SectionName.ERRORS
    yield DigestType.LESSON, _quoted("names a cause", cause), bool(cause and not is_question)
    yield DigestType.SKILL_IDEA, _quoted("something done repeatedly", again), bool(again and is_persons)
    yield DigestType.TOPIC, "what the session was asked for", is_goal
    is_speech = candidate.section not in (SectionName.WORK, SectionName.IDENTIFIERS)
    is_fact = bool(stated and NAMED.search(text)) and is_speech and not is_question and not is_dead
    yield DigestType.FACT, _quoted("states something about what it names", stated), is_fact


def _quoted(why: str, match: re.Match[str] | None) -> str:
    return f'{why}: "{match[0].lower()}"' if match else why
