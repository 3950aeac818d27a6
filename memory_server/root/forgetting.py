"""Sessions that are to be forgotten, written down until nothing that was derived or noted of them is left.

Whoever takes a session out of the archive may not be who owns the indices, and either may be killed. So it is noted
here first, and struck out by the run of the owner that has rewritten everything.
"""

from collections.abc import Collection, Iterable

from memory_server.machine.files import append_line, replace_file
from memory_server.root.paths import MemoryRoot


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


def strike_out(root: MemoryRoot, session_ids: Collection[str]) -> None:
    """Notes that nothing is left of these sessions."""
    left = sorted(sessions_to_forget(root).difference(session_ids))
    replace_file(root.forgetting, "".join(f"{session_id}\n" for session_id in left))
