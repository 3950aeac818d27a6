"""`ontology.yaml`: which namespaces and types of entities a memory has, and which of its topics bear on which paths.

The keys are those of MIF's ontology files; what they must hold is said in `ontology.schema.json`, and
`docs/ontology.md` shows one. A glob without a slash fits a name at any depth, another one the path from the top of the
work tree; `**` stands for any folders. The file names topics and opens nothing, so that nothing in it leads anywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_server.errors import ContentError
from memory_server.layers.mif import parse_yaml
from memory_server.layers.schema import FrontmatterSchema
from memory_server.layers.topics import TopicHead, read_text
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot

SCHEMA_FILE = Path(__file__).with_name("ontology.schema.json")
MIF_TYPES = frozenset({"person", "organization", "technology", "concept", "file"})  # of entities, known to any memory


@dataclass(frozen=True, slots=True)
class Area:
    """A part of a project, and the topics that bear on it."""

    line: int  # of the file, from 1
    name: str
    paths: tuple[str, ...]  # globs
    namespaces: tuple[str, ...]  # with those below them
    topics: tuple[str, ...]  # by name

    def includes(self, head: TopicHead) -> bool:
        """Whether a topic bears on it."""
        space = f"{head.namespace.casefold()}/"
        return head.name in self.topics or any(space.startswith(f"{one.casefold()}/") for one in self.namespaces)


@dataclass(frozen=True, slots=True)
class UsualArea(Area):
    """An area that most projects have, and the topics that are called by it or lie in a folder of that name."""

    def includes(self, head: TopicHead) -> bool:
        return not {*head.name.casefold().split("/"), *head.namespace.casefold().split("/")}.isdisjoint(self.topics)


def _usual(name: str, paths: str, called: str) -> UsualArea:
    return UsualArea(0, name, tuple(paths.split()), (), tuple(called.split()))


USUAL_AREAS = (  # where the person names none
    _usual("auth", "**/auth/** *auth* *login*", "auth authentication login"),
    _usual("api", "**/api/** **/routes/** *openapi*", "api apis rest"),
    _usual("db", "**/db/** **/database/** **/migrations/** *.sql", "db database databases"),
    _usual("tests", "**/test/** **/tests/** test_* *_test.* *.test.* *.spec.*", "test tests testing"),
)


@dataclass(frozen=True, slots=True)
class Ontology:
    """What the file says."""

    namespaces: frozenset[str]  # by their whole names
    types: Mapping[str, tuple[str, ...]]  # of entities, case-folded, with the fields that each must have
    areas: tuple[Area, ...]


def read_ontology(root: MemoryRoot) -> Ontology | None:
    """The ontology of a memory; None where there is no such file, or a link in its place.

    Raises ContentError where it is not what it should be.
    """
    return parse_ontology(read_text(root.ontology)) if is_plain_file(root.ontology) else None


def find_areas(path: str, ontology: Ontology | None) -> Iterator[Area]:
    """The areas of a path from the top of a work tree, in the order of the file; the usual ones where it names none."""
    areas = ontology.areas if ontology and ontology.areas else USUAL_AREAS
    return (area for area in areas if any(fits(glob, path) for glob in area.paths))


@lru_cache(maxsize=8)  # a hook asks with every file that is touched
def parse_ontology(text: str) -> Ontology:
    """What a text says. Raises ContentError with the line of the first thing that is wrong."""
    parsed = parse_yaml(text, "the ontology")
    if violations := FrontmatterSchema(SCHEMA_FILE, "the ontology").violations(parsed):
        first = min(violations, key=lambda one: (one.kind != "unknown", one.line))
        raise ContentError(first.what, line=first.line, remedy=first.remedy or "Correct the line")
    spec: Any = parsed.fields  # of the shape that the schema says
    types = {
        one["name"].casefold(): tuple(one.get("schema", {}).get("required", ())) for one in spec.get("entity_types", ())
    }
    areas = []
    for place, one in enumerate(spec.get("discovery", {}).get("file_patterns", ())):
        lists = (tuple(one.get(key, ())) for key in ("paths", "namespaces", "topics"))
        areas.append(Area(parsed.lines[f"discovery.file_patterns[{place}]"], one["context"], *lists))
    return Ontology(frozenset(_spaces(spec.get("namespaces", {}))), types, tuple(areas))


def fits(glob: str, path: str) -> bool:
    """Whether a path fits a glob, in time that grows with the product of their lengths: `**` goes back once, to the
    last one before it, and a star inside a name is matched without going back.
    """
    glob = f"{glob}**" if glob.endswith("/") else glob
    if "/" not in glob.removesuffix("/**"):
        glob = f"**/{glob}"
    wanted, parts = glob.removeprefix("/").split("/"), path.split("/")
    at = place = 0
    star, begun = -1, 0  # the last `**`, and how far it reaches
    while place < len(parts):
        if at < len(wanted) and wanted[at] == "**":
            star, begun, at = at, place, at + 1
        elif at < len(wanted) and fnmatchcase(parts[place], wanted[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            begun += 1
            at, place = star + 1, begun
        else:
            return False
    return all(part == "**" for part in wanted[at:])


def _spaces(found: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, space in found.items():
        yield f"{above}{name}"
        if isinstance(space, Mapping):
            yield from _spaces(space.get("children", {}), f"{above}{name}/")
