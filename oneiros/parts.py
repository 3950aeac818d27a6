"""The seam: what a capability brings that may be left out, and which of them there are.

A part is a folder, or another package, with one function that says what it brings: as data, and as functions that
import what they need when they are called. Nothing is registered by an import. Core imports no part;
`load_shipped_parts` alone asks for the table of those that come with the program, and gives none where it is not there.
What an Environment is, and what `served.py` describes, stands above this module: both are `Any` here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from memory_server.errors import NeedsRepair

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    import typer
    from fastapi import APIRouter, FastAPI

    from crawler.model.client import ModelClient
    from crawler.sources.agent import AgentSource
    from memory_server.embedding.catalogue import Catalogue
    from memory_server.further import FurtherModels
    from memory_server.memory import Memory
    from memory_server.root.paths import MemoryRoot
    from memory_server.settings import PersonSettings
    from oneiros.checks import Check

ENTRY_POINTS = "oneiros.parts"  # the group under which other packages name the function of theirs
DoctorCheck: TypeAlias = "Callable[[Any, MemoryRoot], Iterable[Check]]"  # the first is an Environment


class PartCommand(NamedTuple):
    """A command of `oneiros` that a part brings. `sentence` is the first of its help."""

    name: str
    sentence: str
    after: str  # the command behind which the help lists it, or the heading below which
    add: "Callable[[typer.Typer], None]"


class View(NamedTuple):
    """A view of the page, at the address of its name."""

    name: str
    after: str  # the view behind which it is listed
    templates: "Path"
    routes: "Callable[[Any, Any], APIRouter]"  # of a ServedMemory and the page's renderer


class McpClient(NamedTuple):
    """A client beside Claude Code: which file names its servers, how, and which file instructs it, if one does.

    `insertion` takes the file's text, `table`, `entry` and the file, and returns where the entry goes in, and what;
    nothing where it stands there. `without` takes text and `table`, and returns the text without the entry.
    """

    settings: "Path"
    table: str  # the key under which servers stand
    entry: Mapping[str, object]
    insertion: "Callable[[str, str, Mapping[str, object], Path], tuple[int, str]]"
    without: Callable[[str, str], str]
    instructions: "Path | None" = None


class Site(Protocol):
    """What a browser is served beside the API."""

    pulse: str  # addresses that begin so are asked for by a page that lies open, and are no use of the memory

    def is_open_to_all(self, method: str, path: str) -> bool:
        """Whether a request tells nothing of a memory, and needs no token."""

    def add_routes(self, api: "FastAPI", served: Any) -> None:
        """Adds all of its routes. `served` is a ServedMemory."""


class Part(NamedTuple):
    """What one capability brings."""

    name: str
    commands: tuple[PartCommand, ...] = ()
    subcommands: "tuple[tuple[str, Callable[[typer.Typer], None]], ...]" = ()  # below a command; of shipped parts alone
    views: tuple[View, ...] = ()
    site: Callable[[tuple[View, ...]], Site] | None = None  # what serves the views of all parts, and its own
    routes: "Callable[[FastAPI, Any], None] | None" = None  # beside those of the API; the second is a ServedMemory
    sources: "Callable[[], tuple[AgentSource, ...]] | None" = None  # readers of other agents' conversations
    readers: "Mapping[str, Callable[[Any], ModelClient]]" = MappingProxyType({})  # by `reader`, of an Environment
    clients: "Callable[[Path, Mapping[str, str]], Mapping[str, McpClient]] | None" = None  # by home and variables
    machines: Callable[[], Any] | None = None  # what reaches other machines: an OtherMachines of served.py
    door: "Callable[[Any, Memory], Any] | None" = None  # of an Environment: the daemon's BesideDoor
    beside: Callable[[Any], Any] | None = None  # an Environment to a BesideMemory, None where none stands there
    on_founding: Callable[[Any, bool], None] | None = None  # behind `init`: the Environment, and whether it is new
    checks: tuple[tuple[str, DoctorCheck], ...] = ()  # by their names
    further: "Callable[[PersonSettings, Catalogue, Path], FurtherModels] | None" = None  # models beside the dense one


def load_shipped_parts() -> tuple[Part, ...]:
    """The parts that come with the program."""
    try:
        from parts.table import PARTS
    except ModuleNotFoundError as error:
        if error.name != "parts":
            raise
        return ()
    return tuple(part() for part in PARTS)


def load_installed_parts() -> tuple[Part, ...]:
    """The same, and those that other packages name as entry points."""
    from importlib.metadata import entry_points  # as long as all the rest of a short command

    return (*load_shipped_parts(), *map(_load_part, entry_points(group=ENTRY_POINTS)))


def _load_part(point: "EntryPoint") -> Part:
    try:
        part: Part = point.load()()
    except (ImportError, AttributeError, TypeError) as error:
        what = f"the part {point.name!r} cannot be loaded ({error})"
        raise NeedsRepair(what, remedy=f"Update or remove the package that brings {point.value}") from error
    return part


def find_index(names: Sequence[str], after: str) -> int:
    """Where to insert what is listed behind a name; the end where that is not there."""
    return names.index(after) + 1 if after in names else len(names)
