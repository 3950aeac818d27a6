"""MIF frontmatter (level 3), read and edited without disturbing a byte that was not asked for.

A frontmatter is kept as the text it was. Reading gives a view of it in which the older snake_case keys are named in
camelCase; an edit replaces the one value by its position. All scalars are read as text: YAML would make a float of a
version and a boolean of `on`. What the fields must look like is said in `mif.schema.json`; `validate.py` checks it.

A frontmatter that is not valid YAML is read key by key, as far as that goes, and says what is wrong with it; whoever
would write one asks for a valid one.
"""

import calendar
import datetime as dt
import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent
from types import MappingProxyType
from typing import TypeAlias

import yaml

from memory_server.document import ALWAYS, Interval
from memory_server.errors import ContentError
from memory_server.machine.clock import local_day

Value: TypeAlias = "str | Sequence[Value] | Mapping[str, Value]"

MAX_FRONTMATTER_CHARS = 100_000  # a longer block is a file that only looks like a topic
MAX_VALUES = 20_000  # of one block: aliases of aliases can spell out billions in a few lines
MAX_DEPTH = 50
LINE_BREAK = re.compile(r"\r\n|\n|\r")
FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
TOML = re.compile(
    r"\ufeff?\+\+\+[ \t]*(?:\r\n|\n)(?P<text>(?:.*\n)*?)\+\+\+[ \t]*(?:\r?\n|\Z)"
)  # a head of other programs
CLOSING = re.compile(r"(?:(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
ROW = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
ENTRY = re.compile(r"([ \t]*)[\w\"'][^:\r\n]*:(?:[ \t]+([^\r\n]*))?(?=[\r\n]|\Z)")
NO_ENTRY = re.compile(  # a blank line, a heading, or a line that is not set in and neither item nor key
    r"""(?:(?<=\n)|(?<=\r))(?=[ \t]*[\r\n]|#{1,6}[ \t]|(?![ \t#]|- |[\w"'][^:\r\n]*:(?:[ \t\r\n]|\Z))\S)"""
)
KEY_LINE = re.compile(r"(?:\A|(?<=[\r\n]))[ \t]*[\w\"'@?{][^:\r\n]*:(?=\s|\Z)")
MIDNIGHT = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)")
DURATION = re.compile(r"P(?=[0-9T])(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T[\dHMS.]+)?")
WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})  # not text to other readers
FREE_SUBTREES = frozenset({"extensions", "properties", "entity", "metadata"})  # their keys belong to others
FRONTMATTER = "the frontmatter"


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A file in two parts. `block + body` is the whole text, byte for byte."""

    block: str  # with both fences; empty where the file is plain Markdown
    body: str
    fields: Mapping[str, Value]  # camelCase view of the block
    lines: Mapping[str, int]  # dotted key -> line of the file, from 1
    fault: ContentError | None = None  # why it is not valid, where its fields were read key by key

    @property
    def body_line(self) -> int:
        """The line of the file on which the body starts, counted from 1."""
        return 1 + len(LINE_BREAK.findall(self.block))

    def text(self, key: str) -> str:
        """A field (`title`, `temporal.validFrom`) as text; empty where it is missing or not a scalar."""
        value: Value = self.fields
        for part in key.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return value if isinstance(value, str) else ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A field at the top as a list of texts; a scalar counts as a list of one."""
        value = self.fields.get(key, ())
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, Sequence) else ()

    def date(self, *keys: str) -> dt.date | None:
        """The first of these fields (`created`, `temporal.validFrom`) that holds a date or a timestamp, as a date."""
        return next((date for key in keys if (date := parse_date(self.text(key)))), None)

    def interval(self) -> Interval:
        """The days on which this holds: from validFrom to validUntil, or to the end of ttl, whichever is earlier.

        A ttl runs from `modified`, else `recordedAt`, else `created`. What cannot be read does not count, nor an end
        before its beginning; `validate` names both.
        """
        first, until = self.date("temporal.validFrom", "validFrom"), self.date("temporal.validUntil", "validUntil")
        begun = self.date("modified", "temporal.recordedAt", "created")
        lived = add_duration(begun, self.text("temporal.ttl") or self.text("ttl")) if begun else None
        last = min((day for day in (until, lived) if day), default=None)
        return ALWAYS if first and last and last < first else Interval(first, last)


def parse_frontmatter(text: str) -> Frontmatter:
    """Splits a file into frontmatter and body. One that is broken is read as far as it goes, with its fault."""
    try:
        return valid_frontmatter(text)
    except ContentError as error:
        if toml := TOML.match(text):
            return Frontmatter(toml[0], text[toml.end() :], MappingProxyType({}), MappingProxyType({}), error)
        block = _cut_block(text)
        view = _View()
        fields = _read_by_key(block, view) if len(block) <= MAX_FRONTMATTER_CHARS else {}
        return Frontmatter(block, text[len(block) :], MappingProxyType(fields), MappingProxyType(view.lines), error)


def valid_frontmatter(text: str) -> Frontmatter:
    """The same of a file whose frontmatter is valid. Raises ContentError with the line where it is broken."""
    if toml := TOML.match(text):
        return _toml_head(toml)
    opening = FENCE.match(text.removeprefix("\ufeff"))
    if opening is None:
        return _plain(text)
    start = opening.end() + (len(text) - len(text.removeprefix("\ufeff")))
    closing = CLOSING.search(text, start)
    source = text[start : closing.start()] if closing else text[start:]
    has_key = KEY_LINE.search(source) if closing else KEY_LINE.match(source)
    if not has_key and (source.strip() or closing is None):
        return _plain(text)  # a heading below a rule would be lost as a comment of YAML
    if closing is None:
        raise ContentError("the frontmatter is never closed", line=1, remedy="End it with a line `---`")
    if len(source) > MAX_FRONTMATTER_CHARS:
        raise ContentError(f"the frontmatter has {len(source)} characters", line=1, remedy="Move text into the body")
    node = _compose(source)
    fields, lines = _view(node, _View(source))
    return Frontmatter(text[: closing.end()], text[closing.end() :], MappingProxyType(fields), MappingProxyType(lines))


def _cut_block(text: str) -> str:
    """The frontmatter of a file in which it is broken; of one that is never closed the lines up to the text."""
    opening = FENCE.match(text.removeprefix("\ufeff"))
    assert opening is not None
    start = opening.end() + (len(text) - len(text.removeprefix("\ufeff")))
    if closing := CLOSING.search(text, start):
        return text[: closing.end()]
    end = NO_ENTRY.search(text, start)
    return text[: end.start()] if end else text


def _read_by_key(block: str, view: "_View", above: str = "", begins: int = 1) -> dict[str, Value]:
    """What each key of a broken block says by itself: as YAML, with blanks for tabs, else what each key below it says
    or the text behind it.

    Of a key that stands there twice the last counts, as in most readers of YAML. `above` is the key at the top below
    which the block stands. What lies beyond the values that the view takes is not read.
    """
    fields: dict[str, Value] = {}
    for first, entry in _split_entries(block, begins):
        view.begin(entry, first)
        try:
            fields |= _view(_compose(entry, FRONTMATTER, first), view, above)[0]
        except ContentError:
            key, _, value = entry.partition(":")
            name, [beside, *rows] = camel_case(key.strip("\"'")), ROW.findall(value) or [""]
            view.lines[f"{above}.{name}" if above else name] = first
            below = "" if above or beside.strip() else dedent("".join(rows))
            is_block = ENTRY.match(below)
            read = _read_by_key(below, view, name, first + 1) if is_block else " ".join(value.split()).strip("\"'")
            fields[name] = read
        if view.values > MAX_VALUES:
            break
    return fields


def _split_entries(block: str, begins: int) -> Iterator[tuple[int, str]]:
    """The keys of a broken block, each with its line of the file and all that stands below it."""
    entry, first, has_value = "", 0, True
    for number, row in enumerate(ROW.findall(block), start=begins):
        row, key = row.replace("\t", "  "), ENTRY.match(row)
        if key and (has_value or not key[1]):  # one set in below a value is meant to stand beside it
            if entry:
                yield first, entry
            entry, first, has_value = row.lstrip(" "), number, (key[2] or "|")[0] not in "|>[{&"
        elif entry and row.rstrip() not in ("---", "..."):
            entry += row
    if entry:
        yield first, entry


def parse_yaml(text: str, named: str) -> Frontmatter:
    """A whole file of YAML, all of it block, its keys as they are written. Raises ContentError as the above does."""
    if len(text) > MAX_FRONTMATTER_CHARS:
        raise ContentError(f"{named} has {len(text)} characters", line=1, remedy="Shorten it")
    fields, lines = _view(_compose(text, named, 1), _View(text, named, 1, keeps_keys=True))
    return Frontmatter(text, "", MappingProxyType(fields), MappingProxyType(lines))


def _toml_head(head: re.Match[str]) -> Frontmatter:
    """A head in TOML, its values as texts. Raises ContentError where it is not valid."""
    try:
        table = tomllib.loads(head["text"].replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise ContentError(
            f"{FRONTMATTER} is not valid TOML ({error})", line=1, remedy="Mend it, then `oneiros validate`"
        ) from error
    keys = [(row.partition("=")[0].strip(" \t\"'"), line) for line, row in enumerate(head[0].split("\n"), start=1)]
    lines = {camel_case(key): line for key, line in reversed(keys)}
    fields = {camel_case(key): _as_texts(value) for key, value in table.items()}
    return Frontmatter(head[0], head.string[head.end() :], MappingProxyType(fields), MappingProxyType(lines))


def _as_texts(value: object) -> Value:
    """A value of TOML as YAML's are kept."""
    if isinstance(value, dict):
        return {camel_case(str(key)): _as_texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_texts(one) for one in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


def _plain(text: str) -> Frontmatter:
    return Frontmatter("", text.removeprefix("\ufeff"), MappingProxyType({}), MappingProxyType({}))


def set_field(text: str, key: str, value: str) -> str:
    """The file with one scalar field set and every other byte as it was.

    `key` is dotted camelCase (`modified`, `temporal.validUntil`). An older snake_case spelling is found and renamed; a
    missing key is added at the end of its block. Raises ContentError where the file has no valid frontmatter, or a
    parent is not a mapping.
    """
    parsed = valid_frontmatter(text)
    if TOML.match(parsed.block):
        return _set_in_toml(parsed, key, value)
    if not parsed.block:
        raise ContentError("the file has no frontmatter", line=1, remedy="Add one that starts and ends with `---`")
    fence = FENCE.match(parsed.block.removeprefix("\ufeff"))
    assert fence is not None
    start = fence.end() + (len(parsed.block) - len(parsed.block.removeprefix("\ufeff")))
    closing = CLOSING.search(parsed.block, start)
    assert closing is not None
    source = parsed.block[start : closing.start()]
    keys = key.split(".")
    changed = parsed.block[:start] + _set_value(source, _compose(source), keys, value) + parsed.block[closing.start() :]
    if not _is_same_but(parsed.fields, valid_frontmatter(changed).fields, keys, value):
        raise ContentError(
            f"{key} cannot be set without touching another field", line=1, remedy="Write the aliases of its block out"
        )
    return changed + parsed.body


def _set_in_toml(parsed: Frontmatter, key: str, value: str) -> str:
    """The same of a head in TOML, for a key that it has at the top."""
    row = re.compile(rf"^({re.escape(key)}[ \t]*=[ \t]*)[^\r\n]*", re.MULTILINE)
    block = row.sub(lambda found: found[1] + json.dumps(value, ensure_ascii=False), parsed.block, count=1)
    if valid_frontmatter(block).fields != {**parsed.fields, key: value}:
        raise ContentError(f"{key} cannot be set in a head of TOML", line=1, remedy="Write the head as YAML")
    return block + parsed.body


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
    is_plain = re.fullmatch(r"[A-Za-z0-9/](?:[\w ./+-]|:(?=\S))*", value) and not value.endswith(" ")
    if is_plain and value.casefold() not in WORDS_OF_YAML:
        return value
    dumped: str = yaml.safe_dump(value, default_style='"', width=10**9, allow_unicode=True)
    return dumped.strip()


def parse_date(text: str) -> dt.date | None:
    """The day of an ISO 8601 date, and the local one of a timestamp; None where the text holds none.

    Midnight in UTC is how a day is written where only timestamps may stand: it is that day everywhere.
    """
    text = text.strip()
    try:
        day, behind = dt.date.fromisoformat(text[:10]), text[10:]
    except ValueError:
        return None
    if not behind or MIDNIGHT.fullmatch(behind):
        return day
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return day
    return local_day(moment) if moment.tzinfo else day


def add_duration(day: dt.date, duration: str) -> dt.date | None:
    """The day after an ISO 8601 duration such as P90D or P1Y6M; None where it is none. Hours do not reach a day."""
    match = DURATION.fullmatch(duration.strip())
    if match is None:
        return None
    try:
        years, months, weeks, days = (int(part or 0) for part in match.groups())
        months += 12 * years + day.month - 1
        year, month = day.year + months // 12, months % 12 + 1
        last = calendar.monthrange(year, month)[1]
        return day.replace(year=year, month=month, day=min(day.day, last)) + dt.timedelta(days=7 * weeks + days)
    except (ValueError, OverflowError):  # beyond the calendar: for ever
        return None


@lru_cache(maxsize=512)  # each change of a file that is shown looks at its block again; nodes are only read
def _compose(source: str, named: str = FRONTMATTER, first: int = 2) -> yaml.MappingNode | None:
    """The nodes of a block that begins on the line `first` of its file."""

    def make_error(reason: str, index: int) -> ContentError:
        what, line = f"{named} is not valid YAML ({reason})", _find_line(source, index, first)
        return ContentError(what, line=line, remedy="Mend the line, then `oneiros validate`")

    try:
        node = yaml.compose(source, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise make_error(error.problem or "syntax", mark.index if mark else 0) from error
    except yaml.reader.ReaderError as error:
        raise make_error(f"it holds the character {error.character!r}", error.position) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise make_error(type(error).__name__, 0) from error
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise ContentError(f"{named} is not a list of `key: value` lines", line=first, remedy="Write it as such")
    return node


def _find_line(source: str, index: int, first: int = 2) -> int:
    """The line of the file at a place of the YAML; YAML's own count takes U+2028 and U+0085 for ends of lines."""
    return first + len(LINE_BREAK.findall(source[:index]))


def _view(node: yaml.MappingNode | None, view: "_View", above: str = "") -> tuple[dict[str, Value], dict[str, int]]:
    fields = view.value(node, above, ()) if node is not None else {}
    assert isinstance(fields, dict)
    return fields, view.lines


class _View:
    """Builds the fields of a block from its nodes, and notes on which line each stands."""

    def __init__(self, source: str = "", named: str = FRONTMATTER, first: int = 2, *, keeps_keys: bool = False):
        self.lines: dict[str, int] = {}
        self.values = 0
        self._named = named
        self._keeps_keys = keeps_keys
        self.begin(source, first)

    def begin(self, source: str, first: int) -> None:
        """Goes on with a part that begins on the line `first` of the file."""
        self._first = first
        self._starts = [match.end() for match in LINE_BREAK.finditer(source)]

    def _line(self, mark: yaml.Mark) -> int:
        return self._first + bisect_right(self._starts, mark.index)

    def value(self, node: yaml.Node, path: str, above: tuple[int, ...]) -> Value:
        """What a node holds; `above` are the nodes around it, by which an alias of itself is known."""
        line = self._line(node.start_mark)
        self.values += 1
        if id(node) in above:
            what = f"an alias in {self._named} contains itself"
            raise ContentError(what, line=line, remedy="Write the value out")
        if self.values > MAX_VALUES or len(above) > MAX_DEPTH:
            raise ContentError(f"{self._named} holds too much", line=line, remedy="Shorten it")
        above = (*above, id(node))
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, f"{path}[{place}]", above) for place, item in enumerate(node.value)]
        assert isinstance(node, yaml.MappingNode)
        return self._mapping(node, path, above)

    def _item(self, node: yaml.Node, path: str, above: tuple[int, ...]) -> Value:
        self.lines[path] = self._line(node.start_mark)
        return self.value(node, path, above)

    def _mapping(self, node: yaml.MappingNode, path: str, above: tuple[int, ...]) -> Mapping[str, Value]:
        parts = (part.partition("[")[0] for part in path.split("."))
        free = self._keeps_keys or not FREE_SUBTREES.isdisjoint(parts)
        found: dict[str, Value] = {}
        for key_node, value_node in node.value:
            line = self._line(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise ContentError(f"a key of {self._named} is no word", line=line, remedy="Write it as `key: value`")
            key = str(key_node.value) if free else camel_case(str(key_node.value))
            if key in found:
                raise ContentError(f"{self._named} names {key!r} twice", line=line, remedy="Keep one of them")
            dotted = f"{path}.{key}" if path else key
            self.lines[dotted] = line
            found[key] = self.value(value_node, dotted, above)
        return found


def camel_case(key: str) -> str:
    """`valid_from` -> `validFrom`; a key without underscores between letters is left alone."""
    return re.sub(r"(?<=[a-z0-9])_([a-z0-9])", lambda match: match[1].upper(), key)


def _set_value(source: str, node: yaml.MappingNode | None, keys: Sequence[str], value: str) -> str:
    pair = next(_find_pairs(node, keys[0]), None)
    if pair is None:
        return _add_value(source, node, keys, value)
    key_node, value_node = pair
    if len(keys) > 1:
        if not isinstance(value_node, yaml.MappingNode):
            raise ContentError(
                f"{keys[0]} holds no fields",
                line=_find_line(source, key_node.start_mark.index),
                remedy="Make it a mapping",
            )
        changed = _set_value(source, value_node, keys[1:], value)
        return _replace(changed, key_node, keys[0])
    start, end = value_node.start_mark.index, value_node.end_mark.index
    if isinstance(value_node, yaml.ScalarNode) and value_node.style in ("|", ">"):
        written = scalar(value) + source[start:end][len(source[start:end].rstrip("\r\n")) :]
    else:
        written = scalar(value) if start != end else f" {scalar(value)}"
    return _replace(source[:start] + written + source[end:], key_node, keys[0])


def _is_same_but(old: Value, new: Value, keys: Sequence[str], value: str) -> bool:
    """Whether two views differ in nothing but that the second has `value` at the place that `keys` name."""
    if not keys:
        return new == value
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return False
    others = (old.keys() | new.keys()) - {keys[0]}
    return all(old.get(key) == new.get(key) for key in others) and _is_same_but(
        old.get(keys[0], {}), new.get(keys[0], ""), keys[1:], value
    )


def _find_pairs(node: yaml.MappingNode | None, key: str) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for key_node, value_node in node.value if node else ():
        if camel_case(str(key_node.value)) == key:
            yield key_node, value_node


def _replace(source: str, key_node: yaml.Node, key: str) -> str:
    """The source with the key under its camelCase name; keys stand before their values, so positions still hold."""
    start, end = key_node.start_mark.index, key_node.end_mark.index
    written = source[start:end]
    return source[:start] + written.replace(written.strip("\"'"), key) + source[end:]


def _add_value(source: str, node: yaml.MappingNode | None, keys: Sequence[str], value: str) -> str:
    newline = "\r\n" if "\r\n" in source else "\n"
    if node is not None and node.flow_style:
        end = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return f"{source[:end].rstrip()}{comma}{keys[0]}: {_nest_flow(keys[1:], value)}{source[end:]}"
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


def _nest_flow(keys: Sequence[str], value: str) -> str:
    return scalar(value) if not keys else f"{{{keys[0]}: {_nest_flow(keys[1:], value)}}}"


def _end_of_line(source: str, at: int) -> int:
    if at and source[at - 1] in "\r\n":
        return at
    found = LINE_BREAK.search(source, at)
    return found.end() if found else len(source)
