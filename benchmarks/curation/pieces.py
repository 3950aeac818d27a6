"""The pieces of sessions, and what a careful maintainer keeps of each. Standard library alone: rivals need it too."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

FILE = Path(__file__).parent / "pieces.jsonl"
MOST_WORDS = 60  # of a statement: whoever repeats a piece as a whole has not chosen anything
PROJECT, PERSON = "project", "person"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A statement that is worth keeping, or that may be kept and is counted neither way."""

    statement: str
    must: str  # groups of words joined by &; of each one of those between | is enough, and * stands for any ending
    scope: str = PROJECT  # of the piece's project, of the person in all projects, or the name of another project
    kind: str = ""

    def matches(self, statement: str) -> bool:
        """Whether a statement says this: it is short enough and holds a word of each group."""
        if len(statement.split()) > MOST_WORDS:
            return False
        return all(any(_is_held(word, statement) for word in group.split("|")) for group in self.must.split(" & "))


def _is_held(word: str, text: str) -> bool:
    end = "" if word.endswith("*") else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(word.rstrip('*'))}{end}", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Piece:
    """A session, or what matters of one."""

    id: str
    origin: str  # planted or real
    project: str
    day: str
    trap: str  # what it tempts to: looks like it, taken back, another project, assistant wrong; empty for none
    turns: Sequence[tuple[str, str]]  # person or assistant, and the words
    keep: Sequence[Wanted]
    either: Sequence[Wanted]

    @property
    def is_held_back(self) -> bool:
        """Whether it belongs to the half on which nothing may be chosen."""
        return sha256(self.id.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True, slots=True)
class Offer:
    """A statement that a system would keep of a piece."""

    piece: str
    statement: str
    kind: str = ""
    scope: str = PROJECT


def read_pieces() -> list[Piece]:
    with FILE.open(encoding="utf-8") as lines:
        return [_parse(json.loads(line)) for line in lines]


def _parse(row: dict) -> Piece:  # type: ignore[type-arg]  # as JSON has it
    keep = [Wanted(one["statement"], one["must"], one["scope"], one["kind"]) for one in row["keep"]]
    either = [Wanted(one["statement"], one["must"], one["scope"]) for one in row["either"]]
    turns = [(who, words) for who, words in row["turns"]]
    return Piece(row["id"], row["origin"], row["project"], row["day"], row["trap"], turns, keep, either)


def read_offers(file: Path) -> Iterator[Offer]:
    """A JSON object a line, with `piece` and `statement`, and `kind` and `scope` where they are known."""
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Offer(row["piece"], row["statement"], row.get("kind", ""), row.get("scope") or PROJECT)
