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
from crawler.reading.signs import bears, find_signs
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


TYPES = {
    LineKind.DECISION: DigestType.DECISION,
    LineKind.RULE: DigestType.PREFERENCE,
    LineKind.PREFERENCE: DigestType.PREFERENCE,
    LineKind.CORRECTION: DigestType.FACT,
    LineKind.FACT: DigestType.FACT,
    LineKind.FINDING: DigestType.LESSON,
    LineKind.LESSON: DigestType.LESSON,
    LineKind.HABIT: DigestType.PREFERENCE,
    LineKind.IDEA: DigestType.SKILL_IDEA,
}


@dataclass(frozen=True, slots=True)
class DigestLine:
    """One typed line of a session."""

    type: DigestType
    text: str  # 1 to 3 sentences
    why: str  # what made it this type
    project: str
    entries: tuple[str, ...]  # of the archive
    time: datetime | None = None  # of the first of them, aware


def digest_lines(turns: Sequence[Turn], facts: SessionFacts, reading: Reading) -> list[DigestLine]:
    """The typed lines of a session, none twice: those of its reading, and by signs what that passes over.

    `reading`: with those lines alone that may be shown. In the order of what they rest on.
    """
    noted = [make_digest_line(line, reading) for line in reading.lines][-MAX_LINES:] if reading.is_by_model else []
    covered, texts = {entry for line in noted for entry in line.entries}, {line.text for line in noted}
    plain = _by_signs(turns, facts, reading.project)
    left = [line for line in plain if line.text not in texts and not covered.intersection(line.entries)]
    place = {entry: number for number, turn in enumerate(turns) for entry in turn.entries}
    kept = [*noted, *left[: MAX_LINES - len(noted)]]
    return sorted(kept, key=lambda line: min(place.get(entry, len(place)) for entry in line.entries))


def make_digest_line(line: Line, reading: Reading) -> DigestLine:
    """A line of a reading as it is asked for by its type."""
    entries = tuple(dict.fromkeys(quote.entry for quote in line.quotes))
    return DigestLine(
        TYPES[line.kind], line.text, f"{reading.reader}: {line.kind}", reading.project, entries, line.quotes[0].time
    )


def _by_signs(turns: Sequence[Turn], facts: SessionFacts, project: str) -> list[DigestLine]:
    times = {entry: turn.time for turn in turns for entry in turn.entries}
    said_by_person = {entry for turn in turns if turn.role is Role.PERSON for entry in turn.entries}
    lines: dict[str, DigestLine] = {}
    goal = next((turn.entries for turn in turns if turn.role is Role.PERSON and turn.text), ())
    for candidate in suggest_candidates(turns, facts):
        is_persons = bool(said_by_person.intersection(candidate.entries))
        found = find_type(candidate, is_persons=is_persons, is_goal=candidate.entries == goal)
        if found is not None:
            text = candidate.text.removeprefix("Person: ")
            said = times.get(candidate.entries[0])
            lines.setdefault(text, DigestLine(found[0], text, found[1], project, candidate.entries, said))
    return list(lines.values())


def find_type(candidate: DigestCandidate, *, is_persons: bool, is_goal: bool) -> tuple[DigestType, str] | None:
    """The type of a line and what made it so; None for what says nothing lasting."""
    return next(_types(candidate, is_persons=is_persons, is_goal=is_goal), None)


def _types(candidate: DigestCandidate, *, is_persons: bool, is_goal: bool) -> Iterator[tuple[DigestType, str]]:
    """The types that a line bears signs of, in the order in which they count."""
    text = candidate.text
    found = {
        sign.kind: f'{sign.id}: "{match[0].lower()}"'
        for sign, match in find_signs(text, "lines", is_persons=is_persons)
    }
    if text.rstrip().endswith("?"):
        found = {kind: why for kind, why in found.items() if kind == "idea"}
    is_dead = candidate.section is SectionName.SUPERSEDED or bears(text, "given up")
    if "preference" in found:
        yield DigestType.PREFERENCE, found["preference"]
    if "decision" in found and not is_dead:
        yield DigestType.DECISION, found["decision"]
    if candidate.section is SectionName.ERRORS:
        yield DigestType.LESSON, "an error and what followed it"
    if "lesson" in found:
        yield DigestType.LESSON, found["lesson"]
    if "idea" in found:
        yield DigestType.SKILL_IDEA, found["idea"]
    if is_goal:
        yield DigestType.TOPIC, "what the session was asked for"
    is_speech = candidate.section not in (SectionName.WORK, SectionName.IDENTIFIERS)
    if "fact" in found and is_speech and not is_dead:
        yield DigestType.FACT, "states something about what it names"
