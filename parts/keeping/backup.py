"""Backup and restore of one memory: root and state, all but what is derived.

A backup is taken under the locks of ingest and of decisions, so that a daemon may run. What a restored backup may claim
is less than what the memory could: signed decisions count, unsigned ones only where the person names the fingerprint
that was shown when it was made, or this machine has noted it; no token, no plan under way and no settings come back;
git's history comes without hooks and settings; and what was forgotten, on either side, stays so.
"""

import datetime as dt
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock

from crawler.archive.store import Archive, hash_session_id
from crawler.reading.record import FOLDER, Readings
from dream.decisions.accept import Decisions
from dream.decisions.chain import Head
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.layers.sessions import find_session_files
from memory_server.layers.topics import is_utf8
from memory_server.lifecycle.backups import BackupNote, read_notes
from memory_server.machine.database import copy_whole, has_only_tables
from memory_server.machine.files import append_line, is_plain_file, make_folder, move, remove_file, replace_file
from memory_server.root.forgetting import forgotten_marks
from memory_server.root.git import run_git
from memory_server.root.paths import MemoryRoot, state_key
from memory_server.root.state import write_mark
from parts.keeping.bundle import FORBIDDEN, ODD, Bundle, FileNote, read_bundle, require_new, unpack, write_bundle

KIND = "backup"
DATABASES = ("state.db",)
RECORDS = (
    *("approvals.jsonl", "decisions-head.json", "marks.jsonl", "ended.jsonl", "learned-since", "forgetting.txt"),
    "questions.jsonl",
)
HISTORY = "git/history.bundle"
LEFT_OUT = FORBIDDEN | {".lock"}
BRANCH = re.compile(r"refs/heads/[A-Za-z0-9][A-Za-z0-9._/-]{0,200}")
STAGING = ".%s.restoring-"
UNFINISHED = "restoring"  # in a state whose root has not taken its place yet
LOCK_SECONDS = 60.0
GIT_SECONDS = 600.0


# -- making one -----------------------------------------------------------------------------------------------------


def back_up(decisions: Decisions, file: Path, at: dt.datetime, since: Bundle | dt.datetime | None = None) -> Bundle:
    """Writes a backup and notes it. `since`: only what is not in that backup, or was changed since that moment.

    Raises UsageError where the file is there already or lies in the memory.
    """
    root = decisions.root
    require_new(root.path, file)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="oneiros-")))
        archive = root.path / "sessions" / "archive"
        if archive.is_dir():
            stack.enter_context(FileLock(archive / ".lock", timeout=LOCK_SECONDS))
        stack.enter_context(decisions.hold_lock())
        head = bundle_history(root.path, folder / "history.bundle")
        known = since.manifest.files if isinstance(since, Bundle) else _old(root, since) if since else None
        contents = _contents(root, folder)
        made = write_bundle(file, KIND, at.isoformat(), contents, known=known, notes={"head": head} if head else {})
    append_line(root.backups, msgspec.json.encode(BackupNote(at, KIND, str(file.absolute()), made.fingerprint)))
    return made


def _contents(root: MemoryRoot, scratch: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of everything that belongs to a backup."""
    for name, path in _list_files(str(root.path), "root"):
        yield name, _read(path)
    for name in RECORDS:
        if is_plain_file(root.state / name):
            yield f"state/{name}", (root.state / name).read_bytes()
    for name in DATABASES:
        if is_plain_file(root.state / name):
            copy_whole(root.state / name, scratch / name)
            yield f"state/{name}", (scratch / name).read_bytes()
    if is_plain_file(scratch / "history.bundle"):
        yield HISTORY, (scratch / "history.bundle").read_bytes()


def _list_files(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Name and path of the ordinary files of a root, in order; what is derived or git's is left out, and every link."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = f"{prefix}/{entry.name}"
        if entry.name.casefold() in LEFT_OUT or entry.name.endswith(".tmp") or not _is_plain(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _list_files(entry.path, name)
        elif entry.is_file(follow_symlinks=False):
            yield name, entry.path


def _is_plain(name: str) -> bool:
    return is_utf8(name) and not ODD.search(name)


def _old(root: MemoryRoot, since: dt.datetime) -> dict[str, FileNote]:
    """The files of a root that were not changed since a moment."""
    found = _list_files(str(root.path), "root")
    return {name: _make_note(_read(path)) for name, path in found if Path(path).stat().st_mtime < since.timestamp()}


def _read(path: str) -> bytes:
    """A small file as quickly as the system allows; there are thousands."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        wanted = os.fstat(descriptor).st_size + 1
        parts = [os.read(descriptor, wanted)]
        while len(parts[-1]) == wanted:  # it grows
            parts.append(os.read(descriptor, wanted))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _make_note(content: bytes) -> FileNote:
    return FileNote(len(content), hashlib.sha256(content).hexdigest())


def bundle_history(folder: Path, file: Path) -> str:
    """Writes what git knows of a root that is a repository of its own; its branch, empty where there is none."""
    if not (folder / ".git").is_dir():
        return ""
    try:
        head = _git(folder, "symbolic-ref", "HEAD").strip()
        if not _git(folder, "rev-list", "--all", "-n", "1").strip():
            return head
        _git(folder, "bundle", "create", "--quiet", str(file), "--all")
    except (OSError, subprocess.CalledProcessError) as error:
        raise NeedsRepair(f"git cannot bundle the history ({error})", where=folder, remedy="Mend git") from error
    return head


def _git(folder: Path, *words: str) -> str:
    done = run_git(folder, words, seconds=GIT_SECONDS)
    done.check_returncode()
    return done.stdout.decode("utf-8", "replace")


# -- bringing one back ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Restoring:
    """Backups that were read, and what may be done with them."""

    root: MemoryRoot
    bundles: tuple[Bundle, ...]  # the whole one first, then what was added
    is_vouched: bool  # by the fingerprint that the person names, or that this machine noted


def read_backups(root: MemoryRoot, files: Sequence[Path], fingerprint: str = "") -> Restoring:
    """Reads backups from end to end, and writes nothing. Raises UsageError where the root is not empty."""
    if root.path.exists() and (not root.path.is_dir() or any(root.path.iterdir())):
        raise UsageError(f"{root.path} is not empty", remedy="Restore to a new place: ONEIROS_ROOT=/a/new/folder")
    bundles = tuple(read_bundle(file, KIND) for file in files)
    last = bundles[-1].fingerprint
    if fingerprint and fingerprint.strip().casefold() != last:
        raise UsageError(f"the fingerprint of this backup is {last}", remedy="Look at where you noted the other")
    noted = {note.fingerprint for file in root.states.glob("*/backups.jsonl") for note in read_notes(file)}
    return Restoring(root, bundles, bool(fingerprint) or last in noted)


def bring_back(wanted: Restoring, public_key: str) -> list[str]:
    """Restores a memory whole, or not at all; returns the sessions that stay forgotten. The indices are not made.

    With a key of the person's commits explain nothing, so that they may come back as they were.
    """
    root, last = wanted.root, wanted.bundles[-1].manifest
    _clear(root)
    strange = {name for name in last.files if name.startswith("state/") and name[6:] not in (*RECORDS, *DATABASES)}
    try:
        staging, state = _make_staging(root)
        scratch = staging / ".oneiros"
        unpack(wanted.bundles, {"root": staging, "state": state, "git": scratch}, strange)
        is_believed = wanted.is_vouched or bool(public_key)
        _take_history(staging, scratch / "history.bundle", last.notes.get("head", ""), is_believed=is_believed)
        shutil.rmtree(scratch, ignore_errors=True)
        forgotten = _forget_again(root.states, staging, state)
        _without_claims(staging, state, is_vouched=wanted.is_vouched)
        write_mark(state, root.path)
        os.sync()
        move(staging, root.path)
        remove_file(state / UNFINISHED)
    finally:
        _clear(root)
    return forgotten


def _make_staging(root: MemoryRoot) -> tuple[Path, Path]:
    """A folder that is to take the root's place, and the state that it will have: one that no other root ever had."""
    make_folder(root.path.parent)
    for number in range(100):  # an inode may have been that of a root which is gone
        staging = root.path.with_name(f"{STAGING % root.path.name}{number}")
        staging.mkdir(mode=0o700)
        state = root.states / state_key(root.path, staging)
        if not state.exists():
            replace_file(state / UNFINISHED, "")
            return staging, state
    raise NeedsRepair("no folder could be made that is new", where=root.path.parent, remedy="Remove older states")


def _clear(root: MemoryRoot) -> None:
    """Removes what a restore left that did not come to its end."""
    for staging in root.path.parent.glob(f"{STAGING % root.path.name}[0-9]*"):
        if staging.is_dir() and not staging.is_symlink():
            state = root.states / state_key(root.path, staging)
            if (state / UNFINISHED).exists():
                shutil.rmtree(state)
            shutil.rmtree(staging)


def _without_claims(staging: Path, state: Path, *, is_vouched: bool) -> None:
    """Takes away what only this machine may say of a memory, unless the backup is vouched for."""
    for name in DATABASES:
        if (state / name).exists() and not has_only_tables(state / name):
            remove_file(state / name)
    if not is_vouched:  # of the chain nothing is known here, and that is known: what lies there is not found to be so
        replace_file(state / "decisions-head.json", msgspec.json.encode([Head(0, "")]))
        if not (staging / "proposals" / "decisions.jsonl").is_file():
            remove_file(state / "approvals.jsonl")


def _forget_again(states: Path, staging: Path, state: Path) -> list[str]:
    """Takes out the sessions that were forgotten on this machine since the backup was made."""
    marks = forgotten_marks(states)
    archive = Archive(staging / "sessions" / "archive")
    compressed = staging / "sessions" / "compressed"
    found = [session_id for session_id in archive.session_ids() if hash_session_id(session_id) in marks]
    for session_id in found:
        for file in find_session_files(compressed, session_id):
            remove_file(file)
        Readings(staging / "sessions" / FOLDER).forget([session_id])
        archive.forget(session_id)
        append_line(state / "forgetting.txt", session_id.encode())
    return found


def _take_history(folder: Path, bundle: Path, head: str, *, is_believed: bool) -> None:
    """Makes a repository of what git knew: its commits and branches, without hooks, settings and index.

    What is not believed lies below `refs/restored`, where no commit explains a file.
    """
    if not BRANCH.fullmatch(head) or ".." in head:
        return
    checked = ("-c", "transfer.fsckObjects=true", "-c", "protocol.allow=never", "-c", "protocol.file.allow=always")
    to = "refs" if is_believed else "refs/restored"
    try:
        _git(folder, "init", "--quiet", "--template=")
        _git(folder, "symbolic-ref", "HEAD", head)
        if bundle.is_file():
            refs = [f"+refs/{kind}/*:{to}/{kind}/*" for kind in ("heads", "tags")]
            _git(folder, *checked, "fetch", "--quiet", "--update-head-ok", str(bundle), *refs)
        if bundle.is_file() and is_believed:
            _git(folder, "reset", "--quiet", "--mixed")
    except (OSError, subprocess.CalledProcessError) as error:
        what = f"git refuses the history of this backup ({error})"
        raise ContentError(what, where=folder, remedy="Take another backup") from error
