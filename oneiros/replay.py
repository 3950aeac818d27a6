"""Regression on one's own corpus: the logged questions asked again, before and after a change of model or ranking.

`saved` notes what the memory answers now; `replayed` asks the same again and compares. Hits are known by file and
lines, so a change of chunking can be compared too. Nothing of it is logged.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from memory_server.document import Hit
from memory_server.errors import ContentError, OneirosError
from memory_server.machine.files import replace_file
from memory_server.memory import Memory
from memory_server.search.query import parse_query
from memory_server.search.question import Search

TOP = 10
MOST_QUESTIONS = 500
VERSION = 1


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, and the places it was answered from, best first."""

    tool: str
    query: str
    hits: tuple[str, ...]  # path:first-last


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


def save_answers(memory: Memory, file: Path) -> int:
    """Asks the logged questions and writes the answers to a file; returns how many there were."""
    asked = answers_now(memory, questions_of(memory))
    content = {"version": VERSION, "model": memory.model.card.name, "answers": [asdict(one) for one in asked]}
    replace_file(file, json.dumps(content, ensure_ascii=False, indent=1) + "\n", follow=True)
    return len(asked)


def replay_answers(memory: Memory, file: Path) -> Replay:
    """Asks the questions of a file again and compares. Raises ContentError where it is no such file."""
    model, before = _read(file)
    now = answers_now(memory, [(one.tool, one.query) for one in before])
    moved = [_moved(old, new) for old, new in zip(before, now, strict=True)]
    same = sum(old.hits == new.hits for old, new in zip(before, now, strict=True))
    return Replay(
        questions=len(before),
        model_before=model,
        model_now=memory.model.card.name,
        same=same,
        same_first=sum(one.first_before == one.first_now for one in moved),
        overlap=sum(one.overlap for one in moved) / len(moved) if moved else 1.0,
        moved=tuple(sorted((one for one in moved if one.gone or one.come), key=lambda one: one.overlap)),
    )


def questions_of(memory: Memory) -> list[tuple[str, str]]:
    """The logged questions, each once, newest first."""
    rows = memory.logged_queries(limit=MOST_QUESTIONS)
    return list(dict.fromkeys((str(row["tool"]), str(row["query"])) for row in rows if row["tool"] in set(Search)))


def answers_now(memory: Memory, questions: Sequence[tuple[str, str]]) -> list[Answered]:
    """What the memory answers; a question that cannot be asked any more has no hits."""
    found = []
    for tool, query in questions:
        try:
            hits = memory.look_up(parse_query(query, Search(tool), limit=TOP)).hits
        except OneirosError:
            hits = ()
        found.append(Answered(tool, query, tuple(_place(hit) for hit in hits)))
    return found


def _place(hit: Hit) -> str:
    return f"{hit.path}:{hit.lines.first}-{hit.lines.last}"


def _moved(old: Answered, new: Answered) -> Moved:
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


def _read(file: Path) -> tuple[str, list[Answered]]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        answers = [Answered(one["tool"], one["query"], tuple(one["hits"])) for one in content["answers"]]
        if content["version"] != VERSION or any(one.tool not in set(Search) for one in answers):
            raise ValueError("another version")
        return str(content["model"]), answers
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "Write one with `oneiros queries --save FILE`"
        raise ContentError("the saved answers cannot be read", where=file, remedy=remedy) from error
