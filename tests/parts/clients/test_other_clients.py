"""What setup writes for other clients, and that no byte of theirs is another afterwards."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import UsageError
from oneiros.claude.setup import Setup
from parts.clients.entries import json_insertion, toml_insertion, without_json, without_toml
from parts.clients.table import build_clients

ENTRY = {"command": "/opt/oneiros-mcp"}
WHERE = Path("settings")
TOML = [
    "",
    "\n",
    '# mine\nmodel = "x" # keep',
    'model = "x"\n\n[mcp_servers.other]\ncommand = "true"\n',
    '[projects."/a b"]\ntrust_level = "trusted"\n\n\n',
    'model = "x"\r\n[a]\r\nb = 1\r\n',
]
JSON = [
    "{}",
    '{"a": 1}',
    '{\n  // mine {\n  "theme": "a", /* "b": { */\n  "mcpServers": {\n    "other": {"command": "true",},\n  },\n}\n',
    '{"mcpServers": {}, "x": [1, {"mcpServers": {"oneiros": 1}}]}',
    '{\r\n\t"a": "// no comment",\r\n\t"url": "http://x/*y"\r\n}',
    '{"nested": {"mcpServers": {"a": {}}}, "mcpServers": {"b": {"args": ["}", "{"]}}}',
]


def inserted(text: str, insertion: tuple[int, str]) -> str:
    return text[: insertion[0]] + insertion[1] + text[insertion[0] :]


@pytest.mark.parametrize("text", TOML)
def test_a_table_goes_into_toml_and_out_again(text: str) -> None:
    written = inserted(text, toml_insertion(text, "mcp_servers", ENTRY, WHERE))

    before, after = tomllib.loads(text), tomllib.loads(written)
    assert after == before | {"mcp_servers": {**before.get("mcp_servers", {}), "oneiros": ENTRY}}
    assert toml_insertion(written, "mcp_servers", ENTRY, WHERE) == (0, "")
    assert tomllib.loads(without_toml(written, "mcp_servers")) == before
    assert (
        tomllib.loads(
            without_toml(written + '[mcp_servers.oneiros.tools.recall]\napproval_mode = "approve"\n', "mcp_servers")
        )
        == before
    )


def plain(text: str) -> object:
    """The value of a JSON text without the comments and trailing commas of the texts above."""
    for gone in ("// mine {", '/* "b": { */'):
        text = text.replace(gone, "")
    for ending in (",}", ",\n  }", ",\n}"):
        text = text.replace(ending, ending[1:])
    return json.loads(text)


@pytest.mark.parametrize("text", JSON)
def test_a_member_goes_into_json_and_out_again(text: str) -> None:
    written = inserted(text, json_insertion(text, "mcpServers", ENTRY, WHERE))

    before, after = plain(text), plain(written)
    assert isinstance(before, dict)
    assert after == before | {"mcpServers": {**before.get("mcpServers", {}), "oneiros": ENTRY}}
    assert json_insertion(written, "mcpServers", ENTRY, WHERE) == (0, "")
    left = plain(without_json(written, "mcpServers"))
    assert left == before or left == before | {"mcpServers": {}}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(
    st.sampled_from(["mcpServers", "a", "b c", "{"]),
    st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_size=3,
)


@given(value=objects, indent=st.sampled_from([None, 1, 4, "\t"]))
def test_any_object_takes_the_entry_and_keeps_the_rest(
    value: dict[str, dict[str, object]], indent: int | str | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)

    place, insertion = json_insertion(text, "mcpServers", ENTRY, WHERE)

    had_one = "oneiros" in value.get("mcpServers", {})
    wanted = value if had_one else value | {"mcpServers": {**value.get("mcpServers", {}), "oneiros": ENTRY}}
    assert json.loads(inserted(text, (place, insertion))) == wanted


@pytest.mark.parametrize(
    ("text", "insertion"),
    [
        ("[1]", json_insertion),
        ("{", json_insertion),
        ('{"mcp_servers": 3}', json_insertion),
        ("= 3", toml_insertion),
        ("mcp_servers = {}", toml_insertion),
    ],
)
def test_a_file_that_cannot_take_it_is_left(text: str, insertion: object) -> None:
    with pytest.raises(UsageError):
        insertion(text, "mcp_servers", ENTRY, WHERE)  # type: ignore[operator]


def setup_in(home: Path) -> Setup:
    return Setup(
        home, home / ".oneiros.json", home / "CLAUDE.md", home / "MEMORY.md", {}, clients=build_clients(home, {})
    )


@pytest.mark.parametrize("name", ["codex", "gemini", "vscode"])
@pytest.mark.parametrize("has_files", [True, False])
def test_undoing_leaves_every_byte_as_it_was(tmp_path: Path, name: str, has_files: bool) -> None:
    client = build_clients(tmp_path, {})[name]
    before = {}
    if has_files:
        before = {client.settings: b'# a\r\nb = "c"' if name == "codex" else b'{\r\n  // a\r\n  "b": 1\r\n}'}
        before |= {client.instructions: b"Be brief.\r\n\r\nAlways."} if client.instructions else {}
    for file, content in before.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    changes = list(setup_in(tmp_path).client(name))
    for change in changes:
        change.do()
    assert "oneiros-mcp" in changes[0].what and str(client.settings) in changes[0].what
    assert list(setup_in(tmp_path).client(name)) == []
    for change in list(setup_in(tmp_path).undoing()):
        change.do()
    setup_in(tmp_path).forget()

    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


TEXTS = {"type": "array", "items": {"type": "string"}}
VSCODE = {  # what VS Code's own schema of mcp.json allows for a server that is run
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "inputs": {"type": "array"},
        "servers": {
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "type": {"enum": ["stdio"]},
                    **{key: {"type": "string"} for key in ("command", "cwd", "envFile")},
                    "args": TEXTS,
                    "env": {"type": "object"},
                    "dev": {"type": "object"},
                },
            }
        },
    },
}


def test_vs_codes_schema_takes_what_is_written(tmp_path: Path) -> None:
    for change in list(setup_in(tmp_path).client("vscode")):
        change.do()

    written = json.loads(build_clients(tmp_path, {})["vscode"].settings.read_bytes())
    jsonschema.validate(written, VSCODE)
    assert set(written["servers"]["oneiros"]) == {"type", "command"}


def test_what_a_person_added_since_stays(tmp_path: Path) -> None:
    client = build_clients(tmp_path, {})["codex"]
    for change in list(setup_in(tmp_path).client("codex")):
        change.do()
    text = client.settings.read_text(encoding="utf-8").replace("env_vars", "enabled = true\nenv_vars")
    client.settings.write_text(text + '\n[projects."/a"]\ntrust_level = "trusted"\n', encoding="utf-8")

    for change in list(setup_in(tmp_path).undoing()):
        change.do()

    assert tomllib.loads(client.settings.read_text(encoding="utf-8")) == {
        "projects": {"/a": {"trust_level": "trusted"}}
    }


def test_a_client_that_is_not_known_is_the_persons_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no client 'emacs'"):
        list(setup_in(tmp_path).client("emacs"))


def test_an_entry_is_named_where_the_part_that_made_it_is_gone(tmp_path: Path) -> None:
    for change in list(setup_in(tmp_path).client("codex")):
        change.do()
    bare = Setup(tmp_path, tmp_path / ".oneiros.json", tmp_path / "CLAUDE.md", tmp_path / "MEMORY.md", {})

    with pytest.raises(UsageError, match="no part knows the client codex"):
        list(bare.undoing())
