"""What leaves as MIF 1.0 keeps to its schema, and comes back with every field; 0.1 is read."""

from pathlib import Path

import jsonschema
import pytest

from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.exchange import as_json_ld, as_markdown, as_own
from memory_server.layers.mif import parse_frontmatter
from tests.memory_server.layers.mif_1_0 import SCHEMA

SHIPPED = Path(__file__).parents[3] / "memory"
DAY = "2026-03-02"
FULL = """---
id: 7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c
type: semantic
created: '2026-01-15T10:30:00Z'
modified: '2026-01-20T14:22:00+01:00'
title: The relay's port
namespace: _semantic/mail
ontology: {id: mail-things, version: 1.10.0, uri: 'https://example.com/o.yaml'}
tags: [mail, 'on', '1.0']
aliases: [relay]
entities:
- '@type': EntityReference
  entity: {'@id': 'urn:mif:entity:relay'}
  name: Relay
  entityType: Technology
entity: {name: Relay, entity_type: technology, ports: [25, 2525]}
relationships:
- {type: relates-to, target: /mail/queue.md, strength: 0.5}
- {type: 'own:kind', target: 'urn:mif:0b191afe-df8d-5858-8e1d-438787ebdeee', metadata: {why: {deep: true}}}
temporal:
  '@type': TemporalMetadata
  validFrom: '2026-01-15T00:00:00Z'
  validUntil: null
  recordedAt: '2026-01-15T10:30:00Z'
  ttl: P365D
  decay: {model: exponential, halfLife: P30D, currentStrength: 0.92, lastReinforced: '2026-01-20T14:22:00Z'}
  accessCount: 8
  lastAccessed: '2026-01-20T14:22:00Z'
  reinforcementHistory:
  - {timestamp: '2026-01-16T00:00:00Z', event: confirmed, strengthDelta: 0.1}
provenance: {sourceType: user_explicit, sourceRef: 'meeting:1', agent: a, confidence: 0.98, trustLevel: verified}
embedding: {model: small, modelVersion: 2024-01, dimensions: 384, normalized: true}
citations:
- '@type': Citation
  citationType: specification
  citationRole: source
  title: SMTP
  url: https://www.rfc-editor.org/rfc/rfc5321
  date: '2008-10-01'
  relevance: 1.0
documents:
- {'@type': DocumentReference, url: 'https://example.com/a.pdf', byteLength: 48213, version: '1.10', hash: {algorithm: sha256, value: ab}}
summary: The relay listens on 2525.
properties: {port: 2525, tls: true, ratio: 0.5, nothing: null, version: '1.10'}
compressedAt: '2026-02-01T00:00:00Z'
extensions:
  other: {deep: [1, {two: 2.0}], 'on': false}
---

# The relay's port

It listens on 2525. ^port
"""  # noqa: E501
OLDER = """---
id: relay-port
title: "The relay's port"
type: episodic
created: 2026-01-15T10:30:00Z
temporal:
  valid_from: 2026-01-15
  valid_until: null
  decay: {model: exponential, half_life: P7D, strength: 0.92}
  access_count: 8
provenance: {source_type: conversation, source_ref: "conversation:1", session_id: s1, confidence: 0.98}
code_refs:
  - {file: relay.py, line: 12, symbol: listen, type: function}
conflicts:
  - {memory_id: other, resolution: kept, resolved_at: 2026-01-16}
citations:
  - {type: documentation, title: SMTP, url: "https://example.com/smtp", accessed: 2026-01-19, relevance: 0.85}
relationships:
  - {type: relates_to, target: 0b191afe-df8d-5858-8e1d-438787ebdeee, label: see also}
---
The relay listens on 2525.
"""


def test_a_file_of_1_0_comes_back_as_it_went() -> None:
    own = as_own(FULL)
    back = as_markdown(own, SourcePath("topics/mail.md"), DAY)

    assert as_json_ld(back) == as_json_ld(FULL)
    assert parse_frontmatter(back).fields == parse_frontmatter(as_markdown(FULL, SourcePath("x.md"), DAY)).fields
    fields = parse_frontmatter(FULL).fields
    assert {key: parse_frontmatter(back).fields.get(key) for key in fields} == fields
    assert parse_frontmatter(back).body == parse_frontmatter(FULL).body
    jsonschema.validate(as_json_ld(back), SCHEMA)


def test_the_types_of_json_are_those_of_the_schema() -> None:
    told = as_json_ld(FULL)

    assert told["properties"] == {"port": 2525, "tls": True, "ratio": 0.5, "nothing": None, "version": "1.10"}
    assert told["extensions"]["other"] == {"deep": [1, {"two": 2.0}], "on": False}
    assert told["documents"][0]["version"] == "1.10" and told["ontology"]["version"] == "1.10.0"
    assert told["temporal"]["validUntil"] is None and told["tags"] == ["mail", "on", "1.0"]
    assert told["@id"] == "urn:mif:7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c"
    assert told["timestamp"] == told["modified"] and told["description"] == told["summary"]


def test_a_file_of_0_1_is_raised_and_nothing_of_it_is_lost() -> None:
    told = as_json_ld(as_markdown(as_own(OLDER), SourcePath("topics/mail.md"), DAY))

    jsonschema.validate(told, SCHEMA)
    assert told["aliases"] == ["relay-port"] and told["conceptType"] == "episodic"
    assert told["temporal"]["validFrom"] == "2026-01-15T00:00:00Z" and told["temporal"]["decay"]["halfLife"] == "P7D"
    assert told["provenance"]["sourceType"] == "user_implicit" and told["provenance"]["sessionId"] == "s1"
    assert told["citations"][0]["citationType"] == "documentation"
    assert told["relationships"] == [
        {
            "type": "relates-to",
            "target": "urn:mif:0b191afe-df8d-5858-8e1d-438787ebdeee",
            "metadata": {"label": "see also"},
        }
    ]
    assert told["extensions"]["oneiros"]["codeRefs"][0]["symbol"] == "listen"
    assert told["extensions"]["oneiros"]["conflicts"][0]["memory_id"] == "other"
    assert as_own(OLDER) == as_own(as_markdown(as_own(OLDER), SourcePath("topics/mail.md"), DAY))


def test_no_reading_of_yaml_changes_what_is_written_freely() -> None:
    told = {"at": "12:30", "code": "0755", "ratio": "1.10", "big": "1e3", "on": "yes", "when": "2026-01-01", "x": "NaN"}
    free = {**told, "half": 0.5, "count": 7, "no": None, "is": True}
    written = ", ".join(f"{key}: {'null' if one is None else str(one).replace('T', 't')}" for key, one in free.items())
    old = "{port: 2525, tls: true, ratio: 0.5, nothing: null, version: '1.10'}"
    odd = FULL.replace(old, f"{{{written}}}")

    assert parse_frontmatter(as_own(odd)).fields["properties"] == parse_frontmatter(odd).fields["properties"]
    assert as_json_ld(odd)["properties"] == free


@pytest.mark.parametrize("odd", ["oneiros: mine", "oneiros: [1]"])
def test_what_another_keeps_under_our_name_stays(odd: str) -> None:
    text = OLDER.replace("code_refs:", f"extensions: {{{odd}}}\ncode_refs:")

    assert as_json_ld(as_markdown(text, SourcePath("x.md"), DAY))["extensions"]["oneiros"]["codeRefs"]
    assert "code_refs" not in as_own(text) and "relay.py" in as_own(text)


def test_what_has_no_place_beside_its_neighbours_comes_back_to_them() -> None:
    odd = FULL.replace("  ttl: P365D\n", "  ttl: P365D\n  mood: calm\n")
    sent = as_markdown(odd, SourcePath("x.md"), DAY)
    told = as_json_ld(sent)

    jsonschema.validate(told, SCHEMA)
    assert told["extensions"]["oneiros"] == {"temporal": {"mood": "calm"}}
    assert parse_frontmatter(as_own(sent)).fields["temporal"] == parse_frontmatter(odd).fields["temporal"]


def test_what_a_stranger_keeps_for_us_takes_no_place_of_what_is_said() -> None:
    hidden = FULL.replace("extensions:\n", "extensions:\n  oneiros: {id: other, type: episodic, project: mail}\n")
    back = parse_frontmatter(as_own(hidden))

    assert back.text("id") == "7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c" and back.text("type") == "semantic"
    assert back.text("project") == "mail"


@pytest.mark.parametrize("file", sorted((SHIPPED / "topics").rglob("*.md")), ids=lambda file: file.stem)
def test_a_shipped_topic_keeps_to_the_schema_and_comes_back(file: Path) -> None:
    text, path = file.read_text(encoding="utf-8"), SourcePath(file.relative_to(SHIPPED).as_posix())
    sent = as_markdown(text, path, DAY)

    jsonschema.validate(as_json_ld(sent), SCHEMA)
    back, was = parse_frontmatter(as_own(sent)), parse_frontmatter(text)
    assert back.body == was.body and back.text("id") == was.text("id")
    assert {key: value for key, value in back.fields.items() if key not in ("created", "modified")} == {
        key: [*value] if isinstance(value, tuple) else value
        for key, value in was.fields.items()
        if key not in ("created", "modified")
    }


def test_plain_markdown_gets_an_id_of_its_path_and_a_title_of_its_heading() -> None:
    text = "# Backups\n\nThey run at four.\n"
    told = as_json_ld(as_markdown(text, SourcePath("topics/backups.md"), DAY))

    jsonschema.validate(told, SCHEMA)
    assert told["title"] == "Backups" and told["created"] == "2026-03-02T00:00:00Z"
    assert told["@id"] == as_json_ld(as_markdown(text, SourcePath("topics/backups.md"), DAY))["@id"]
    assert told["@id"] != as_json_ld(as_markdown(text, SourcePath("topics/other.md"), DAY))["@id"]


def test_a_file_without_what_mif_requires_is_refused() -> None:
    with pytest.raises(ContentError, match="it names no id"):
        as_own("# Backups\n")


@pytest.mark.parametrize("odd", ["abc", "[1]", "null"])
def test_a_field_of_another_shape_than_ours_is_kept_as_it_is(odd: str) -> None:
    text = OLDER.replace("label: see also", f"label: see also, metadata: {odd}")

    [link] = as_json_ld(as_markdown(as_own(text), SourcePath("x.md"), DAY))["relationships"]

    assert link["metadata"]["label"] == "see also" and "metadata" in link["metadata"]
