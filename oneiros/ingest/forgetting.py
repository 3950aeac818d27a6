"""Forgetting a session everywhere at once, and saying what still holds it (DESIGN section 9).

One way for `oneiros forget` and for a prompt that leaves its session out: `carry_out` takes it from proposals,
compressed files and archive, and the next `Memory.reindex` of the root's owner from everything derived. Topics that
cite the session and commits that hold its files are a person's own: they are listed and left.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crawler.archive.append import IngestSettings
from crawler.archive.store import Archive, hash_session_id
from crawler.closed import forget_ends
from crawler.ingest import forget, sessions_meant
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from memory_server.document import Layer
from memory_server.layers.sessions import cut_id8, find_session_files
from memory_server.layers.topics import find_sources
from memory_server.root.forgetting import note_forgetting, note_forgotten, sessions_to_forget
from memory_server.root.git import ask_git
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.environment import now


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What forgetting removes, and what it cannot."""

    session_ids: tuple[str, ...]
    files: tuple[str, ...]  # compressed files, from the memory root; gone afterwards
    proposals: tuple[str, ...]  # folders of proposals that name a session; what rests on it is gone afterwards
    topics: tuple[str, ...]  # that cite a session; left alone
    commits: tuple[str, ...]  # that hold a compressed file, newest first, as `hash subject`; left alone
    transcripts: tuple[str, ...] = ()  # of the client, whole paths; left alone


def plan(root: MemoryRoot, settings: IngestSettings, what: str, folders: Sequence[Path]) -> ForgetPlan:
    """What forgetting would do. Raises ContentError where nothing is known by that name.

    `folders`: where the client's transcripts lie. One that was interrupted is gone on with by the beginning of its id.
    """
    begun = sorted(session_id for session_id in sessions_to_forget(root) if session_id.startswith(what))
    found = plan_forgetting(root, begun or sessions_meant(what, settings, root.sessions))
    held = (file for folder in folders for name in found.session_ids for file in sorted(folder.rglob(f"{name}*")))
    return replace(found, transcripts=tuple(map(str, held)))


def plan_forgetting(root: MemoryRoot, sessions: Sequence[str]) -> ForgetPlan:
    """What forgetting these sessions would do."""
    files = [path for session_id in sessions for path in find_session_files(root.sessions, session_id)]
    commits = ask_git(root.path, "log", "--all", "--format=%h %s", "--", *map(str, files)) if files else None
    folders = sorted((root.path / "proposals").glob("*/"))
    return ForgetPlan(
        session_ids=tuple(sessions),
        files=tuple(root.relative(path) for path in files),
        proposals=tuple(root.relative(folder) for folder in folders if folder_names_any(folder, sessions)),
        topics=tuple(topics_citing(root, sessions)),
        commits=tuple((commits or "").splitlines()),
    )


def carry_out(root: MemoryRoot, person: PersonSettings, settings: IngestSettings, wanted: ForgetPlan) -> None:
    """Removes what the plan names, the archive last: after a kill the session is there to be forgotten again.

    What was derived of it goes with the next `Memory.reindex`, for which it is noted first.
    """
    note_forgetting(root, wanted.session_ids)
    note_forgotten(root.states, map(hash_session_id, wanted.session_ids))
    forget_ends(root.ended_sessions, wanted.session_ids)
    archive = Archive(settings.archive)
    decisions = Decisions(root, person, now, is_true=Evidence(archive).resolve)
    decisions.forget(wanted.session_ids)
    for folder in wanted.proposals:  # what still names a session there is a file of somebody else
        if (root.path / folder).exists() and folder_names_any(root.path / folder, wanted.session_ids):
            shutil.rmtree(root.path / folder)
    forget(wanted.session_ids, settings, root.sessions)


def make_forgetter(
    root: MemoryRoot, person: PersonSettings, settings: IngestSettings
) -> Callable[[Sequence[str]], None]:
    """What an ingest forgets sessions with that a prompt leaves out."""
    return lambda session_ids: carry_out(root, person, settings, plan_forgetting(root, session_ids))


def folder_names_any(folder: Path, session_ids: Sequence[str]) -> bool:
    return any(names_any(path, session_ids) for path in folder.rglob("*") if path.is_file())


def topics_citing(root: MemoryRoot, session_ids: Sequence[str]) -> Iterator[str]:
    """The approved files in which a session's id, or the part of it that file names carry, stands."""
    marks = [*session_ids, *map(cut_id8, session_ids)]
    for source in find_sources(root):
        if source.layer is Layer.TOPIC and names_any(root.file(source.path), marks):
            yield source.path


def names_any(path: Path, marks: Sequence[str]) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return any(mark in text for mark in marks)


def plan_lines(wanted: ForgetPlan) -> Iterator[str]:
    """The plan for a person, a line each."""
    yield from (f"session    {session_id}" for session_id in wanted.session_ids)
    yield from (f"file       {path}" for path in wanted.files)
    yield from (f"proposal   {path}" for path in wanted.proposals)
    yield from (f"cited by   {path}  (stays: edit it yourself)" for path in wanted.topics)
    yield from (f"commit     {commit}  (stays: rewrite the history yourself)" for commit in wanted.commits)
    yield from (f"transcript {path}  (stays: it is the client's own)" for path in wanted.transcripts)
