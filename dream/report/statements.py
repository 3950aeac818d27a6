"""What approved statements themselves give reason to look at: they contradict each other, or lost their evidence."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from crawler.archive.store import Archive
from dream.blame import SOURCE
from dream.judge.contradiction import contradiction_of, share_of
from dream.report.finding import Finding, Part
from dream.statements.words import Rarity
from dream.topics import Topics, TopicStatement, TopicText
from memory_server.chunking import split_lines
from memory_server.errors import ContentError
from memory_server.escaping import shown_line
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.sessions import id8_of

SURE_FROM = 0.75  # approved statements stand side by side on purpose: only what is surer than in a chat is shown
ALIKE_FROM = 0.5  # of what both tell together; two statements about one thing say the rest in much the same words
LEAST_SHARED = 2  # telling words of both statements; fewer are about two things
MAX_HOLDERS = 60  # statements that hold a word; a commoner one says nothing about the subject
QUOTED_CHARS = 90


@dataclass(frozen=True, slots=True)
class _Placed:
    topic: TopicText
    statement: TopicStatement


def contradictions(topics: Topics) -> Iterator[Finding]:
    """Pairs of statements, within a topic and across, of which one puts something else in the place of the other."""
    placed = [_Placed(topic, statement) for topic in topics.files for statement in topic.statements]
    for one, other in _near(placed):
        earlier, later = placed[one], placed[other]
        if _is_row(earlier) and _is_row(later):
            continue  # the rows of a table speak of different cases
        against = contradiction_of(later.statement.reading, earlier.statement.reading, topics.rarity)
        if against.score < SURE_FROM or _alike(earlier, later, topics.rarity) < ALIKE_FROM:
            continue
        where = f"{earlier.topic.path}:{earlier.statement.lines.first}"
        what = f"“{_short(later.statement.text)}” against {where} “{_short(earlier.statement.text)}” ({against.why})"
        step = f"say which holds: oneiros read {earlier.topic.path}:{earlier.statement.lines}"
        yield Finding(Part.CONTRADICTION, later.topic.path, later.statement.lines.first, what, step)


def _is_row(placed: _Placed) -> bool:
    return placed.statement.text.startswith("|")


def _alike(one: _Placed, other: _Placed, rarity: Rarity) -> float:
    """How much of what two statements tell, they both tell; values are left out, since these may differ."""
    mine, theirs = (placed.statement.reading.words - placed.statement.reading.values for placed in (one, other))
    return share_of(mine & theirs, mine | theirs, rarity)


def _near(placed: list[_Placed]) -> list[tuple[int, int]]:
    """The pairs of statements that share enough telling words, in order."""
    holders: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(placed):
        for word in one.statement.reading.words:
            holders[word].append(number)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for numbers in holders.values():
        if len(numbers) <= MAX_HOLDERS:
            for place, first in enumerate(numbers):
                for second in numbers[place + 1 :]:
                    shared[first, second] += 1
    return sorted(pair for pair, count in shared.items() if count >= LEAST_SHARED)


def lost_evidence(topics: Topics, archive: Archive) -> Iterator[Finding]:
    """Statements whose footnote names a session or entry that the archive does not have any more."""
    known: dict[str, frozenset[str]] = {}
    for topic in topics.files:
        lines, notes = split_lines(topic.text), find_footnotes(topic.text)
        for label, places in notes.defined.items():
            for found in SOURCE.finditer(lines[places[0]]):
                session = found["session"]
                known.setdefault(session, _entries(archive, session))
                if found["entry"] not in known[session]:
                    used = notes.used.get(label) or places
                    what = f"[^{label}] rests on session {id8_of(session)}, which the archive does not have"
                    step = "keep the statement if you still know it, else take it out"
                    yield Finding(Part.EVIDENCE, topic.path, used[0] + 1, what, step)
                    break


def _entries(archive: Archive, session_id: str) -> frozenset[str]:
    try:
        segments = archive.record(session_id).segments
    except ContentError:
        return frozenset()
    return frozenset(entry for segment in segments for entry in segment.entries)


def _short(text: str) -> str:
    text = shown_line(text)
    return text if len(text) <= QUOTED_CHARS else f"{text[: QUOTED_CHARS - 1]}…"
