"""The person's state of a memory: what is moved there, what follows a root, and what a clone cannot bring."""

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from memory_server.machine.database import connect
from memory_server.root.paths import MemoryRoot
from memory_server.root.state import EARLIER, make_state
from memory_server.search.query_log import SCHEMA as QUERIES
from memory_server.search.query_log import QueryLog
from tests.memories import NOON, new_root

LINES = ("ended.jsonl", "approvals.jsonl")


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return MemoryRoot(new_root(tmp_path / "memory").path, tmp_path / "states")


def fill_earlier(root: MemoryRoot) -> None:
    """A memory as an earlier version left it: each file holds its own name."""
    for path in EARLIER:
        file = root.path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{path}\n", encoding="utf-8")


def state_of(root: MemoryRoot) -> dict[str, str]:
    """The files of a state with their texts."""
    return {file.name: file.read_text(encoding="utf-8") for file in root.state.iterdir() if file.name != "root.json"}


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_everything_of_an_earlier_version_is_moved_once_and_whole(root: MemoryRoot) -> None:
    fill_earlier(root)

    make_state(root)
    make_state(root)

    assert state_of(root) == {name: f"{path}\n" for path, name in EARLIER.items()}
    assert [path for path in EARLIER if (root.path / path).exists()] == []


def test_questions_that_lie_in_the_write_ahead_log_alone_are_moved_too(root: MemoryRoot) -> None:
    root.derived_folder.mkdir()
    with closing(connect(root.derived_folder / "queries.db")) as earlier:
        earlier.executescript(QUERIES)
        earlier.execute("insert into query values (1, '2026-03-02T12:00:00+00:00', 'recall', 'which port', '[]', 0)")
        assert (root.derived_folder / "queries.db-wal").stat().st_size > 0

        make_state(root)

    with closing(QueryLog(root.state_database, lambda text: text, lambda: NOON)) as log:
        assert [one.query for one in log.queries()] == ["which port"]
    assert not list(root.state.glob("queries.db*"))


def test_what_was_moved_is_for_its_owner_alone(root: MemoryRoot) -> None:
    fill_earlier(root)
    for folder in (root.derived_folder, root.path / "proposals"):
        folder.chmod(0o755)
    root.derived_folder.joinpath("queries.db").chmod(0o644)

    make_state(root)

    open_to_others = [path for path in (root.states, root.state, *root.state.iterdir()) if path.stat().st_mode & 0o077]
    assert open_to_others == []
    assert {folder.stat().st_mode & 0o777 for folder in (root.derived_folder, root.path / "proposals")} == {0o700}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_were_written_meanwhile_come_behind_the_earlier_ones(root: MemoryRoot, name: str) -> None:
    fill_earlier(root)
    root.state.mkdir(parents=True, mode=0o700)
    (root.state / name).write_text("new\n", encoding="utf-8")

    make_state(root)

    earlier = next(path for path, moved in EARLIER.items() if moved == name)
    assert state_of(root)[name] == f"{earlier}\nnew\n"


def test_a_clone_brings_nothing(root: MemoryRoot) -> None:
    fill_earlier(root)
    git(root.path, "init", "--quiet")
    git(root.path, "add", "--force", ".")

    make_state(root)

    assert state_of(root) == {}


def test_what_a_person_committed_of_a_memory_in_use_is_kept(root: MemoryRoot) -> None:
    fill_earlier(root)
    root.ledger.write_bytes(b"indexed here")
    (root.path / ".gitignore").write_text(".oneiros/\n", encoding="utf-8")
    git(root.path, "init", "--quiet")
    git(root.path, "add", ".")

    make_state(root)

    assert state_of(root)["approvals.jsonl"] == "proposals/approvals.jsonl\n"
    assert (root.path / "proposals" / "approvals.jsonl").exists()


@pytest.mark.parametrize("how", ["symlink", "hard link", "folder"])
def test_what_is_no_file_of_the_memory_is_not_moved(root: MemoryRoot, tmp_path: Path, how: str) -> None:
    victim = tmp_path / "victim"
    (victim / "token" if how == "folder" else victim).mkdir(parents=True) if how == "folder" else victim.write_text("x")
    if how == "folder":
        root.derived_folder.symlink_to(victim)
    else:
        root.derived_folder.mkdir()
        (root.derived_folder / "token").symlink_to(victim) if how == "symlink" else (
            root.derived_folder / "token"
        ).hardlink_to(victim)

    make_state(root)

    assert state_of(root) == {} and victim.exists()


def test_the_state_follows_a_root_that_is_renamed(root: MemoryRoot, tmp_path: Path) -> None:
    fill_earlier(root)
    make_state(root)
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
    fill_earlier(root)
    make_state(root)
    before = state_of(root)
    shutil.copytree(root.path, tmp_path / "other disk")
    shutil.rmtree(root.path)
    moved = MemoryRoot(tmp_path / "other disk", root.states)

    make_state(moved)

    assert state_of(moved) == before


def test_a_copy_beside_the_first_root_starts_with_nothing(root: MemoryRoot, tmp_path: Path) -> None:
    fill_earlier(root)
    make_state(root)
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
    fill_earlier(root)
    make_state(root)
    (root.path / "MEMORY.md").unlink()
    root.path.rename(tmp_path / "aside")  # so that its inode is not given away again
    clone = MemoryRoot(new_root(root.path).path, root.states)

    make_state(clone)

    assert state_of(clone) == {}
