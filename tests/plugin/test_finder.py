"""The plugin's shell scripts: they find the installed programs, and do no harm where there are none."""

import json
import os
import re
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.system.house import CHECKOUT

BIN = CHECKOUT / "plugin" / "bin"
LOCKED = CHECKOUT / "plugin" / "lib" / "requirements.txt"


def program(place: Path, name: str = "oneiros-mcp", says: str = "found") -> Path:
    """A program that says where it was run from."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / name
    file.write_text(f'#!/bin/sh\necho "{says} $ONEIROS_ROOT"\n', encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def run(script: str, *arguments: str, variables: Mapping[str, str], stdin: str = "", cwd: Path = Path("/")) -> str:
    """What a script prints; it must end well and say nothing on stderr."""
    done = subprocess.run(
        [str(BIN / script), *arguments],
        input=stdin,
        env=dict(variables),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("place", "variables"),
    [
        ("somewhere", {"CLAUDE_PLUGIN_OPTION_PROGRAM_FOLDER": "{home}/somewhere"}),
        ("on path", {"PATH": "/nonexistent:{home}/on path"}),
        (".local/bin", {}),
        (".local/share/uv/tools/oneiros/bin", {}),
        ("tools/oneiros/bin", {"UV_TOOL_DIR": "{home}/tools"}),
        (".local/share/pipx/venvs/oneiros/bin", {}),
        (".local/pipx/venvs/oneiros/bin", {}),
        ("Library/Application Support/pipx/venvs/oneiros/bin", {}),
        ("bins", {"PIPX_BIN_DIR": "{home}/bins"}),
    ],
)
def test_the_installed_program_is_found(tmp_path: Path, place: str, variables: dict[str, str]) -> None:
    program(tmp_path / place)

    given = {key: value.format(home=tmp_path) for key, value in variables.items()}

    assert run("oneiros-mcp", variables={"HOME": str(tmp_path), "PATH": "", **given}) == "found \n"


def test_a_program_folder_that_is_not_absolute_is_never_found(tmp_path: Path) -> None:
    program(tmp_path / "bin")
    program(tmp_path / ".local" / "bin")
    for folder in ("bin", "./bin", "../bin"):
        given = {"HOME": str(tmp_path), "PATH": "", "CLAUDE_PLUGIN_OPTION_PROGRAM_FOLDER": folder}

        assert run("oneiros-mcp", cwd=tmp_path / "bin" if folder == "../bin" else tmp_path, variables=given) == ""


def test_the_setting_for_the_memory_goes_before_the_variable(tmp_path: Path) -> None:
    program(tmp_path / ".local" / "bin")
    home = {"HOME": str(tmp_path), "PATH": "", "ONEIROS_ROOT": "/a"}

    assert run("oneiros-mcp", variables={**home, "CLAUDE_PLUGIN_OPTION_MEMORY_ROOT": "/b c"}) == "found /b c\n"
    assert run("oneiros-mcp", variables={**home, "CLAUDE_PLUGIN_OPTION_MEMORY_ROOT": ""}) == "found /a\n"


def test_neither_the_plugins_own_folder_nor_a_relative_one_is_searched(tmp_path: Path) -> None:
    program(tmp_path)

    output = run("oneiros-mcp", cwd=tmp_path, variables={"HOME": str(tmp_path / "home"), "PATH": f".:{BIN}:{BIN}/"})

    assert output == ""  # the server of the install command, whose client has gone


REQUESTS = [
    {"jsonrpc": "2.0", "id": "probe-1", "method": "server/discover", "params": {}},
    {"method": "initialize", "params": {"protocolVersion": "2025-06-18"}, "jsonrpc": "2.0", "id": 0},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {"method": "tools/call", "params": {"name": "install_oneiros", "arguments": {}}, "jsonrpc": "2.0", "id": 2},
    {"method": "tools/call", "params": {"name": "hook", "arguments": {"prompt": '"id":7'}}, "jsonrpc": "2.0", "id": 3},
]


def test_without_a_program_and_with_an_empty_path_one_tool_says_how_to_install_it(tmp_path: Path) -> None:
    for separators in ((",", ":"), (", ", ": ")):
        payload = "".join(json.dumps(request, separators=separators) + "\n" for request in REQUESTS)

        lines = run("oneiros-mcp", stdin=payload, variables={"HOME": str(tmp_path), "PATH": ""}).splitlines()

        probe, initialized, listed, called, hook = map(json.loads, lines)
        assert probe["id"] == "probe-1" and probe["error"]["code"] == -32601
        assert initialized["result"]["protocolVersion"] == "2025-06-18"
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["install_oneiros"]
        said = called["result"]["content"][0]["text"]
        locked = re.findall(r"(?:pipx install '--preinstall=-r|uv tool install --constraints ')([^']+)'", said)
        assert said.count(f"' '{CHECKOUT}[offline]'") == 2
        assert len(locked) == 2 and all(Path(file).samefile(LOCKED) for file in locked)
        assert (hook["id"], hook["result"]["content"]) == (3, [])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["id", "method", "name"]), inner),
    max_leaves=6,
)
SENT = st.tuples(st.booleans(), st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]), VALUES, VALUES)


@settings(max_examples=10)
@given(st.lists(SENT, min_size=20, max_size=20))
# neither character needs an escape
@example([(False, False, (",", ":"), "\x7f", None), (False, False, (",", ":"), "a\x85", None)])
def test_the_install_server_answers_any_id_with_valid_json(sent: list[tuple[bool, bool, Any, object, object]]) -> None:
    text, expected = "", []
    for id_is_last, is_ascii, separators, identity, params in sent:
        request = {"id": identity, "method": "ping", "params": params}
        order = sorted(request, reverse=id_is_last)
        text += json.dumps({key: request[key] for key in order}, ensure_ascii=is_ascii, separators=separators) + "\n"
        is_answered = isinstance(identity, str) or (isinstance(identity, int) and not isinstance(identity, bool))
        expected.append((identity, "result") if is_answered else (None, "error"))

    lines = run("oneiros-mcp", stdin=text, variables={"HOME": "/nonexistent", "PATH": ""}).split("\n")

    # `splitlines` would cut an id in two at a character such as U+0085
    found = [json.loads(line) for line in lines if line]
    assert [(one["id"], "result" if "result" in one else "error") for one in found] == expected


@pytest.mark.parametrize("identity", [r'"\x"', '"a\tb"', "1-2", "01", "1 2", r'"\u12"', '"', "-"])
def test_the_install_server_answers_what_is_no_json_with_an_error(identity: str) -> None:
    text = '{"method":"ping","id":' + identity + "}\n"

    [answer] = run("oneiros-mcp", stdin=text, variables={"HOME": "/nonexistent", "PATH": ""}).splitlines()

    assert json.loads(answer)["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("oneiros-hook", ("SessionStart",)), ("oneiros-hook", ("SessionEnd",)), ("oneiros-guard", ())],
)
def test_without_a_program_the_hooks_are_silent(tmp_path: Path, script: str, arguments: tuple[str, ...]) -> None:
    payload = json.dumps({"tool_name": "Bash", "tool_input": {"command": "echo topics"}})

    assert run(script, *arguments, stdin=payload, variables={"HOME": str(tmp_path), "PATH": ""}) == ""


def test_a_program_that_fails_is_silent_too(tmp_path: Path) -> None:
    file = program(tmp_path / ".local" / "bin", "oneiros-hook")
    for broken in ("#!/bin/sh\necho wrong >&2; exit 2\n", "#!/no/such/python3\n", "\x7fELF nonsense", ""):
        file.write_text(broken, encoding="utf-8")
        assert run("oneiros-hook", "SessionStart", stdin="{}", variables={"HOME": str(tmp_path), "PATH": ""}) == ""


@pytest.mark.parametrize("ending", ["", "\n"])
def test_the_guard_looks_closer_only_where_approved_memory_may_be_meant(tmp_path: Path, ending: str) -> None:
    file = tmp_path / ".local" / "bin" / "oneiros-hook"
    file.parent.mkdir(parents=True)
    file.write_text('#!/bin/sh\nprintf "%s %s\\n" "$1" "$(cat)"\n', encoding="utf-8")
    file.chmod(0o755)
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    assert run("oneiros-guard", stdin='{"command":"ls -l"}' + ending, variables=home) == ""
    for told in (r'{"command":"rm topics/a\n.md"}', '{"command":"tee /h/Memory/a.md"}', '{"command":"tee /h/.Git/a"}'):
        assert run("oneiros-guard", stdin=told + ending, variables=home) == f"PreToolUse {told}\n"
