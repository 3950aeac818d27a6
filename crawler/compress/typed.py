"""Typed lines: what a session said, so that recall can be asked for decisions or lessons alone.

A selection of its reading, and beside it of what its digest is made of, by the signs of `signs.tsv`: the same lines
each time, whether the session goes on or is over. They belong to the session: they are no evidence (the quote is) and
never become a topic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from crawler.compress.candidates import DigestCandidate, SectionName, suggest_candidates
from crawler.facts import SessionFacts
from crawler.reading.record import Line, LineKind, Reading
from crawler.reading.rules import bears, find_signs
from crawler.transcripts.turns import Role, Turn

MAX_LINES = 60  # of one session


class LineType(StrEnum):
    """What kind of thing a line says."""

    DECISION = "decision"
    LESSON = "lesson"
    PREFERENCE = "preference"
    FACT = "fact"
    TOPIC = "topic"
    SKILL_IDEA = "skill_idea"


TYPES = {
    LineKind.DECISION: LineType.DECISION,
    LineKind.RULE: LineType.PREFERENCE,
    LineKind.PREFERENCE: LineType.PREFERENCE,
    LineKind.CORRECTION: LineType.FACT,
    LineKind.FACT: LineType.FACT,
    LineKind.FINDING: LineType.LESSON,
    LineKind.LESSON: LineType.LESSON,
    LineKind.HABIT: LineType.PREFERENCE,
    LineKind.IDEA: LineType.SKILL_IDEA,
}


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One typed line of a session."""

    type: LineType
    text: str  # 1 to 3 sentences
    why: str  # what made it this type
    project: str
    entries: tuple[str, ...]  # of the archive
    time: datetime | None = None  # of the first of them, aware


def select_typed_lines(turns: Sequence[Turn], facts: SessionFacts, reading: Reading) -> list[SessionLine]:
    """The typed lines of a session, none twice: those of its reading, and by signs what that passes over.

    `reading`: with those lines alone that may be shown. In the order of what they rest on.
    """
    noted = [make_typed_line(line, reading) for line in reading.lines][-MAX_LINES:] if reading.is_by_model else []
    covered, texts = {entry for line in noted for entry in line.entries}, {line.text for line in noted}
    plain = _by_signs(turns, facts, reading.project)
    left = [line for line in plain if line.text not in texts and not covered.intersection(line.entries)]
    place = {entry: number for number, turn in enumerate(turns) for entry in turn.entries}
    lines = [*noted, *left[: MAX_LINES - len(noted)]]
    return sorted(lines, key=lambda line: min(place.get(entry, len(place)) for entry in line.entries))


def make_typed_line(line: Line, reading: Reading) -> SessionLine:
    """A line of a reading as it is asked for by its type."""
    entries = tuple(dict.fromkeys(quote.entry for quote in line.quotes))
    return SessionLine(
        TYPES[line.kind], line.text, f"{reading.reader}: {line.kind}", reading.project, entries, line.quotes[0].time
    )


def _by_signs(turns: Sequence[Turn], facts: SessionFacts, project: str) -> list[SessionLine]:
    times = {entry: turn.time for turn in turns for entry in turn.entries}
    persons_entries = {entry for turn in turns if turn.role is Role.PERSON for entry in turn.entries}
    lines: dict[str, SessionLine] = {}
    goal = next((turn.entries for turn in turns if turn.role is Role.PERSON and turn.text), ())
    for candidate in suggest_candidates(turns, facts):
        is_persons = bool(persons_entries.intersection(candidate.entries))
        text, time = candidate.text.removeprefix("Person: "), times.get(candidate.entries[0])
        for kind, why in _types(candidate, is_persons=is_persons, is_goal=candidate.entries == goal):
            lines.setdefault(text, SessionLine(kind, text, why, project, candidate.entries, time))  # the first counts
    return list(lines.values())


def _types(candidate: DigestCandidate, *, is_persons: bool, is_goal: bool) -> Iterator[tuple[LineType, str]]:
    """The types that a line bears signs of and what made it so, in the order in which they count; none for what says
    nothing lasting.
    """
    text = candidate.text
    found = {
        sign.kind: f'{sign.id}: "{match[0].lower()}"'
        for sign, match in find_signs(text, "lines", is_persons=is_persons)
    }
    if text.rstrip().endswith("?"):
        found = {kind: why for kind, why in found.items() if kind == "idea"}
    is_dead = candidate.section is SectionName.SUPERSEDED or bears(text, "given up")
    if "preference" in found:
        yield LineType.PREFERENCE, found["preference"]
    if "decision" in found and not is_dead:
        yield LineType.DECISION, found["decision"]
    if candidate.section is SectionName.ERRORS:
        yield LineType.LESSON, "an error and what followed it"
    if "lesson" in found:
        yield LineType.LESSON, found["lesson"]
    if "idea" in found:
        yield LineType.SKILL_IDEA, found["idea"]
    if is_goal:
        yield LineType.TOPIC, "what the session was asked for"
    is_speech = candidate.section not in (SectionName.WORK, SectionName.IDENTIFIERS)
    if "fact" in found and is_speech and not is_dead:
        yield LineType.FACT, "states something about what it names"
