"""A memory in which something leads out of it is not opened."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import WRITTEN, require_memory
from tests.memories import new_root

FOLDERS = [*WRITTEN, "sessions/archive", "sessions/compressed/2026", "proposals/2026-03-01-1", ".blackboard/handoff"]


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    (tmp_path / "outside").mkdir()
    return MemoryRoot(new_root(tmp_path / "memory").path, tmp_path / "states")


def link(at: Path) -> None:
    at.symlink_to(at.anchor if at.exists() else "/tmp")


def dangling(at: Path) -> None:
    at.symlink_to("nowhere")


def pipe(at: Path) -> None:
    os.mkfifo(at)


@pytest.mark.parametrize("plant", [link, dangling, pipe])
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_leads_elsewhere_is_refused(root: MemoryRoot, name: str, plant: Callable[[Path], None]) -> None:
    place = root.path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    plant(place)

    with pytest.raises(NeedsRepair, match=r"Put the folder or file itself in its place, or remove it\.") as told:
        require_memory(root)

    assert str(told.value).startswith(f"{place}: ")


@pytest.mark.parametrize("name", ["MEMORY.md", "lessons.md", "oneiros.toml", ".gitignore"])
def test_a_pipe_in_the_place_of_a_page_is_refused(root: MemoryRoot, name: str) -> None:
    (root.path / name).unlink(missing_ok=True)
    os.mkfifo(root.path / name)

    with pytest.raises(NeedsRepair):
        require_memory(root)


def test_a_derived_file_with_a_second_name_is_refused(root: MemoryRoot, tmp_path: Path) -> None:
    root.derived_folder.mkdir()
    (tmp_path / "victim").write_bytes(b"")
    root.ledger.hardlink_to(tmp_path / "victim")

    with pytest.raises(NeedsRepair):
        require_memory(root)


def test_indices_that_git_tracks_are_refused(root: MemoryRoot) -> None:
    root.derived_folder.mkdir()
    root.ledger.write_bytes(b"lies")
    for command in (["init", "--quiet"], ["add", "--force", ".oneiros"]):
        subprocess.run(["git", *command], cwd=root.path, check=True)

    with pytest.raises(NeedsRepair, match=r"git tracks \.oneiros/ledger\.db"):
        require_memory(root)


def test_a_link_to_a_topic_or_session_file_is_for_validate_to_name(root: MemoryRoot, tmp_path: Path) -> None:
    (tmp_path / "outside" / "x.md").write_text("# X\n", encoding="utf-8")
    (root.path / "sessions").mkdir()
    for folder in (root.topics, root.path / "sessions"):
        (folder / "x.md").symlink_to(tmp_path / "outside" / "x.md")

    assert require_memory(root) == root
