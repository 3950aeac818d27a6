"""Sessions that are to be forgotten, written down until nothing that was derived or noted of them is left.

Whoever takes a session out of the archive may not be who owns the indices, and either may be killed. So it is noted
here first, and struck out by the run of the owner that has rewritten everything.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from memory_server.machine.files import append_line, replace_file
from memory_server.root.paths import MemoryRoot

FORGOTTEN = "forgotten.txt"  # in the folder of all states


def note_forgetting(root: MemoryRoot, session_ids: Iterable[str]) -> None:
    """Notes sessions whose archive and files go next; in force by then at the latest."""
    for session_id in session_ids:
        append_line(root.forgetting, session_id.encode("utf-8"))


def sessions_to_forget(root: MemoryRoot) -> frozenset[str]:
    """The sessions that were noted and not struck out yet."""
    try:
        return frozenset(root.forgetting.read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return frozenset()


def note_forgotten(states: Path, marks: Iterable[str], *, is_undone: bool = False) -> None:
    """Notes for good, for all memories of this account, that a backup must not bring sessions back.

    `marks` are hashes of their ids, which do not tell what was forgotten. `is_undone`: it may again.
    """
    for mark in marks:
        append_line(states / FORGOTTEN, f"{'-' if is_undone else '+'}{mark}".encode())


def forgotten_marks(states: Path) -> frozenset[str]:
    """The marks of the sessions that a backup must not bring back."""
    try:
        lines = (states / FORGOTTEN).read_text(encoding="ascii", errors="replace").split()
    except FileNotFoundError:
        return frozenset()
    last = {line[1:]: line[0] for line in lines}
    return frozenset(mark for mark, sign in last.items() if sign == "+")


def strike_out(root: MemoryRoot, session_ids: Collection[str]) -> None:
    """Notes that nothing is left of these sessions."""
    left = sorted(sessions_to_forget(root).difference(session_ids))
    replace_file(root.forgetting, "".join(f"{session_id}\n" for session_id in left))
