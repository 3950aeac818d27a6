"""What leaves as MIF 1.0 keeps to its schema, and comes back with every field; 0.1 is read."""

from pathlib import Path

import jsonschema
import pytest

from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.validate import validate_root
from memory_server.settings import MemorySettings
from parts.taking_over.exchange import as_json_ld, as_markdown, as_own
from tests.memories import new_root
from tests.memory_server.layers.mif_files import FULL, OLDER
from tests.parts.taking_over.mif_1_0 import SCHEMA

SHIPPED = Path(__file__).parents[3] / "memory"
DAY = "2026-03-02"


def test_a_file_of_1_0_comes_back_as_it_went() -> None:
    own = as_own(FULL)
    back = as_markdown(own, SourcePath("topics/mail.md"), DAY)

    assert as_json_ld(back) == as_json_ld(FULL)
    assert parse_frontmatter(back).fields == parse_frontmatter(as_markdown(FULL, SourcePath("x.md"), DAY)).fields
    fields = parse_frontmatter(FULL).fields
    assert {key: parse_frontmatter(back).fields.get(key) for key in fields} == fields
    assert parse_frontmatter(back).body == parse_frontmatter(FULL).body
    jsonschema.validate(as_json_ld(back), SCHEMA)


def test_what_went_is_a_valid_topic(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    text = as_markdown(OLDER, SourcePath("topics/relay.md"), DAY)
    (root.topics / "relay.md").write_text(text, encoding="utf-8")

    assert [one for one in validate_root(root, MemorySettings()) if one.path.startswith("topics/")] == []


def test_the_types_of_json_are_those_of_the_schema() -> None:
    document = as_json_ld(FULL)

    assert document["properties"] == {"port": 2525, "tls": True, "ratio": 0.5, "nothing": None, "version": "1.10"}
    assert document["extensions"]["other"] == {"deep": [1, {"two": 2.0}], "on": False}
    assert document["documents"][0]["version"] == "1.10" and document["ontology"]["version"] == "1.10.0"
    assert document["temporal"]["validUntil"] is None and document["tags"] == ["mail", "on", "1.0"]
    assert document["@id"] == "urn:mif:7f3a8b2c-1d4e-5f6a-9b0c-2d3e4f5a6b7c"
    assert document["timestamp"] == document["modified"] and document["description"] == document["summary"]


def test_a_file_of_0_1_is_raised_and_nothing_of_it_is_lost() -> None:
    document = as_json_ld(as_markdown(as_own(OLDER), SourcePath("topics/mail.md"), DAY))

    jsonschema.validate(document, SCHEMA)
    assert document["aliases"] == ["relay-port"] and document["conceptType"] == "episodic"
    assert (
        document["temporal"]["validFrom"] == "2026-01-15T00:00:00Z"
        and document["temporal"]["decay"]["halfLife"] == "P7D"
    )
    assert document["provenance"]["sourceType"] == "user_implicit" and document["provenance"]["sessionId"] == "s1"
    assert document["citations"][0]["citationType"] == "documentation"
    assert document["relationships"] == [
        {
            "type": "relates-to",
            "target": "urn:mif:0b191afe-df8d-5858-8e1d-438787ebdeee",
            "metadata": {"label": "see also"},
        }
    ]
    assert document["extensions"]["oneiros"]["codeRefs"][0]["symbol"] == "listen"
    assert document["extensions"]["oneiros"]["conflicts"][0]["memory_id"] == "other"
    assert as_own(OLDER) == as_own(as_markdown(as_own(OLDER), SourcePath("topics/mail.md"), DAY))


def test_no_reading_of_yaml_changes_what_is_written_freely() -> None:
    payload = {
        "at": "12:30",
        "code": "0755",
        "ratio": "1.10",
        "big": "1e3",
        "on": "yes",
        "when": "2026-01-01",
        "x": "NaN",
    }
    free = {**payload, "half": 0.5, "count": 7, "no": None, "is": True}
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
    document = as_json_ld(sent)

    jsonschema.validate(document, SCHEMA)
    assert document["extensions"]["oneiros"] == {"temporal": {"mood": "calm"}}
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
    document = as_json_ld(as_markdown(text, SourcePath("topics/backups.md"), DAY))

    jsonschema.validate(document, SCHEMA)
    assert document["title"] == "Backups" and document["created"] == "2026-03-02T00:00:00Z"
    assert document["@id"] == as_json_ld(as_markdown(text, SourcePath("topics/backups.md"), DAY))["@id"]
    assert document["@id"] != as_json_ld(as_markdown(text, SourcePath("topics/other.md"), DAY))["@id"]


def test_a_file_without_what_mif_requires_is_refused() -> None:
    with pytest.raises(ContentError, match="it names no id"):
        as_own("# Backups\n")


@pytest.mark.parametrize("odd", ["abc", "[1]", "null"])
def test_a_field_of_another_shape_than_ours_is_kept_as_it_is(odd: str) -> None:
    text = OLDER.replace("label: see also", f"label: see also, metadata: {odd}")

    [link] = as_json_ld(as_markdown(as_own(text), SourcePath("x.md"), DAY))["relationships"]

    assert link["metadata"]["label"] == "see also" and "metadata" in link["metadata"]
