"""Signs: patterns of words that show what a sentence does, for the reader that asks no model.

Every pattern is a row of `signs.tsv`, with a sentence that bears it and one that does not, who must say it, and what it
is used for: `offer` (the person says it for good), `veto` (what is not offered, whatever else it bears), `lines` (the
kind of a typed line) and `digest` (the section of a digest). English but for a few words of explicit markers: who
writes another language is read by a model, or offered little.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

Use = Literal["offer", "veto", "lines", "digest"]
PERSON = "person"  # who alone may bear some signs


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
