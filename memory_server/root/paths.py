"""The paths of one memory root, and which root is meant.

Every other module asks here where something lies. Nothing is created by asking. What a clone of a memory must not
bring lies outside of it, in a folder of the person's own that is found by the root's resolved path and inode.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_server.document import SourcePath
from memory_server.errors import NeedsRepair


@dataclass(frozen=True, slots=True)
class MemoryRoot:
    """The folder that holds one memory, and where the person's state of it lies."""

    path: Path
    states: Path  # `$XDG_STATE_HOME/oneiros`: a folder a root

    @property
    def index_page(self) -> Path:
        """`MEMORY.md`, which makes a folder a memory root."""
        return self.path / "MEMORY.md"

    @property
    def lessons(self) -> Path:
        return self.path / "lessons.md"

    @property
    def ontology(self) -> Path:
        """What kinds of things the memory speaks of, and which topics bear on which paths."""
        return self.path / "ontology.yaml"

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
    def chats(self) -> Path:
        """Conversations with the memory: no source, no evidence, and kept out of git."""
        return self.path / "chats"

    @property
    def derived_folder(self) -> Path:
        """`.oneiros/`: may be deleted at any time; knowledge is never lost with it."""
        return self.path / ".oneiros"

    @property
    def ledger(self) -> Path:
        return self.derived_folder / "ledger.db"

    @property
    def vector_cache(self) -> Path:
        return self.derived_folder / "vectors"

    @property
    def semantic_index(self) -> Path:
        return self.derived_folder / "semantic"

    @property
    def references(self) -> Path:
        """Redacted copies of files of others, layer 4: derived from them like an index."""
        return self.derived_folder / "references"

    @property
    def notes(self) -> Path:
        """Notes that sessions wrote or read, layer 4: derived from the archive."""
        return self.derived_folder / "notes"

    @property
    def raw_index(self) -> Path:
        """The words of layer 3."""
        return self.derived_folder / "raw.db"

    @property
    def stretches(self) -> Path:
        """The words and vectors of what was said in archived sessions."""
        return self.derived_folder / "stretches"

    @property
    def lock(self) -> Path:
        return self.derived_folder / "lock"

    @property
    def next_model(self) -> Path:
        """The name of the model that a change under way leads to."""
        return self.derived_folder / "next-model"

    @property
    def state(self) -> Path:
        """The person's own folder for this root. It moves with the root, see `state.py`, and never with a clone."""
        return self.states / state_key(self.path)

    @property
    def token(self) -> Path:
        """The secret that opens the daemon's HTTP side."""
        return self.state / "token"

    @property
    def state_database(self) -> Path:
        """What was asked, found, opened and judged, and when."""
        return self.state / "state.db"

    @property
    def sessions_database(self) -> Path:
        """What is noted of sessions: how far each was read, its typed lines, and what hooks have shown it. Derived."""
        return self.derived_folder / "sessions.db"

    @property
    def marks(self) -> Path:
        """What `gc` and `keep` decided about the fading of sources."""
        return self.state / "marks.jsonl"

    @property
    def backups(self) -> Path:
        """Which backups and exports were made of the root, and when."""
        return self.state / "backups.jsonl"

    @property
    def findable(self) -> Path:
        """How much could be found on which day."""
        return self.state / "findable.json"

    @property
    def attic(self) -> Path:
        """Sessions and episodes that are out of the indices."""
        return self.path / "sessions" / "attic"

    @property
    def journal(self) -> Path:
        """The plan of a decision under way."""
        return self.state / "journal.json"

    @property
    def approvals(self) -> Path:
        """Which state of which approved file the person has answered for."""
        return self.state / "approvals.jsonl"

    @property
    def questions(self) -> Path:
        """Which questions a reader wrote of statements that came without."""
        return self.state / "questions.jsonl"

    @property
    def decisions(self) -> Path:
        """The chain of decisions: it goes with the memory, and holds no words."""
        return self.path / "proposals" / "decisions.jsonl"

    @property
    def decisions_head(self) -> Path:
        """The last entry of that chain which this machine wrote."""
        return self.state / "decisions-head.json"

    @property
    def told(self) -> Path:
        """Which decisions the person was told of at the start of a session."""
        return self.state / "told.json"

    @property
    def learning_start(self) -> Path:
        """From which moment on the person's decisions move what is proposed first."""
        return self.state / "learned-since"

    @property
    def written_page(self) -> Path:
        """The sha256 of the index page as the program wrote it last."""
        return self.state / "index-page"

    @property
    def ended_sessions(self) -> Path:
        """Which sessions the client said are over."""
        return self.state / "ended.jsonl"

    @property
    def forgetting(self) -> Path:
        """Which forgotten sessions indices, query log and blackboard must still lose."""
        return self.state / "forgetting.txt"

    @property
    def spent(self) -> Path:
        """What was paid on which day."""
        return self.state / "spent.json"

    @property
    def error_log(self) -> Path:
        return self.state / "error.log"

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
    """Which memory root is meant; its path has no link in it.

    `$ONEIROS_ROOT`, else the nearest `memory/` (or folder) with a `MEMORY.md` that stands in `trusted`, else
    `~/.oneiros/memory`. An untrusted one takes no effect, also not on a trusted one further up: a cloned repository
    must not decide what is true. Raises NeedsRepair where `$ONEIROS_ROOT` names such a one.
    """
    states = state_home(environment, home)
    own = (home / ".oneiros" / "memory").resolve()
    known = {folder.resolve() for folder in trusted}
    if named := environment.get("ONEIROS_ROOT"):
        meant = _expand_path(named, working_folder, home).resolve()
        if meant not in {own, *known} and is_of_others(meant):
            raise NeedsRepair(
                "ONEIROS_ROOT names a memory that came with a repository, and you have not trusted it",
                where=meant,
                remedy=f"Look at it, then `oneiros trust {meant}`",
            )
        return RootChoice(MemoryRoot(meant, states), "named by ONEIROS_ROOT")
    ignored = None
    for found in find_memories(working_folder):
        if found.resolve() == own:
            break
        if found.resolve() in known:
            return RootChoice(MemoryRoot(found.resolve(), states), "the nearest memory that you trust", ignored)
        ignored = ignored or found
    return RootChoice(MemoryRoot(own, states), "the memory of this account", ignored)


def is_of_others(folder: Path) -> bool:
    """Whether a memory may have come with a repository: one around it, or its own where that knows of another one."""
    if not (folder / "MEMORY.md").is_file():
        return False
    for place in (folder, *folder.parents):
        if os.path.lexists(place / ".git"):
            return place != folder or _has_remotes(place / ".git")
    return False


def _has_remotes(repository: Path) -> bool:
    """Whether a repository was cloned or has a remote; a linked work tree or what cannot be read counts as such."""
    try:
        settings = (repository / "config").read_bytes().lower()
    except OSError:
        return True
    return b"[remote" in settings or b"[include" in settings


def state_home(variables: Mapping[str, str], home: Path) -> Path:
    """The folder that holds the states of all roots of a person; as `oneiros.light.endpoint` finds it."""
    named = variables.get("XDG_STATE_HOME", "")
    return (Path(named) if named.startswith("/") else home / ".local" / "state") / "oneiros"


def state_key(folder: Path, inode_of: Path | None = None) -> str:
    """What a root's state is found by: its resolved path and its inode, so that no clone takes the place of another.

    `inode_of`: a folder that is to take the place of the root's.
    """
    try:
        inode = (inode_of or folder).stat().st_ino
    except OSError:
        inode = 0
    return hashlib.sha256(b"%s\0%d" % (os.fsencode(os.path.realpath(folder)), inode)).hexdigest()[:16]


def find_memories(folder: Path) -> Iterator[Path]:
    """The memories at or above a folder, nearest first: a folder itself or its `memory/`, where `MEMORY.md` stands."""
    for candidate in (folder, *folder.parents):
        for place in (candidate / "memory", candidate):
            if (place / "MEMORY.md").is_file():
                yield place


def _expand_path(named: str, working_folder: Path, home: Path) -> Path:
    """A path as typed: below the home where it starts with `~/`, else below the working folder."""
    return home / named[1:].lstrip("/") if named == "~" or named.startswith("~/") else working_folder / named
