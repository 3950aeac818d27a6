"""Moving sessions out of the archive into a file, and bringing them back bit for bit.

The file is written, read back and compared before anything goes. A session's record goes before its objects, so that a
kill leaves the session whole, or in the file and objects that nobody names, which the next ingest removes. What may be
pruned is decided above; only a file that the archive itself was exported to is taken back.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import filelock
import msgspec

from crawler.archive.store import PrunedSessions, PruneNote, SessionRecord
from memory_server.errors import ContentError, NeedsRepair
from memory_server.machine.files import append_line, move, remove_file
from parts.keeping.bundle import Bundle, read_bundle, unpack, write_bundle

KIND = "export"
NAME = re.compile(r"root/(?:sessions/([^/]+)\.json|objects/([0-9a-f]{2})/([0-9a-f]{32})\.zst)")
LOCK_SECONDS = 60.0


class Pruning(PrunedSessions):
    """Moves sessions out of one archive, and back."""

    def export(self, session_ids: Sequence[str], file: Path, at: dt.datetime) -> Bundle:
        """Writes these sessions to a file, and takes them out of the archive when it was read back."""
        with self._hold_lock():
            made = write_bundle(file, KIND, at.isoformat(), self._contents(session_ids))
            note = PruneNote(at, str(file.absolute()), made.fingerprint, tuple(session_ids))
            append_line(self.file, msgspec.json.encode(note))
            for session_id in session_ids:
                self.archive.take_out(session_id)
        return made

    def restore(self, file: Path, at: dt.datetime) -> tuple[list[str], list[str]]:
        """Brings back what lies in a file; the sessions, and those that stay out: forgotten, or there already.

        Raises ContentError where the file was not exported from this archive.
        """
        bundle = read_bundle(file, KIND)
        if bundle.fingerprint not in {note.fingerprint for note in self.notes()}:
            what = f"nothing was exported from this archive under the fingerprint {bundle.fingerprint}"
            raise ContentError(what, where=file, remedy="Restore it where it was made")
        if strange := [name for name in bundle.held if not NAME.fullmatch(name)]:
            raise ContentError(f"{strange[0]} is no file of an archive", where=file, remedy="Take another file")
        with self._hold_lock():
            named = sorted(found[1] for name in bundle.held if (found := NAME.fullmatch(name)) and found[1])
            wanted = [one for one in named if not (self.archive.holds(one) or self.archive.is_forgotten(one))]
            self._bring_back(bundle, wanted)
            if wanted:
                note = PruneNote(at, str(file.absolute()), bundle.fingerprint, tuple(wanted), back=True)
                append_line(self.file, msgspec.json.encode(note))
        return wanted, [one for one in named if one not in wanted]

    def _bring_back(self, bundle: Bundle, session_ids: Collection[str]) -> None:
        """Puts the objects in their place first, then the records, each whole."""
        scratch = self.archive.folder / "restoring"
        for stray in sorted(scratch.rglob("*"), reverse=True):
            stray.rmdir() if stray.is_dir() else stray.unlink()
        records = {f"root/sessions/{session_id}.json" for session_id in session_ids}
        others = {name for name in bundle.held if name.startswith("root/sessions/") and name not in records}
        unpack([bundle], {"root": scratch}, others)
        for folder in ("objects", "sessions"):
            for file in sorted((scratch / folder).rglob("*.*")):
                to = self.archive.folder / file.relative_to(scratch)
                remove_file(file) if to.exists() else move(file, to)
        for stray in sorted([*scratch.rglob("*"), scratch], reverse=True):
            stray.rmdir()

    def _contents(self, session_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        written = set()
        for session_id in session_ids:
            record = self.archive.record(session_id)
            for path in [*self.archive.list_objects(record), self.archive.record_file(session_id)]:
                if path not in written:
                    yield f"root/{path.relative_to(self.archive.folder).as_posix()}", path.read_bytes()
                written.add(path)

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        try:
            with filelock.FileLock(self.archive.folder / ".lock", timeout=LOCK_SECONDS):
                yield
        except filelock.Timeout as error:
            raise NeedsRepair("an ingest is under way", where=self.archive.folder, remedy="Try again") from error


def oldest(records: Sequence[SessionRecord], size_of: Callable[[SessionRecord], int], until_bytes: int) -> list[str]:
    """The sessions to be moved out, the oldest first, until the rest is no larger."""
    sizes = {record.session_id: size_of(record) for record in records}
    left, chosen = sum(sizes.values()), []
    for record in sorted(records, key=lambda one: (one.ended, one.session_id)):
        if left <= until_bytes:
            break
        chosen.append(record.session_id)
        left -= sizes[record.session_id]
    return chosen
