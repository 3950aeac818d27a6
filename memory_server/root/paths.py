"""The paths of one memory root, and which root is meant.

Every other module asks here where something lies. Nothing is created by asking. What a clone of a memory must not
bring lies outside of it, in a folder of the person's own that is found by the root's resolved path and inode.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memory_server.document import SourcePath
from memory_server.errors import NeedsRepair


class Within:
    """The path of what has this name in a folder of a memory root."""

    def __init__(self, folder: Literal["path", "derived_folder", "state"], name: str):
        self._folder, self._name = folder, name

    def __get__(self, root: "MemoryRoot", kind: type) -> Path:
        folder: Path = getattr(root, self._folder)
        return folder / self._name


@dataclass(frozen=True, slots=True)
class MemoryRoot:
    """The folder that holds one memory, and where the person's state of it lies."""

    path: Path
    states: Path  # `$XDG_STATE_HOME/oneiros`: a folder a root

    index_page = Within("path", "MEMORY.md")  # makes a folder a memory root
    rejected = Within("path", "proposals/rejected.jsonl")  # statements that the person did not want
    lessons = Within("path", "lessons.md")
    ontology = Within("path", "ontology.yaml")  # what the memory speaks of, and which topics bear on which paths
    topics = Within("path", "topics")
    sessions = Within("path", "sessions/compressed")
    attic = Within("path", "sessions/attic")  # sessions and episodes that are out of the indices
    episodes = Within("path", "episodes")
    settings = Within("path", "oneiros.toml")  # the model's name and limits of size, nothing else
    chats = Within("path", "chats")  # conversations with it: no source, no evidence, and kept out of git
    decisions = Within("path", "proposals/decisions.jsonl")  # their chain: it goes with the memory, and holds no words

    derived_folder = Within("path", ".oneiros")  # may be deleted at any time; knowledge is never lost with it
    ledger = Within("derived_folder", "ledger.db")
    vector_cache = Within("derived_folder", "vectors")
    semantic_index = Within("derived_folder", "semantic")
    references = Within("derived_folder", "references")  # redacted copies of files of others, layer 4
    notes = Within("derived_folder", "notes")  # that sessions wrote or read, layer 4, from the archive
    raw_index = Within("derived_folder", "raw.db")  # the words of layer 3
    stretches = Within("derived_folder", "stretches")  # words and vectors of what was said in archived sessions
    sessions_database = Within("derived_folder", "sessions.db")  # how far each was read, its lines, what hooks showed
    hashes = Within("derived_folder", "hashes")  # of all that is held of each archived session
    lock = Within("derived_folder", "lock")
    next_model = Within("derived_folder", "next-model")  # the name of the one that a change under way leads to

    token = Within("state", "token")  # opens the daemon's HTTP side
    state_database = Within("state", "state.db")  # what was asked, found, opened and judged, and when
    marks = Within("state", "marks.jsonl")  # what `gc` and `keep` decided about the fading of sources
    backups = Within("state", "backups.jsonl")  # which backups and exports were made of the root, and when
    findable = Within("state", "findable.json")  # how much could be found on which day
    journal = Within("state", "journal.json")  # the plan of a decision under way
    approvals = Within("state", "approvals.jsonl")  # for which state of which approved file the person has answered
    questions = Within("state", "questions.jsonl")  # that a reader wrote of statements which came without
    decisions_head = Within("state", "decisions-head.json")  # the last entry of the chain that this machine wrote
    announced = Within("state", "told.json")  # of which decisions the person was told at the start of a session
    learning_start = Within("state", "learned-since")  # from when on decisions move what is proposed first
    written_page = Within("state", "index-page")  # the sha256 of the index page as the program wrote it last
    ended_sessions = Within("state", "ended.jsonl")  # which sessions the client said are over
    forgetting = Within("state", "forgetting.txt")  # forgotten sessions that indices and logs must still lose
    spent = Within("state", "spent.json")  # what was paid on which day
    error_log = Within("state", "error.log")

    @property
    def state(self) -> Path:
        """The person's own folder for this root. It moves with the root, see `state.py`, and never with a clone."""
        return self.states / state_key(self.path)

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
