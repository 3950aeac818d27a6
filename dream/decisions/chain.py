"""The chain of decisions: `proposals/decisions.jsonl`, an entry a line, each with the hash of the line before it.

An entry holds hashes, names of files and hunks, and how the person consented. The words that were decided lie beside,
in `approvals.jsonl` and `rejected.jsonl`, and can be forgotten without breaking the chain. The person's own state keeps
how many entries there are and the hash of the last, so that a chain which was cut, forged, reordered, rolled back or
deleted is found. A signature covers entries by their hashes and holds on any machine.

A passkey is the person's where the entry that takes it up counts: signed by their key, or without a key written on this
machine. From then on it signs as the key does: its challenge is the hash of its own entry, which names the hash of each
entry that it covers and a hash of each choice as it was shown.
"""

import datetime as dt
import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, UnsetType

from dream.changes import Event, FileChange
from dream.decisions.key import verify
from dream.decisions.passkey import Assertion, Passkey, vouches
from memory_server.errors import NeedsRepair
from memory_server.escaping import plural
from memory_server.machine.files import UNREADABLE_JSON, is_plain_file, replace_file
from memory_server.root.paths import MemoryRoot

if TYPE_CHECKING:
    from dream.proposals.store import Approval

Time = Annotated[dt.datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True)
class FileHashes:
    """What became of one file, as sha256 of its text; empty where the file was removed."""

    path: str
    after: str
    approved: str  # of MEMORY.md without its generated lines, else the same as `after`
    way_back: str  # hash of the splices that undo the change


@dataclass(frozen=True, slots=True)
class ChoiceHashes:
    """One choice that a passkey signed, without a word of it."""

    hunk: str
    verdict: str
    shown: str  # sha256 of the hunk and its diff, as the person saw them
    text: str  # likewise of their own wording; empty without one
    reason: str  # likewise of a rejection's


@dataclass(frozen=True, slots=True)
class ChainEntry:
    """One decision. The hash of its line is its name."""

    event: Event
    at: Time
    how: str  # key, word, page, passkey; empty where nobody was asked
    nonce: str
    previous: str = ""  # hash of the line before; empty in the first one
    hunk: str = ""
    files: tuple[FileHashes, ...] = ()
    terminal: str = ""
    ancestors: tuple[str, ...] = ()  # names of the processes that decided, the nearest first
    covers: tuple[str, ...] = ()  # hashes of the entries that its signature is about
    key: str = ""  # fingerprint of the key that signed
    signature: str = ""
    # what is unset is not written, so that every other entry keeps its bytes
    passkey: Passkey | UnsetType = UNSET  # that is taken up or given up
    choices: tuple[ChoiceHashes, ...] | UnsetType = UNSET  # that a passkey signed
    assertion: Assertion | UnsetType = UNSET  # by which it did

    @property
    def signed_bytes(self) -> bytes:
        """What a signature is made over."""
        return msgspec.json.encode(replace(self, signature="", assertion=UNSET))

    @property
    def challenge(self) -> bytes:
        """What a passkey is asked to sign: the hash of its nonce and of all that the entry says."""
        return hashlib.sha256(self.nonce.encode() + self.signed_bytes).digest()

    @property
    def is_by_key(self) -> bool:
        """Whether it says that a key signed, rather than a passkey."""
        return self.event is Event.SIGNED and self.assertion is UNSET

    @property
    def line(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def name(self) -> str:
        """The hash of its line."""
        return hashlib.sha256(self.line).hexdigest()


@dataclass(frozen=True, slots=True)
class Head:
    """A state of the chain that this machine has written."""

    count: int
    last: str  # hash of the last entry


class Chain:
    """The chain of one memory root as it lies on the disk, checked as it is read.

    `public_key`: the person's, empty where there is none. `own`: hashes of entries that this process made and will have
    signed. `fault` says what is wrong; empty where nothing is.
    """

    def __init__(self, root: MemoryRoot, public_key: str, own: Collection[str] = ()):
        self._file, self._head_file = root.decisions, root.decisions_head
        self._key, self._own = public_key, own
        self._data = read_record(self._file)
        lines = self._data.split(b"\n")
        self.hashes = [hashlib.sha256(line).hexdigest() for line in lines]
        self.entries, broken = self._parse_entries(lines)
        heads = self._read_heads()
        self._head = next((head for head in heads if self._holds(head)), None)
        self.is_kept = bool(heads or self._data)
        self.has_key = bool(public_key)
        self.is_known_here = self._head is not None
        self.fault = broken or ("" if self._head or not heads else self._describe_loss(heads[0]))

    def _parse_entries(self, lines: Sequence[bytes]) -> tuple[list[ChainEntry], str]:
        """The entries up to the first line that does not follow from the one before it, and what is wrong there."""
        entries: list[ChainEntry] = []
        for place, line in enumerate(lines[:-1]):
            try:
                entry = msgspec.json.decode(line, type=ChainEntry)
            except UNREADABLE_JSON:
                return entries, f"line {place + 1} of it cannot be read"
            is_begun = place == 0 and entry.event is Event.BEGUN
            if not is_begun and entry.previous != (self.hashes[place - 1] if place else ""):
                return entries, f"line {place + 1} of it does not follow from the one before"
            entries.append(entry)
        return entries, f"line {len(lines)} of it is torn" if lines[-1] else ""

    def _read_heads(self) -> list[Head]:
        """The last state that was written, or the last two where the later one may not have come to be."""
        try:
            return msgspec.json.decode(read_record(self._head_file) or b"[]", type=list[Head])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            what = "what is known of the chain of decisions cannot be read"
            remedy = "Remove it; then look at what `oneiros report` names"
            raise NeedsRepair(what, where=self._head_file, remedy=remedy) from error

    def _holds(self, head: Head) -> bool:
        is_long_enough = 0 < head.count <= len(self.entries)
        return head.count == 0 or (is_long_enough and self.hashes[head.count - 1] == head.last)

    def _describe_loss(self, head: Head) -> str:
        if not self._data:
            return f"it was removed, and {head.count} decisions with it"
        gone = head.count - len(self.entries)
        return f"it was cut, and {gone} decisions are gone" if gone > 0 else "it was written anew"

    # -- what it vouches for ------------------------------------------------------------------------------------

    def counts(self, place: int) -> bool:
        """Whether an entry explains anything: with a key by a signature, without one as a decision of this machine."""
        if self._key:
            return self.hashes[place] in self._own or self.is_signed(place)
        return not self.fault and self._is_known(place)

    def is_signed(self, place: int) -> bool:
        """Whether the person's key or a passkey of theirs vouches for an entry."""
        return any(self._is_by_key(at) or self._is_by_passkey(at) for at in self._signers(place))

    def _signers(self, place: int) -> list[int]:
        """The places of the entries that sign one: its own, and those that cover it."""
        return [place, *self._signings.get(self.hashes[place], [])]

    def _is_by_key(self, place: int) -> bool:
        entry = self.entries[place]
        is_signed = bool(self._key and entry.signature) and entry.assertion is UNSET
        return is_signed and verify(self._key, entry.signed_bytes, entry.signature)

    def _is_by_passkey(self, place: int) -> bool:
        entry = self.entries[place]
        if entry.assertion is UNSET:
            return False
        passkey = self.passkeys(place).get(entry.assertion.id)
        return passkey is not None and vouches(passkey, entry.challenge, entry.assertion)

    def passkeys(self, before: int | None = None) -> dict[str, Passkey]:
        """The person's passkeys by their ids: those of now, or as they were before an entry."""
        found: dict[str, Passkey] = {}
        for place, event, passkey in self._passkey_events:
            if before is not None and place >= before:
                break
            if event is Event.REGISTERED:
                found[passkey.id] = passkey
            else:
                found.pop(passkey.id, None)
        return found

    @cached_property
    def _passkey_events(self) -> list[tuple[int, Event, Passkey]]:
        """What became of passkeys, in its order. No passkey vouches for another.

        One is given up also where that is not signed: a person who lost it may have lost the key with it.
        """
        found = []
        for place, entry in enumerate(self.entries):
            if entry.passkey is UNSET:
                continue
            is_known = not self.fault and self._is_known(place)
            is_by_key = any(map(self._is_by_key, self._signers(place)))
            if is_by_key or (is_known and (not self._key or entry.event is Event.WITHDRAWN)):
                found.append((place, entry.event, entry.passkey))
        return found

    def covering(self, entry: ChainEntry) -> tuple[ChainEntry, Passkey | UnsetType] | None:
        """The first entry by which the person's key or a passkey signs one, and that passkey; None where none does."""
        for place in self._signings.get(entry.name, []):
            signing = self.entries[place]
            if self._is_by_key(place):
                return signing, UNSET
            if signing.assertion is not UNSET and self._is_by_passkey(place):
                return signing, self.passkeys(place)[signing.assertion.id]
        return None

    def count_signatures(self, passkey: Passkey) -> int:
        """How often a passkey had signed when it last did, by its own count."""
        signed = (one.assertion for place, one in enumerate(self.entries) if self._is_by_passkey(place))
        return max([passkey.count, *(one.count for one in signed if one is not UNSET and one.id == passkey.id)])

    def find_unknown(self) -> list[ChainEntry]:
        """The entries that neither this machine wrote nor the person's key vouches for."""
        places = (place for place in range(len(self.entries)) if not self._is_known(place))
        return [self.entries[place] for place in places if not self.is_signed(place)]

    def find_unsigned(self, first: int) -> list[ChainEntry]:
        """The decisions from a place on that no key vouches for."""
        places = (at for at in range(first, len(self.entries)) if self.entries[at].event is not Event.SIGNED)
        return [self.entries[at] for at in places if not self.is_signed(at)]

    @property
    def entry_hashes(self) -> list[str]:
        return self.hashes[: len(self.entries)]

    @property
    def is_begun_anew(self) -> bool:
        return bool(self.entries) and self.entries[0].event is Event.BEGUN

    def find_entry(self, approval: "Approval") -> ChainEntry | None:
        """The entry that counts for the words and the way back of an approval; None where they are not what it says."""
        files = hash_changes(approval.files)
        found = (place for place, entry in enumerate(self.entries) if entry.nonce == approval.nonce)
        counted = (self.entries[place] for place in found if self.counts(place))
        return next((entry for entry in counted if entry.files == files), None)

    def is_approval_signed(self, approval: "Approval") -> bool:
        """Whether the person's key or a passkey vouches for an approval as it is noted."""
        entry = self.find_entry(approval)
        return entry is not None and self.is_signed(self.entries.index(entry))

    def _is_known(self, place: int) -> bool:
        return self._head is not None and place < self._head.count

    @cached_property
    def _signings(self) -> dict[str, list[int]]:
        """The places of the entries that sign, by the hash of what they cover."""
        found: dict[str, list[int]] = {}
        for place, entry in enumerate(self.entries):
            for covered in entry.covers:
                found.setdefault(covered, []).append(place)
        return found

    @property
    def last(self) -> str:
        """The name of the last entry; empty where there is none."""
        return self.entry_hashes[-1] if self.entries else ""

    # -- writing ------------------------------------------------------------------------------------------------

    @property
    def trouble(self) -> str:
        """What is to be said of the chain; empty where it is as this machine left it."""
        if self.fault:
            return f"the chain of decisions is not as it was left: {self.fault}"
        if not (added := len(self.find_unknown())):
            return ""
        held = f"the chain of decisions holds {plural(added, 'decision')}"
        if self.is_known_here:
            return f"{held} that nobody known added"
        return f"{held} of a record that is not here: oneiros was uninstalled, or another machine decided"

    def require_sound(self) -> None:
        """Raises NeedsRepair where the chain could not go on: a further entry would vouch for what is wrong in it."""
        if self.trouble:
            remedy = "Look at what `oneiros report` names; `oneiros dream adopt FILE...` begins a new chain"
            raise NeedsRepair(self.trouble, where=self._file, remedy=remedy)

    def add(self, entries: Sequence[ChainEntry], signature_of: Callable[[bytes], str] | None = None) -> list[str]:
        """Adds those that are not there yet, by their nonce; returns their hashes. Call under the lock of `accept.py`.

        `signature_of` signs each. Killed at any moment it leaves a chain that this machine knows. Raises NeedsRepair as
        `require_sound` does.
        """
        self.require_sound()
        present = {entry.nonce for entry in self.entries}
        new = [entry for entry in entries if entry.nonce not in present]
        before = Head(len(self.entries), self.last)
        return self._write(self._data, new, before, signature_of) if new else []

    def begin_anew(self, entry: ChainEntry) -> None:
        """Sets the chain aside, beside its place, and begins another with an entry that names its hash."""
        if self._data:
            replace_file(self._file.with_name(f"decisions-until-{entry.at:%Y%m%d-%H%M%S}.jsonl"), self._data)
        before = Head(0, hashlib.sha256(self._data).hexdigest())
        self._write(b"", [entry], before)

    def _write(
        self,
        data: bytes,
        entries: Sequence[ChainEntry],
        before: Head,
        signature_of: Callable[[bytes], str] | None = None,
    ) -> list[str]:
        """Writes entries behind `data`; the state knows of them beforehand, and of what was there until they are."""
        names, lines = [before.last], []
        for entry in entries:
            whole = replace(entry, previous=names[-1])
            signature = signature_of(whole.signed_bytes) if signature_of else ""
            whole = replace(whole, signature=signature or whole.signature)
            lines.append(whole.line + b"\n")
            names.append(whole.name)
        after = Head(before.count + len(entries), names[-1])
        replace_file(self._head_file, msgspec.json.encode([after, before]))
        replace_file(self._file, data + b"".join(lines))
        replace_file(self._head_file, msgspec.json.encode([after]))
        return names[1:]


def read_record(file: Path) -> bytes:
    """What is kept of decisions; empty where nothing is. Raises NeedsRepair for anything but an ordinary file."""
    if not os.path.lexists(file):
        return b""
    if not is_plain_file(file):
        raise NeedsRepair(
            "a record of decisions is no ordinary file", where=file, remedy="Look at it, and move it away"
        )
    return file.read_bytes()


def make_entry(approval: "Approval", how: str, terminal: str = "", ancestors: Sequence[str] = ()) -> ChainEntry:
    """The entry of an approval."""
    return ChainEntry(
        approval.event,
        approval.at,
        how,
        approval.nonce,
        hunk=approval.hunk,
        files=hash_changes(approval.files),
        terminal=terminal,
        ancestors=tuple(ancestors),
    )


def hash_changes(changes: Sequence[FileChange]) -> tuple[FileHashes, ...]:
    """What an approval says of its files, without a word of them."""
    ways = (hashlib.sha256(msgspec.json.encode(one.splices)).hexdigest() if one.splices else "" for one in changes)
    return tuple(FileHashes(one.path, one.after, one.approved, way) for one, way in zip(changes, ways, strict=True))
