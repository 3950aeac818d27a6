"""Files that are either whole or not there, and JSON Lines that fail with file and line."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trainer.errors import DataError, UsageError


def write_text(path: Path, text: str) -> None:
    """Write the file under a temporary name beside it, then put it in place at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def write_json(path: Path, value: object) -> None:
    """Write one readable JSON document, whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file. Raises DataError where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError("this file is not there", where=path) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError("this is not a JSON document", where=path, remedy="Write it again") from error
    if not isinstance(value, dict):
        raise DataError("a JSON object is expected here", where=path)
    return value


def write_json_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write one object a line, whole or not at all."""
    write_text(path, "".join(json_line(row) for row in rows))


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number, counted from 1, and its object; empty lines are passed over.

    Raises UsageError where the file is missing, DataError with file and line where a line is no object.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError as error:
        raise UsageError("there is no such file", where=path, remedy="Run the stage that writes it first") from error
    except UnicodeDecodeError as error:
        raise DataError("this file is not UTF-8", where=path, remedy="Save it as UTF-8") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"this line is not JSON ({error.msg})", where=path, line=number) from error
        if not isinstance(row, dict):
            raise DataError("a JSON object is expected on each line", where=path, line=number)
        yield number, row


def json_line(row: Mapping[str, object]) -> str:
    """One object as one line, with its end."""
    return json.dumps(row, ensure_ascii=False) + "\n"


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, as hexadecimal digits."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def hash_texts(*texts: str) -> str:
    """Sixteen hexadecimal digits that stand for these texts; the id of chunks and pairs."""
    return hashlib.sha256("\x00".join(texts).encode("utf-8")).hexdigest()[:16]
