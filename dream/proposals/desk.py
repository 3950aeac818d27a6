"""From updates to proposals: at most so many hunks a day, best first, and nothing asked twice.

A proposal is a folder that a person can read (`proposal.md`) and git can apply (`changes.diff`). Both are written from
the hunks whenever these change. Hunks whose target changed find their place anew or are retired; old ones expire.
"""

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dream.proposals.placing import HEADING, Manner, anchored, placed, provenance_of, words_of
from dream.proposals.store import Proposal, ProposalStore, target_text
from dream.records import Hunk, Kind, Relation, State, Update, hash_of, identity_of
from memory_server.chunking import code_lines, split_lines
from memory_server.errors import ContentError
from memory_server.escaping import shown, shown_line
from memory_server.layers.sessions import id8_of
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot

NEVER_PROPOSED = frozenset({Relation.KNOWN})


@dataclass(frozen=True, slots=True)
class Offer:
    """What one run of the queue did."""

    proposal: str  # the name of a new proposal; empty where there is none
    offered: int
    queued: int  # that wait for another day
    expired: int
    retired: int


class ProposalDesk:
    """Keeps the proposals of one memory root. Call under the lock of `accept.py`."""

    def __init__(self, root: MemoryRoot, store: ProposalStore, *, day_hunks: int, expiry_days: int):
        self._root = root
        self._store = store
        self._day_hunks = day_hunks
        self._expiry = dt.timedelta(days=expiry_days)

    def add(self, updates: Iterable[Update], today: dt.date) -> list[Hunk]:
        """Queues what has not been asked before, in whatever state that may be; returns the new hunks."""
        hunks = self._store.hunks()
        asked = {(hunk.target, *words_of(hunk.text)) for hunk in hunks if hunk.is_open}
        fresh: dict[str, Hunk] = {}
        for update in updates:
            if update.relation in NEVER_PROPOSED:
                continue
            try:
                hunk = self._hunk_of(update, today)
                if anchored(target_text(self._root, hunk.target), hunk) is None:
                    continue
            except ContentError:
                continue  # no target: nothing that could be proposed
            words = (hunk.target, *words_of(hunk.text))
            if words not in asked and not any(rests_on_same(hunk, known) for known in (*hunks, *fresh.values())):
                fresh[hunk.id] = hunk
                asked.add(words)
        if fresh:
            self._store.save_queue([*self._store.queue(), *fresh.values()])
        return list(fresh.values())

    def offer(self, today: dt.date) -> Offer:
        """Puts open hunks in order, withdraws old ones, and offers as many new ones as the day has room for."""
        expired, retired = self._tend(today)
        kept = self._store.queue()
        flagged = [hunk for hunk in kept if hunk.state is State.FLAGGED]
        queue = sorted(
            (hunk for hunk in kept if hunk.state is State.QUEUED), key=lambda hunk: (-hunk.worth, hunk.found, hunk.id)
        )
        hunks = [hunk for proposal in self._store.proposals() for hunk in proposal.hunks]
        room = max(0, self._day_hunks - sum(hunk.proposed == today for hunk in hunks))
        chosen, waiting = queue[:room], queue[room:]
        if not chosen:
            return Offer("", 0, len(waiting), expired, retired)
        name = self._store.next_name(today)
        offered = [replace(hunk, state=State.PENDING, proposal=name, proposed=today) for hunk in chosen]
        proposal = Proposal(name, tuple(_by_topic(offered)))
        self._store.save_proposal(proposal)
        self._store.save_queue([*flagged, *waiting])
        self.write_out(proposal, today)
        return Offer(name, len(offered), len(waiting), expired, retired)

    def write_out(self, proposal: Proposal, today: dt.date) -> None:
        """Writes what a person and git read of a proposal."""
        folder = self._store.folder / proposal.name
        steps = diff_steps(self._root, [hunk for hunk in proposal.hunks if hunk.is_open], Manner(today))
        replace_file(folder / "changes.diff", "".join(files_diff(steps)))
        replace_file(folder / "proposal.md", proposal_page(proposal, steps))

    def _hunk_of(self, update: Update, today: dt.date) -> Hunk:
        place, candidate = update.place, update.candidate
        text = target_text(self._root, place.target)
        lines = split_lines(text or "")
        anchor = lines[place.after_line - 1] if 0 < place.after_line <= len(lines) else ""
        return Hunk(
            id=identity_of(candidate.quotes, place.target),
            update=update,
            text=candidate.text.strip(),
            found=today,
            base=hash_of(text),
            anchor=anchor.rstrip("\r\n"),
            heading=_heading_above(text or "", place.after_line),
            state=State.FLAGGED if update.relation is Relation.DRIFT else State.QUEUED,
        )

    def _tend(self, today: dt.date) -> tuple[int, int]:
        """Looks at every open hunk again; how many expired and how many were retired."""
        expired = retired = 0
        for proposal in self._store.proposals():
            if not any(hunk.is_open for hunk in proposal.hunks):
                continue
            hunks = tuple(self._tended(hunk, today) for hunk in proposal.hunks)
            changed = replace(proposal, hunks=hunks)
            if hunks != proposal.hunks:
                self._store.save_proposal(changed)
            self.write_out(changed, today)
            pairs = list(zip(proposal.hunks, hunks, strict=True))
            expired += sum(new.state is State.EXPIRED and old.is_open for old, new in pairs)
            retired += sum(new.state is State.RETIRED and old.is_open for old, new in pairs)
        queue = self._store.queue()
        left = [self._tended(hunk, today) for hunk in queue]
        if tuple(left) != queue:
            gone = [hunk for hunk in left if not hunk.is_open]
            expired += sum(hunk.state is State.EXPIRED for hunk in gone)
            retired += sum(hunk.state is State.RETIRED for hunk in gone)
            self._keep_decided(gone, today)
            self._store.save_queue([hunk for hunk in left if hunk.is_open])
        return expired, retired

    def _keep_decided(self, gone: Sequence[Hunk], today: dt.date) -> None:
        """Keeps what was withdrawn from the queue in a proposal of its own: it is not to be asked again."""
        if gone:
            name = self._store.next_name(today)
            self._store.save_proposal(Proposal(name, tuple(replace(hunk, proposal=name) for hunk in gone)))

    def _tended(self, hunk: Hunk, today: dt.date) -> Hunk:
        """An open hunk as it stands today: in its place, retired or expired."""
        if not hunk.is_open:
            return hunk
        if today - (hunk.proposed or hunk.found) > self._expiry:
            return replace(hunk, state=State.EXPIRED, reason="nobody decided in time")
        try:
            text = target_text(self._root, hunk.target)
        except ContentError as error:
            return replace(hunk, state=State.RETIRED, reason=error.what)
        if hash_of(text) == hunk.base:
            return hunk
        place = anchored(text, hunk)
        if place is None:
            return replace(hunk, state=State.RETIRED, reason="its topic has changed so that it fits no longer")
        return replace(
            self._hunk_of(replace(hunk.update, place=place), hunk.found),
            id=hunk.id,
            text=hunk.text,
            state=hunk.state,
            proposal=hunk.proposal,
            proposed=hunk.proposed,
        )


def rests_on_same(hunk: Hunk, known: Hunk) -> bool:
    """Whether a hunk asks again what was asked: the same words of the same entry, cut a little otherwise perhaps.

    An assistant's statements may share the yes behind them, so their own words count. A lesson rests on all its quotes;
    one that happened again after it was turned down may be asked again.
    """
    if hunk.id == known.id:
        return True
    if Kind.LESSON not in (hunk.update.candidate.kind, known.update.candidate.kind):
        return bool(hunk.quotes and known.quotes) and hunk.quotes[0].overlaps(known.quotes[0])
    if hunk.update.candidate.kind is not known.update.candidate.kind:
        return False
    if known.state is State.REJECTED and known.decided is not None:
        return not any(quote.time is not None and quote.time > known.decided for quote in hunk.quotes)
    return any(quote.overlaps(other) for quote in hunk.quotes for other in known.quotes)


def _by_topic(hunks: Sequence[Hunk]) -> list[Hunk]:
    """The hunks topic by topic: the topic with the best one first, and in it the best first."""
    best = {hunk.target: max(other.worth for other in hunks if other.target == hunk.target) for hunk in hunks}
    return sorted(hunks, key=lambda hunk: (-best[hunk.target], hunk.target, -hunk.worth, hunk.id))


def _heading_above(text: str, line: int) -> str:
    lines, code = split_lines(text), code_lines(text)
    for number in range(min(line, len(lines)) - 1, -1, -1):
        if number not in code and HEADING.match(lines[number]):
            return lines[number].rstrip("\r\n")
    return ""


# -- what is read -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One hunk on its file, the hunks before it done."""

    hunk: Hunk
    before: str | None
    after: str


def diff_steps(root: MemoryRoot, hunks: Sequence[Hunk], manner: Manner) -> list[Step]:
    """The hunks one after the other, each on what the ones before leave; those that do not fit are left out."""
    texts: dict[str, str | None] = {}
    steps = []
    for hunk in hunks:
        try:
            text = texts[hunk.target] if hunk.target in texts else target_text(root, hunk.target)
        except ContentError:
            continue
        place = anchored(text, hunk)
        if place is None:
            continue
        texts[hunk.target] = after = placed(text, hunk, place, manner)
        steps.append(Step(hunk, text, after))
    return steps


def files_diff(steps: Sequence[Step]) -> Iterable[str]:
    """One unified diff of all files, which `git apply` takes in the memory root."""
    first: dict[str, str | None] = {}
    last: dict[str, str] = {}
    for step in steps:
        first.setdefault(step.hunk.target, step.before)
        last[step.hunk.target] = step.after
    for target, after in last.items():
        yield unified(target, first[target], after)


def unified(target: str, before: str | None, after: str) -> str:
    """The diff of one file as git writes it."""
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", text or "") for text in (before, after))  # git breaks at LF alone
    head = [f"diff --git {_quoted(f'a/{target}')} {_quoted(f'b/{target}')}\n"]
    if before is None:
        head.append("new file mode 100644\n")
    source = "/dev/null" if before is None else f"a/{target}"
    lines = list(difflib.unified_diff(old, new, _quoted(source), _quoted(f"b/{target}")))
    if not lines:
        return ""
    tab = "\t" if " " in target else ""
    lines[0], lines[1] = (line.rstrip("\n") + (tab if "/dev/null" not in line else "") + "\n" for line in lines[:2])
    closed = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
    return "".join([*head, *closed])


def _quoted(name: str) -> str:
    """A name as git writes it: in quotes with octal bytes where it holds more than plain characters."""
    raw = name.encode("utf-8")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):
        return name
    return '"' + "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'


def proposal_page(proposal: Proposal, steps: Sequence[Step]) -> str:
    """The proposal for a reader. Everything that was said is shown escaped and set in."""
    by_hunk = {step.hunk.id: step for step in steps}
    waiting = sum(hunk.is_open for hunk in proposal.hunks)
    lines = [
        f"# Proposal {proposal.name}",
        "",
        f"{len(proposal.hunks)} hunks, {waiting} open. Decide with `oneiros review`; nothing here takes effect before.",
    ]
    target = ""
    for hunk in proposal.hunks:
        if hunk.target != target:
            target = hunk.target
            lines += ["", f"## {shown_line(target)}"]
        lines += ["", *hunk_block(hunk, by_hunk.get(hunk.id))]
    return "\n".join(lines) + "\n"


def hunk_block(hunk: Hunk, step: Step | None) -> list[str]:
    """One hunk for a reader: what, on which words, how sure and why, what it replaces, and the diff."""
    candidate = hunk.update.candidate
    lines = [
        f"### {hunk.id}: {candidate.kind}, {hunk.update.relation} ({hunk.state})",
        "",
        *_set_in(hunk.text, "    "),
        "",
        f"- confidence: {candidate.confidence:.2f}, {shown_line(candidate.why)} ({shown_line(candidate.extractor)})",
        f"- compared: {shown_line(hunk.update.why)}",
    ]
    for quote in hunk.quotes:
        when = quote.time.isoformat(timespec="minutes") if quote.time else "undated"
        session, entry = shown_line(quote.session_id), shown_line(quote.entry)
        lines += [f"- {quote.role} said, {when}, session {session}, entry {entry}:", ""]
        lines += [*_set_in(quote.text, "      > "), ""]
        lines += [f"  read on: `oneiros drill {id8_of(quote.session_id)} --entry {entry[:8]}`"]
    if hunk.update.place.old_text:
        lines += ["- replaces:", "", *_set_in(hunk.update.place.old_text.rstrip("\n"), "      ")]
    if hunk.reason:
        lines += [f"- {hunk.state}: {shown_line(hunk.reason)}"]
    lines += [f"- footnote: {provenance_of(hunk)}"]
    if step is not None:
        diff = shown(unified(hunk.target, step.before, step.after)).splitlines()
        lines += ["", *(f"    {line}" for line in diff)]
    return lines


def _set_in(text: str, margin: str) -> list[str]:
    return [f"{margin}{line}" for line in shown(text).split("\n")]
