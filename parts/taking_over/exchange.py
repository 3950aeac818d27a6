"""Markdown of MIF 1.0 for other programs, and its JSON-LD; Markdown of 0.1 is read too.

What MIF 1.0 has no place for goes below `extensions.oneiros` and comes back from there. Ids survive both ways: one that
is no UUID becomes a UUIDv5 of itself and stays as an alias, as the specification asks for slugs of 0.1. Bodies are not
touched.
Specification: modeled-information-format/MIF, 1.0.0.
"""

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.mif import Frontmatter, Value, camel_case, parse_date, valid_frontmatter
from memory_server.layers.topics import first_heading, name_in_words

CONTEXT = "https://mif-spec.dev/schema/context.jsonld"
URN = "urn:mif:"
SLUGS = uuid.UUID("7d0f1a3e-53a5-5f7e-9f0b-6f2f6a1c9e44")  # namespace of the ids made of slugs and paths
OWN = "oneiros"  # our part of `extensions`
KNOWN = (
    *("id", "type", "created", "modified", "title", "namespace", "ontology", "tags", "aliases", "entities", "entity"),
    *("relationships", "temporal", "provenance", "embedding", "citations", "documents", "summary", "properties"),
    *("compressedAt", "extensions"),
)
FREE = ("properties", "extensions", "entity")  # their keys and types belong to others
CLOSED = {  # the keys of objects that may hold no other
    "temporal": (
        *("@type", "validFrom", "validUntil", "recordedAt", "ttl", "decay", "accessCount", "lastAccessed"),
        "reinforcementHistory",
    ),
    "embedding": ("@type", "model", "modelVersion", "dimensions", "sourceText", "vectorUri", "normalized"),
    "ontology": ("@type", "id", "version", "uri"),
}
MOVED = ("validFrom", "validUntil", "ttl")  # that may stand at the top here
NUMBERS = frozenset({"confidence", "relevance", "strength", "currentStrength", "strengthDelta"})
COUNTS = frozenset({"dimensions", "accessCount", "byteLength"})
MOMENTS = frozenset(
    {"created", "modified", "compressedAt", "validFrom", "validUntil", "recordedAt"}
    | {"lastAccessed", "lastReinforced", "retrievedAt", "timestamp"}
)
SOURCE_TYPES = {"inferred": "agent_inferred", "conversation": "user_implicit"}  # of 0.1
NULLS = ("", "null", "~")
TYPES = ("semantic", "episodic", "procedural")


class _Typed(yaml.BaseLoader):
    """Types what is written without quotes, where that changes no sign of it: YAML's own way makes 750 of `12:30`."""

    def construct_scalar(self, node: yaml.ScalarNode) -> Any:
        text = str(node.value)
        if node.style is not None:
            return text
        if text in NULLS:
            return None
        try:
            value = json.loads(text, parse_constant=str)  # NaN is no JSON
        except ValueError:
            return text
        return value if json.dumps(value) == text else text


def as_markdown(text: str, path: SourcePath, day: str) -> str:
    """A file of a memory as MIF 1.0.

    `day` (ISO 8601) counts as the day it was created where the file names none. Raises ContentError for a frontmatter
    that cannot be read.
    """
    file = valid_frontmatter(text)
    dumped = yaml.safe_dump(_fields(file, path, day), sort_keys=False, allow_unicode=True, width=10**9)
    return f"---\n{dumped}---\n{'' if file.block else chr(10)}{file.body}"


def as_json_ld(markdown: str) -> dict[str, Any]:
    """The projection of a file of MIF 1.0, as its JSON schema describes it."""
    file = valid_frontmatter(markdown)
    fields = _fields(file, SourcePath(""), "")
    head: dict[str, Any] = {"@context": CONTEXT, "@type": "Concept", "@id": f"{URN}{fields.pop('id')}"}
    head |= {"conceptType": fields.pop("type"), "content": file.body}
    head["timestamp"] = fields.get("modified", fields.get("created"))
    if "summary" in fields:
        head["description"] = fields["summary"]
    return head | fields


def as_own(markdown: str) -> str:
    """A file of MIF 1.0 or 0.1 as a file of a memory. Raises ContentError for one without id, type and created."""
    file = valid_frontmatter(markdown)
    if missing := [key for key in ("id", "type", "created") if not file.text(key)]:
        raise ContentError(f"it names no {missing[0]}", line=1, remedy="A file of MIF names id, type and created")
    fields = _fields(file, SourcePath(""), "")
    extensions = fields.get("extensions", {})
    if isinstance(extensions.get(OWN), dict):
        for key, value in extensions.pop(OWN).items():  # back to where it stood, beside what MIF has a place for
            beside = fields.setdefault(key, value)
            if isinstance(beside, dict) and isinstance(value, dict):
                fields[key] = value | beside
    if not extensions:
        fields.pop("extensions", None)
    for one in fields.get("relationships", ()):
        one["target"] = one["target"].removeprefix("/")
    dumped = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10**9)
    return f"---\n{dumped}---\n{file.body}"


def as_id(file: Frontmatter, path: str) -> str:
    """The UUID that a file has in a bundle; without an id of its own, one of its path."""
    return _id(file.text("id") or path)[0]


def _fields(file: Frontmatter, path: SourcePath, day: str) -> dict[str, Any]:
    """The fields as MIF 1.0 names, types and orders them."""
    given: dict[str, Any] = dict(file.fields)
    typed = _parse_block(file)
    fields: dict[str, Any] = {key: typed.get(key) for key in FREE if isinstance(typed.get(key), dict)}
    own: dict[str, Any] = {key: typed.get(key, given[key]) for key in given if key not in (*KNOWN, *MOVED)}
    name = given.get("id") or str(path)
    fields["id"], slug = _id(str(name))
    fields["type"] = given.get("type") if given.get("type") in TYPES else "semantic"
    fields["created"] = _moment(str(given.get("created") or day))
    title = given.get("title") or first_heading(file.body) or (name_in_words(path) if path else "")
    fields |= {"title": str(title)} if title else {}
    for key in ("modified", "compressedAt"):
        fields |= {key: _moment(file.text(key))} if file.text(key) else {}
    for key in ("namespace", "summary"):
        fields |= {key: file.text(key)} if file.text(key) else {}
    for key in ("tags", "aliases"):
        fields |= {key: list(file.texts(key))} if file.texts(key) else {}
    if slug and path != slug and slug not in fields.get("aliases", ()):
        fields["aliases"] = [*fields.get("aliases", ()), slug]
    whole = {key: _value(value, key) for key, value in given.items() if key in KNOWN and key not in FREE}
    for key in ("ontology", "temporal", "provenance", "embedding"):
        block = dict(whole[key]) if isinstance(whole.get(key), dict) else {}
        if key == "temporal":
            block |= {moved: _value(given[moved], moved) for moved in MOVED if given.get(moved) and moved not in block}
        if others := {name: block.pop(name) for name in list(block) if key in CLOSED and name not in CLOSED[key]}:
            own[key] = others
        fields |= {key: block} if block else {}
    if "sourceType" in fields.get("provenance", {}):
        source = fields["provenance"]["sourceType"]
        fields["provenance"]["sourceType"] = SOURCE_TYPES.get(source, source)
    shapes: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "relationships": _relationship,
        "citations": _citation,
        "entities": lambda one: {"@type": "EntityReference"} | one,
        "documents": lambda one: {"@type": "DocumentReference"} | one,
    }
    for key, shape in shapes.items():
        rows = whole.get(key)
        rows = [shape(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        fields |= {key: rows} if rows else {}
    if own:
        extensions = fields.get("extensions", {})
        block = extensions.get(OWN, {})
        fields["extensions"] = extensions | {OWN: own | (block if isinstance(block, dict) else {OWN: block})}
    return {key: fields[key] for key in KNOWN if key in fields}


def _parse_block(file: Frontmatter) -> dict[str, Any]:
    """The block with the types of YAML; empty where there is none."""
    source = "\n".join(file.block.splitlines()[1:-1])
    found = yaml.load(source, Loader=_Typed) if source else None  # noqa: S506  # makes texts, numbers, lists and mappings alone
    return {camel_case(str(key)): value for key, value in found.items()} if isinstance(found, dict) else {}


def _id(name: str) -> tuple[str, str]:
    """A UUID, and the name that it was made of where it was none."""
    try:
        return str(uuid.UUID(name)), ""
    except ValueError:
        return str(uuid.uuid5(SLUGS, name)), name


def _moment(text: str) -> str:
    """An ISO 8601 timestamp: of a day its beginning, of one without a zone UTC."""
    text = text.strip()
    if parse_date(text) is None:
        return text
    if len(text) == len("2026-03-07"):
        return f"{text}T00:00:00Z"
    moment = text.replace(" ", "T", 1)
    return moment if re.search(r"(?:[Zz]|[+-]\d\d:?\d\d)$", moment) else f"{moment}Z"


def _value(value: Value, key: str) -> Any:
    """A value with the type that its key has in MIF."""
    if isinstance(value, Mapping):
        return {name: _value(one, name) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_value(one, key) for one in value]
    if key in ("validFrom", "validUntil") and value in NULLS:
        return None
    if key in MOMENTS:
        return _moment(value)
    try:
        return float(value) if key in NUMBERS else int(value) if key in COUNTS else _flag(value, key)
    except ValueError:
        return value


def _flag(value: str, key: str) -> str | bool:
    return value.casefold() == "true" if key == "normalized" else value


def _relationship(one: dict[str, Any]) -> dict[str, Any]:
    """0.1 writes its types in snake_case, its targets as bare UUIDs, and a label."""
    target = str(one.get("target", ""))
    is_id = not _id(target)[1]
    relation = {"type": str(one.get("type", "relates-to")).replace("_", "-")}
    relation["target"] = f"{URN}{target}" if is_id else target if target.startswith(("/", URN)) else f"/{target}"
    relation |= {"strength": one["strength"]} if "strength" in one else {}
    metadata = {key: value for key, value in one.items() if key not in ("type", "target", "strength", "metadata")}
    given = one.get("metadata", {})
    metadata |= given if isinstance(given, dict) else {"metadata": given}
    return relation | ({"metadata": metadata} if metadata else {})


def _citation(one: dict[str, Any]) -> dict[str, Any]:
    """0.1 calls its fields `type` and `role`, and may leave the role out."""
    if "citationType" in one:
        return {"@type": "Citation"} | one
    rest = {key: value for key, value in one.items() if key not in ("type", "role")}
    return {"@type": "Citation", "citationType": one.get("type"), "citationRole": one.get("role", "source")} | rest
