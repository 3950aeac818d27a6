"""Joins entries into turns: who said or did what, in the order of the transcript.

An entry alone does not tell whether a queued prompt was repeated later, which branch a rewind left behind, or what
the result of a call answers. So the entries are walked twice: once for the shape of the session (ids and parents
only), once for the texts. Neither walk holds more than one reply and the calls still open.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from crawler.transcripts.entry import Entry, EntryPart, PartKind, parse_time
from crawler.transcripts.injected import is_own_call
from crawler.transcripts.transcript import read_entries


class Role(StrEnum):
    """Who a turn belongs to."""

    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SUB_AGENT = "sub-agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one role said or did. Everything a tool did, call and result, is one turn at the place of the result."""

    role: Role
    kind: PartKind
    text: str  # what was said; for a tool what it returned
    entries: tuple[str, ...]  # ids of the entries it was joined from, in their order; never empty
    time: datetime | None = None  # of the first entry, aware; None where the record has none
    cwd: str = ""
    branch: str = ""
    tool: str = ""
    arguments: str = ""  # the call's input as JSON text
    is_error: bool = False
    is_answered: bool = True  # False for a call whose result never came
    agent: str = ""  # the sub-agent's id, where it happened in a side-chain
    is_live: bool = True  # False on a branch that a rewind left

    @property
    def is_prompt(self) -> bool:
        """Whether these are the person's own words: slash commands and interruptions are the person's, but no words."""
        return self.role is Role.PERSON and self.kind in PROMPT_KINDS


PROMPT_KINDS = frozenset({PartKind.PROMPT, PartKind.QUEUED, PartKind.BESIDE_RESULT})
ROLES = {
    PartKind.PROMPT: Role.PERSON,
    PartKind.QUEUED: Role.PERSON,
    PartKind.BESIDE_RESULT: Role.PERSON,
    PartKind.COMMAND: Role.PERSON,
    PartKind.SHELL: Role.SYSTEM,
    PartKind.INTERRUPTION: Role.SYSTEM,
    PartKind.TITLE: Role.SYSTEM,
    PartKind.TEXT: Role.ASSISTANT,
    PartKind.PLAN: Role.ASSISTANT,
    PartKind.TEAMMATE: Role.SUB_AGENT,
    PartKind.CALL: Role.TOOL,
    PartKind.RESULT: Role.TOOL,
}
OpenEntries = Callable[[], Iterable[Entry]]  # called twice, gives the same entries in the same order


def join_turns(open_entries: OpenEntries) -> Iterator[Turn]:
    """The turns of one session, or of one file of it."""
    shape = build_shape(distinct(open_entries()))
    return _Joiner(shape).join(distinct(open_entries()))


def read_transcript(path: Path) -> Iterator[Turn]:
    """The turns of one transcript, plain or `.xz`, read by itself: nothing is redacted and nothing written."""
    return join_turns(lambda: read_entries(path))


@dataclass(slots=True)
class Shape:
    """What must be known of the whole session before its first turn can be told."""

    parents: dict[str, str] = field(default_factory=dict)  # every record, links included, in file order
    prompts: set[str] = field(default_factory=set)  # records of the main chain in which the person spoke
    typed_at: dict[bytes, int] = field(default_factory=dict)  # words of a `user` record -> its last position
    queued_with_uuid: set[bytes] = field(default_factory=set)
    taken_back_at: dict[bytes, int] = field(default_factory=dict)  # queued words -> the last position
    sidechains: set[str] = field(default_factory=set)
    leaf: str = ""  # the last record of the main chain that says something
    dead: frozenset[str] = frozenset()


def distinct(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries without those that a client wrote a second time under the same id."""
    seen: set[str] = set()
    for entry in entries:
        if entry.parts:
            if entry.id in seen:
                continue
            seen.add(entry.id)
        yield entry


def build_shape(entries: Iterable[Entry]) -> Shape:
    """The shape of a session: parents, leaf, dead branches and what the person typed where."""
    shape = Shape()
    for position, entry in enumerate(entries):
        if not is_made(entry):
            shape.parents.setdefault(entry.id, entry.parent)
        if entry.is_sidechain:
            shape.sidechains.add(entry.id)
            continue
        for part in entry.parts:
            if part.kind is PartKind.TAKEN_BACK:
                shape.taken_back_at[words_key(part.text)] = position
            elif part.kind is PartKind.QUEUED:
                if not is_made(entry):
                    shape.queued_with_uuid.add(words_key(part.text))
            elif ROLES[part.kind] is Role.PERSON:
                shape.typed_at[words_key(part.text)] = position
                shape.prompts.add(entry.id)
        if entry.parts and not is_made(entry):
            shape.leaf = entry.id
    shape.dead = find_abandoned(shape.parents, shape.prompts, shape.leaf)
    return shape


def is_made(entry: Entry) -> bool:
    """Whether the entry's id is ours, since the client gave it none: such records have no place in the tree."""
    return entry.id.startswith("made-")


def words_key(text: str) -> bytes:
    """The same for texts that differ in white space only."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=12).digest()


class _Joiner:
    """The second walk: holds the reply being joined and the calls not yet answered."""

    def __init__(self, shape: Shape):
        self._shape = shape
        self._reply: list[tuple[Entry, str]] = []
        self._calls: dict[str, tuple[Entry, EntryPart]] = {}
        self._queued: set[bytes] = set()
        self._roots: dict[str, str] = {}

    def join(self, entries: Iterable[Entry]) -> Iterator[Turn]:
        for position, entry in enumerate(entries):
            for part in entry.parts:
                yield from self._part(position, entry, part)
        yield from self._flush()
        for entry, call in self._calls.values():
            yield self._turn(entry, call, arguments=call.arguments, tool=call.tool, is_answered=False)

    def _part(self, position: int, entry: Entry, part: EntryPart) -> Iterator[Turn]:
        if part.kind is PartKind.TEXT:
            if (self._reply and self._reply[-1][0].message_id != entry.message_id) or not entry.message_id:
                yield from self._flush()
            self._reply.append((entry, part.text))
        elif part.kind is PartKind.CALL:
            self._calls[part.call_id or entry.id] = (entry, part)
        else:
            yield from self._flush()
            if part.kind is PartKind.RESULT:
                yield from self._join_result(entry, part)
            elif not self._is_elsewhere(position, entry, part):
                yield self._turn(entry, part)

    def _is_elsewhere(self, position: int, entry: Entry, part: EntryPart) -> bool:
        """Whether these are words that a later entry repeats or takes back, or the title of another session."""
        if part.kind is PartKind.TAKEN_BACK:
            return True
        if part.kind is PartKind.TITLE:
            return bool(entry.parent) and entry.parent not in self._shape.parents
        return part.kind is PartKind.QUEUED and not self._is_new(position, entry, part)

    def _join_result(self, entry: Entry, result: EntryPart) -> Iterator[Turn]:
        opened = self._calls.pop(result.call_id, None)
        if opened is None:
            yield self._turn(entry, result)
            return
        call_entry, call = opened
        if is_own_call(call.tool, call.arguments):
            return
        yield self._turn(entry, result, tool=call.tool, arguments=call.arguments, entries=(call_entry.id, entry.id))

    def _is_new(self, position: int, entry: Entry, part: EntryPart) -> bool:
        """Whether a queued prompt stands, and nowhere else: a client writes the same words up to three times."""
        key = words_key(part.text)
        if max(self._shape.typed_at.get(key, -1), self._shape.taken_back_at.get(key, -1)) > position:
            return False
        if is_made(entry) and (key in self._shape.queued_with_uuid or key in self._queued):
            return False
        self._queued.add(key)
        return True

    def _flush(self) -> Iterator[Turn]:
        if not self._reply:
            return
        reply, self._reply = self._reply, []
        entries = tuple(dict.fromkeys(entry.id for entry, _ in reply))
        text = "\n\n".join(text for _, text in reply)
        yield self._turn(reply[0][0], EntryPart(PartKind.TEXT, text), entries=entries)

    def _turn(
        self,
        entry: Entry,
        part: EntryPart,
        *,
        tool: str = "",
        arguments: str = "",
        entries: tuple[str, ...] = (),
        is_answered: bool = True,
    ) -> Turn:
        role = ROLES[part.kind]
        if entry.is_sidechain and role in (Role.PERSON, Role.ASSISTANT):
            role = Role.SUB_AGENT
        return Turn(
            role=role,
            kind=part.kind,
            text=part.text,
            entries=entries or (entry.id,),
            time=parse_time(entry),
            cwd=entry.cwd,
            branch=entry.branch,
            tool=tool,
            arguments=arguments,
            is_error=part.is_error,
            is_answered=is_answered,
            agent=self._agent(entry),
            is_live=entry.id not in self._shape.dead,
        )

    def _agent(self, entry: Entry) -> str:
        """The sub-agent's id; old clients wrote side-chains inline without one, so their first record stands for it."""
        if entry.agent or not entry.is_sidechain:
            return entry.agent
        parents, sidechains = self._shape.parents, self._shape.sidechains
        root, seen = entry.id, {entry.id}
        while (above := parents.get(root, "")) in sidechains and above not in seen:
            if above in self._roots:
                root = self._roots[above]
                break
            seen.add(above)
            root = above
        self._roots[entry.id] = root
        return f"sidechain-{root[:8]}"


# -- branches that a rewind left behind -----------------------------------------------------------------------------


def find_abandoned(parents: Mapping[str, str], prompts: Set[str], leaf: str) -> frozenset[str]:
    """The ids on dead branches. `parents` is in file order; a parent that is empty or unknown ends a chain."""
    continued_by = live_chain(parents, leaf)
    places = {entry_id: place for place, entry_id in enumerate(parents)}
    branches: dict[str, list[str]] = {}  # first record of a branch -> all its records
    branch_of: dict[str, str] = {}
    for entry_id, parent in parents.items():
        if entry_id in continued_by:
            continue
        if parent in continued_by:
            branch = entry_id
        elif parent in branch_of:
            branch = branch_of[parent]
        else:
            continue  # a piece whose parents are not in this file: nothing says that it was left
        branch_of[entry_id] = branch
        branches.setdefault(branch, []).append(entry_id)
    dead: set[str] = set()
    for first, members in branches.items():
        successor = continued_by[parents[first]]
        is_rewind = successor in prompts and places[first] < places[successor]
        if is_rewind and not prompts.isdisjoint(members):
            dead.update(members)
    return frozenset(dead)


def live_chain(parents: Mapping[str, str], leaf: str) -> dict[str, str]:
    """Every record from the leaf upwards, with the record that continues it (empty for the leaf)."""
    chain: dict[str, str] = {}
    following, current = "", leaf
    while current in parents and current not in chain:
        chain[current] = following
        following, current = current, parents[current]
    return chain
