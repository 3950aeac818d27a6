"""The paths of one memory root, and which root is meant.

Every other module asks here where something lies. Nothing is read or created by asking.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_server.document import SourcePath
from memory_server.errors import NeedsRepair


@dataclass(frozen=True, slots=True)
class MemoryRoot:
    """The folder that holds one memory."""

    path: Path

    @property
    def index_page(self) -> Path:
        """`MEMORY.md`, which makes a folder a memory root."""
        return self.path / "MEMORY.md"

    @property
    def lessons(self) -> Path:
        return self.path / "lessons.md"

    @property
    def topics(self) -> Path:
        return self.path / "topics"

    @property
    def sessions(self) -> Path:
        return self.path / "sessions" / "compressed"

    @property
    def episodes(self) -> Path:
        return self.path / "episodes"

    @property
    def settings(self) -> Path:
        """`oneiros.toml`: the model's name and limits of size, nothing else."""
        return self.path / "oneiros.toml"

    @property
    def derived(self) -> Path:
        """`.oneiros/`: may be deleted at any time; knowledge is never lost with it."""
        return self.path / ".oneiros"

    @property
    def ledger(self) -> Path:
        return self.derived / "ledger.db"

    @property
    def vector_cache(self) -> Path:
        return self.derived / "vectors"

    @property
    def semantic_index(self) -> Path:
        return self.derived / "semantic"

    @property
    def references(self) -> Path:
        """Redacted copies of files of others, layer 4: derived from them like an index."""
        return self.derived / "references"

    @property
    def raw_index(self) -> Path:
        """The words of layer 3."""
        return self.derived / "raw.db"

    @property
    def raw_vectors(self) -> Path:
        """The vectors of what was said, where a person wants them: a folder a model."""
        return self.derived / "raw-vectors"

    @property
    def lock(self) -> Path:
        return self.derived / "lock"

    @property
    def query_log(self) -> Path:
        """Beside the indices, but not one of them: a rebuild leaves it alone."""
        return self.derived / "queries.db"

    @property
    def next_model(self) -> Path:
        """The name of the model that a change under way leads to."""
        return self.derived / "next-model"

    @property
    def token(self) -> Path:
        """The secret that opens the daemon's HTTP side."""
        return self.derived / "token"

    def relative(self, file: Path) -> SourcePath:
        """The name of a file below the root, with `/` on every platform."""
        return SourcePath(file.relative_to(self.path).as_posix())

    def file(self, source: SourcePath) -> Path:
        return self.path / source


@dataclass(frozen=True, slots=True)
class RootChoice:
    """The root that commands work on, and why this one."""

    root: MemoryRoot
    reason: str
    ignored: Path | None = None  # a nearer memory that the person has not trusted


def choose_root(
    environment: Mapping[str, str], working_folder: Path, home: Path, trusted: Sequence[Path]
) -> RootChoice:
    """Which memory root is meant.

    `$ONEIROS_ROOT`, else the nearest `memory/` (or folder) with a `MEMORY.md` that stands in `trusted`, else
    `~/.oneiros/memory`. An untrusted one takes no effect, also not on a trusted one further up: a cloned repository
    must not decide what is true.
    """
    if named := environment.get("ONEIROS_ROOT"):
        return RootChoice(MemoryRoot(_from(named, working_folder, home)), "named by ONEIROS_ROOT")
    own = MemoryRoot(home / ".oneiros" / "memory")
    known = {folder.resolve() for folder in trusted}
    ignored = None
    for found in memories_above(working_folder):
        if found.resolve() == own.path.resolve():
            break
        if found.resolve() in known:
            return RootChoice(MemoryRoot(found), "the nearest memory that you trust", ignored)
        ignored = ignored or found
    return RootChoice(own, "the memory of this account", ignored)


def nearest_memory(folder: Path) -> Path | None:
    """The closest memory at or above a folder, trusted or not."""
    return next(memories_above(folder), None)


def memories_above(folder: Path) -> Iterator[Path]:
    """The memories at or above a folder, nearest first: a folder itself or its `memory/`, where `MEMORY.md` stands."""
    for candidate in (folder, *folder.parents):
        for place in (candidate / "memory", candidate):
            if (place / "MEMORY.md").is_file():
                yield place


def _from(named: str, working_folder: Path, home: Path) -> Path:
    """A path as typed: below the home where it starts with `~/`, else below the working folder."""
    return home / named[1:].lstrip("/") if named == "~" or named.startswith("~/") else working_folder / named


def require_memory(root: MemoryRoot) -> MemoryRoot:
    """The root itself; raises NeedsRepair where no memory has been made there."""
    if not root.index_page.is_file():
        raise NeedsRepair("there is no memory here", where=root.path, remedy="Make one with `oneiros init`")
    return root
