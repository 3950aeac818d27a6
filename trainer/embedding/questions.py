"""What an embedding model is taught: passages, and questions that each of them answers.

A file holds a row a passage, packed with xz or as plain JSON lines: `id`, `set` (the project that it is from), `source`
(the session or document), `place` (its number within the source), `context` (the line that the program puts before a
passage when it embeds it), `text`, and `questions`, in pairs of two wordings of one question; none makes it a
wrong answer for the questions of others. A first row with the key `sources` names where the passages come from and
under which licences.
"""

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import DataError, UsageError
from trainer.files import read_json_lines
from trainer.pairs import Pair

KEYS = frozenset({"id", "set", "source", "place", "context", "text", "questions"})
LEAST_PASSAGES = 8  # with questions
OWN = "own"  # the set that a person's own pairs are


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with the questions that it answers, if there are any."""

    id: str
    set: str
    source: str
    place: int  # in its source, from 0
    context: str
    text: str
    questions: tuple[str, ...] = ()

    @property
    def embedded(self) -> str:
        """What the model reads, as the program writes it: the context on a line of its own."""
        return f"{self.context}\n{self.text}"


def read_passages(file: Path, without: Sequence[str] = ()) -> list[Passage]:
    """The passages of a file but those of the sets named.

    Raises UsageError where the file is missing or names no such set, DataError with file and line where a row is wrong.
    """
    rows = _packed_rows(file) if file.suffix == ".xz" else list(read_json_lines(file))
    passages = [_as_passage(row, file, line) for line, row in rows if "sources" not in row]
    if unknown := set(without) - {passage.set for passage in passages}:
        raise UsageError(f"there is no set {min(unknown)!r}", where=file)
    kept = [passage for passage in passages if passage.set not in without]
    asked = sum(bool(passage.questions) for passage in kept)
    if asked < LEAST_PASSAGES:
        raise DataError(f"{asked} passages with questions are too few to learn from", where=file)
    return kept


def passages_of_pairs(pairs: Sequence[Pair]) -> list[Passage]:
    """A person's own pairs as passages: answers, each with all questions that it answers, in the order of the pairs."""
    found: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        found.setdefault((pair.source, pair.answer), []).append(pair.question)
    return [
        Passage(f"{OWN}-{place}", OWN, source, place, Path(source).stem.replace("-", " "), answer, tuple(questions))
        for place, ((source, answer), questions) in enumerate(found.items())
    ]


def write_passages(file: Path, passages: Sequence[Passage], sources: Sequence[dict[str, str]]) -> None:
    """Packs passages, and before them where they are from."""
    keys = ("id", "set", "source", "place", "context", "text", "questions")
    rows = [{"sources": list(sources)}, *({key: getattr(one, key) for key in keys} for one in passages)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def sources_of(file: Path) -> list[dict[str, str]]:
    """Where the passages of a packed file are from, one row a set: `set`, `from`, `revision`, `licence`, `holder`."""
    (_, first), *_ = _packed_rows(file)
    sources: list[dict[str, str]] = first["sources"]
    return sources


def _packed_rows(file: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            return [(number, json.loads(line)) for number, line in enumerate(stream, start=1)]
    except FileNotFoundError as error:
        raise UsageError("there is no such file", where=file) from error
    except (lzma.LZMAError, ValueError) as error:
        raise DataError("this is no packed file of questions", where=file) from error


def _as_passage(row: dict[str, Any], file: Path, line: int) -> Passage:
    if set(row) != KEYS or not isinstance(row["questions"], list) or not isinstance(row["place"], int):
        raise DataError(f"a row has the keys {', '.join(sorted(KEYS))}", where=file, line=line)
    texts = [row[key] for key in KEYS - {"questions", "place"}] + row["questions"]
    if not all(isinstance(text, str) for text in texts) or not row["text"].strip():
        raise DataError("this row holds no passage of text", where=file, line=line)
    questions = tuple(row["questions"])
    return Passage(row["id"], row["set"], row["source"], row["place"], row["context"], row["text"], questions)
