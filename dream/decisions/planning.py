"""What a decision will write, to the last byte, worked out on the files as they are.

A topic edited meanwhile is taken as it stands, and a hunk finds its place anew or is refused. What nobody has answered
for is not built upon. An accepted statement that moves to another topic is proposed and accepted like any other change,
which then is one of two files: those may move behind which a yes of the person stands, in a place of their own. Nothing
is written here: `journal.py` carries a plan out.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dream.changes import Event, FileChange, Splice, check_path, check_target, find_splices, hash_text, take_out, undone
from dream.decisions.approvals import Approvals, list_approved_files, make_change
from dream.decisions.chain import Chain
from dream.decisions.journal import DecisionLog, Noted, Plan, new_nonce
from dream.decisions.presence import Consent
from dream.decisions.repository import Repository, require_rest
from dream.proposals.offering import ProposalQueue, find_home
from dream.proposals.placing import (
    Manner,
    anchor_hunk,
    find_item,
    new_file,
    place_hunk,
    read_item_note,
    says_already,
    set_change_day,
    take_from_origin,
    without_statement,
)
from dream.proposals.rendering import format_acceptance, format_adoption, format_message, format_reversal
from dream.proposals.store import Approval, ProposalStore, find_approvals
from dream.records import Hunk, Place, Rejection, State, StatementOrigin, make_hunk_id
from dream.topics import LESSONS
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.index_page import NEW_PAGE, with_pointers
from memory_server.layers.topics import parse_head, read_text, topic_heads
from memory_server.machine.clock import local_day
from memory_server.root.paths import MemoryRoot
from memory_server.settings import read_memory_settings

Texts = Mapping[str, str]  # by path, every file of layer 1


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is to become of the files of layer 1."""

    what: str  # in words
    files: Mapping[str, str | None]  # those that change, new ones first; None: it goes
    homes: Mapping[str, tuple[str, ...]]  # where a topic's statements may be found, by the path it had
    left_out: tuple[str, ...] = ()  # what frontmatters said that stands nowhere any more, a line a field


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file that a decision is about: its text before and behind, None where there is none, and the way back."""

    path: str
    old: str | None
    new: str | None
    splices: tuple[Splice, ...] = ()


class Planner:
    """Plans decisions that are taken one after the other: each as if those before it were carried out.

    Call under the lock of `accept.py`. Every plan raises ContentError where a file that it changes is in doubt, and
    NeedsRepair where a commit is wanted during a merge or rebase.
    """

    def __init__(
        self,
        root: MemoryRoot,
        queue: ProposalQueue,
        log: DecisionLog,
        repository: Repository | None,
        now: dt.datetime,
        *,
        keeps_history: bool,
    ):
        self._root = root
        self._queue = queue
        self._log = log
        self._repository = repository  # None where nothing is committed
        self._now = now
        self._keeps_history = keeps_history
        self._ahead: dict[str, str | None] = {}  # files as the plans before this one will leave them

    def accept(self, hunk: Hunk, consent: Consent) -> Plan:
        """A hunk written into its topic. Raises ContentError where it fits no longer."""
        self._require_no_doubt(hunk.target)
        check_target(self._root, hunk.target)
        old, manner = self.text(hunk.target), Manner(local_day(self._now), keeps_history=self._keeps_history)
        place = anchor_hunk(old, hunk)
        if place is None:
            what = "the file has changed so that the hunk fits no longer"
            raise ContentError(what, where=hunk.target, remedy="Run `oneiros dream`, which retires it")
        leaving, note = self._leave(hunk, place.origin, manner.today) if place.origin else ([], "")
        new = place_hunk(old, hunk, place, manner, note)
        founded = new_file(hunk, place) if old is None else old
        written = self._with_index_page([Rewritten(hunk.target, old, new, find_splices(founded, new)), *leaving])
        decided = replace(hunk, state=State.ACCEPTED, decided=self._now, update=replace(hunk.update, place=place))
        suggested = hunk.update.candidate.text
        approval = Approval(
            Event.ACCEPTED,
            self._now,
            make_changes(written),
            hunk=hunk.id,
            proposal=hunk.proposal,
            text=hunk.text,
            suggested=suggested if hunk.text != suggested else "",
            old_text=place.old_text,
            quotes=hunk.quotes,
            nonce=new_nonce(),
            given=hunk.update.candidate.given,
            questions=hunk.update.candidate.questions,
        )
        message = self._message(format_acceptance([(decided, approval)], is_own=self._is_own))
        plan = self._plan(written, approval, consent, message, (decided,))
        self._ahead |= plan.texts
        return plan

    def reject(self, hunk: Hunk, consent: Consent, reason: str) -> Plan:
        """A hunk turned down, which changes no file."""
        candidate = hunk.update.candidate
        decided = replace(hunk, state=State.REJECTED, decided=self._now, reason=reason)
        entry = self._log.entry_without_files(Event.REJECTED, consent, hunk.id)
        rejection = Rejection(
            hunk=hunk.id,
            target=hunk.target,
            text=hunk.text,
            reason=reason,
            at=self._now,
            quotes=candidate.quotes,
            given=candidate.given,
            project=candidate.project,
        )
        is_move = may_move(hunk, self._queue.store, self._log.chain)  # its statement stands where it stood
        return Plan({}, (Noted(entry, rejection=None if is_move else rejection),), (decided,))

    def _leave(self, hunk: Hunk, origin: StatementOrigin, day: dt.date) -> tuple[list[Rewritten], str]:
        """The file that a statement leaves, and its footnote. Raises ContentError where it stands there no longer."""
        self._require_no_doubt(origin.path, is_new=False)
        text = self.text(origin.path)
        taken = take_from_origin(text, hunk, origin, day)
        if text is None or taken is None:
            raise ContentError("the statement stands there no longer", where=origin.path, remedy="Reject the move")
        left, note = taken
        return [Rewritten(origin.path, text, left, find_splices(text, left))], note

    def join_plans(self, plans: Sequence[Plan]) -> Plan:
        """Hunks written into one topic, or turned down, one after the other: one change with one commit."""
        texts = {path: text for plan in plans for path, text in plan.texts.items()}
        noted = tuple(noted for plan in plans for noted in plan.noted)
        hunks = tuple(hunk for plan in plans for hunk in plan.hunks)
        pairs = [(hunk, one.approval) for hunk, one in zip(hunks, noted, strict=True) if one.approval]
        message = format_acceptance(pairs, is_own=self._is_own) if plans[0].message else ""
        return Plan(texts, noted, hunks, message)

    def revert(self, hunk: Hunk, accepted: Approval, consent: Consent) -> Plan:
        """A hunk taken out again. Raises ContentError where later changes stand in the way."""
        target = self._find_file(accepted, hunk.target)
        if accepted.files and any(one.splices for one in accepted.files):
            self._require_way_back(accepted, f"hunk {hunk.id}", "Edit the topic by hand")
        written = []
        for change in (one for one in accepted.files if one.path != self._root.index_page.name):
            is_target = change.path == hunk.target
            path = target if is_target else change.path  # else of a move
            self._require_no_doubt(path)
            now = self.text(path)
            left = self._undo_change(now, change, accepted if is_target else None)
            written.append(Rewritten(path, now, left))
        written = self._with_index_page(written, accepted)
        decided = replace(hunk, state=State.REVERTED, decided=self._now)
        approval = Approval(
            Event.REVERTED, self._now, make_changes(written), hunk.id, proposal=hunk.proposal, nonce=new_nonce()
        )
        return self._plan(written, approval, consent, self._message(format_reversal(decided, approval)), (decided,))

    def arrangement(self, wanted: Callable[[Texts], Arrangement]) -> Arrangement:
        """What would become of the topics."""
        pages = (path for path in list_approved_files(self._root) if path.endswith(".md"))
        found = wanted({path: self.text(path) or "" for path in pages})
        for path, text in found.files.items():
            if path != self._root.index_page.name:
                self._require_no_doubt(path, is_new=text is not None)
        return found

    def arrange(self, found: Arrangement, consent: Consent) -> Plan:
        """Topics renamed, joined or cut, with the open hunks on them."""
        olds = {path: self.text(path) for path in found.files}
        written = [
            Rewritten(path, olds[path], new, find_splices(olds[path] or "", new or ""))
            for path, new in found.files.items()
        ]
        return self._arranging(Event.ARRANGED, found.what, written, found.homes, consent)

    def put_back(self, arranged: Approval, consent: Consent) -> Plan:
        """An arrangement undone. Raises ContentError where later changes stand in the way."""
        self._require_way_back(arranged, arranged.nonce, "Arrange the topics by hand")
        written = []
        for change in arranged.files:
            if change.path != self._root.index_page.name:
                self._require_no_doubt(change.path, is_new=False)
                now = self.text(change.path)
                written.append(Rewritten(change.path, now, self._undo_change(now, change, is_whole=True)))
        left = [one.path for one in written if one.new is not None]
        homes = {one.path: tuple(left) for one in written}
        return self._arranging(Event.REVERTED, describe_undoing(arranged), written, homes, consent, arranged)

    def adopt(self, paths: Sequence[str], consent: Consent) -> Plan:
        """The state of these files answered for; no byte of them changes."""
        texts = {path: self.text(path) for path in paths}
        written = [Rewritten(path, text, text) for path, text in texts.items()]
        approval = Approval(Event.ADOPTED, self._now, make_changes(written), nonce=new_nonce())
        return self._plan(written, approval, consent, self._message(format_adoption(paths, approval)))

    def text(self, path: str) -> str | None:
        """A file of layer 1 as the plans before this one leave it; None where there is none."""
        if path in self._ahead:
            return self._ahead[path]
        file = check_path(self._root, path)
        return read_text(file) if file.exists() else None

    def _arranging(
        self,
        event: Event,
        what: str,
        written: Sequence[Rewritten],
        homes: Mapping[str, Sequence[str]],
        consent: Consent,
        undone: Approval | None = None,
    ) -> Plan:
        texts = {one.path: one.new for one in written if one.new is not None}
        followed = ((one, self._follow(one, homes, texts)) for one in self._queue.store.hunks() if one.is_open)
        moved = tuple((hunk.id, new) for hunk, new in followed if new != hunk)
        files = self._with_index_page(list(written), undone)
        name = undone.nonce if undone else ""
        approval = Approval(event, self._now, make_changes(files), name, text=what, nonce=new_nonce())
        message = self._message(format_message(what, [one.path for one in files], approval))
        return replace(self._plan(files, approval, consent, message), moved=moved)

    def _follow(self, hunk: Hunk, homes: Mapping[str, Sequence[str]], texts: Texts) -> Hunk:
        """An open hunk with the paths that its topics have now; retired where it fits no longer."""
        origin = hunk.origin
        if origin and origin.path in homes:
            paths = (SourcePath(path) for path in homes[origin.path] if find_item(texts[path], origin.text))
            origin = replace(origin, path=next(paths, origin.path))
            hunk = replace(hunk, update=replace(hunk.update, place=replace(hunk.update.place, origin=origin)))
        if hunk.target not in homes:
            return hunk
        home = find_home(hunk, {path: texts[path] for path in homes[hunk.target]})
        is_there = origin is not None and origin.path == home
        return self._queue.follow_file(hunk, home, texts[home]) if is_there or home != hunk.target else hunk

    def _plan(
        self,
        written: Sequence[Rewritten],
        approval: Approval,
        consent: Consent,
        message: str,
        hunks: tuple[Hunk, ...] = (),
    ) -> Plan:
        noted = Noted(self._log.entry(approval, consent), approval)
        return Plan({one.path: one.new for one in written}, (noted,), hunks, message)

    @property
    def _is_own(self) -> bool:
        """Whether messages may quote what is written: the root is no part of a project's repository."""
        return self._repository is None or self._repository.is_own

    @cached_property
    def _approvals(self) -> Approvals:
        return self._log.approvals()

    def _require_way_back(self, approval: Approval, where: str, remedy: str) -> None:
        if not self._log.chain.find_entry(approval):
            raise ContentError("its way back is not the one that was decided", where=where, remedy=remedy)

    def _require_no_doubt(self, target: str, *, is_new: bool = True) -> None:
        """Raises ContentError where nobody has answered for a file, or it is none that may be written to."""
        (check_target if is_new else check_path)(self._root, target)
        if target in self._ahead:
            return
        if doubt := self._approvals.doubt_about(target, self.text(target)):
            remedy = f"Commit it yourself, undo it, or look at it and run `oneiros dream adopt {target}`"
            raise ContentError(f"nobody has answered for its present state ({doubt})", where=target, remedy=remedy)

    def _find_file(self, accepted: Approval, path: str) -> str:
        """The file in which an accepted statement stands; this one, where it does, since it may have been renamed or
        cut.
        """
        places = (path, *list_approved_files(self._root))
        return next((one for one in places if says_already(self.text(one) or "", accepted.text)), path)

    def _undo_change(
        self, now: str | None, change: FileChange, accepted: Approval | None = None, *, is_whole: bool = False
    ) -> str | None:
        """A file without a change of it; where its lines were put into another form, without its statement.

        `is_whole`: what the change made goes as a file or not at all.
        """
        if not change.splices:
            raise ContentError("the way back was forgotten", where=change.path, remedy="Edit the topic by hand")
        if hash_text(now) == change.after:
            return undone(now or "", change.splices) if change.before else None
        left = take_out(now, change.splices) if now is not None and (change.before or not is_whole) else None
        if left is None and accepted is not None and now is not None and not accepted.old_text:
            left = without_statement(now, accepted.text)
        if left is None:
            what = "later changes stand where this one was made"
            raise ContentError(what, where=change.path, remedy="Edit the topic by hand")
        return set_change_day(left, local_day(self._now))

    def _with_index_page(self, targets: Sequence[Rewritten], accepted: Approval | None = None) -> list[Rewritten]:
        """The targets with the index page behind them, where its pointers change too."""
        page, old = self._root.index_page.name, self.text(self._root.index_page.name)
        own = next((one.new for one in targets if one.path == page), old)
        targets = [one for one in targets if one.path != page]
        if old is not None and page not in self._ahead and self._approvals.doubt_about(page, old):
            return targets  # its own lines are in doubt: they must not ride along in a commit
        undo = next((one for one in accepted.files if one.path == page), None) if accepted else None
        if undo and old is not None and hash_text(old) == undo.after and undo.before:
            new = undone(old, undo.splices)
        else:
            new = self._build_page(own if own is not None else NEW_PAGE, targets)
        return targets if new == old else [*targets, Rewritten(page, old, new, find_splices(old or "", new))]

    def _build_page(self, own: str, targets: Sequence[Rewritten]) -> str:
        """The index page with pointers to the approved topics, as if the targets were written already."""
        page = self._root.index_page.name
        texts = self._ahead | {one.path: one.new for one in targets}
        heads = self._approvals.filter_approved([head for head in topic_heads(self._root) if head.path not in texts])
        new = {SourcePath(path): text for path, text in texts.items() if text is not None and path != page}
        heads += [parse_head(path, text) for path, text in new.items()]
        uses = self._approvals.count_uses(local_day(self._now))
        return with_pointers(own, heads, read_memory_settings(self._root.settings), uses)

    def _message(self, message: str) -> str:
        """The message where a commit is wanted and possible; raises NeedsRepair where it is wanted but not now."""
        if self._repository is None:
            return ""
        require_rest(self._repository)
        return message


def describe_undoing(arranged: Approval) -> str:
    return f"Undo: {arranged.text}"


def make_changes(written: Sequence[Rewritten]) -> tuple[FileChange, ...]:
    return tuple(make_change(one.path, one.old, one.new, one.splices) for one in written)


# -- accepted statements that move to another topic -----------------------------------------------------------------


def find_movable(path: SourcePath, label: str, store: ProposalStore, chain: Chain) -> Approval:
    """The yes behind the statement of a topic that has this footnote.

    Raises ContentError for a lesson, where the chain vouches for none, where no one list item says just this, and where
    its footnote is not one line.
    """
    if path == LESSONS:
        raise ContentError("a lesson stays in lessons.md", where=path, remedy="Edit it there")
    text = read_text(check_path(store.root, path))
    yes = find_approvals(text, store.approvals()).get(label)
    if yes is None or not chain.find_entry(yes):
        raise ContentError("no yes of yours stands behind it", where=path, remedy="Move it in your editor")
    item = find_item(text, yes.text)
    if item is None or label not in item.labels:
        raise ContentError("it has no list item of its own", where=path, remedy="Move it in your editor")
    if not read_item_note(text, item):
        raise ContentError("its footnote is not one line", where=path, remedy="Move it in your editor")
    return yes


def make_move(accepted: Hunk, yes: Approval, path: SourcePath, today: dt.date) -> Hunk:
    """A statement that stands in the topic of this path by this yes, as a hunk that is to be put elsewhere.

    `accepted`: the hunk that the yes was about.
    """
    words, text = accepted.update.candidate, yes.suggested or yes.text
    candidate = replace(words, text=text, quotes=yes.quotes, given=yes.given, questions=yes.questions)
    here = Place(path, 0, origin=StatementOrigin(path, yes.text, yes.nonce))
    return Hunk("", replace(accepted.update, candidate=candidate, place=here), yes.text, today)


def may_move(hunk: Hunk, store: ProposalStore, chain: Chain) -> bool:
    """Whether a hunk moves what the person said yes to, in these words, with these sources and questions.

    The archive is not asked again: a session may have been pruned since.
    """
    candidate, origin = hunk.update.candidate, hunk.origin
    if origin is None or origin.path == hunk.target or hunk.id != make_hunk_id(hunk.evidence, hunk.target, origin):
        return False
    moved = (origin.text, origin.text, candidate.text, candidate.quotes, candidate.given, candidate.questions)
    return any(
        (yes.text, hunk.text, yes.suggested or yes.text, yes.quotes, yes.given, yes.questions) == moved
        for yes in store.approvals()
        if yes.event is Event.ACCEPTED and yes.nonce == origin.approval and chain.find_entry(yes)
    )
