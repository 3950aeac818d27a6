"""Whether a frontmatter is what `mif.schema.json` says, and on which line it is not."""

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_server.layers.mif import FRONTMATTER, Frontmatter

if TYPE_CHECKING:
    from jsonschema import ValidationError

SCHEMA_FILE = Path(__file__).with_name("mif.schema.json")
SHOWN_CHARS = 60  # of a value that is wrong


@dataclass(frozen=True, slots=True)
class Violation:
    """One field that is not what the schema says."""

    line: int  # of the file, counted from 1
    what: str
    kind: str  # missing, unknown or value
    remedy: str = ""


class FrontmatterSchema:
    """A schema, read once for many files; `named` is what its messages call the whole of one."""

    def __init__(self, file: Path = SCHEMA_FILE, named: str = FRONTMATTER) -> None:
        from jsonschema import Draft202012Validator, FormatChecker  # noqa: PLC0415  45 ms that other commands save

        dates = FormatChecker(formats=())
        dates.checks("iso-date")(is_iso_date)
        schema = json.loads(file.read_text(encoding="utf-8"))
        self._named = named
        self._validator = Draft202012Validator(schema, format_checker=dates)

    def violations(self, parsed: Frontmatter) -> list[Violation]:
        """What is wrong with a frontmatter, each field once; nothing where the file has none."""
        if not parsed.block:
            return []
        found = [
            violation
            for error in self._validator.iter_errors(dict(parsed.fields))
            for violation in _violations(error, parsed, self._named)
        ]
        return list(dict.fromkeys(found))


def is_iso_date(value: object) -> bool:
    """Whether a text is a date or timestamp of ISO 8601 that exists in the calendar."""
    try:
        dt.datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True


def _violations(error: "ValidationError", parsed: Frontmatter, named: str) -> Iterator[Violation]:
    path = _format_path(error)
    place = path or named
    line = _find_line(path, parsed)
    known = error.schema if isinstance(error.schema, dict) else {}
    if error.validator == "required":
        for name in [name for name in error.validator_value if name not in error.instance]:
            yield Violation(line, f"{place} has no {name}", "missing", f"Add `{name}:`")
    elif error.validator == "additionalProperties":
        fields = sorted(known.get("properties", ()))
        for name in [name for name in error.instance if name not in fields]:
            at = _find_line(f"{path}.{name}" if path else name, parsed)
            yield Violation(at, f"{place} has a field {name!r}", "unknown", f"Known ones: {', '.join(fields)}")
    elif error.validator == "anyOf":
        names = " or ".join(option["required"][0] for option in error.validator_value)
        yield Violation(line, f"{place} has no {names}", "missing", "Add one of them")
    else:
        yield Violation(
            line, f"{place} is {_format_value(error.instance)}, not {known.get('description', 'this')}", "value"
        )


def _format_path(error: "ValidationError") -> str:
    """The place of an error as `Frontmatter.lines` names it: `citations[0].url`."""
    path = ""
    for part in error.absolute_path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _find_line(path: str, parsed: Frontmatter) -> int:
    """The line of a field, else of the nearest one around it."""
    while path and path not in parsed.lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return parsed.lines.get(path, 1)


def _format_value(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_CHARS else f"{value[:SHOWN_CHARS]}…") if value else "empty"
    return "a list" if isinstance(value, list) else "a mapping"
