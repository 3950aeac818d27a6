"""What doctor finds in Claude Code's own files."""

import json
from pathlib import Path

from memory_server.root.paths import MemoryRoot
from oneiros.claude.checks import check_client
from oneiros.claude.files import ClaudeFiles
from tests.memories import new_root


def findings(home: Path, root: MemoryRoot, **settings: object) -> list[tuple[str, str]]:
    folder = home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    found = check_client(ClaudeFiles(home, home / "work" / "shop"), root)
    return [(one.state, one.detail) for one in found]


def write_page(page: Path, text: str) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


def test_a_memory_that_is_imported_once_is_in_order(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_page(tmp_path / ".claude" / "CLAUDE.md", "See `@~/memory/MEMORY.md` no import.\n\n@~/memory/MEMORY.md\n")

    assert [state for state, _ in findings(tmp_path, root)] == ["ok"]


def test_a_page_that_comes_twice_and_a_whole_topic_are_found(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_page(tmp_path / ".claude" / "CLAUDE.md", "@~/memory/MEMORY.md\n")
    write_page(tmp_path / "work" / "CLAUDE.md", "@../memory/MEMORY.md and @../memory/topics/mail.md\n")

    details = [detail for _, detail in findings(tmp_path, root)]

    assert "MEMORY.md is loaded 2 times" in details[0] and "mail.md" in details[1]


def test_a_client_that_writes_into_this_memory_is_a_failure(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")

    for folder in ("~/memory", str(tmp_path / "memory" / "topics"), str(tmp_path)):
        assert findings(tmp_path, root, autoMemoryDirectory=folder)[0][0] == "failed"
    assert findings(tmp_path, root, autoMemoryDirectory="~/elsewhere")[0][0] == "ok"


def test_auto_dream_is_named_where_the_plugin_is_on(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    plugins = {"oneiros@oneiros": True}

    assert "auto-dream" in findings(tmp_path, root, enabledPlugins=plugins)[0][1]
    assert findings(tmp_path, root, enabledPlugins=plugins, autoDreamEnabled=False)[0][0] == "ok"
