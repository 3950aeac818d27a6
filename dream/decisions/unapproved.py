"""Which approved files an answer should not rest on: asked with every answer, so that it costs next to nothing.

What was found once holds until the file, the approvals or the repository changes.
"""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path

from dream.decisions.approvals import Approvals, text_of
from dream.decisions.repository import find_repository
from dream.proposals.store import ProposalStore
from memory_server.document import SourcePath
from memory_server.errors import OneirosError
from memory_server.root.paths import MemoryRoot

Stamp = tuple[int, int]


class UnapprovedFiles:
    """Tells of files of layer 1 which are in a state that nobody has answered for. Safe to share between threads."""

    def __init__(self, root: MemoryRoot):
        self._root = root
        self._known: dict[SourcePath, tuple[tuple[Stamp, ...], bool]] = {}

    def __call__(self, paths: Collection[SourcePath]) -> frozenset[SourcePath]:
        """Those of these files that nobody has answered for; none where that cannot be told."""
        try:
            return frozenset(path for path in paths if self._is_unapproved(path))
        except (OneirosError, OSError):
            return frozenset()  # an answer is not kept back for it; `oneiros doctor` says what is wrong

    def _is_unapproved(self, path: SourcePath) -> bool:
        stamps = (_stamp(self._root.file(path)), _stamp(self._root.approvals), _stamp(self._git_folder))
        known = self._known.get(path)
        if known is None or known[0] != stamps:
            approvals = Approvals(self._root, ProposalStore(self._root))
            known = (stamps, bool(approvals.doubt_about(path, text_of(self._root, path))))
            self._known[path] = known
        return known[1]

    @cached_property
    def _git_folder(self) -> Path:
        """What changes whenever something is committed: git makes and removes a lock in it."""
        repository = find_repository(self._root.path)
        return repository.git_folder if repository else self._root.path / ".git"


def _stamp(place: Path) -> Stamp:
    try:
        found = place.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
