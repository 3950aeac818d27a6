"""What a person decides: accept, reword, reject, revert, adopt. The only way from a proposal into layer 1.

Every decision asks for `Consent`. A change is planned on the files as they are: a topic edited meanwhile is taken as
it stands, and the hunk finds its place anew or is refused. What nobody has answered for is not built upon.
"""

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from filelock import FileLock, Timeout

from dream.decisions.approvals import Approvals, Unexplained, approved_files, change_of
from dream.decisions.chain import Chain
from dream.decisions.journal import Journal, Plan, PlannedFile, require_rest
from dream.decisions.log import DecisionLog, new_nonce
from dream.decisions.presence import Consent
from dream.decisions.repository import Repository, find_repository
from dream.decisions.unsigned import UnsignedDecisions
from dream.judge.gate import beyond_quote, is_chained, is_deceptive
from dream.progress import DreamProgress
from dream.proposals.desk import ProposalDesk
from dream.proposals.placing import Manner, anchored, dated, label_of, new_file, placed
from dream.proposals.rendering import accepting, adopting, reverting
from dream.proposals.store import (
    Approval,
    Event,
    FileChange,
    ProposalStore,
    Splice,
    checked_path,
    checked_target,
    splices_between,
    taken_out,
    target_text,
    undone,
)
from dream.records import Hunk, Quote, Rejection, State, hash_of, identity_of
from memory_server.document import Layer, SourcePath
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.layers.index_page import NEW_PAGE, with_pointers
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import (
    SourceFile,
    TopicHead,
    head_of,
    read_text,
    topic_heads,
)
from memory_server.machine.files import make_folder
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings import PersonSettings, read_memory_settings

logger = logging.getLogger(__name__)

LOCK_SECONDS = 20.0
MAX_TEXT_CHARS = 4_000  # of one statement, as a person may reword it


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of a decision."""

    hunk: Hunk
    commit: str = ""  # empty where none was made


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a decision is about: its text before and behind, None where there is none, and the way back."""

    path: str
    old: str | None
    new: str | None
    splices: tuple[Splice, ...] = ()


class Decisions:
    """The decisions on one memory root.

    `is_true` says whether a quote is found in the archive as it stands: what lies in `proposals/` may have been altered
    by whoever can write there. `level` brings the indices level with the disk; it is called after each decision.
    """

    def __init__(
        self,
        root: MemoryRoot,
        person: PersonSettings,
        now: Callable[[], dt.datetime],
        *,
        is_true: Callable[[Quote], bool],
        level: Callable[[], None] = lambda: None,
    ):
        self.root = root
        self.store = ProposalStore(root)
        limits = {"day_hunks": person.dream_hunks_a_day, "expiry_days": person.dream_expiry_days}
        self.desk = ProposalDesk(root, self.store, **limits)
        self._person = person
        self._log = DecisionLog(self.store, person.signing_key, now)
        self._redactor = Redactor(person.deny_words)
        self.now = now
        self._level = level
        self._is_true = is_true

    def accept(self, name: str, consent: Consent, *, text: str | None = None, shown: Hunk | None = None) -> Decided:
        """Writes a hunk into its topic; `text` is the person's own wording of it, `shown` what they saw.

        Raises ContentError where the hunk is decided already, fits no longer or its file is in doubt; NeedsRepair
        during a merge or rebase. Then nothing has changed.
        """
        with self.locked() as journal:
            hunk = self._open_hunk(name)
            if shown is not None and hunk != shown:
                raise ContentError("it is not as it was shown", where=f"hunk {hunk.id}", remedy="Look at it again")
            if faults := self.faults_of(hunk):
                raise ContentError(faults[0], where=f"hunk {hunk.id}", remedy="Reject it")
            reworded = replace(hunk, text=checked_wording(text, self._redactor)) if text is not None else hunk
            plan = self._plan_to_accept(reworded, consent)
            journal.carry_out(plan)
            self._show_again(hunk)
        self._level()
        return Decided(plan.hunks[0], self._commit_of(plan))

    def faults_of(self, hunk: Hunk) -> list[str]:
        """What is not true of an open hunk, checked anew: its quotes, its name, and that it says no more than they."""
        candidate, faults = hunk.update.candidate, []
        if not candidate.quotes or not all(self._is_true(quote) for quote in candidate.quotes):
            faults.append("the archive does not have its quote as it stands here")
        if hunk.id != identity_of(candidate.quotes, hunk.target):
            faults.append("its id is not that of its evidence and target")
        if hunk.text != candidate.text.strip() or beyond_quote(candidate):
            faults.append("its statement is not what its quote says")
        return faults

    def reject(self, name: str, consent: Consent, reason: str) -> Decided:
        """Turns a hunk down, for good: its like comes back with new evidence only."""
        with self.locked():
            hunk, told = self._open_hunk(name), self._redactor.redact(reason.strip()).text
            decided = replace(hunk, state=State.REJECTED, decided=self.now(), reason=told)
            self._log.note(Event.REJECTED, consent, hunk.id)
            self.store.add_rejection(Rejection(hunk.id, hunk.target, hunk.text, told, self.now(), hunk.quotes))
            self.store.save_hunk(decided)
            self._show_again(hunk)
        return Decided(decided)

    def revert(self, name: str, consent: Consent) -> Decided:
        """Takes an accepted hunk out again: to the last byte where its topic has not changed since.

        Raises ContentError where later changes stand in the way.
        """
        with self.locked() as journal:
            hunk = self.store.hunk(name)
            accepted = [one for one in self.store.approvals() if one.hunk == hunk.id and one.event is Event.ACCEPTED]
            if hunk.state is not State.ACCEPTED or not accepted:
                raise ContentError(f"hunk {hunk.id} is {hunk.state}, not accepted", remedy="Revert accepted ones only")
            plan = self._plan_to_revert(hunk, accepted[-1], consent)
            journal.carry_out(plan)
            self._show_again(hunk)
        self._level()
        return Decided(plan.hunks[0], self._commit_of(plan))

    def unexplained(self) -> list[Unexplained]:
        """The changes of layer 1 that nobody has answered for."""
        return self.doubts()[0]

    def doubts(self) -> tuple[list[Unexplained], UnsignedDecisions]:
        """The changes of layer 1 that nobody has answered for, and the decisions that no key vouches for."""
        with self.locked():
            approvals = self._log.approvals()
            return approvals.unexplained(), UnsignedDecisions(self.root, approvals, self._person.signing_key)

    def adopt(self, paths: Sequence[str], consent: Consent) -> str:
        """Answers for the state in which these files are; returns the commit, empty where none was made.

        Where the chain of decisions is not as it was left, a new one begins with this.
        """
        with self.locked(begins_anew=consent) as journal:
            known = {one.path for one in self._log.approvals().unexplained()}
            if strange := sorted(set(paths) - known):
                raise UsageError(f"{strange[0]} holds nothing to adopt", remedy="`oneiros report` names what does")
            return self._adopt(journal, paths, consent)

    def adopt_explained(self, consent: Consent, earlier_key: str = "") -> int:
        """Answers for all that a person had decided with an earlier key or none; returns how many files there are."""
        with self.locked() as journal:
            is_signed = any(entry.event is Event.SIGNED for entry in self._log.chain.entries)
            chain = Chain(self.root, (earlier_key or self._person.signing_key) if is_signed else "")
            self._log.own += [name for place, name in enumerate(chain.entry_hashes) if chain.counts(place)]
            before = Approvals(self.root, self.store, chain)
            doubted = {one.path for one in before.unexplained()}
            paths = [path for path in approved_files(self.root) if path not in doubted]
            if paths:
                self._adopt(journal, paths, consent)
            return len(paths)

    @property
    def has_unsigned(self) -> bool:
        """Whether something was decided that the person's key is still to sign."""
        return bool(self._log.own and self._person.signing_key)

    def is_signed(self, approval: Approval) -> bool:
        """Whether the person's key vouches for an approval as it is noted."""
        return bool(self._person.signing_key and self._log.chain.entry_of(approval))

    def sign(self, signature_of: Callable[[bytes], str]) -> None:
        """Signs the decisions of this sitting at once.

        Raises NeedsRepair where no signature comes; the decisions stand then, unsigned.
        """
        with self.locked():
            self._log.sign(signature_of)

    def rejections(self) -> list[Rejection]:
        """What was turned down by a decision of the chain."""
        with self.locked():
            return self._log.rejections()

    def _adopt(self, journal: Journal, paths: Sequence[str], consent: Consent) -> str:
        texts = {path: self._text(path) for path in paths}
        written = [Written(path, text, text) for path, text in texts.items()]
        approval = Approval(Event.ADOPTED, self.now(), changes_of(written), nonce=new_nonce())
        entry = self._log.entry(approval, consent)
        plan = Plan(planned(written), approval, (), self._message(adopting(paths, approval)), entry)
        journal.carry_out(plan)
        return self._commit_of(plan)

    def forget(self, session_ids: Sequence[str]) -> int:
        """Removes what rests on these sessions from proposals, rejections and approvals; returns how many hunks."""
        with self.locked():
            removed = self.store.forget(session_ids)
            DreamProgress(self.root).forget(session_ids)
            for proposal in self.store.proposals():
                self.desk.write_out(proposal, self.now().date())
        return removed

    @contextmanager
    def locked(self, begins_anew: Consent | None = None) -> Iterator[Journal]:
        """Keeps other deciders out, and finishes what a killed one has begun.

        `begins_anew`: consent to a new chain, where the one there is cannot go on.
        """
        require_memory(self.root)
        make_folder(self.root.derived)
        lock = FileLock(self.root.derived / "dream.lock", timeout=LOCK_SECONDS)
        try:
            with lock:
                self._log.take_earlier()
                if begins_anew:
                    self._log.begin_anew(begins_anew)
                journal = Journal(self.store, self._repository(), self._log)
                if journal.finish():
                    self._level()
                yield journal
        except Timeout as error:
            raise NeedsRepair("another review or dream is under way", remedy="Try again when it has ended") from error

    # -- plans --------------------------------------------------------------------------------------------------

    def _plan_to_accept(self, hunk: Hunk, consent: Consent) -> Plan:
        self._require_no_doubt(hunk.target)
        old, manner = target_text(self.root, hunk.target), self._manner()
        place = anchored(old, hunk)
        if place is None:
            what = "the file has changed so that the hunk fits no longer"
            raise ContentError(what, where=hunk.target, remedy="Run `oneiros dream`, which retires it")
        new = placed(old, hunk, place, manner)
        founded = new_file(hunk, place, manner) if old is None else old
        written = self._with_index_page(Written(hunk.target, old, new, splices_between(founded, new)))
        decided = replace(hunk, state=State.ACCEPTED, decided=self.now(), update=replace(hunk.update, place=place))
        suggested = hunk.update.candidate.text
        approval = Approval(
            Event.ACCEPTED,
            self.now(),
            changes_of(written),
            hunk=hunk.id,
            proposal=hunk.proposal,
            label=label_of(hunk, old or ""),
            text=hunk.text,
            suggested=suggested if hunk.text != suggested else "",
            old_text=place.old_text,
            quotes=hunk.quotes,
            nonce=new_nonce(),
        )
        message = self._message(accepting(decided, approval, self._is_own()))
        return Plan(planned(written), approval, (decided,), message, self._log.entry(approval, consent))

    def _plan_to_revert(self, hunk: Hunk, accepted: Approval, consent: Consent) -> Plan:
        self._require_no_doubt(hunk.target)
        if accepted.files and any(one.splices for one in accepted.files) and not self._log.chain.entry_of(accepted):
            what = "its way back is not the one that was decided"
            raise ContentError(what, where=f"hunk {hunk.id}", remedy="Edit the topic by hand")
        change = next(change for change in accepted.files if change.path == hunk.target)
        now = target_text(self.root, hunk.target)
        written = self._with_index_page(Written(hunk.target, now, self._without(now, change)), accepted)
        decided = replace(hunk, state=State.REVERTED, decided=self.now())
        approval = Approval(
            Event.REVERTED, self.now(), changes_of(written), hunk.id, proposal=hunk.proposal, nonce=new_nonce()
        )
        message = self._message(reverting(decided, approval))
        return Plan(planned(written), approval, (decided,), message, self._log.entry(approval, consent))

    def _without(self, now: str | None, change: FileChange) -> str | None:
        """A file without a change of it."""
        if not change.splices:
            raise ContentError("the way back was forgotten", where=change.path, remedy="Edit the topic by hand")
        if now is not None and hash_of(now) == change.after:
            return undone(now, change.splices) if change.before else None
        left = taken_out(now, change.splices) if now is not None else None
        if left is None:
            what = "later changes stand where this one was made"
            raise ContentError(what, where=change.path, remedy="Edit the topic by hand")
        return dated(left, self.now().date())

    def _with_index_page(self, target: Written, accepted: Approval | None = None) -> list[Written]:
        """The target with the index page behind it, where its pointers change too."""
        page, old = self.root.index_page.name, self._text(self.root.index_page.name)
        if old is not None and self._log.approvals().doubt_about(page, old):
            return [target]  # its own lines are in doubt: they must not ride along in a commit
        undo = next((one for one in accepted.files if one.path == page), None) if accepted else None
        if undo and old is not None and hash_of(old) == undo.after and undo.before:
            new = undone(old, undo.splices)
        else:
            limits = read_memory_settings(self.root.settings)
            new = with_pointers(old if old is not None else NEW_PAGE, self._heads_with(target), limits)
        return [target] if new == old else [target, Written(page, old, new, splices_between(old or "", new))]

    def _heads_with(self, target: Written) -> list[TopicHead]:
        """The heads of all topics, as if the target were written already."""
        heads = [head for head in topic_heads(self.root) if head.path != target.path]
        if target.new is None:
            return heads
        source = SourceFile(SourcePath(target.path), Layer.TOPIC)
        return [*heads, head_of(source, parse_frontmatter(target.new))]

    # -- what a plan is made of ---------------------------------------------------------------------------------

    def _open_hunk(self, name: str) -> Hunk:
        hunk = self.store.hunk(name)
        if not hunk.is_open:
            raise ContentError(f"hunk {hunk.id} is {hunk.state} already", remedy="`oneiros review` shows what is open")
        return hunk

    def _show_again(self, hunk: Hunk) -> None:
        """Writes the pages of a hunk's proposal anew."""
        if hunk.proposal:
            self.desk.write_out(self.store.proposal(hunk.proposal), self.now().date())

    def _require_no_doubt(self, target: str) -> None:
        checked_target(self.root, target)
        if doubt := self._log.approvals().doubt_about(target, self._text(target)):
            remedy = f"Commit it yourself, undo it, or look at it and run `oneiros dream adopt {target}`"
            raise ContentError(f"nobody has answered for its present state ({doubt})", where=target, remedy=remedy)

    def _message(self, message: str) -> str:
        """The message where a commit is wanted and possible; raises NeedsRepair where it is wanted but not now."""
        repository = self._repository()
        if repository is None:
            return ""
        require_rest(repository)
        return message

    def _commit_of(self, plan: Plan) -> str:
        repository = self._repository() if plan.message else None
        return repository.commit_with(plan.approval.nonce) if repository else ""

    def _repository(self) -> Repository | None:
        return find_repository(self.root.path) if self._person.dream_commit else None

    def _is_own(self) -> bool:
        repository = self._repository()
        return repository is None or repository.is_own

    def _manner(self) -> Manner:
        return Manner(self.now().date(), keeps_history=self._person.dream_history == "topic")

    def _text(self, path: str) -> str | None:
        file = checked_path(self.root, path)
        return read_text(file) if file.exists() else None


def checked_wording(text: str, redactor: Redactor) -> str:
    """A person's own wording of a statement. Raises ContentError for none, for a long one, and for a secret in it."""
    text = text.strip()
    if not text or len(text) > MAX_TEXT_CHARS:
        raise ContentError(f"the wording has {len(text)} characters", remedy=f"Write 1 to {MAX_TEXT_CHARS}")
    if is_deceptive(text):
        raise ContentError("the wording holds characters that a reader cannot see or tell apart", remedy="Retype it")
    if "\n" in text or is_chained(text):
        raise ContentError("the wording makes more than one statement", remedy="Write one, in one sentence on one line")
    if redactor.redact(text).text != text:
        raise ContentError("the wording holds a secret", remedy="Say where the secret is kept instead")
    return text


def planned(written: Sequence[Written]) -> tuple[PlannedFile, ...]:
    return tuple(PlannedFile(one.path, hash_of(one.old), one.new) for one in written)


def changes_of(written: Sequence[Written]) -> tuple[FileChange, ...]:
    return tuple(change_of(one.path, one.old, one.new, one.splices) for one in written)
