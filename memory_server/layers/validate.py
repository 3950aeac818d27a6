"""Whether the files of a memory root are as they should be.

Every finding is a `Problem` with path, line and the stable name of its rule; nothing that stands in a file ends the
check. Plain Markdown without frontmatter is fine. Statements of sessions are not judged, only their frontmatter.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from memory_server.chunking import code_lines, split_lines
from memory_server.completeness import SkipKind
from memory_server.document import Layer, SourcePath
from memory_server.errors import ContentError, OneirosError, Problem
from memory_server.layers.footnotes import find_footnotes, without_code_spans
from memory_server.layers.index_page import NO_USE, find_markers, with_pointers
from memory_server.layers.mif import FRONTMATTER, Frontmatter, Value, valid_frontmatter
from memory_server.layers.ontology import MIF_TYPES, Ontology, read_ontology
from memory_server.layers.schema import FrontmatterSchema
from memory_server.layers.sessions import find_attic
from memory_server.layers.topics import (
    ONTOLOGY,
    SourceFile,
    Unapproved,
    as_document,
    find_entities,
    find_merge_marks,
    find_sources,
    list_names,
    markdown_files,
    normalise_target,
    parse_superseded,
    read_text,
    select_approved,
    topic_heads,
    topic_name,
)
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings, read_memory_settings

LINK_TARGET = re.compile(r"(?<!\\)\]\(\s*(?:<([^<>]*)>|([^\s()<>]+))")
INTERVALS = (
    ("temporal.validFrom", "temporal.validUntil"),
    ("validFrom", "validUntil"),
    ("start", "end"),
    ("created", "modified"),
)
OWN_TARGETS = ("topics/", "sessions/", "episodes/", "lessons.md")  # where a link must lead to a source


class ValidationRule(StrEnum):
    """What is checked, by names that programs may rely on."""

    UNREADABLE = SkipKind.UNREADABLE  # gone, too large, no UTF-8, or a folder that may not be opened
    FRONTMATTER = SkipKind.FRONTMATTER  # not valid YAML, and read key by key
    FIELD_MISSING = "field-missing"
    FIELD_UNKNOWN = "field-unknown"  # in temporal, embedding, citations and relationships, which are closed
    FIELD_VALUE = "field-value"
    DATES_ORDER = "dates-order"  # something ends before it begins
    ID_TWICE = "id-twice"
    NAME_TWICE = "name-twice"  # topics whose names differ in case alone are one file on some disks
    SUPERSEDES_UNKNOWN = "supersedes-unknown"
    CONFLICT = "conflict"  # of a merge, left open
    FOOTNOTE_UNDEFINED = "footnote-undefined"
    FOOTNOTE_UNUSED = "footnote-unused"
    FOOTNOTE_TWICE = "footnote-twice"
    INDEX_MISSING = "index-missing"
    INDEX_LINES = "index-lines"
    INDEX_CHARS = "index-chars"
    MARKERS = "markers"  # of the pointers: not one pair
    POINTER_DEAD = "pointer-dead"
    TOPIC_UNLISTED = "topic-unlisted"
    FILE_IGNORED = SkipKind.FILE_IGNORED  # lies among the sources and is none
    SYMLINK = SkipKind.SYMLINK
    SETTINGS = "settings"
    ONTOLOGY = "ontology"  # the file is not what it should be, or names what there is not
    NAMESPACE_UNKNOWN = "namespace-unknown"  # to the ontology
    ENTITY = "entity"  # of a type that the ontology does not have, or without a field of its type


@dataclass(frozen=True, slots=True)
class _Source:
    """A source that could be read."""

    file: SourceFile
    text: str
    parsed: Frontmatter

    @property
    def path(self) -> SourcePath:
        return self.file.path


def validate_root(
    root: MemoryRoot,
    settings: MemorySettings,
    unapproved: Unapproved = lambda _: {},
    uses: Mapping[SourcePath, int] = NO_USE,
) -> list[Problem]:
    """What is wrong with the files of a root, sorted by path and line; never raises for what stands in a file.

    `unapproved` and `uses` tell what the index page should hold, see `write_index_page`.
    """
    problems: list[Problem] = []
    files = [one for one in find_sources(root, problems) if one.layer is not Layer.REFERENCE]  # those are of others
    revisions = {root.relative(file) for file in markdown_files(root.sessions)}  # what a newer one supersedes too
    attic = find_attic(root.sessions)  # to which `gc` moves them
    revisions |= {root.relative(root.sessions / file.relative_to(attic)) for file in markdown_files(attic)}
    sources: list[_Source] = []
    problems += [*_settings(root), *_read(root, files, sources)]
    schema = FrontmatterSchema()
    for source in sources:
        problems += _fields(source, schema)
        problems += _intervals(source)
        if source.file.layer is Layer.TOPIC:
            problems += _conflict(source)
            problems += _footnotes(source)
    problems += _names(files)
    problems += _ids(sources)
    problems += _check_superseded(sources, {file.path for file in files} | revisions)
    problems += _index_page(root, {file.path for file in files}, settings, unapproved, uses)
    topics = [file.path for file in files if file.layer is Layer.TOPIC]  # those that cannot be read are there too
    problems += _ontology(root, topics, [source for source in sources if source.file.layer is Layer.TOPIC])
    return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.rule, problem.what))


def _read(root: MemoryRoot, files: Sequence[SourceFile], sources: list[_Source]) -> Iterator[Problem]:
    """Adds to `sources` what can be read and tells of the rest."""
    for file in files:
        rule = ValidationRule.UNREADABLE
        try:
            text = read_text(root.file(file.path))
            rule = ValidationRule.FRONTMATTER
            sources.append(_Source(file, text, valid_frontmatter(text)))
        except ContentError as error:
            yield Problem(file.path, error.line or 1, error.what, error.remedy, rule)


# -- files ------------------------------------------------------------------------------------------------------


def _settings(root: MemoryRoot) -> Iterator[Problem]:
    try:
        read_memory_settings(root.settings)
    except OneirosError as error:
        yield Problem(root.settings.name, error.line or 1, error.what, error.remedy, ValidationRule.SETTINGS)


# -- one source -------------------------------------------------------------------------------------------------


def _fields(source: _Source, schema: FrontmatterSchema) -> Iterator[Problem]:
    """What is wrong with the fields; a topic that has neither id nor day may leave out what an export as MIF adds."""
    is_free = source.file.layer is Layer.TOPIC and not (source.parsed.text("id") or source.parsed.text("created"))
    for violation in schema.violations(source.parsed):
        if is_free and violation.kind == "missing" and violation.what.startswith(FRONTMATTER):
            continue
        rule = ValidationRule(f"field-{violation.kind}")
        yield Problem(source.path, violation.line, violation.what, violation.remedy, rule)


def _intervals(source: _Source) -> Iterator[Problem]:
    for begin, end in INTERVALS:
        first, last = source.parsed.date(begin), source.parsed.date(end)
        if first and last and last < first:
            what = f"{end} ({last}) is before {begin} ({first})"
            yield Problem(
                source.path, source.parsed.lines[end], what, "Correct one of them", ValidationRule.DATES_ORDER
            )


def _conflict(source: _Source) -> Iterator[Problem]:
    """The first mark of a merge that nobody has finished."""
    if open_ones := find_merge_marks(source.parsed.body):
        what, remedy = "a merge was not finished, and both sides are found", "Keep what is right, without the marks"
        yield Problem(source.path, source.parsed.body_line + open_ones[0], what, remedy, ValidationRule.CONFLICT)


def _footnotes(source: _Source) -> Iterator[Problem]:
    """References without a definition, and definitions that are not referred to or are repeated."""
    notes = find_footnotes(source.parsed.body)
    above = source.parsed.body_line
    for name, lines in notes.used.items():
        if name not in notes.defined:
            what, remedy = f"the footnote [^{name}] is not defined", f"Add a line `[^{name}]: ...`"
            yield Problem(source.path, above + lines[0], what, remedy, ValidationRule.FOOTNOTE_UNDEFINED)
    for name, lines in notes.defined.items():
        if name not in notes.used:
            what, remedy = f"nothing refers to the footnote [^{name}]", "Refer to it, or remove it"
            yield Problem(source.path, above + lines[0], what, remedy, ValidationRule.FOOTNOTE_UNUSED)
        for line in lines[1:]:
            what, remedy = f"the footnote [^{name}] is defined twice", "Keep one definition"
            yield Problem(source.path, above + line, what, remedy, ValidationRule.FOOTNOTE_TWICE)


# -- several sources --------------------------------------------------------------------------------------------


def _names(files: Sequence[SourceFile]) -> Iterator[Problem]:
    first: dict[str, SourcePath] = {}
    for file in files:
        name = unicodedata.normalize("NFC", file.path).casefold()
        other = first.setdefault(name, file.path)
        if other != file.path:
            what = f"its name differs from that of {other} in case alone"
            yield Problem(file.path, 1, what, "Rename one of them", ValidationRule.NAME_TWICE)


def _ids(sources: Sequence[_Source]) -> Iterator[Problem]:
    first: dict[str, SourcePath] = {}
    for source in sources:
        identity = source.parsed.text("id").casefold()
        if identity and first.setdefault(identity, source.path) != source.path:
            what = f"{first[identity]} has the same id"
            yield Problem(source.path, source.parsed.lines["id"], what, "Give one a new UUID", ValidationRule.ID_TWICE)


def _check_superseded(sources: Sequence[_Source], paths: set[SourcePath]) -> Iterator[Problem]:
    known = {name for source in sources for name in list_names(source.path, source.parsed.text("id"))}
    known |= {name for path in paths for name in list_names(path, "")}
    for source in sources:
        for place, target in parse_superseded(source.parsed).items():
            if normalise_target(target) not in known:
                line = source.parsed.lines[place]
                what = f"it supersedes {target[:100]!r}, which is not in this memory"
                remedy = "Name a path below the memory root, or an id"
                yield Problem(source.path, line, what, remedy, ValidationRule.SUPERSEDES_UNKNOWN)


# -- the ontology -----------------------------------------------------------------------------------------------


def _ontology(root: MemoryRoot, paths: Iterable[SourcePath], topics: Sequence[_Source]) -> Iterator[Problem]:
    """What is wrong with the ontology, and with topics by it; nothing in a memory that has none.

    `paths`: of all topics that are there; `topics`: those that can be read.
    """
    try:
        ontology = read_ontology(root)
    except ContentError as error:
        yield Problem(ONTOLOGY, error.line or 1, error.what, error.remedy, ValidationRule.ONTOLOGY)
        return
    if ontology is None:
        return
    known = set(map(topic_name, paths))
    for area in ontology.areas:
        unknown = [f"the namespace {name!r}" for name in area.namespaces if name not in ontology.namespaces]
        unknown += [f"the topic {name!r}" for name in area.topics if name not in known]
        for name in unknown:
            what = f"the area {area.name!r} points to {name}, which is not there"
            yield Problem(ONTOLOGY, area.line, what, "Correct the name, or take it out", ValidationRule.ONTOLOGY)
    for source in topics:
        yield from _check_namespace(source, ontology)
        for where, entity in find_entities(source.parsed):
            yield from _entity(source, where, entity, ontology)


def _check_namespace(source: _Source, ontology: Ontology) -> Iterator[Problem]:
    namespace = as_document(source.file, source.parsed).namespace
    if namespace and ontology.namespaces and namespace not in ontology.namespaces:
        what, remedy = f"the ontology has no namespace {namespace!r}", f"Correct it, or add it to {ONTOLOGY}"
        line = source.parsed.lines.get("namespace", 1)
        yield Problem(source.path, line, what, remedy, ValidationRule.NAMESPACE_UNKNOWN)


def _entity(source: _Source, where: str, entity: Mapping[str, Value], ontology: Ontology) -> Iterator[Problem]:
    """What an entity's type misses; fields stand in `entity`, while `entities` only refer."""
    named = entity.get("entity_type") or entity.get("entityType")  # MIF writes the one so and the other so
    kind, line = named if isinstance(named, str) else "", source.parsed.lines[where]
    fields = ontology.types.get(kind.casefold())
    if fields is None:
        if kind and ontology.types and kind.casefold() not in MIF_TYPES:
            what, remedy = f"the ontology has no entity type {kind!r}", f"Correct it, or add it to {ONTOLOGY}"
            yield Problem(source.path, line, what, remedy, ValidationRule.ENTITY)
        return
    for name in fields if where == "entity" else ():
        if not entity.get(name):
            what = f"the entity has no {name}, which a {kind} must have"
            yield Problem(source.path, line, what, f"Add `{name}:` below `entity:`", ValidationRule.ENTITY)


# -- the index page ---------------------------------------------------------------------------------------------


def _index_page(
    root: MemoryRoot,
    paths: set[SourcePath],
    settings: MemorySettings,
    unapproved: Unapproved,
    uses: Mapping[SourcePath, int],
) -> Iterator[Problem]:
    page = SourcePath(root.index_page.name)
    if page not in paths:
        if not root.index_page.is_symlink():
            yield Problem(
                page, 1, "there is no index page", "Make one with `oneiros init`", ValidationRule.INDEX_MISSING
            )
        return
    try:
        text = read_text(root.index_page)
    except ContentError:
        return  # told among the sources
    yield from _limits(page, text, settings)
    yield from _dead_pointers(page, text, paths)
    try:
        markers = find_markers(text)
        level = with_pointers(text, select_approved(topic_heads(root), unapproved), settings, uses)
    except ContentError as error:
        yield Problem(page, error.line or 1, error.what, error.remedy, ValidationRule.MARKERS)
        return
    listed = {target for _, target in _targets(text)}
    line = markers.begin + 1 if markers else 1
    for _, target in _targets(level):
        if target not in listed:
            what = f"{target} has no pointer"
            yield Problem(page, line, what, "The next `oneiros reindex` writes it", ValidationRule.TOPIC_UNLISTED)


def _limits(page: SourcePath, text: str, settings: MemorySettings) -> Iterator[Problem]:
    lines = len(split_lines(text))
    remedy = "Shorten it: Claude Code cuts what is beyond"
    if lines > settings.index_max_lines:
        what = f"it has {lines} lines, the limit is {settings.index_max_lines}"
        yield Problem(page, settings.index_max_lines + 1, what, remedy, ValidationRule.INDEX_LINES)
    if len(text) > settings.index_max_chars:
        beyond = len(split_lines(text[: settings.index_max_chars]))
        what = f"it has {len(text):,} characters, the limit is {settings.index_max_chars:,}"
        yield Problem(page, beyond, what, remedy, ValidationRule.INDEX_CHARS)


def _dead_pointers(page: SourcePath, text: str, paths: set[SourcePath]) -> Iterator[Problem]:
    for line, target in _targets(text):
        if target.startswith(OWN_TARGETS) and target not in paths:
            what = f"there is no {target}"
            yield Problem(page, line, what, "Correct the link, or remove it", ValidationRule.POINTER_DEAD)


def _targets(text: str) -> Iterator[tuple[int, str]]:
    """The relative targets of the links of a page outside code, each with its line."""
    code = code_lines(text)
    for number, line in enumerate(split_lines(text)):
        if number not in code:
            for bracketed, bare in LINK_TARGET.findall(without_code_spans(line)):
                target = unquote((bracketed or bare).partition("#")[0])
                if target and ":" not in target.partition("/")[0]:
                    yield number + 1, posixpath.normpath(target)
