"""The person's own state of a memory root: how it comes to lie outside of the root, and stays with it.

Journal, token, daemon state, query log and approvals lie where no clone can bring them. The state of a root that was
renamed or moved goes with it, once and whole: the root is known again by a random name in its `.oneiros/`. A copy of a
root has the same name but is another root: where the first one still lies in its place, the copy starts with nothing.
"""

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_server.machine.files import append_line, make_folder, read_json, remove_file, replace_file
from memory_server.root.git import is_in_repository, run_git
from memory_server.root.paths import MemoryRoot, state_key

MARK = "root.json"  # of a state: which root it belongs to; written last
NAME = "name"  # of a root, below `.oneiros/`
PRIVATE = (".oneiros", "sessions", "episodes", "proposals", "reports", ".blackboard")


def make_state(root: MemoryRoot) -> None:
    """Makes the state of a root, with all that is there of it elsewhere; after the first time a mere look."""
    if (root.state / MARK).exists():
        if not (root.derived_folder / NAME).exists():  # the derived folder is new
            _leave_name(root)
        return
    with _alone(root.states):
        if (root.state / MARK).exists():
            return
        make_folder(root.state)
        name = _read_name(root)
        if moved := _state_of_gone(root, name):
            _take(root, moved, name)
        else:
            _close_folders(root)
            write_mark(root.state, root.path)
    _leave_name(root)


def write_mark(state: Path, root: Path, name: str = "") -> None:
    """Notes which root a state belongs to."""
    known = {"path": str(root), "name": name or os.urandom(16).hex()}
    replace_file(state / MARK, json.dumps(known) + "\n")


@contextmanager
def _alone(states: Path) -> Iterator[None]:
    """Keeps other processes out that would make a state too."""
    make_folder(states)
    descriptor = os.open(states / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# -- a root that was moved --------------------------------------------------------------------------------------------


def _read_name(root: MemoryRoot) -> str:
    try:
        return (root.derived_folder / NAME).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _leave_name(root: MemoryRoot) -> None:
    """Notes the name in the root, where that has a derived folder to keep it in; a copy loses that of the first."""
    if root.derived_folder.is_dir() and not root.derived_folder.is_symlink():
        with suppress(OSError):  # a root that can only be read cannot be renamed either
            replace_file(root.derived_folder / NAME, str(_mark(root.state).get("name", "")) + "\n")


def _state_of_gone(root: MemoryRoot, name: str) -> Path | None:
    """The state of the root that had this name and lies no longer where it was; None where there is none."""
    for mark in sorted(root.states.glob(f"*/{MARK}")) if name else ():
        known = _mark(mark.parent)
        if known.get("name") == name and state_key(Path(known["path"])) != mark.parent.name:
            return mark.parent
    return None


def states_without_root(states: Path) -> Iterator[tuple[Path, str]]:
    """The states whose root has gone, with the path where it was."""
    for mark in sorted(states.glob(f"*/{MARK}")):
        path = _mark(mark.parent).get("path", "")
        if state_key(Path(path)) != mark.parent.name:
            yield mark.parent, path


def _mark(state: Path) -> Mapping[str, str]:
    return read_json(state / MARK, dict[str, str], {})


def _take(root: MemoryRoot, old: Path, name: str) -> None:
    """Moves a whole state. The old mark goes last: where a kill comes between, the rest is found again by it."""
    for file in old.iterdir():
        if file.name != MARK:
            _move(file, root.state / file.name)
    write_mark(root.state, root.path, name)
    (old / MARK).unlink()
    old.rmdir()


def _close_folders(root: MemoryRoot) -> None:
    """Closes the private folders of a root to other accounts."""
    for name in PRIVATE:
        folder = root.path / name
        if not folder.is_symlink() and folder.is_dir() and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)


def _move(file: Path, to: Path) -> None:
    """Moves a file, also onto another file system; what a hook or a daemon has written there already stays."""
    file.chmod(0o700 if file.is_dir() else 0o600)  # a folder: what a killed fetch has left
    if to.suffix == ".log" and to.exists():
        append_line(to, file.read_bytes().rstrip(b"\n"))  # a daemon may have it open
    elif to.suffix == ".jsonl" and to.exists():
        replace_file(to, file.read_bytes().rstrip(b"\n") + b"\n" + to.read_bytes())
    else:
        try:
            file.replace(to)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            replace_file(to, file.read_bytes())
    remove_file(file)


def list_tracked_paths(folder: Path, paths: tuple[str, ...]) -> frozenset[str]:
    """Which files at or below these paths git has in its index; none where there is no git or no repository."""
    if not is_in_repository(folder) or not shutil.which("git"):  # without git nothing was cloned with it
        return frozenset()
    listed = run_git(folder, ("ls-files", "-z", "--", *paths)).stdout
    return frozenset(os.fsdecode(path) for path in listed.split(b"\0") if path)
