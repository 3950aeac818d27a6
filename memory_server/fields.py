"""The filters of a question: a row each, of which everything is made that knows them.

That is the columns of an index, the query syntax, the keys of REST, the options of commands, what the page offers and
the columns of a team. Another filter is a row here, an attribute of `SourceHead`, and the line that fills it.
Nothing here is heavy: the command line imports it.
"""

import dataclasses
import datetime as dt
import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from operator import attrgetter
from typing import Annotated, Any, get_type_hints
from unicodedata import normalize

from memory_server.document import TYPES, Layer, SourceHead
from memory_server.errors import UsageError
from memory_server.escaping import escape_line

MOST_NAMED = 8  # values that there are, beside one that there is not
NEAR = 0.75  # likeness of two spellings from which on they may be of one name
FILTER_LIKE = re.compile(r"(?<![\w:.@/-])([A-Za-z_]+):(?=[\w\"])")
TAKEN = "There is no project %s; taken as %s."


def fold(name: str) -> str:
    """A name as names are compared: in any case, its accents composed or not, as a Mac calls its files."""
    return normalize("NFC", name).casefold()


class FilterKind(Enum):
    """How a filter is read, and compared with a source."""

    LAYER = auto()
    TOPIC = auto()  # the name of a topic, compared with its path
    SPACE = auto()  # words joined by /, with whatever lies below them
    NAME = auto()  # in any case
    NAMES = auto()  # any of several names that a source has
    AFTER = auto()  # a day, or later
    BEFORE = auto()  # earlier than a day
    AS_OF = auto()  # compared by `search/as_of.py`


Names = tuple[str, ...]
Day = dt.date | None
DAYS = frozenset({FilterKind.AFTER, FilterKind.BEFORE, FilterKind.AS_OF})
STORED = {FilterKind.SPACE, FilterKind.NAME, FilterKind.NAMES}  # those that have a column of their own


@dataclass(frozen=True, slots=True)
class Field:
    """A row of the table: one filter."""

    name: str  # in the query syntax and among the options of a command
    kind: FilterKind = FilterKind.NAME
    column: str = ""  # the attribute of `SourceHead`, and the column of an index; the name where none is given
    key: str = ""  # of REST; the name where none is given
    help: str = dataclasses.field(kw_only=True)
    example: str = "NAME"
    is_choice: bool = False  # few enough values to be offered on the page
    plural: str = ""  # the attribute of `Filter` with what is wanted

    @property
    def is_day(self) -> bool:
        """Whether it is one day, of which the last one named counts; else it is several alternatives."""
        return self.kind in DAYS

    def read(self, value: str) -> object:
        """A value as it was typed. Raises UsageError where it cannot be one."""
        match self.kind:
            case FilterKind.LAYER:
                return read_layer(value)
            case FilterKind.AS_OF:
                return last_day(value)
            case FilterKind.AFTER | FilterKind.BEFORE:
                return parse_day(value)
        return fold(value)

    def test(self, wanted: Any) -> Callable[[Any], bool]:
        """What tells whether a source is wanted, by what it has in the column."""
        match self.kind:
            case FilterKind.LAYER:
                return frozenset(wanted).__contains__
            case FilterKind.TOPIC:
                files = {f"{topic_file(name)}.md" for name in wanted}
                return lambda path: fold(path) in files
            case FilterKind.SPACE:
                above = tuple(f"{fold(name).strip('/')}/" for name in wanted)
                return lambda space: f"{fold(space)}/".startswith(above)
            case FilterKind.AFTER:
                return lambda day: day is not None and day >= wanted
            case FilterKind.BEFORE:
                return lambda day: day is not None and day < wanted
            case FilterKind.AS_OF:
                return lambda _: True
        names = {fold(name) for name in wanted}
        if self.kind is FilterKind.NAMES:
            return lambda held: not names.isdisjoint(held)
        return lambda name: fold(name) in names

    def collect_values(self, sources: Iterable[SourceHead]) -> set[str]:
        """What sources have of it: of topics their paths."""
        if self.kind is FilterKind.TOPIC:
            return {source.path for source in sources if source.layer is Layer.TOPIC}
        return {value for source in sources for value in self.read_values(source)}

    def read_values(self, source: SourceHead) -> Sequence[str]:
        """What one source has of it; nothing where that is empty."""
        held = getattr(source, self.column)
        return held if isinstance(held, tuple) else (held,) if held else ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sources may answer. Empty fields allow everything; values of one field are alternatives."""

    layers: Annotated[
        tuple[Layer, ...],
        Field(
            "layer", FilterKind.LAYER, help=f"only these layers: {', '.join(Layer)}", example="topic", is_choice=True
        ),
    ] = ()
    topics: Annotated[
        Names, Field("topic", FilterKind.TOPIC, "path", help="only these topics, by the names of their files")
    ] = ()
    projects: Annotated[Names, Field("project", help="only of these projects", is_choice=True)] = ()
    machines: Annotated[Names, Field("machine", help="only of sessions on these machines of your settings")] = ()
    namespaces: Annotated[
        Names, Field("namespace", FilterKind.SPACE, help="only of these namespaces, and of those below them")
    ] = ()
    agents: Annotated[Names, Field("agent", help="only of sessions with these agents: claude, codex, ...")] = ()
    branches: Annotated[Names, Field("branch", help="only of sessions on these branches of git")] = ()
    kinds: Annotated[
        Names,
        Field(
            "type",
            column="kind",
            key="kind",
            help="only these types of frontmatter, such as semantic",
            example="semantic",
            is_choice=True,
        ),
    ] = ()
    tags: Annotated[
        Names, Field("tag", FilterKind.NAMES, "tags", help="only of what has one of these tags", is_choice=True)
    ] = ()
    entities: Annotated[
        Names,
        Field("entity", FilterKind.NAMES, "entities", help="only of what names these things in `entity` or `entities`"),
    ] = ()
    after: Annotated[
        Day,
        Field(
            "after", FilterKind.AFTER, "date", help="only of this day, month or year and later", example="2026-01-31"
        ),
    ] = None
    before: Annotated[
        Day, Field("before", FilterKind.BEFORE, "date", help="only of what is earlier than this", example="2026-03")
    ] = None
    as_of: Annotated[
        Day,
        Field(
            "as_of",
            FilterKind.AS_OF,
            "date",
            help="as things were then: topics as git had them, sessions up to that day",
            example="2026-03",
        ),
    ] = None

    @property
    def is_empty(self) -> bool:
        """Whether every source may answer."""
        return self == NO_FILTER

    def list_wanted(self) -> list[tuple[Field, Any]]:
        """The fields that ask for something, each with what is wanted."""
        return [(field, wanted) for field in FIELDS if (wanted := getattr(self, field.plural))]

    def with_value(self, name: str, value: str) -> "Filter":
        """The same with one value more, as it was typed. Raises UsageError where it cannot be one."""
        field = BY_NAME[name]
        parsed = field.read(value)
        more = parsed if field.is_day else (*getattr(self, field.plural), parsed)
        return dataclasses.replace(self, **{field.plural: more})  # type: ignore[arg-type]  # a field's reader gives its type

    def find_allowed(self, sources: Mapping[int, SourceHead]) -> set[int]:
        """The numbers of the sources that may answer."""
        allowed = set(sources)
        for field, wanted in self.list_wanted():
            read, is_wanted = attrgetter(field.column), field.test(wanted)
            allowed = {number for number in allowed if is_wanted(read(sources[number]))}
        return allowed


FIELDS = tuple(
    dataclasses.replace(row, column=row.column or row.name, key=row.key or row.name, plural=plural)
    for plural, hint in get_type_hints(Filter, include_extras=True).items()
    for row in hint.__metadata__
)
BY_NAME = {field.name: field for field in FIELDS}
NO_FILTER_OF_NAME = f"There is no filter %s:; there are {', '.join(BY_NAME)}."
COLUMNS = tuple(field for field in FIELDS if field.kind in STORED)
NO_FILTER = Filter()


def read_layer(name: str) -> Layer:
    """A layer by its name, or the plural of it. Raises UsageError where there is none."""
    try:
        return Layer(name.casefold().removesuffix("s"))
    except ValueError:
        raise UsageError(f"there is no layer {name!r}", remedy=f"Known ones: {', '.join(Layer)}") from None


def parse_day(text: str) -> dt.date:
    """`2026`, `2026-03` or `2026-03-07` as the first day meant. Raises UsageError where it is none of these."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", text.strip())
    try:
        if match:
            return dt.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no date", remedy="Write it as 2026-03-07, 2026-03 or 2026")


def last_day(text: str) -> dt.date:
    """The last day of what `parse_day` reads: of a year, of a month, or the day itself."""
    first = parse_day(text)
    match text.strip().count("-"):
        case 0:
            return first.replace(month=12, day=31)
        case 1:
            return (first.replace(day=1) + dt.timedelta(days=32)).replace(day=1) - dt.timedelta(days=1)
    return first


def topic_file(name: str) -> str:
    """The path of a topic by its name as people write it, folded, without its ending."""
    name = fold(name).removesuffix(".md")
    return name if name in ("memory", "lessons") or name.startswith("topics/") else f"topics/{name}"


# -- values that no source has ---------------------------------------------------------------------------------------


def unknown_values(sources: Collection[SourceHead], wanted: Filter) -> Iterator[str]:
    """A sentence for every value of a filter that no source has: which ones there are, the most alike first."""
    for field, values in wanted.list_wanted():
        if field.kind is not FilterKind.LAYER and not field.is_day:
            known = set(map(_plain_value, field.collect_values(sources))).union(TYPES if field.name == "type" else ())
            folded = {fold(name) for name in known}
            yield from (
                _tell_unknown(field.name, value, known) for value in values if fold(_plain_value(value)) not in folded
            )


def find_filter_like(typed: str) -> list[str]:
    """The words before a colon that are no filter and nearly called as one, folded, each once."""
    words = dict.fromkeys(map(fold, FILTER_LIKE.findall(typed)))
    return [word for word in words if word not in BY_NAME and difflib.get_close_matches(word, BY_NAME)]


def with_nearest_projects(projects: Iterable[str], wanted: Filter) -> tuple[Filter, str]:
    """A filter in which a project that is none of these is the one that is near it, where only one is; and which."""
    known = {fold(name): name for name in projects if name}
    nearest = {value: _only_near(value, list(known)) for value in wanted.projects if value not in known}
    taken = {value: near for value, near in nearest.items() if near}
    meant = tuple(taken.get(value, value) for value in wanted.projects)
    note = " ".join(TAKEN % (escape_line(value), escape_line(known[near])) for value, near in taken.items())
    return replace(wanted, projects=meant), note


def _only_near(value: str, known: Sequence[str]) -> str:
    """The one name that holds a value, or that it holds, else the one that is spelt nearly so; empty for several."""
    holding = [name for name in known if value in name or name in value]
    near = holding or difflib.get_close_matches(value, known, n=2, cutoff=NEAR)
    return near[0] if len(near) == 1 else ""


def _plain_value(name: str) -> str:
    """A value as a person writes it: of a topic's path its name."""
    return name.removeprefix("topics/").removesuffix(".md")


def _tell_unknown(field: str, value: str, known: set[str]) -> str:
    if not known:
        return f"No source has a {field}."
    named = _most_alike(value, sorted(known))
    more = f" and {len(known) - len(named)} more" if len(known) > len(named) else ""
    return f"There is no {field} {escape_line(value)}; there are {', '.join(map(escape_line, named))}{more}."


def _most_alike(value: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(value, known, n=MOST_NAMED, cutoff=0.0)
