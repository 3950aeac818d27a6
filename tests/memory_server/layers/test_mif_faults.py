"""Some fifty faults, each alone in a valid store: `validate` names every one, and nothing where there is none."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pytest

from memory_server.document import Interval
from memory_server.layers.mif import MAX_VALUES, Value, parse_frontmatter
from memory_server.layers.validate import validate_root
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings
from tests.memories import new_root
from tests.memory_server.layers.mif_files import FULL, OLDER

FAULTS = (  # what stands in the valid file, and what is put in its place
    ("id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c\n", ""),
    ("id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c", "id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7"),
    ("id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c", "id: a b"),
    ("type: semantic\n", ""),
    ("type: semantic", "type: factual"),
    ("type: semantic", "type: [semantic]"),
    ("created: '2026-01-15T10:30:00Z'\n", ""),
    ("created: '2026-01-15T10:30:00Z'", "created: yesterday"),
    ("created: '2026-01-15T10:30:00Z'", "created: 2026-13-01"),
    ("modified: '2026-01-20T14:22:00+01:00'", "modified: 2025-01-01"),
    ("title: The relay's port", "title: {is: this}"),
    ("namespace: _semantic/mail", "namespace: _semantic//mail"),
    ("namespace: _semantic/mail", "namespace: a b"),
    ("tags: [mail, 'on', '1.0']", "tags: {mail: yes}"),
    ("tags: [mail, 'on', '1.0']", "tags: [mail, [on]]"),
    ("aliases: [relay]", "aliases: [{a: b}]"),
    ("ontology: {id:", "ontology: [{id:"),
    ("version: 1.10.0, uri", "version: [1], uri"),
    ("entities:\n- '@type'", "entities:\n  '@type'"),
    ("entity: {name: Relay, entity_type: technology, ports: [25, 2525]}", "entity: Relay"),
    ("relationships:\n-", "relationships:\n- relates\n-"),
    ("{type: relates-to, target", "{type: Relates To, target"),
    ("{type: relates-to, target: /mail/queue.md", "{type: relates-to, to: /mail/queue.md"),
    ("target: /mail/queue.md, strength: 0.5", "strength: 0.5"),
    ("strength: 0.5}", "strength: 1.5}"),
    ("strength: 0.5}", "strength: much}"),
    ("strength: 0.5}", "weight: 0.5}"),
    ("validFrom: '2026-01-15T00:00:00Z'", "validFrom: soon"),
    ("validUntil: null", "validUntil: '2025-01-01T00:00:00Z'"),
    ("validUntil: null", "validTill: null"),
    ("ttl: P365D", "ttl: 365 days"),
    ("model: exponential", "model: quick"),
    ("halfLife: P30D", "halfLife: P"),
    ("currentStrength: 0.92", "currentStrength: 92"),
    ("accessCount: 8", "accessCount: -1"),
    ("accessCount: 8", "accessCount: some"),
    ("lastAccessed: '2026-01-20T14:22:00Z'", "lastAccessed: never"),
    ("strengthDelta: 0.1", "strengthDelta: more"),
    ("sourceType: user_explicit", "sourceType: hearsay"),
    ("confidence: 0.98", "confidence: 98"),
    ("trustLevel: verified", "trustLevel: certain"),
    ("dimensions: 384", "dimensions: wide"),
    ("normalized: true", "normalized: perhaps"),
    ("citationType: specification", "citationType: rumour"),
    ("citationRole: source", "citationRole: praise"),
    ("  title: SMTP\n", ""),
    ("  url: https://www.rfc-editor.org/rfc/rfc5321\n", ""),
    ("relevance: 1.0", "stars: 5"),
    ("properties: {port: 2525", "properties: {port: [2525]"),
    ("extensions:\n  other", "extensions: x\nothers:\n  other"),
    ("compressedAt: '2026-02-01T00:00:00Z'", "compressedAt: later"),
    ("summary: The relay listens on 2525.", f"summary: {'x' * 501}"),
    ("properties: {port", "properties: port: {port"),
    ("---\n\n# The relay's port", "\n# The relay's port"),
)


def store_of(tmp_path: Path, *texts: str) -> MemoryRoot:
    root = new_root(tmp_path / "memory")
    for number, text in enumerate(texts):
        (root.topics / f"relay-{number}.md").write_text(text, encoding="utf-8")
    return root


def faults_of(root: MemoryRoot) -> list[str]:
    """What is wrong with the topics, but for the page that does not point to them yet."""
    return [str(one) for one in validate_root(root, MemorySettings()) if one.path.startswith("topics/")]


def test_a_valid_store_has_no_fault(tmp_path: Path) -> None:
    assert faults_of(store_of(tmp_path, FULL, OLDER)) == []


@pytest.mark.parametrize(("right", "wrong"), FAULTS)
def test_a_seeded_fault_is_named(tmp_path: Path, right: str, wrong: str) -> None:
    assert FULL.count(right) == 1

    assert faults_of(store_of(tmp_path, FULL.replace(right, wrong))) != []


@pytest.mark.parametrize("ttl", ["P99999999999999999999Y", f"P{'9' * 5_000}D"])
def test_a_time_to_live_beyond_the_calendar_is_for_ever(ttl: str) -> None:
    text = f"---\nid: a\ntype: semantic\ncreated: 2026-01-01\nttl: {ttl}\n---\n# A\n"

    assert parse_frontmatter(text).interval().last is None


def test_the_body_below_a_head_that_is_not_closed_stays_the_body() -> None:
    body = "----\nThe relay is smtp.example.org.\nNever use port 25.\n"

    read = parse_frontmatter(f"---\ntitle: Mail relay\ntags:\n- mail\nproject: p\n{body}")

    assert read.fields == {"title": "Mail relay", "tags": ["mail"], "project": "p"} and read.body == body


def test_aliases_are_counted_over_all_keys_of_a_broken_head() -> None:
    nested = "".join(
        f", &{name}{number} [{', '.join([f'*{name}{number - 1}'] * 9)}]" for name in "x" for number in range(1, 5)
    )
    keys = "".join(f"k{number}: [&x0 a{nested}]\n" for number in range(20))

    read = parse_frontmatter(f"---\n{keys}title: a: b\n---\n")

    assert read.fault and count_values(read.fields) < 2 * MAX_VALUES


def count_values(value: Value) -> int:
    if isinstance(value, str):
        return 1
    return 1 + sum(map(count_values, value.values() if isinstance(value, Mapping) else value))


@pytest.mark.parametrize("slip", ["  valid_until: 2020-01-01\n", "  source: a: b\n", "\towner: c\n"])
def test_a_slip_in_a_block_below_a_key_leaves_its_other_keys(slip: str) -> None:
    head = f"---\ntemporal:\n  valid_from: 2019-01-01\n  valid_until: 2020-01-01\n{slip}title: Relay: old\n---\n"

    read = parse_frontmatter(head)

    assert read.interval() == Interval(dt.date(2019, 1, 1), dt.date(2020, 1, 1))
    assert read.lines["temporal.validFrom"] == 3 and read.text("title") == "Relay: old"
