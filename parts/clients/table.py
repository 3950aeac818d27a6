"""The clients beside Claude Code that `oneiros setup` can give this memory to."""

import sys
from collections.abc import Mapping
from pathlib import Path

from oneiros.parts import McpClient
from parts.clients.entries import json_insertion, toml_insertion, without_json, without_toml

# Codex gives a server few variables of its own; these say which memory is meant, and where its daemon listens.
PASSED_ON = ("ONEIROS_ROOT", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


def build_clients(home: Path, variables: Mapping[str, str]) -> dict[str, McpClient]:
    """The clients by the name that `--client` takes, with the files that they read."""
    command = {"command": str(Path(sys.executable).parent / "oneiros-mcp")}
    codex = Path(variables.get("CODEX_HOME") or home / ".codex")
    gemini = Path(variables.get("GEMINI_CLI_HOME") or home) / ".gemini"
    by_json = (json_insertion, without_json)
    return {
        "codex": McpClient(
            codex / "config.toml",
            "mcp_servers",
            {**command, "env_vars": list(PASSED_ON)},
            toml_insertion,
            without_toml,
            codex / "AGENTS.md",
        ),
        "gemini": McpClient(gemini / "settings.json", "mcpServers", command, *by_json, gemini / "GEMINI.md"),
        "vscode": McpClient(
            vscode_folder(home, variables) / "mcp.json", "servers", {"type": "stdio", **command}, *by_json
        ),
    }


def vscode_folder(home: Path, variables: Mapping[str, str]) -> Path:
    """Where VS Code keeps what a person set for all folders."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Code" / "User"
    return Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "Code" / "User"
