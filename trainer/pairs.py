"""The one schema of training data, and the one loader.

A line of a training file is

    {"messages": [{"role": "system", "content": ...}, {"role": "user", ...}, {"role": "assistant", ...}],
     "source": "topics/mail.md", "chunk": "3f0c...", "keys": ["2525"]}

`messages` is required and holds exactly these three, in this order. `source` names what the pair was made from (a split
by source needs it), `chunk` the id of the passage, `keys` the facts of which an answer must hold at least one to count
as right. Any other key is refused: a misspelt one would otherwise be lost in silence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import DataError
from trainer.files import read_json_lines, write_json_lines
from trainer.hygiene import find_fault

ROLES = ("system", "user", "assistant")
SYSTEM = "You know the memory of this project. Answer in one sentence."
MAX_CHARS = 8_000  # a message longer than this is a document, not a question or an answer


@dataclass(frozen=True, slots=True)
class Pair:
    """One question with its answer, and where both come from."""

    question: str
    answer: str
    system: str = SYSTEM
    source: str = ""  # the document or topic; pairs of one source stay on one side of a split
    chunk: str = ""  # the id of the passage the pair was made from
    keys: tuple[str, ...] = ()  # a right answer holds one of these

    @property
    def prompt(self) -> list[dict[str, str]]:
        """What the model reads before it answers, as chat messages."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.question}]

    def as_row(self) -> dict[str, object]:
        """The pair as a line of a training file."""
        row: dict[str, object] = {"messages": [*self.prompt, {"role": "assistant", "content": self.answer}]}
        optional = {"source": self.source, "chunk": self.chunk, "keys": list(self.keys)}
        return row | {key: value for key, value in optional.items() if value}


def read_pairs(path: Path, *, minimum: int = 1) -> tuple[Pair, ...]:
    """All pairs of a file, in their order.

    Raises DataError with file and line at the first pair that breaks the schema, holds a secret or mis-decoded text,
    and where there are fewer than `minimum`.
    """
    pairs = tuple(pair_from_row(row, path, line) for line, row in read_json_lines(path))
    if len(pairs) < minimum:
        raise DataError(
            f"{len(pairs)} pairs are fewer than the {minimum} that this stage needs",
            where=path,
            remedy="Look at the output of the stage before",
        )
    return pairs


def write_pairs(path: Path, pairs: Sequence[Pair]) -> None:
    """Write the pairs one a line, whole or not at all."""
    write_json_lines(path, (pair.as_row() for pair in pairs))


def pair_from_row(row: dict[str, Any], where: Path, line: int) -> Pair:
    """The pair of one line. Raises DataError that names the first thing wrong with it."""

    def refuse(what: str, remedy: str = "Mend or remove the line") -> DataError:
        return DataError(what, where=where, line=line, remedy=remedy)

    if unknown := set(row) - {"messages", "source", "chunk", "keys"}:
        raise refuse(f"unknown key {sorted(unknown)[0]!r}")
    messages = row.get("messages")
    if not isinstance(messages, list) or len(messages) != len(ROLES):
        raise refuse("`messages` must hold exactly three messages: system, user, assistant")
    for message, role in zip(messages, ROLES, strict=True):
        if not isinstance(message, dict) or set(message) != {"role", "content"} or message["role"] != role:
            raise refuse(f"a message with the keys role and content, and the role {role!r}, is expected")
        if not isinstance(message["content"], str) or not message["content"].strip():
            raise refuse(f"the {role} message is empty")
        if len(message["content"]) > MAX_CHARS:
            raise refuse(f"the {role} message is longer than {MAX_CHARS} characters", "Split it")
        if fault := find_fault(message["content"]):
            raise refuse(f"the {role} message holds {fault}", "Remove the line; it must not become training data")
    if not all(isinstance(row.get(key, ""), str) for key in ("source", "chunk")):
        raise refuse("`source` and `chunk` must be strings")
    keys = row.get("keys", [])
    if not isinstance(keys, list) or not all(isinstance(key, str) and key for key in keys):
        raise refuse("`keys` must be a list of strings")
    system, question, answer = (message["content"] for message in messages)
    return Pair(question, answer, system, row.get("source", ""), row.get("chunk", ""), tuple(keys))
