"""The person's state of a memory: what is moved there, what follows a root, and what a clone cannot bring."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memory_server.root.paths import MemoryRoot
from memory_server.root.state import make_state
from tests.memories import new_root

LINES = ("ended.jsonl", "approvals.jsonl")


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return MemoryRoot(new_root(tmp_path / "memory").path, tmp_path / "states")


def state_of(root: MemoryRoot) -> dict[str, str]:
    """The files of a state with their texts."""
    return {file.name: file.read_text(encoding="utf-8") for file in root.state.iterdir() if file.name != "root.json"}


def fill_state(root: MemoryRoot) -> None:
    """A memory in use: each file of its state holds its own name."""
    root.derived_folder.mkdir()
    make_state(root)
    for name in (*LINES, "token", "state.db", "daemon.log"):
        (root.state / name).write_text(f"{name}\n", encoding="utf-8")


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_what_was_moved_is_for_its_owner_alone(root: MemoryRoot, tmp_path: Path) -> None:
    fill_state(root)
    (root.state / "state.db").chmod(0o644)
    moved = MemoryRoot(root.path.rename(tmp_path / "renamed"), root.states)

    make_state(moved)

    state = (moved.states, moved.state, *moved.state.iterdir())
    assert [path for path in state if path.stat().st_mode & 0o077] == []


def test_private_folders_are_closed_to_others(root: MemoryRoot) -> None:
    folders = (root.derived_folder, root.path / "proposals")
    for folder in folders:
        folder.mkdir(mode=0o755)

    make_state(root)

    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_were_written_meanwhile_come_behind_the_earlier_ones(
    name: str, root: MemoryRoot, tmp_path: Path
) -> None:
    fill_state(root)
    moved = MemoryRoot(root.path.rename(tmp_path / "renamed"), root.states)
    moved.state.mkdir(mode=0o700)
    (moved.state / name).write_text("new\n", encoding="utf-8")

    make_state(moved)

    assert state_of(moved)[name] == f"{name}\nnew\n"


def test_a_clone_brings_nothing(root: MemoryRoot) -> None:
    for path in ("proposals/approvals.jsonl", ".oneiros/token", ".oneiros/state.db"):
        (root.path / path).parent.mkdir(exist_ok=True)
        (root.path / path).write_text(f"{path}\n", encoding="utf-8")
    git(root.path, "init", "--quiet")
    git(root.path, "add", "--force", ".")

    make_state(root)

    assert state_of(root) == {}


def test_the_state_follows_a_root_that_is_renamed(root: MemoryRoot, tmp_path: Path) -> None:
    fill_state(root)
    before = state_of(root)
    moved = MemoryRoot(root.path.rename(tmp_path / "renamed"), root.states)

    make_state(moved)

    assert state_of(moved) == before and len(list(root.states.glob("*/root.json"))) == 1


def test_a_folder_in_the_state_can_be_entered_after_a_move(root: MemoryRoot, tmp_path: Path) -> None:
    root.derived_folder.mkdir()
    make_state(root)
    (root.state / "mirror").mkdir()
    moved = MemoryRoot(root.path.rename(tmp_path / "other"), root.states)

    make_state(moved)

    assert (moved.state / "mirror").stat().st_mode & 0o777 == 0o700


def test_the_state_follows_a_root_that_another_file_system_gives_another_inode(
    root: MemoryRoot, tmp_path: Path
) -> None:
    fill_state(root)
    before = state_of(root)
    shutil.copytree(root.path, tmp_path / "other disk")
    shutil.rmtree(root.path)
    moved = MemoryRoot(tmp_path / "other disk", root.states)

    make_state(moved)

    assert state_of(moved) == before


def test_a_copy_beside_the_first_root_starts_with_nothing(root: MemoryRoot, tmp_path: Path) -> None:
    fill_state(root)
    before = state_of(root)
    shutil.copytree(root.path, tmp_path / "copy")
    copy = MemoryRoot(tmp_path / "copy", root.states)

    make_state(copy)

    assert state_of(copy) == {} and state_of(root) == before
    shutil.rmtree(root.path)  # each has a name of its own from then on
    again = MemoryRoot(copy.path.rename(tmp_path / "again"), root.states)
    make_state(again)
    assert state_of(again) == {}


def test_another_memory_in_the_place_of_a_removed_one_does_not_get_its_state(root: MemoryRoot, tmp_path: Path) -> None:
    fill_state(root)
    (root.path / "MEMORY.md").unlink()
    root.path.rename(tmp_path / "aside")  # so that its inode is not given away again
    clone = MemoryRoot(new_root(root.path).path, root.states)

    make_state(clone)

    assert state_of(clone) == {}
