"""What no key vouches for, named to the person: a program can decide too, but not unseen.

Told at the start of a session: what came since the last one, and in any case since a day, since a program can start
one. The report tells of the week.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import msgspec

from dream.decisions.approvals import Approvals, Doubt, approved_hash, listed
from dream.decisions.chain import ChainEntry, FileDigest
from dream.decisions.key import fingerprint_in
from dream.proposals.store import Event
from memory_server.escaping import shown_line
from memory_server.layers.index_page import NEW_PAGE
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot

DAY, WEEK = dt.timedelta(days=1), dt.timedelta(days=7)
SOME_ANCESTORS = 4
LOOK = "If that was not you: `oneiros dream blame` and git show what changed; `oneiros dream revert` takes it out"
ASK_AGAIN = "`oneiros review` asks about each file that it explains no more"
KEY_STEP = "If that was not you, put your own back into your settings and look at what `oneiros report` names"


@dataclass(frozen=True, slots=True)
class Told:
    """What the person was told of already."""

    entries: int = 0  # of the chain
    commits: Mapping[str, str] = field(default_factory=dict)  # path -> sha256 of a text that a commit alone explains


class UnsignedDecisions:
    """Tells what is unsigned in one memory root."""

    def __init__(self, root: MemoryRoot, approvals: Approvals, signing_key: str):
        """`approvals`: after `unexplained` was asked of them."""
        self._file = root.told
        self._approvals, self._chain = approvals, approvals.chain
        self._key = fingerprint_in(signing_key)

    def since_session(self, now: dt.datetime) -> list[Doubt]:
        """What is to be said at the start of a session."""
        told = self._told()
        commits = {path for path, text in self._approvals.by_commit.items() if told.commits.get(path) != text}
        return [*self._about_chain(told.entries, now - DAY), *self._about_commits(sorted(commits))]

    def of_week(self, now: dt.datetime) -> list[Doubt]:
        """What the report says."""
        return list(self._about_chain(len(self._chain.entries), now - WEEK))

    def note_told(self) -> None:
        """Notes that the person was told."""
        told = Told(len(self._chain.entries), {**self._told().commits, **self._approvals.by_commit})
        replace_file(self._file, msgspec.json.encode(told))

    def _told(self) -> Told:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Told)
        except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
            return Told()

    def _about_chain(self, place: int, since: dt.datetime) -> Iterator[Doubt]:
        """What is wrong with it, and what stands unsigned behind a place, or came since a time."""
        if trouble := self._chain.trouble:
            yield Doubt(trouble[0].upper() + trouble[1:], ASK_AGAIN)
        entries = list(enumerate(self._chain.entries))
        signings = [(number, entry) for number, entry in entries if entry.event is Event.SIGNED]
        for (_, before), (number, entry) in pairwise(signings):
            if entry.key != before.key and (number >= place or entry.at >= since):
                yield Doubt(
                    f"The signing key changed from {shown_line(before.key)} to {shown_line(entry.key)}", KEY_STEP
                )
        if signings and signings[-1][1].key != self._key:
            last = shown_line(signings[-1][1].key)
            yield Doubt(f"Decisions were signed by {last}; your settings name {self._key or 'no key'}", KEY_STEP)
        telling = [one for one in self._chain.unsigned(place, since) if any(map(_is_telling, one.files))]
        for manner, group in groupby(sorted(telling, key=_manner), key=_manner):
            yield Doubt(f"Unsigned: {_in_words(manner, list(group))}", LOOK)

    @staticmethod
    def _about_commits(paths: list[str]) -> Iterator[Doubt]:
        if paths:
            yield Doubt(f"Unsigned: taken over from git commits: {listed([shown_line(path) for path in paths])}", LOOK)


def _is_telling(digest: FileDigest) -> bool:
    """Whether a file is any but the index page as it is founded, on which nobody has written yet."""
    return digest.path != "MEMORY.md" or digest.approved != approved_hash("MEMORY.md", NEW_PAGE)


def _manner(entry: ChainEntry) -> tuple[str, str, str, tuple[str, ...]]:
    return entry.event, entry.how, entry.terminal, entry.ancestors


def _in_words(manner: tuple[str, str, str, tuple[str, ...]], entries: list[ChainEntry]) -> str:
    event, how, terminal, ancestors = manner
    paths = {shown_line(digest.path) for entry in entries for digest in entry.files}
    named = sorted(paths - {"MEMORY.md"} or paths)  # which follows the topics
    by = (f"by {how}" if how else "nobody was asked", f"on {terminal}" if terminal else "")
    told = shown_line(", ".join(part for part in (*by, " < ".join(ancestors[:SOME_ANCESTORS])) if part))
    return f"{len(entries)} {event} in {listed(named)} ({told})"
