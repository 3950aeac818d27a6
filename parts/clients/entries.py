"""An entry for a server in a client's own settings, put in and taken out without touching any other byte.

TOML is appended to. JSON is written into at one place, and may hold comments and trailing commas, which both clients
allow: a library would parse and print it anew. Nothing here reads or writes a file.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent

import tomlkit

from memory_server.errors import UsageError

NAME = "oneiros"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+|/', re.DOTALL)
REMEDY = "Mend the file, or add the entry by hand; docs/agents.md shows it"


def toml_insertion(text: str, table: str, values: Mapping[str, object], where: Path) -> tuple[int, str]:
    """Where a table for this server goes in, and what; nothing where there is one. Raises UsageError."""
    if NAME in _object(_toml(text, where).get(table)):
        return 0, ""
    lines = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    insertion = f"{gap}[{table}.{NAME}]\n{lines}"
    _toml(text + insertion, where)  # which it is not where the table is written as `mcp_servers = {}`
    return len(text), insertion


def without_toml(text: str, table: str) -> str:
    """A text without this server's tables, however its client has written them anew."""
    document = tomlkit.parse(text)
    servers = document.get(table, {})
    servers.pop(NAME, None)
    if not servers:
        document.pop(table, None)
    return document.as_string()


def json_insertion(text: str, table: str, values: Mapping[str, object], where: Path) -> tuple[int, str]:
    """Where a member for this server goes in, and what; nothing where there is one. Raises UsageError."""
    if not text.strip():
        return 0, json.dumps({table: {NAME: values}}, indent=2, ensure_ascii=False) + "\n"
    tokens = _tokens(text)
    _check_json(tokens, where)
    if table not in (members := _members(tokens, 0)):
        return _first_member(tokens, 0, table, {NAME: values}, depth=1)
    place = members[table][0]
    if tokens[place][1] != "{":
        raise UsageError(f"{table} is no object", where=where, remedy=REMEDY)
    return (0, "") if NAME in _members(tokens, place) else _first_member(tokens, place, NAME, values, depth=2)


def without_json(text: str, table: str) -> str:
    """A text without this server's member, however its client has written it anew."""
    tokens = _tokens(text)
    place = _members(tokens, 0).get(table, (0, 0))[0]
    if not place or NAME not in (inside := _members(tokens, place)):
        return text
    first, last = inside[NAME]
    begin, end = tokens[first - 2][0], tokens[last][0] + len(tokens[last][1])
    if tokens[last + 1][1] == ",":
        end = tokens[last + 1][0] + 1
    elif tokens[first - 3][1] == ",":
        begin = tokens[first - 3][0]
    return text[:begin].rstrip(" \t") + text[end:].lstrip(" \t")


# -- JSON with comments ----------------------------------------------------------------------------------------------

Tokens = Sequence[tuple[int, str]]  # of each its place and its text


def _tokens(text: str) -> Tokens:
    found = ((match.start(), match[0]) for match in TOKEN.finditer(text))
    return [one for one in found if not one[1].startswith(("//", "/*"))]


def _check_json(tokens: Tokens, where: Path) -> None:
    """Raises UsageError unless the tokens are an object, once trailing commas are gone."""
    texts = [text for _, text in tokens]
    strict = [text for text, then in zip(texts, [*texts[1:], ""], strict=True) if text != "," or then not in ("}", "]")]
    try:
        value = json.loads(" ".join(strict))
    except (ValueError, RecursionError) as error:
        raise UsageError("the file is not JSON that can be read", where=where, remedy=REMEDY) from error
    if not isinstance(value, dict):
        raise UsageError("the file holds no JSON object", where=where, remedy=REMEDY)


def _members(tokens: Tokens, place: int) -> dict[str, tuple[int, int]]:
    """The members of the object whose `{` is at a place: first and last token of each value."""
    found, at = dict[str, tuple[int, int]](), place + 1
    while at + 2 < len(tokens) and tokens[at][1] != "}":
        last = _end(tokens, at + 2)
        found[str(json.loads(tokens[at][1]))] = (at + 2, last)
        at = last + 1 + (tokens[last + 1][1] == ",")
    return found


def _end(tokens: Tokens, place: int) -> int:
    """The last token of the value that begins at a place."""
    depth = 0
    for at in range(place, len(tokens)):
        depth += tokens[at][1] in ("{", "[")
        depth -= tokens[at][1] in ("}", "]")
        if depth == 0:
            return at
    return len(tokens) - 1


def _first_member(tokens: Tokens, place: int, key: str, value: object, *, depth: int) -> tuple[int, str]:
    """A member as the first of the object whose `{` is at a place."""
    is_empty = tokens[place + 1][1] == "}"
    member = indent(f"{json.dumps(key)}: {json.dumps(value, indent=2, ensure_ascii=False)}", "  " * depth)
    ending = f"\n{'  ' * (depth - 1)}" if is_empty else ","
    return tokens[place][0] + 1, f"\n{member}{ending}"


def _toml(text: str, where: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the file is not TOML that can be read ({error})", where=where, remedy=REMEDY) from error


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
