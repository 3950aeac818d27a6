"""`ontology.yaml`: what kinds of things a memory speaks of, how its topics are filed, and which of them bear on a path.

    namespaces:                       what topics may be filed under, each with what belongs there
      decisions: What was chosen, and why
      api:
        description: What services say to each other
        children: {v2: The second version}
    entity_types:                     what an `entity` of a topic may be, and which fields it must have
      - name: service
        schema: {required: [owner, port]}
    discovery:
      file_patterns:                  the area of a path, and the topics that a hook points to there
        - context: auth
          paths: ["src/auth/**", "*login*"]
          namespaces: [api]
          topics: [decisions/tokens]

The keys are those of MIF's ontology files; what they must hold is said in `ontology.schema.json`. A glob without a
slash fits a name at any depth, another one the path from the top of the work tree; `**` stands for any folders. The
file names topics and opens nothing, so that nothing in it leads anywhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.mif import Value, parse_yaml
from memory_server.layers.schema import FrontmatterSchema
from memory_server.layers.topics import TopicHead, read_text
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot

ONTOLOGY = SourcePath("ontology.yaml")
SCHEMA_FILE = Path(__file__).with_name("ontology.schema.json")
MIF_TYPES = frozenset({"person", "organization", "technology", "concept", "file"})  # of entities, known to any memory


@dataclass(frozen=True, slots=True)
class Area:
    """A part of a project, and the topics that bear on it."""

    name: str
    paths: tuple[str, ...]  # globs
    namespaces: tuple[str, ...]  # with those below them
    topics: tuple[str, ...]  # by name
    line: int  # of the file, from 1

    def points_to(self, head: TopicHead) -> bool:
        """Whether a topic bears on it."""
        space = f"{head.namespace.casefold()}/"
        return head.name in self.topics or any(space.startswith(f"{one.casefold()}/") for one in self.namespaces)


@dataclass(frozen=True, slots=True)
class Ontology:
    """What the file says."""

    namespaces: frozenset[str]  # by their whole names
    types: Mapping[str, tuple[str, ...]]  # of entities, case-folded, with the fields that each must have
    areas: tuple[Area, ...]

    def areas_of(self, path: str) -> Iterator[Area]:
        """The areas of a path from the top of a work tree, in the order of the file."""
        return (area for area in self.areas if any(fits(glob, path) for glob in area.paths))


def read_ontology(root: MemoryRoot) -> Ontology | None:
    """The ontology of a memory; None where there is no such file, or a link in its place.

    Raises ContentError where it is not what it should be.
    """
    return parse_ontology(read_text(root.ontology)) if is_plain_file(root.ontology) else None


@lru_cache(maxsize=8)  # a hook asks with every file that is touched
def parse_ontology(text: str) -> Ontology:
    """What a text says. Raises ContentError with the line of the first thing that is wrong."""
    parsed = parse_yaml(text, "the ontology")
    if violations := FrontmatterSchema(SCHEMA_FILE, "the ontology").violations(parsed):
        first = min(violations, key=lambda one: (one.kind != "unknown", one.line))
        raise ContentError(first.what, line=first.line, remedy=first.remedy or "Correct the line")
    kinds = _rows(parsed.fields, "entity_types")
    patterns = _rows(_map(parsed.fields.get("discovery")), "file_patterns")
    types = {str(one["name"]).casefold(): _texts(_map(one.get("schema")), "required") for one in kinds}
    areas = []
    for place, one in enumerate(patterns):
        paths, namespaces, topics = (_texts(one, key) for key in ("paths", "namespaces", "topics"))
        line = parsed.lines[f"discovery.file_patterns[{place}]"]
        areas.append(Area(str(one["context"]), paths, namespaces, topics, line))
    return Ontology(frozenset(_spaces(_map(parsed.fields.get("namespaces")))), types, tuple(areas))


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


def entity_type_of(entity: Mapping[str, Value]) -> str:
    """The type that a topic's `entity`, or one of its `entities`, names; MIF writes the one so and the other so."""
    named = entity.get("entity_type") or entity.get("entityType")
    return named if isinstance(named, str) else ""


def _spaces(found: Mapping[str, Value], above: str = "") -> Iterator[str]:
    for name, told in found.items():
        yield f"{above}{name}"
        yield from _spaces(_map(_map(told).get("children")), f"{above}{name}/")


def _map(value: object) -> Mapping[str, Value]:
    return value if isinstance(value, Mapping) else {}


def _rows(fields: Mapping[str, Value], key: str) -> list[Mapping[str, Value]]:
    return [_map(row) for row in fields.get(key, ())]


def _texts(fields: Mapping[str, Value], key: str) -> tuple[str, ...]:
    return tuple(str(one) for one in fields.get(key, ()))
