"""The genuine clients of others read what setup wrote for them. No login, and no request to any model."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from oneiros.claude.setup import Setup
from parts.clients.table import build_clients

PROGRAMS = Path(__file__).parents[2] / ".venv" / "client" / "node_modules" / ".bin"

pytestmark = pytest.mark.client


def listed(home: Path, program: str, *arguments: str) -> str:
    """What a client prints in this home."""
    assert (PROGRAMS / program).exists(), f"{program} is not installed: run `make setup-client`"
    variables = {"HOME": str(home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    done = subprocess.run(
        [PROGRAMS / program, *arguments],
        cwd=home,
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout or done.stderr  # where Gemini CLI prints its list


def set_up(home: Path, name: str) -> Setup:
    setup = Setup(
        home, home / "setup.json", home / "CLAUDE.md", home / "MEMORY.md", {}, clients=build_clients(home, {})
    )
    for change in list(setup.client(name)):
        change.do()
    return setup


def undone(setup: Setup) -> None:
    for change in list(setup.undoing()):
        change.do()


def test_codex_lists_the_server_beside_what_was_there(tmp_path: Path) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('# mine\n[mcp_servers.other]\ncommand = "true"', encoding="utf-8")

    setup = set_up(tmp_path, "codex")
    servers = json.loads(listed(tmp_path, "codex", "mcp", "list", "--json"))
    found = {one["name"]: one["transport"] for one in servers}

    assert set(found) == {"oneiros", "other"}
    assert found["oneiros"]["command"].endswith("/oneiros-mcp") and "XDG_RUNTIME_DIR" in found["oneiros"]["env_vars"]
    undone(setup)
    assert settings.read_text(encoding="utf-8") == '# mine\n[mcp_servers.other]\ncommand = "true"'


def test_gemini_lists_the_server_beside_what_was_there(tmp_path: Path) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  // mine\n  "mcpServers": {"other": {"command": "true"}}\n}\n', encoding="utf-8")

    setup = set_up(tmp_path, "gemini")
    answer = listed(tmp_path, "gemini", "mcp", "list")

    assert "oneiros: " in answer and "other: " in answer
    undone(setup)
    assert "oneiros" not in settings.read_text(encoding="utf-8")
