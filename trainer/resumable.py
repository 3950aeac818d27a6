"""An output file that grows a unit at a time and survives a kill at any point.

Beside `corpus_chunks.jsonl` lies `corpus_chunks.jsonl.done`, a line a finished unit (a document, a chunk) with its
hash and the bytes that its rows take. The rows are written first, the line after them. At the next start whatever
lies in the output beyond the last confirmed byte is cut off, and units whose hash changed or that are gone lose their
rows. It does not decide what a unit is; the stages do.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from trainer.errors import UsageError
from trainer.files import json_line


@dataclass(frozen=True, slots=True)
class Done:
    """One finished unit and where its rows lie."""

    unit: str
    digest: str  # hash of what it was made from
    start: int  # byte offset in the output
    end: int  # byte offset behind its last row
    rows: int


class ResumableOutput:
    """Rows of many units in one file; a context manager that owns both files."""

    def __init__(self, path: Path, wanted: Mapping[str, str]):
        """Open the output for the units `wanted` (name to hash); rows of all others are dropped."""
        self.path = path
        self.wanted = dict(wanted)
        self._ledger = path.with_name(path.name + ".done")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not self._ledger.exists():
            raise UsageError("this file was not written by this stage", where=path, remedy="Name another output")
        self._done = self._recover()
        self._output = path.open("ab")
        self._log = self._ledger.open("ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._output.close()
        self._log.close()

    def is_done(self, unit: str) -> bool:
        """Whether the unit, as it is today, was finished in this run or an earlier one."""
        return unit in self._done

    def add(self, unit: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Write a unit's rows, then confirm them."""
        start = self._output.tell()
        self._output.write("".join(json_line(row) for row in rows).encode("utf-8"))
        self._output.flush()
        done = Done(unit, self.wanted[unit], start, self._output.tell(), len(rows))
        self._log.write(json_line(asdict(done)).encode("utf-8"))
        self._log.flush()
        self._done[unit] = done

    @property
    def rows(self) -> int:
        """How many rows the output holds."""
        return sum(done.rows for done in self._done.values())

    def _recover(self) -> dict[str, Done]:
        recorded = self._read_ledger()
        valid = [done for done in recorded.values() if self.wanted.get(done.unit) == done.digest]
        content = self.path.read_bytes() if self.path.exists() else b""
        valid = sorted((done for done in valid if done.end <= len(content)), key=lambda done: done.start)
        moved, body = [], bytearray()
        for done in valid:
            start = len(body)
            body += content[done.start : done.end]
            moved.append(Done(done.unit, done.digest, start, len(body), done.rows))
        if moved == list(recorded.values()) and len(body) == len(content):
            return {done.unit: done for done in moved}
        # An empty ledger in between: a kill here costs work done again, never rows under another unit's name.
        _replace(self._ledger, b"")
        _replace(self.path, bytes(body))
        _replace(self._ledger, "".join(json_line(asdict(done)) for done in moved).encode("utf-8"))
        return {done.unit: done for done in moved}

    def _read_ledger(self) -> dict[str, Done]:
        if not self._ledger.exists():
            return {}
        found = {}
        for line in self._ledger.read_bytes().split(b"\n"):
            try:
                done = Done(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                continue  # the torn last line of a killed run
            found[done.unit] = done
        return found


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
