"""Regression on one's own corpus: the logged questions asked again, before and after a change of model or ranking.

`save_answers` notes what the memory answers now; `replay_answers` asks the same again and compares. Hits are known by
file and lines, so a change of chunking can be compared too. Nothing of it is logged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from memory_server.document import Hit
from memory_server.errors import ContentError, OneirosError
from memory_server.machine.files import replace_file
from memory_server.memory import Memory
from memory_server.search.question import Search, parse_logged

TOP = 10
MOST_QUESTIONS = 500


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, and the places it was answered from, best first."""

    tool: Search
    query: str
    hits: tuple[str, ...]  # path:first-last


@dataclass(frozen=True, slots=True)
class SavedAnswers:
    """The file that answers are saved in."""

    version: Literal[1]
    model: str
    answers: list[Answered]


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one question's answer."""

    tool: str
    query: str
    overlap: float  # of the top hits, 0 to 1
    first_before: str
    first_now: str
    gone: tuple[str, ...]  # places that were among the top hits
    come: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """All questions compared."""

    questions: int
    model_before: str
    model_now: str
    same: int  # with the same top hits in the same order
    same_first: int
    overlap: float  # mean
    moved: tuple[Moved, ...]  # the least alike first


def list_logged(memory: Memory, limit: int) -> list[tuple[Search, str]]:
    """The logged questions, each once, newest first."""
    rows = [row for row in memory.list_queries(limit=limit) if row["tool"] in set(Search)]
    return list(dict.fromkeys((Search(str(row["tool"])), str(row["query"])) for row in rows))


def save_answers(memory: Memory, file: Path) -> int:
    """Asks the logged questions, each once, newest first, and writes the answers to a file; how many there were."""
    saved = SavedAnswers(1, memory.model.card.name, answers_now(memory, list_logged(memory, MOST_QUESTIONS)))
    replace_file(file, msgspec.json.format(msgspec.json.encode(saved), indent=1).decode() + "\n", follow=True)
    return len(saved.answers)


def replay_answers(memory: Memory, file: Path) -> Replay:
    """Asks the questions of a file again and compares. Raises ContentError where it is no such file."""
    try:
        saved = msgspec.json.decode(file.read_bytes(), type=SavedAnswers)
    except (OSError, msgspec.DecodeError) as error:
        remedy = "Write one with `oneiros queries --save FILE`"
        raise ContentError("the saved answers cannot be read", where=file, remedy=remedy) from error
    before = saved.answers
    now = answers_now(memory, [(one.tool, one.query) for one in before])
    moved = [_compare_answers(old, new) for old, new in zip(before, now, strict=True)]
    return Replay(
        questions=len(before),
        model_before=saved.model,
        model_now=memory.model.card.name,
        same=sum(old.hits == new.hits for old, new in zip(before, now, strict=True)),
        same_first=sum(one.first_before == one.first_now for one in moved),
        overlap=sum(one.overlap for one in moved) / len(moved) if moved else 1.0,
        moved=tuple(sorted((one for one in moved if one.gone or one.come), key=lambda one: one.overlap)),
    )


def answers_now(memory: Memory, questions: Iterable[tuple[Search, str]]) -> list[Answered]:
    """What the memory answers; a question that cannot be asked any more has no hits."""
    found = []
    for tool, query in questions:
        try:
            hits = memory.look_up(parse_logged(query, tool, limit=TOP)).hits
        except OneirosError:
            hits = ()
        found.append(Answered(tool, query, tuple(map(_place, hits))))
    return found


def _place(hit: Hit) -> str:
    return f"{hit.path}:{hit.lines.first}-{hit.lines.last}"


def _compare_answers(old: Answered, new: Answered) -> Moved:
    """Compared by file, since lines move with every edit; the places name the lines."""
    before, now = ({place.rpartition(":")[0]: place for place in one.hits} for one in (old, new))
    either = before.keys() | now.keys()
    return Moved(
        old.tool,
        old.query,
        len(before.keys() & now.keys()) / len(either) if either else 1.0,
        next(iter(before), ""),
        next(iter(now), ""),
        tuple(place for name, place in before.items() if name not in now),
        tuple(place for name, place in now.items() if name not in before),
    )
