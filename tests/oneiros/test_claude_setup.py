"""What setup writes into Claude Code's files, and that undoing leaves every byte as it was."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import ContentError, NeedsRepair, UsageError
from oneiros.claude.files import ClaudeFiles
from oneiros.claude.setup import BEGIN, END, Setup, with_block, without_block
from oneiros.cli.setup import SHELLS, completion_lines, find_shell, startup_file
from oneiros.environment import Environment


def setup_in(home: Path) -> Setup:
    page = home / ".claude" / "CLAUDE.md"
    index_page = home / ".oneiros" / "memory" / "MEMORY.md"
    return Setup(home, home / ".config" / "oneiros" / "setup.json", page, index_page, {"PATH": str(home / "bin")})


def do_all(setup: Setup) -> list[str]:
    done = []
    for change in list(setup.changes(auto_dream_off=True, with_skill=True)):
        change.do()
        done.append(change.what)
    return done


def undo_all(setup: Setup) -> None:
    for change in list(setup.undoing()):
        change.do()
    setup.forget()


def files_below(folder: Path) -> dict[str, str]:
    return {str(file): file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file()}


def test_setup_writes_where_the_clients_variable_says(tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "work")}

    do_all(Setup.of(Environment(variables, tmp_path, tmp_path)))

    assert {file.name for file in (tmp_path / "work").iterdir()} == {"CLAUDE.md", "settings.json", "skills"}
    assert not (tmp_path / ".claude").exists()


def test_undoing_finds_the_folders_that_the_variable_named_then(tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    for name in ("work", "play"):
        do_all(Setup.of(Environment(variables | {"CLAUDE_CONFIG_DIR": str(tmp_path / name)}, tmp_path, tmp_path)))

    undo_all(Setup.of(Environment(variables, tmp_path, tmp_path)))

    assert files_below(tmp_path) == {}


def test_the_client_loads_memory_by_what_setup_wrote(tmp_path: Path) -> None:
    index_page = tmp_path / ".oneiros" / "memory" / "MEMORY.md"

    assert len(do_all(setup_in(tmp_path))) == 4

    assert ClaudeFiles(tmp_path, tmp_path / "work").list_importers(index_page) == [tmp_path / ".claude" / "CLAUDE.md"]
    assert ClaudeFiles(tmp_path, tmp_path).settings()["autoDreamEnabled"] is False
    assert "/oneiros:dream" in (tmp_path / ".claude" / "skills" / "dream" / "SKILL.md").read_text(encoding="utf-8")
    assert do_all(setup_in(tmp_path)) == []


def test_undoing_leaves_no_byte(tmp_path: Path) -> None:
    do_all(setup_in(tmp_path))
    undo_all(setup_in(tmp_path))

    assert files_below(tmp_path) == {}


def test_the_client_is_told_to_deny_writes_into_what_is_the_persons(tmp_path: Path) -> None:
    root = tmp_path / ".oneiros" / "memory"
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(ls *)"]}}', encoding="utf-8")

    shown = do_all(setup_in(tmp_path))

    written = json.loads(settings.read_text(encoding="utf-8"))["permissions"]
    assert written["allow"] == ["Bash(ls *)"]
    assert written["deny"][:2] == ["Read(.env)", f"Edit(/{root}/topics)"]
    assert {f"Edit(/{root}/.oneiros)", f"Edit(/{tmp_path}/.config/oneiros)"} < {*written["deny"]}
    assert any(f"Edit(/{root}/topics)" in line for line in shown)
    undo_all(setup_in(tmp_path))
    after = json.loads(settings.read_text(encoding="utf-8"))
    assert after == {"permissions": {"deny": ["Read(.env)"], "allow": ["Bash(ls *)"]}}


def test_undoing_gives_back_what_was_there(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("# Mine\n\nBe brief.", encoding="utf-8")
    settings = json.dumps({"model": "x", "autoDreamEnabled": True}, indent=2) + "\n"
    (tmp_path / ".claude" / "settings.json").write_text(settings, encoding="utf-8")
    before = files_below(tmp_path)

    do_all(setup_in(tmp_path))
    assert files_below(tmp_path) != before
    undo_all(setup_in(tmp_path))

    after = files_below(tmp_path)
    assert {name: text.rstrip("\n") for name, text in after.items()} == {
        name: text.rstrip("\n") for name, text in before.items()
    }


def test_what_a_person_changed_since_stays(tmp_path: Path) -> None:
    do_all(setup_in(tmp_path))
    skill = tmp_path / ".claude" / "skills" / "dream" / "SKILL.md"
    skill.write_text("my own", encoding="utf-8")
    settings = tmp_path / ".claude" / "settings.json"
    settings.write_text('{"autoDreamEnabled": true}', encoding="utf-8")

    undo_all(setup_in(tmp_path))

    assert skill.read_text(encoding="utf-8") == "my own"
    assert settings.read_text(encoding="utf-8") == '{"autoDreamEnabled": true}'


@given(st.text(alphabet=st.sampled_from("ab\n #-"), max_size=40))
def test_a_block_put_in_and_taken_out_leaves_the_page(text: str) -> None:
    page = with_block(text, "x\n", Path("CLAUDE.md"))

    back = without_block(page, Path("CLAUDE.md"))
    assert back.rstrip("\n") == text.rstrip("\n")
    assert with_block(page, "y\n", Path("CLAUDE.md")).count(BEGIN) == 1


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n"])
def test_half_a_pair_of_markers_is_an_error(text: str) -> None:
    with pytest.raises(ContentError):
        with_block(text, "x", Path("CLAUDE.md"))


def test_settings_that_are_not_json_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("// mine", encoding="utf-8")

    with pytest.raises(UsageError):
        do_all(setup_in(tmp_path))


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_written_for_the_shell_and_undone_without_a_byte(tmp_path: Path, shell: str) -> None:
    file = startup_file(shell, {}, tmp_path)
    before = "# mine\nalias ll='ls -l'\n"
    if shell != "fish":
        file.write_text(before, encoding="utf-8")

    [change] = setup_in(tmp_path).completion(file, completion_lines(shell))
    assert completion_lines(shell).splitlines()[0] in change.what
    change.do()

    assert file.read_text(encoding="utf-8").startswith(before if shell != "fish" else "# oneiros: begin\n")
    assert list(setup_in(tmp_path).completion(file, completion_lines(shell))) == []
    undo_all(setup_in(tmp_path))
    assert files_below(tmp_path) == ({} if shell == "fish" else {str(file): before})


def test_a_startup_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles" / "bashrc"
    kept.parent.mkdir()
    kept.write_text("# mine\n", encoding="utf-8")
    (tmp_path / ".bashrc").symlink_to(kept)

    [change] = setup_in(tmp_path).completion(tmp_path / ".bashrc", completion_lines("bash"))
    change.do()

    assert (tmp_path / ".bashrc").is_symlink()
    assert "complete -o default" in kept.read_text(encoding="utf-8")


def test_a_shell_without_completion_is_named() -> None:
    with pytest.raises(UsageError, match="SHELL names tcsh"):
        find_shell({"SHELL": "/bin/tcsh"})


def test_the_plugin_comes_with_the_program_and_needs_the_client(tmp_path: Path) -> None:
    [change] = setup_in(tmp_path).plugin()

    add, install = change.what.splitlines()
    assert (Path(add.split()[-1]) / ".claude-plugin" / "marketplace.json").is_file()
    assert f"program_folder={Path(sys.executable).parent}" in install
    with pytest.raises(UsageError, match="Claude Code is not on PATH"):
        change.do()
    assert files_below(tmp_path) == {}


def test_what_the_client_refuses_is_said_in_its_words_and_nothing_is_noted(tmp_path: Path) -> None:
    client = tmp_path / "bin" / "claude"
    client.parent.mkdir()
    client.write_text("#!/bin/sh\necho 'the marketplace is blocked by policy' >&2; exit 1\n", encoding="utf-8")
    client.chmod(0o755)

    [change] = setup_in(tmp_path).plugin()

    with pytest.raises(NeedsRepair, match="the marketplace is blocked by policy"):
        change.do()
    assert list(setup_in(tmp_path).undoing()) == []
