"""MIF frontmatter (level 3), read and edited without disturbing a byte that was not asked for.

A frontmatter is kept as the text it was. Reading gives a view of it in which the older snake_case keys are named in
camelCase; an edit replaces the one value by its position. All scalars are read as text: YAML would make a float of a
version and a boolean of `on`. What the fields must look like is said in `mif.schema.json`; `validate.py` checks it.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import yaml

from memory_server.errors import ContentError

Value: TypeAlias = "str | Sequence[Value] | Mapping[str, Value]"

MAX_FRONTMATTER_CHARS = 100_000  # a longer block is a file that only looks like a topic
FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
KEY_LINE = re.compile(r"[ \t]*(?:#|[\w\"'-]+[ \t]*:|-[ \t]|$)")
FREE_SUBTREES = frozenset({"extensions", "properties", "entity", "metadata"})  # their keys belong to others


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A file in two parts. `block + body` is the whole text, byte for byte."""

    block: str  # with both fences; empty where the file is plain Markdown
    body: str
    fields: Mapping[str, Value]  # camelCase view of the block
    lines: Mapping[str, int]  # dotted key -> line of the file, from 1

    @property
    def body_line(self) -> int:
        """The line of the file on which the body starts, counted from 1."""
        return 1 + len(re.findall(r"\r\n|\n|\r", self.block))

    def text(self, key: str) -> str:
        """A field at the top as text; empty where it is missing or not a scalar."""
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A field at the top as a list of texts; a scalar counts as a list of one."""
        value = self.fields.get(key, ())
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, Sequence) else ()

    def date(self, *keys: str) -> dt.date | None:
        """The first of these fields that holds a date or a timestamp, as a date."""
        return next((date for key in keys if (date := parse_date(self.text(key)))), None)


def parse_frontmatter(text: str) -> Frontmatter:
    """Splits a file into frontmatter and body. Raises ContentError with the line where the YAML is broken."""
    opening = FENCE.match(text.removeprefix("\ufeff"))
    if opening is None:
        return Frontmatter("", text, MappingProxyType({}), MappingProxyType({}))
    start = opening.end() + (len(text) - len(text.removeprefix("\ufeff")))
    closing = CLOSING.search(text, start)
    if closing is None:
        if not KEY_LINE.match(text, start) or not text[start:].strip():
            return Frontmatter("", text, MappingProxyType({}), MappingProxyType({}))
        raise ContentError("the frontmatter is never closed", line=1, remedy="End it with a line `---`")
    source = text[start : closing.start()]
    if len(source) > MAX_FRONTMATTER_CHARS:
        raise ContentError(f"the frontmatter has {len(source)} characters", line=1, remedy="Move text into the body")
    node = _compose(source)
    fields, lines = _view(node)
    return Frontmatter(text[: closing.end()], text[closing.end() :], MappingProxyType(fields), MappingProxyType(lines))


def set_field(text: str, key: str, value: str) -> str:
    """The file with one scalar field set and every other byte as it was.

    `key` is dotted camelCase (`modified`, `temporal.validUntil`). An older snake_case spelling is found and renamed; a
    missing key is added at the end of its block. Raises ContentError where the file has no frontmatter or a parent is
    not a mapping.
    """
    parsed = parse_frontmatter(text)
    if not parsed.block:
        raise ContentError("the file has no frontmatter", line=1, remedy="Add one that starts and ends with `---`")
    fence = FENCE.match(parsed.block.removeprefix("\ufeff"))
    assert fence is not None
    start = fence.end() + (len(parsed.block) - len(parsed.block.removeprefix("\ufeff")))
    closing = CLOSING.search(parsed.block, start)
    assert closing is not None
    source = parsed.block[start : closing.start()]
    changed = _set_in(source, _compose(source), key.split("."), value)
    return parsed.block[:start] + changed + parsed.block[closing.start() :] + parsed.body


def new_frontmatter(fields: Mapping[str, str | Sequence[str]]) -> str:
    """A frontmatter block with these fields, both fences included, ending in a line break."""
    lines = []
    for key, value in fields.items():
        if isinstance(value, str):
            lines.append(f"{key}: {scalar(value)}")
        else:
            lines.append(f"{key}: [{', '.join(scalar(item) for item in value)}]")
    return "\n".join(["---", *lines, "---", ""])


def scalar(value: str) -> str:
    """A text as a YAML scalar on one line: plain where that is safe, else in double quotes."""
    if re.fullmatch(r"[A-Za-z0-9/](?:[\w ./+-]|:(?=\S))*", value) and not value.endswith(" "):
        return value
    dumped: str = yaml.safe_dump(value, default_style='"', width=10**9, allow_unicode=True)
    return dumped.strip()


def parse_date(text: str) -> dt.date | None:
    """The day of an ISO 8601 date or timestamp; None where the text holds none."""
    try:
        return dt.date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None


def _compose(source: str) -> yaml.MappingNode | None:
    try:
        node = yaml.compose(source, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ContentError(
            f"the frontmatter is not valid YAML ({error.problem or 'syntax'})",
            line=2 + (mark.line if mark else 0),
            remedy="Mend the line, then `oneiros validate`",
        ) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ContentError(
            f"the frontmatter is not valid YAML ({error})", line=1, remedy="Mend it, then `oneiros validate`"
        ) from error
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise ContentError("the frontmatter is not a list of `key: value` lines", line=2, remedy="Write it as such")
    return node


def _view(node: yaml.MappingNode | None) -> tuple[dict[str, Value], dict[str, int]]:
    lines: dict[str, int] = {}
    if node is None:
        return {}, lines
    fields = _value(node, "", lines, above=())
    assert isinstance(fields, dict)
    return fields, lines


def _value(node: yaml.Node, path: str, lines: dict[str, int], above: tuple[int, ...]) -> Value:
    if id(node) in above:
        raise ContentError("an alias in the frontmatter contains itself", line=2, remedy="Write the value out")
    above = (*above, id(node))
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, f"{path}[{place}]", lines, above) for place, item in enumerate(node.value)]
    assert isinstance(node, yaml.MappingNode)
    free = path.rpartition(".")[2].partition("[")[0] in FREE_SUBTREES
    found: dict[str, Value] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value) if free else camel_case(str(key_node.value))
        if key in found:
            raise ContentError(
                f"the frontmatter names {key!r} twice", line=2 + key_node.start_mark.line, remedy="Keep one of them"
            )
        dotted = f"{path}.{key}" if path else key
        lines[dotted] = 2 + key_node.start_mark.line
        found[key] = _value(value_node, dotted, lines, above)
    return found


def camel_case(key: str) -> str:
    """`valid_from` -> `validFrom`; a key without underscores between letters is left alone."""
    return re.sub(r"(?<=[a-z0-9])_([a-z0-9])", lambda match: match[1].upper(), key)


def _set_in(source: str, node: yaml.MappingNode | None, keys: Sequence[str], value: str) -> str:
    pair = next(_pairs_named(node, keys[0]), None)
    if pair is None:
        return _add_to(source, node, keys, value)
    key_node, value_node = pair
    if len(keys) > 1:
        if not isinstance(value_node, yaml.MappingNode):
            raise ContentError(
                f"{keys[0]} holds no fields", line=2 + key_node.start_mark.line, remedy="Make it a mapping"
            )
        changed = _set_in(source, value_node, keys[1:], value)
        return _replace(changed, key_node, keys[0])
    start, end = value_node.start_mark.index, value_node.end_mark.index
    if isinstance(value_node, yaml.ScalarNode) and value_node.style in ("|", ">"):
        written = scalar(value) + source[start:end][len(source[start:end].rstrip("\r\n")) :]
    else:
        written = scalar(value) if start != end else f" {scalar(value)}"
    return _replace(source[:start] + written + source[end:], key_node, keys[0])


def _pairs_named(node: yaml.MappingNode | None, key: str) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for key_node, value_node in node.value if node else ():
        if camel_case(str(key_node.value)) == key:
            yield key_node, value_node


def _replace(source: str, key_node: yaml.Node, key: str) -> str:
    """The source with the key under its camelCase name; keys stand before their values, so positions still hold."""
    start, end = key_node.start_mark.index, key_node.end_mark.index
    written = source[start:end]
    return source[:start] + written.replace(written.strip("\"'"), key) + source[end:]


def _add_to(source: str, node: yaml.MappingNode | None, keys: Sequence[str], value: str) -> str:
    newline = "\r\n" if "\r\n" in source else "\n"
    if node is not None and node.flow_style:
        end = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return f"{source[:end].rstrip()}{comma}{keys[0]}: {_nested_flow(keys[1:], value)}{source[end:]}"
    indent = " " * (node.start_mark.column if node and node.value else 0)
    lines = [f"{indent}{'  ' * depth}{key}:" for depth, key in enumerate(keys)]
    lines[-1] += f" {scalar(value)}"
    addition = newline.join(lines) + newline
    at = node.value[-1][1].end_mark.index if node and node.value else len(source)
    at = _end_of_line(source, at)
    before = source[:at]
    if before and not before.endswith(("\n", "\r")):
        before += newline
    return before + addition + source[at:]


def _nested_flow(keys: Sequence[str], value: str) -> str:
    return scalar(value) if not keys else f"{{{keys[0]}: {_nested_flow(keys[1:], value)}}}"


def _end_of_line(source: str, at: int) -> int:
    if at and source[at - 1] in "\r\n":
        return at
    found = re.compile(r"\r\n|\n|\r").search(source, at)
    return found.end() if found else len(source)
