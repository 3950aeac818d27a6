"""What every digest holds, whoever read the session: goal, lines that hold beyond it, commits, what came of each
request, commands that did what others failed to do, and names letter by letter.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from crawler.compress.candidates import DigestCandidate, SectionName
from crawler.compress.exchanges import exchange_lines, split_exchanges
from crawler.compress.identifiers import list_identifiers
from crawler.compress.selection import count_chars
from crawler.facts import SessionFacts
from crawler.reading.record import LineKind, Reading
from crawler.reading.rules import find_goal
from crawler.transcripts.turns import Turn
from memory_server.escaping import clip

ROOMY_CHARS = 2_000  # of a digest, from which on identifiers have lines of their own; a short one quotes them at best
COMMITS_SHOWN = 40
MAX_CITED = 4  # entries of one statement
SECTION_OF = {LineKind.FINDING: SectionName.ERRORS, LineKind.LESSON: SectionName.ERRORS}  # others are decisions


def list_duties(
    turns: Sequence[Turn],
    facts: SessionFacts,
    candidates: Iterable[DigestCandidate],
    reading: Reading,
    *,
    max_chars: int,
) -> list[DigestCandidate]:
    """The lines that a digest of `max_chars` characters owes, of the candidates those with names.

    `reading`: its lines are those that may stand in a memory.
    """
    goal_text, entries = find_goal(turns)
    goal = [DigestCandidate(SectionName.GOAL, reading.goal or goal_text, entries)] if goal_text else []
    lines = [
        *goal,
        *_lines(reading, entries),
        *_commits(facts),
        *(candidate for candidate in candidates if candidate.names),
    ]
    if max_chars >= ROOMY_CHARS:
        lines += list_identifiers(turns)
    in_goal = {line.entries[0] for line in goal}
    exchanges = [replace(one, request="") if one.entries[0] in in_goal else one for one in split_exchanges(turns)]
    return [*lines, *exchange_lines(exchanges, max_chars - sum(map(count_chars, lines)))]


def _lines(reading: Reading, entries: tuple[str, ...]) -> Iterator[DigestCandidate]:
    """What a model noted, and what it saw left open; rules note nothing that the rest of the digest does not hold."""
    for line in reading.lines if reading.is_by_model else ():
        cited = tuple(dict.fromkeys(quote.entry for quote in line.quotes))
        yield DigestCandidate(SECTION_OF.get(line.kind, SectionName.DECISIONS), line.text, cited)
    for text in reading.open:
        yield DigestCandidate(SectionName.OPEN, text, entries[:1])


def _commits(facts: SessionFacts) -> list[DigestCandidate]:
    return [
        DigestCandidate(
            SectionName.OUTCOME,
            f"Committed {commit.hash}: {clip(commit.subject, 120)}",
            commit.entries[-1:],
            names=(commit.hash,),
        )
        for commit in facts.commits[:COMMITS_SHOWN]
    ]
