"""Which state of the approved files a person has answered for, and which changes nobody has.

A state is explained by the last approval of the file, or by the last commit, unless the commit says itself that the
assistant made it. A change of layer 1 by any other way cannot be prevented, so it is named: at the start of a session,
in the report, and before the next acceptance.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from dream.decisions.repository import Repository, find_repository
from dream.proposals.hunk import hash_of
from dream.proposals.store import Approval, Event, FileChange, ProposalStore
from dream.proposals.targets import checked_path
from memory_server.chunking import split_lines
from memory_server.document import Layer
from memory_server.errors import ContentError
from memory_server.layers.index_page import find_markers, is_as_written, with_pointers
from memory_server.layers.topics import find_sources, read_text, topic_heads
from memory_server.root.paths import MemoryRoot
from memory_server.settings import read_memory_settings

NEW = "new"  # what became of a file that was never approved
ASSISTANT_MARK = "co-authored-by: claude"  # how Claude Code signs its commits


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A file of layer 1 in a state that no acceptance and no commit of a person explains."""

    path: str
    what: str  # changed, new, removed, committed by the assistant


class Approvals:
    """The approvals of one memory root as they stand now."""

    def __init__(self, root: MemoryRoot, store: ProposalStore):
        self._root = root
        self._store = store
        self._repository = find_repository(root.path)
        known = store.approvals()
        self.is_new = not known
        self._last = {change.path: change for approval in known for change in approval.files}

    def note_found(self, now: dt.datetime) -> None:
        """Where approvals are kept for the first time, what is there counts as the person's."""
        if not self.is_new:
            return
        texts = {
            path: text_of(self._root, path) for path in approved_files(self._root) if not self._differs_from_head(path)
        }
        changes = tuple(unchanged(path, text) for path, text in texts.items() if text is not None)
        self._store.add_approval(Approval(Event.FOUND, now, changes))
        self._last = {change.path: change for change in changes}
        self.is_new = False

    def _differs_from_head(self, path: str) -> bool:
        text, repository = text_of(self._root, path), self._repository
        return repository is not None and repository.has(path) and not repository.holds(path, (text or "").encode())

    def unexplained(self) -> list[Unexplained]:
        """The changes that nobody has answered for, by path."""
        if self.is_new:
            return []
        present = set(approved_files(self._root))
        gone = {path for path, change in self._last.items() if change.after and path not in present}
        asked = [path for path in sorted(present | gone) if not self._is_approved(path, text_of(self._root, path))]
        settled = self._committed(asked)
        return [
            Unexplained(path, what)
            for path in asked
            if path not in settled and (what := self.doubt_about(path, text_of(self._root, path)))
        ]

    def _committed(self, paths: list[str]) -> frozenset[str]:
        """Those that a commit explains for certain; asked for all at once, since a session's start waits for it."""
        repository = self._repository
        if repository is None or not paths or repository.has_commits_of(ASSISTANT_MARK):
            return frozenset()
        return repository.clean(paths)

    def doubt_about(self, path: str, text: str | None) -> str:
        """Why a state of a file is not explained; empty where it is."""
        if self.is_new:
            return ""
        last, repository = self._last.get(path), self._repository
        if self._is_approved(path, text):
            return ""
        if repository is not None and text is not None and self._is_committed(repository, path, text):
            is_assistants = ASSISTANT_MARK in repository.last_message(path).casefold()
            return "committed by the assistant" if is_assistants else ""
        if text is None:
            return "removed" if last is not None and last.after and not self._left_out_by_commit(path) else ""
        return "changed" if last is not None or (repository is not None and repository.has(path)) else NEW

    def _is_committed(self, repository: Repository, path: str, text: str) -> bool:
        """Whether the last commit holds this state of a file; of the index page, its lines that are not generated."""
        if repository.holds(path, text.encode("utf-8")):
            return True
        kept = repository.text(path) if path == "MEMORY.md" else None
        return kept is not None and without_pointers(kept) == without_pointers(text) and self._points_truly(path, text)

    def _points_truly(self, path: str, text: str | None, last: FileChange | None = None) -> bool:
        """Whether the generated lines of the index page are those approved, as we wrote them, or what its topics give.

        Topics may have changed since the page was written; that is said of them.
        """
        if path != "MEMORY.md" or text is None or (last is not None and hash_of(text) == last.after):
            return True
        if is_as_written(self._root, text):
            return True
        try:
            return with_pointers(text, topic_heads(self._root), read_memory_settings(self._root.settings)) == text
        except ContentError:
            return False

    def _is_approved(self, path: str, text: str | None) -> bool:
        """Whether the last approval of a file is of this state."""
        last = self._last.get(path)
        if last is None or approved_hash(path, text) != last.approved:
            return False
        return self._points_truly(path, text, last)

    def _left_out_by_commit(self, path: str) -> bool:
        """Whether a file that a commit once held is not in the last one."""
        repository = self._repository
        return repository is not None and bool(repository.last_message(path)) and not repository.has(path)


def approved_files(root: MemoryRoot) -> Iterator[str]:
    """The files of layer 1."""
    for source in find_sources(root):
        if source.layer is Layer.TOPIC:
            yield source.path


def approved_hash(path: str, text: str | None) -> str:
    """What an approval of a file is about: its text, of the index page without the lines that are generated."""
    return hash_of(without_pointers(text) if path == "MEMORY.md" and text is not None else text)


def without_pointers(text: str) -> str:
    """The index page without its generated lines and their markers."""
    try:
        markers = find_markers(text)
    except ContentError:
        return text
    if markers is None:
        return text.rstrip()
    lines = split_lines(text)
    return "".join([*lines[: markers.begin], *lines[markers.end + 1 :]]).rstrip()


def unchanged(path: str, text: str) -> FileChange:
    """A file that is approved as it stands."""
    return FileChange(path, hash_of(text), hash_of(text), approved_hash(path, text))


def text_of(root: MemoryRoot, path: str) -> str | None:
    """The text of a file of layer 1; None where there is none that can be read."""
    try:
        return read_text(checked_path(root, path))
    except ContentError:
        return None
