"""The folder `proposals/`: what was proposed, and what a person decided.

    queue.json               hunks that wait for a day with room
    <date>-<n>/hunks.json    the hunks of one proposal; beside it the same for a person, proposal.md and changes.diff
    skills/<id>/             a skill that a habit would make, to be read (see `skill.py`)
    rejected.jsonl           what was turned down, by meaning and source
    decisions.jsonl          every decision, without a word of it (see `decisions/chain.py`)

Beside it, in the person's state of the memory, since no clone may bring it:

    approvals.jsonl          the words of each acceptance, and how to undo it; `decisions/chain.py` vouches for them

None of it is derived: it is not rebuilt, and without it the same questions would be asked again.
"""

import datetime as dt
import logging
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.quotes import Quote
from crawler.transcripts.transcript import is_whole_record
from dream.changes import Event, FileChange
from dream.records import DirectWords, Given, Hunk, Rejection, split_words
from dream.topics import list_noted_statements
from memory_server.errors import ContentError
from memory_server.machine.files import UNREADABLE_JSON, append_line, replace_file
from memory_server.root.paths import MemoryRoot

logger = logging.getLogger(__name__)
T = TypeVar("T")
Quoting = TypeVar("Quoting", Hunk, Rejection)

FOLDER_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-\d+")


@dataclass(frozen=True, slots=True)
class Approval:
    """One yes of a person."""

    event: Event
    at: dt.datetime
    files: tuple[FileChange, ...]
    hunk: str = ""
    proposal: str = ""
    label: str = ""  # of a skill the topmost folder that was made for it
    text: str = ""
    suggested: str = ""  # what was proposed, where the person reworded it
    old_text: str = ""  # what it replaced
    quotes: tuple[Quote, ...] = ()
    nonce: str = ""  # names its commit and its entry in the chain of decisions
    given: tuple[Given, ...] = ()  # like the quotes: what the statement rests on
    questions: tuple[str, ...] = ()  # that the statement answers; searched, never shown


@dataclass(frozen=True, slots=True)
class Proposal:
    """Hunks offered together."""

    name: str  # <date>-<n>
    hunks: tuple[Hunk, ...]


class ProposalStore:
    """Reads and writes the folder of one memory root. It decides nothing."""

    def __init__(self, root: MemoryRoot):
        self.root = root
        self.folder = root.path / "proposals"
        self._queue = self.folder / "queue.json"
        self._rejected = root.rejected
        self._approvals = root.approvals

    def proposals(self) -> list[Proposal]:
        """All proposals, oldest first."""
        folders = [path for path in self.folder.glob("*") if FOLDER_NAME.fullmatch(path.name) and path.is_dir()]
        return [self.proposal(path.name) for path in sorted(folders, key=lambda path: _parse_name(path.name))]

    def proposal(self, name: str) -> Proposal:
        """One proposal. Raises ContentError where there is none, or where it cannot be read."""
        file = self.folder / name / "hunks.json"
        if not FOLDER_NAME.fullmatch(name) or not (file.is_file() or file.parent.is_dir()):
            raise ContentError(f"there is no proposal {name[:40]!r}", remedy="`oneiros review --list` names them")
        return Proposal(name, _read(file, tuple[Hunk, ...], ()))

    def queue(self) -> tuple[Hunk, ...]:
        """The hunks that wait."""
        return _read(self._queue, tuple[Hunk, ...], ())

    def hunks(self) -> list[Hunk]:
        """All hunks, those that wait last."""
        return [*(hunk for proposal in self.proposals() for hunk in proposal.hunks), *self.queue()]

    def hunk(self, name: str) -> Hunk:
        """A hunk by its id or the beginning of it. Raises ContentError where that fits none, or more than one."""
        found = [hunk for hunk in self.hunks() if name and hunk.id.startswith(name)]
        if len({hunk.id for hunk in found}) != 1:
            what = f"{'several hunks begin' if found else 'no hunk begins'} with {name[:40]!r}"
            raise ContentError(what, remedy="`oneiros review --list` names them")
        return found[0]

    def next_name(self, day: dt.date) -> str:
        """The name of the next proposal of a day."""
        numbers = [_parse_name(path.name)[1] for path in self.folder.glob(f"{day.isoformat()}-*")]
        return f"{day.isoformat()}-{max(numbers, default=0) + 1}"

    def name_direct_proposal(self, day: dt.date) -> str:
        """The name of the proposal that takes in what a person tells directly on a day."""
        today = [one for one in self.proposals() if one.name.startswith(day.isoformat())]
        names = [one.name for one in today if all(isinstance(hunk.evidence[:1][0], DirectWords) for hunk in one.hunks)]
        return names[-1] if names else self.next_name(day)

    def save_queue(self, hunks: Sequence[Hunk]) -> None:
        replace_file(self._queue, _json(tuple(hunks)))

    def save_proposal(self, proposal: Proposal) -> None:
        """Writes the hunks of a proposal; what a person reads of them is `offering.py`'s to write."""
        replace_file(self.folder / proposal.name / "hunks.json", _json(proposal.hunks))

    def save_hunk(self, hunk: Hunk, was: str = "") -> None:
        """Replaces one hunk where it stands, also under the name that it had; one that its proposal lacks is added."""
        names = {hunk.id, was}
        if hunk.proposal:
            known = _read(self.folder / hunk.proposal / "hunks.json", tuple[Hunk, ...], ())
            hunks = tuple(hunk if other.id in names else other for other in known)
            self.save_proposal(Proposal(hunk.proposal, hunks if hunk in hunks else (*hunks, hunk)))
        else:
            self.save_queue([hunk if other.id in names else other for other in self.queue()])

    def approvals(self) -> list[Approval]:
        """Every yes, oldest first."""
        return _read_lines(self._approvals, Approval)

    def add_approval(self, approval: Approval) -> None:
        """Notes a yes; one that is noted already (the same nonce) is not noted twice."""
        if not any(known.nonce == approval.nonce for known in self.approvals()):
            _append(self._approvals, approval)

    def rejections(self) -> list[Rejection]:
        return _read_lines(self._rejected, Rejection)

    def add_rejection(self, rejection: Rejection) -> None:
        """Notes a no; the same is not noted twice."""
        if rejection not in self.rejections():
            _append(self._rejected, rejection)

    def forget(self, session_ids: Iterable[str]) -> int:
        """Removes every hunk, rejection and quote of these sessions; returns how many hunks went.

        Of an approval that names one the hashes stay, since the files do; its words and its way back go.
        """
        gone, before = set(session_ids), len(self.hunks())

        def keep_others(found: Iterable[Quoting]) -> list[Quoting]:
            return [one for one in found if not any(quote.session_id in gone for quote in one.quotes)]

        for proposal in self.proposals():
            others = tuple(keep_others(proposal.hunks))
            if others != proposal.hunks:
                shutil.rmtree(self.folder / proposal.name)
                if others:
                    self.save_proposal(replace(proposal, hunks=others))
        if queue := self.queue():
            self.save_queue(keep_others(queue))
        if rejections := self.rejections():
            _rewrite(self._rejected, keep_others(rejections))
        if approvals := self.approvals():
            _rewrite(self._approvals, [_wordless(one) if _names(one, gone) else one for one in approvals])
        return before - len(self.hunks())


def forget_drafts(root: MemoryRoot, session_ids: Iterable[str]) -> None:
    """Removes the drafts that name one of these sessions."""
    for file in (root.path / "proposals" / "skills").glob("*/SKILL.md"):
        text = file.read_text(encoding="utf-8", errors="replace")
        if any(session_id in text for session_id in session_ids):
            shutil.rmtree(file.parent)


def find_approvals(text: str, approvals: Iterable[Approval], line: int = 0) -> dict[str, Approval]:
    """What was accepted of a topic, by the label of the footnote behind what it says in the same words.

    `line`: counts of a label that several statements have, for the one on that line, from 1.
    """
    by_words = {tuple(split_words(one.text)): one for one in approvals if one.event is Event.ACCEPTED and one.text}
    noted = sorted(list_noted_statements(text), key=lambda one: one.lines.first <= line <= one.lines.last)
    found = {one.label: by_words.get(tuple(split_words(one.text))) for one in noted}  # the last one counts
    return {label: one for label, one in found.items() if one}


def _names(approval: Approval, session_ids: Iterable[str]) -> bool:
    """Whether an approval names one of these sessions, wherever it does."""
    text = msgspec.json.encode(approval)
    return any(session_id.encode() in text for session_id in session_ids)


def _wordless(approval: Approval) -> Approval:
    files = tuple(replace(change, splices=()) for change in approval.files)
    return replace(approval, files=files, text="", suggested="", old_text="", quotes=(), given=(), questions=())


def _parse_name(name: str) -> tuple[str, int]:
    day, _, number = name.rpartition("-")
    return day, int(number) if number.isdigit() else 0


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _read(file: Path, kind: type[T], empty: T) -> T:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return empty
    except UNREADABLE_JSON as error:
        what, remedy = f"the proposals cannot be read ({error})", "Restore the file, or remove its folder"
        raise ContentError(what, where=file, remedy=remedy) from error


def _read_lines(file: Path, kind: type[T]) -> list[T]:
    """The lines of a file; a last one that a kill tore is passed over, and said."""
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found += [msgspec.json.decode(line, type=kind)] if line.strip() else []
        except UNREADABLE_JSON as error:
            if number < len(lines):
                what, remedy = f"this line cannot be read ({error})", "Restore it, or remove it"
                raise ContentError(what, where=file, line=number, remedy=remedy) from error
            logger.warning("%s:%d: the last line is not whole and counts for nothing", file, number)
    return found


def _append(file: Path, value: object) -> None:
    """Adds a line. A last one without its end is completed where it is whole, and removed where a kill tore it."""
    text = file.read_bytes() if file.exists() else b""
    rest = text.rpartition(b"\n")[2]
    if rest and not is_whole_record(rest):
        logger.warning("%s: its last line was torn and is removed: %r", file, rest[:200])
        replace_file(file, text[: -len(rest)])
    append_line(file, msgspec.json.encode(value))


def _rewrite(file: Path, values: Sequence[object]) -> None:
    replace_file(file, b"".join(msgspec.json.encode(value) + b"\n" for value in values))
