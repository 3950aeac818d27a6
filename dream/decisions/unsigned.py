"""What nobody answers for, told to the person once: a program can decide too, but not unseen.

A decision that a person made at a terminal of theirs is none of it. It is told at the start of a session, for a day
from the first one that told of it: a program can start one too. The report tells of the week. The times are those of
the telling, since an entry says of its own what its maker likes.
"""

import datetime as dt
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import msgspec
from msgspec import UNSET

from dream.decisions.approvals import SHOWN_CHARS, Approvals, Doubt, Unexplained, format_names, hash_approved
from dream.decisions.chain import ChainEntry, FileHashes, Time, read_record
from dream.decisions.key import fingerprint
from dream.decisions.presence import CLIENT_NAMES, How
from memory_server.escaping import escape_line
from memory_server.layers.index_page import FOUNDED, NEW_PAGE
from memory_server.layers.topics import shorten_text
from memory_server.machine.clock import local
from memory_server.machine.files import UNREADABLE_JSON, replace_file
from memory_server.root.git import is_in_repository
from memory_server.root.paths import MemoryRoot

DAY, WEEK = dt.timedelta(days=1), dt.timedelta(days=7)
SOME_ANCESTORS, SOME_MANNERS, SOME_PATHS = 4, 3, 3
ASK_AGAIN = "`oneiros review` asks about each file that it explains no more"
BROUGHT = "If you did not bring it here, compare it with a copy of your memory"
KEY_STEP = "If that was not you, put your own back into your settings and look at what `oneiros report` names"


@dataclass(frozen=True, slots=True)
class Announced:
    """What the person was told of already, each with the time at which they first were."""

    entries: Mapping[str, Time] = field(default_factory=dict)  # by the hash of what was then the last of the chain
    commits: Mapping[str, Time] = field(default_factory=dict)  # by path and sha256 of what a commit alone explains
    gone: Mapping[str, Time] = field(default_factory=dict)  # entries that the chain held once
    changes: Mapping[str, Time] = field(default_factory=dict)  # of files that nobody answered for, by path and state


class UnsignedDecisions:
    """Tells what is unsigned in one memory root."""

    def __init__(self, root: MemoryRoot, approvals: Approvals, signing_key: str, found: Sequence[Unexplained]):
        """`found`: what the approvals do not explain."""
        self._root = root
        self._file = root.announced
        of_key = fingerprint(signing_key)
        self._changes = {f"{one} {approvals.hash_file(one.path)} {of_key}": one for one in found}
        self._chain = approvals.chain
        self.trouble = self._chain.trouble  # of the chain; empty where it is as it was left
        self._commits = {f"{path} {text}": path for path, text in sorted(approvals.by_commit.items())}
        self._key = of_key

    def since_session(self, now: dt.datetime) -> list[Doubt]:
        """What is to be said of decisions at the start of a session."""
        return self._list_unannounced(now, now - DAY)

    def new_changes(self, now: dt.datetime) -> list[Unexplained]:
        """The changes of files that are to be said at the start of a session."""
        announced = self._read_announced().changes
        return [one for name, one in self._changes.items() if announced.get(name, now) > now - DAY]

    def of_week(self, now: dt.datetime) -> list[Doubt]:
        """What the report says."""
        return self._list_unannounced(now, now - WEEK)

    def note_announced(self, now: dt.datetime) -> None:
        """Notes that the person was told."""
        known, hashes = self._read_announced(), self._chain.entry_hashes
        entries = {name: known.entries.get(name, now) for name in hashes if name in known.entries or name == hashes[-1]}
        commits = {name: known.commits.get(name, now) for name in self._commits}
        gone = {name: known.gone.get(name, now) for name in {*known.entries, *known.gone}.difference(hashes)}
        changes = {name: known.changes.get(name, now) for name in self._changes}
        replace_file(self._file, msgspec.json.encode(Announced(entries, commits, gone, changes)))

    def _list_unannounced(self, now: dt.datetime, since: dt.datetime) -> list[Doubt]:
        """What of chain and commits the person was not told of before that time."""
        known, hashes = self._read_announced(), self._chain.entry_hashes
        made = dict(zip(hashes, self._chain.entries, strict=True))
        early = [name for name, at in known.entries.items() if name in made and made[name].at <= at <= since]
        places = [hashes.index(name) + 1 for name in early]
        commits = [path for name, path in self._commits.items() if known.commits.get(name, now) > since]
        gone = (known.gone.get(name, since) for name in {*known.entries, *known.gone}.difference(hashes))
        is_cut = any(at >= since for at in gone) and not self._chain.is_begun_anew
        about = [*self._about_chain(max(places, default=0), is_cut=is_cut)]
        if commits:
            about.append(Doubt(f"Taken over from git commits: {format_names(commits)}", self._look(commits)))
        return about

    def _read_announced(self) -> Announced:
        try:
            return msgspec.json.decode(read_record(self._file), type=Announced)
        except UNREADABLE_JSON:
            return Announced()

    def _about_chain(self, place: int, *, is_cut: bool) -> Iterator[Doubt]:
        """What is wrong with it, and what stands unsigned behind a place."""
        if self.trouble:
            yield Doubt(self.trouble[0].upper() + self.trouble[1:], ASK_AGAIN)
        elif is_cut:
            yield Doubt("Decisions that you were told of are in the chain no longer", ASK_AGAIN)
        elif self._chain.entries and not self._chain.is_known_here and not place:
            last = f"{len(self._chain.entries)} of them, the last of {local(self._chain.entries[-1].at):%Y-%m-%d}"
            yield Doubt(f"The chain of decisions is new to this machine: {last}", BROUGHT)
        entries = list(enumerate(self._chain.entries))
        signings = [(number, entry) for number, entry in entries if entry.is_by_key]
        changes = [(one, other) for (_, one), (at, other) in pairwise(signings) if one.key != other.key and at >= place]
        if changes:
            before, after = _shorten_field(changes[0][0].key), _shorten_field(changes[-1][1].key)
            yield Doubt(f"The signing key changed from {before} to {after}", KEY_STEP)
        if signings and signings[-1][1].key != self._key:
            last = _shorten_field(signings[-1][1].key)
            yield Doubt(f"Decisions were signed by {last}; your settings name {self._key or 'no key'}", KEY_STEP)
        first, strange = self._chain.entries[:1], self._chain.find_unknown()
        new = [one for one in self._chain.find_unsigned(place) if one in strange or not self._is_persons(one)]
        new = [one for one in new if self._is_left(one)]
        telling = [one for one in new if one not in first or not one.files or any(map(_is_telling, one.files))]
        manners = [
            _in_words(manner, list(group)) for manner, group in groupby(sorted(telling, key=_manner), key=_manner)
        ]
        if manners:
            more = f"; and in {len(manners) - SOME_MANNERS} ways more" if len(manners) > SOME_MANNERS else ""
            yield Doubt(
                f"Decided by nobody at a terminal: {'; '.join(manners[:SOME_MANNERS])}{more}",
                self._look(change.path for one in telling for change in one.files),
            )

    def _is_persons(self, entry: ChainEntry) -> bool:
        """Whether an entry says that a person decided, at a terminal that no assistant's process stood at."""
        is_asked = entry.how in (How.WORD, How.PAGE, *([How.KEY] if self._key else []))
        return is_asked and bool(entry.terminal) and CLIENT_NAMES.isdisjoint(entry.ancestors)

    def _is_left(self, entry: ChainEntry) -> bool:
        """Whether what was decided can be seen: not of files that are gone since, by a change that is answered for."""
        files = [one for one in entry.files if one.path != "MEMORY.md"] or entry.files  # the page follows the topics
        seen = {one.path for one in self._changes.values()}
        return not files or any(
            not one.after or one.path in seen or os.path.lexists(self._root.path / one.path) for one in files
        )

    def _look(self, paths: Iterable[str]) -> str:
        """What the person can do about changes of these files."""
        named = sorted({*paths} - {"MEMORY.md"}) or ["MEMORY.md"]
        command = f"oneiros read {shlex.quote(named[0])}"
        if is_in_repository(self._root.path):
            command = f"git -C {shlex.quote(str(self._root.path))} log -p -- {shlex.join(named[:SOME_PATHS])}"
        return f"If that was not you: `{command}` shows it"


def _is_telling(change: FileHashes) -> bool:
    """Whether a file is any but a page that a memory begins with, on which nobody has written yet."""
    path = change.path
    return all(change.approved != hash_approved(path, page) for page in (FOUNDED.get(path), NEW_PAGE) if page)


def _shorten_field(text: str) -> str:
    """A field of an entry, which anybody may have written."""
    return shorten_text(escape_line(text), SHOWN_CHARS)


def _manner(entry: ChainEntry) -> tuple[str, str, str, tuple[str, ...]]:
    return entry.event, entry.how, entry.terminal, entry.ancestors


def _in_words(manner: tuple[str, str, str, tuple[str, ...]], entries: list[ChainEntry]) -> str:
    event, how, terminal, ancestors = manner
    paths = {change.path for entry in entries for change in entry.files}
    others = {_describe_subject(entry) for entry in entries}
    named = sorted(paths - {"MEMORY.md"} or paths or others)  # the page follows the topics
    by = (f"by {how}" if how else "nobody was asked", f"on {terminal}" if terminal else "")
    described = _shorten_field(", ".join(part for part in (*by, " < ".join(ancestors[:SOME_ANCESTORS])) if part))
    return f"{len(entries)} {event} in {format_names(named)} ({described})"


def _describe_subject(entry: ChainEntry) -> str:
    """What a decision that changes no file is about."""
    if entry.passkey is not UNSET:
        return f"passkey {entry.passkey.name} {entry.passkey.fingerprint}"
    return f"hunk {entry.hunk}" if entry.hunk else "a new chain"
