"""What a person decides: accept, reword, reject, revert, adopt. The only way from a proposal into layer 1.

Every decision asks for `Consent`, is planned (`planning.py`) and carried out (`journal.py`) under one lock.
"""

import datetime as dt
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby

from filelock import FileLock, Timeout

from dream.changes import Event, hash_text
from dream.decisions.approvals import Approvals, Unexplained, list_approved_files, suspicious
from dream.decisions.chain import Chain, ChainEntry
from dream.decisions.journal import DecisionLog, Journal, Plan
from dream.decisions.page import Chosen
from dream.decisions.passkey import Passkey
from dream.decisions.planning import Arrangement, Planner, Texts, describe_undoing, find_movable, make_move, may_move
from dream.decisions.presence import Consent
from dream.decisions.repository import Repository, find_repository, require_git
from dream.decisions.unsigned import UnsignedDecisions
from dream.judge.gate import is_deceptive
from dream.progress import DreamProgress
from dream.proposals.offering import ProposalQueue
from dream.proposals.store import Approval, ProposalStore, forget_drafts
from dream.records import Candidate, Hunk, Rejection, State, Words, make_hunk_id
from memory_server.document import SourcePath
from memory_server.errors import ContentError, NeedsRepair, OneirosError, UsageError
from memory_server.machine.clock import local_day
from memory_server.machine.files import make_folder
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings import PersonSettings

LOCK_SECONDS = 20.0
MAX_TEXT_CHARS = 4_000  # of one statement, as a person may reword it
MAX_NAME_CHARS = 80  # of a topic or a section, as a person names it


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of a decision."""

    hunk: Hunk
    commit: str = ""  # empty where none was made


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What several choices will do to the memory as it stands, to the last byte."""

    hunks: tuple[Hunk, ...]  # as they stand
    plans: tuple[Plan, ...]  # in the order in which they are carried out, one a topic
    last: str  # name of the last entry of the chain

    @property
    def entries(self) -> list[ChainEntry]:
        return [noted.entry for plan in self.plans for noted in plan.noted]

    @property
    def files(self) -> dict[str, str]:
        """The hash of each file that changes, as it stands."""
        return {path: before for plan in reversed(self.plans) for path, before in plan.old_hashes.items()}


@dataclass(frozen=True, slots=True)
class Arranged:
    """What came of topics renamed, joined or cut."""

    name: str  # by which it is undone
    what: str
    commit: str = ""


class Decisions:
    """The decisions on one memory root.

    `is_true` says whether evidence is found as it stands, `supports` whether a statement says no more than it: what
    lies in `proposals/` may have been altered by whoever can write there. `level` brings the indices level with the
    disk; it is called after each decision.
    """

    def __init__(
        self,
        root: MemoryRoot,
        person: PersonSettings,
        now: Callable[[], dt.datetime],
        *,
        is_true: Callable[[Words], bool],
        supports: Callable[[Candidate], bool] = lambda _: True,
        level: Callable[[], None] = lambda: None,
    ):
        self.root = root
        self.store = ProposalStore(root)
        limits = {"day_hunks": person.dream_hunks_a_day, "expiry_days": person.dream_expiry_days}
        self.queue = ProposalQueue(root, self.store, **limits)
        self._person = person
        self._supports = supports
        self._log = DecisionLog(self.store, person.signing_key, now)
        self._redactor = Redactor(person.deny_words)
        self.now = now
        self._level = level
        self._is_true = is_true
        self._to_show: set[str] | None = None  # proposals whose pages are behind, while decisions are made together

    def accept(self, name: str, consent: Consent, *, text: str | None = None, shown: Hunk | None = None) -> Decided:
        """Writes a hunk into its topic; `text` is the person's own wording of it, `shown` what they saw.

        Raises ContentError where the hunk is decided already, fits no longer or its file is in doubt; NeedsRepair
        during a merge or rebase. Then nothing has changed.
        """
        hunk = shown or self.store.hunk(name)
        return self._decide_one(Chosen(hunk.id, "accept", text), hunk, consent)

    def decide(
        self,
        choices: Sequence[tuple[Chosen, Hunk]],
        consent: Consent,
        tell_refusal: Callable[[Hunk, OneirosError], None],
    ) -> list[Decided]:
        """Does what was chosen for hunks as they were shown, with one commit a topic.

        What cannot be done is told, as `accept` and `reject` raise it, and left.
        """
        plans: list[Plan] = []
        done: list[Plan] = []
        with self.together(), self.hold_lock() as journal:
            planner = self._planner()
            for choice, hunk in _by_topic(choices):
                try:
                    if self._open_hunk(hunk.id) != hunk:
                        what = "it is not as it was shown"
                        raise ContentError(what, where=f"hunk {hunk.id}", remedy="Look at it again")
                    plans.append(self._plan_choice(planner, hunk, choice, consent))
                except OneirosError as error:
                    tell_refusal(hunk, error)
            for plan in _join_plans(planner, plans):
                try:
                    self._carry_out(journal, plan)
                    done.append(plan)
                except OneirosError as error:
                    for hunk in plan.hunks:
                        tell_refusal(hunk, error)
        return self._list_decided(done)

    def foreseen(self, choices: Sequence[Chosen], consent: Consent) -> Foreseen:
        """What these choices would do, one plan a topic. Raises as `accept` and `reject` do; nothing is changed."""
        with self.hold_lock():
            planner = self._planner()
            pairs = _by_topic([(choice, self._open_hunk(choice.hunk)) for choice in choices])
            plans = [self._plan_choice(planner, hunk, choice, consent) for choice, hunk in pairs]
            return Foreseen(tuple(hunk for _, hunk in pairs), _join_plans(planner, plans), self._log.chain.last)

    def carry_out(self, foreseen: Foreseen, signing: ChainEntry) -> list[Decided]:
        """Does what was foreseen, and adds the entry that signs it.

        Raises ContentError where anything that it rests on has changed. Then nothing has been done, unless somebody
        writes into one of its files at this moment: what was decided before that stands, unsigned.
        """
        with self.together(), self.hold_lock() as journal:
            self._require_as_foreseen(foreseen)
            for plan in foreseen.plans:
                self._carry_out(journal, plan)
            self._log.chain.add([signing])
        return self._list_decided(foreseen.plans)

    def chain(self) -> Chain:
        """The chain of decisions as it lies on the disk now."""
        return self._log.chain

    def note_passkey(self, event: Event, passkey: Passkey, consent: Consent) -> None:
        """Takes a passkey up among those that sign decisions, or takes it out of them."""
        with self.hold_lock():
            self._log.add(replace(self._log.entry_without_files(event, consent), passkey=passkey))

    def take_up(self, hunk: Hunk, consent: Consent) -> Decided:
        """Writes into its topic what the person has just told and been shown; it was in no proposal before.

        Raises as `accept` does.
        """
        with self.hold_lock() as journal:
            known = replace(hunk, proposal=self.store.name_direct_proposal(local_day(self.now())))
            plan = self._planner().accept(known, consent)
            self._carry_out(journal, plan)
        self._bring_level()
        return Decided(plan.hunks[0], self._find_commit(plan))

    def find_faults(self, hunk: Hunk) -> list[str]:
        """What is not true of an open hunk, checked anew: its quotes, its name, and that it says no more than they."""
        candidate, faults = hunk.update.candidate, []
        if candidate.metadata.fault:
            faults.append(f"its metadata is none: {candidate.metadata.fault}")
        if hunk.origin:
            is_yours = may_move(hunk, self.store, self._log.chain)
            return faults if is_yours else [*faults, "no yes of yours stands behind what it moves"]
        if not candidate.evidence or not all(map(self._is_true, candidate.evidence)):
            lost = "the archive does not have its quote as it stands here"
            faults.append("its file does not hold these words any more" if candidate.given else lost)
        if hunk.id != make_hunk_id(candidate.evidence, hunk.target):
            faults.append("its id is not that of its evidence and target")
        if hunk.text != candidate.text.strip() or not self._supports(candidate):
            faults.append("its statement is not what its quote says")
        return faults

    def propose_move(self, path: SourcePath, label: str, topic: str, section: str) -> Hunk:
        """Proposes that an accepted statement, the one with this footnote, stand in another topic; decides nothing.

        Raises ContentError where no yes stands behind it, where it shares its lines with others, and as `refile` does.
        """
        with self.hold_lock():
            yes, today = find_movable(path, label, self.store, self._log.chain), local_day(self.now())
            moving = make_move(self.store.hunk(yes.hunk), yes, path, today)
            return self.queue.offer_move(self.make_refiled(moving, topic, section), today)

    def check_wording(self, text: str) -> str:
        """A person's own wording of a statement, as `accept` takes it.

        Raises ContentError for none, for a long one, and for a secret in it.
        """
        text = text.strip()
        if not text or len(text) > MAX_TEXT_CHARS:
            raise ContentError(f"the wording has {len(text)} characters", remedy=f"Write 1 to {MAX_TEXT_CHARS}")
        if is_deceptive(text):
            raise ContentError(
                "the wording holds characters that a reader cannot see or tell apart", remedy="Retype it"
            )
        if "\n" in text:
            raise ContentError("the wording has several lines", remedy="Write it on one line")
        if self._redactor.redact(text).text != text:
            raise ContentError("the wording holds a secret", remedy="Say where the secret is kept instead")
        return text

    def make_refiled(self, hunk: Hunk, topic: str, section: str) -> Hunk:
        """A hunk in the topic and the section that a person names; nothing is saved.

        Raises ContentError for a name that is none, and where the same words were asked about there before.
        """
        for name in filter(None, (topic, section)):
            if len(self.check_wording(name)) > MAX_NAME_CHARS:
                raise ContentError(f"the name has {len(name)} characters", remedy=f"Write 1 to {MAX_NAME_CHARS}")
        return self.queue.make_refiled(hunk, topic.strip(), section.strip())

    def refile(self, name: str, topic: str, section: str) -> Hunk:
        """Proposes an open hunk for the topic and the section that a person names. Raises as `refiled` does.

        No consent is asked: it is offered as before, under another id.
        """
        with self.hold_lock():
            hunk = self._open_hunk(name)
            placed = self.make_refiled(hunk, topic, section)
            self.store.save_hunk(placed, hunk.id)
            self._show_again(placed)
        return placed

    def reject(self, name: str, consent: Consent, reason: str) -> Decided:
        """Turns a hunk down, for good: its like comes back with new evidence only."""
        hunk = self.store.hunk(name)
        return self._decide_one(Chosen(hunk.id, "reject", reason=reason), hunk, consent)

    def revert(self, name: str, consent: Consent) -> Decided:
        """Takes an accepted hunk out again: to the last byte where its topic has not changed since.

        Raises ContentError where later changes stand in the way.
        """
        with self.hold_lock() as journal:
            hunk = self.store.hunk(name)
            accepted = [one for one in self.store.approvals() if one.hunk == hunk.id and one.event is Event.ACCEPTED]
            if hunk.state is not State.ACCEPTED or not accepted:
                raise ContentError(f"hunk {hunk.id} is {hunk.state}, not accepted", remedy="Revert accepted ones only")
            plan = self._planner().revert(hunk, accepted[-1], consent)
            self._carry_out(journal, plan)
        self._bring_level()
        return Decided(plan.hunks[0], self._find_commit(plan))

    def arrangement(self, wanted: Callable[[Texts], Arrangement]) -> Arrangement:
        """What would become of the topics. Raises where a name is none of layer 1, or a file of it is in doubt."""
        with self.hold_lock():
            return self._planner().arrangement(wanted)

    def arrange(self, wanted: Callable[[Texts], Arrangement], consent: Consent) -> Arranged:
        """Renames, joins or cuts topics: files, links, pointers and open hunks at once. Raises as `accept` does."""
        with self.hold_lock() as journal:
            planner = self._planner()
            found = planner.arrangement(wanted)
            plan = planner.arrange(found, consent)
            self._carry_out(journal, plan)
        self._bring_level()
        return Arranged(plan.name, found.what, self._find_commit(plan))

    def find_arrangement(self, name: str) -> Approval | None:
        """The decision by which topics were renamed, joined or cut, by its name or the beginning of it."""
        found = [one for one in self.store.approvals() if one.event is Event.ARRANGED and one.nonce.startswith(name)]
        return found[0] if name and len(found) == 1 else None

    def put_back(self, arranged: Approval, consent: Consent) -> Arranged:
        """Undoes it: to the last byte where the files have not changed since. Raises ContentError where they have."""
        with self.hold_lock() as journal:
            if any(one.event is Event.REVERTED and one.hunk == arranged.nonce for one in self.store.approvals()):
                raise ContentError("it is undone already", where=arranged.nonce)
            plan = self._planner().put_back(arranged, consent)
            self._carry_out(journal, plan)
        self._bring_level()
        return Arranged(arranged.nonce, describe_undoing(arranged), self._find_commit(plan))

    def add_decision(self, approval: Approval, consent: Consent) -> None:
        """Notes a decision that changes no file of the memory. Call it under `hold_lock`."""
        entry = self._log.entry(approval, consent)
        self.store.add_approval(approval)
        self._log.add(entry)

    def find_unexplained(self) -> list[Unexplained]:
        """The changes of layer 1 that nobody has answered for."""
        return self.doubts()[0]

    def doubts(self) -> tuple[list[Unexplained], UnsignedDecisions]:
        """The changes of layer 1 that nobody has answered for, and the decisions that no key vouches for."""
        with self.hold_lock():
            approvals = self._log.approvals()
            found = approvals.find_unexplained()
            return found, UnsignedDecisions(self.root, approvals, self._person.signing_key, suspicious(found))

    def adopt(self, paths: Sequence[str], consent: Consent) -> str:
        """Answers for the state in which these files are; returns the commit, empty where none was made.

        Where the chain of decisions is not as it was left, a new one begins with this.
        """
        with self.hold_lock(begins_anew=consent) as journal:
            known = {one.path for one in self._log.approvals().find_unexplained()}
            if strange := sorted(set(paths) - known):
                raise UsageError(f"{strange[0]} holds nothing to adopt", remedy="`oneiros report` names what does")
            commit = self._adopt(journal, paths, consent)
        self._bring_level()  # MEMORY.md points to it from now on
        return commit

    def adopt_explained(self, consent: Consent, earlier_key: str = "") -> int:
        """Answers for all that a person had decided with an earlier key or none; returns how many files there are."""
        with self.hold_lock() as journal:
            is_signed = any(entry.is_by_key for entry in self._log.chain.entries)
            chain = Chain(self.root, (earlier_key or self._person.signing_key) if is_signed else "")
            self._log.own += [name for place, name in enumerate(chain.entry_hashes) if chain.counts(place)]
            before = Approvals(self.root, chain)
            doubted = {one.path for one in before.find_unexplained()}
            paths = [path for path in list_approved_files(self.root) if path not in doubted]
            if paths:
                self._adopt(journal, paths, consent)
            return len(paths)

    @property
    def has_unsigned(self) -> bool:
        """Whether something was decided that the person's key is still to sign."""
        return bool(self._log.own and self._person.signing_key)

    def is_signed(self, approval: Approval) -> bool:
        """Whether the person's key or a passkey vouches for an approval as it is noted."""
        return self._log.chain.is_approval_signed(approval)

    def sign(self, signature_of: Callable[[bytes], str]) -> None:
        """Signs the decisions of this sitting at once.

        Raises NeedsRepair where no signature comes; the decisions stand then, unsigned.
        """
        with self.hold_lock():
            self._log.sign(signature_of)

    def rejections(self) -> list[Rejection]:
        """What was turned down by a decision of the chain."""
        with self.hold_lock():
            return self._log.rejections()

    def _adopt(self, journal: Journal, paths: Sequence[str], consent: Consent) -> str:
        plan = self._planner().adopt(paths, consent)
        self._carry_out(journal, plan)
        return self._find_commit(plan)

    def forget(self, session_ids: Sequence[str]) -> int:
        """Removes what rests on these sessions from proposals, rejections and approvals; returns how many hunks."""
        with self.hold_lock():
            removed = self.store.forget(session_ids)
            DreamProgress(self.root).forget(session_ids)
            forget_drafts(self.root, session_ids)
            for proposal in self.store.proposals():
                self.queue.write_out(proposal, local_day(self.now()))
        return removed

    @contextmanager
    def hold_lock(self, begins_anew: Consent | None = None) -> Iterator[Journal]:
        """Keeps other deciders out, and finishes what a killed one has begun.

        `begins_anew`: consent to a new chain, where the one there is cannot go on.
        """
        require_memory(self.root)
        make_folder(self.root.derived_folder)
        lock = FileLock(self.root.derived_folder / "dream.lock", timeout=LOCK_SECONDS)
        try:
            with lock:
                if begins_anew:
                    self._log.begin_anew(begins_anew)
                journal = Journal(self.store, self._repository(), self._log)
                if journal.finish():
                    self._level()
                yield journal
        except Timeout as error:
            raise NeedsRepair("another review or dream is under way", remedy="Try again when it has ended") from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several decisions of one sitting, each whole by itself: the pages of their proposals are written at the end,
        and so are the indices."""
        if self._to_show is not None:  # within another sitting
            yield
            return
        self._to_show = shown = set[str]()
        try:
            yield
        finally:
            self._to_show = None
            if names := sorted(filter(None, shown)):
                with self.hold_lock():
                    for name in names:
                        self.queue.write_out(self.store.proposal(name), local_day(self.now()))
            self._level()

    def _planner(self) -> Planner:
        """Plans one decision, or several that are to be one. Raises NeedsRepair where git could not commit them."""
        if self._person.dream_commit:
            require_git(self.root.path)
        keeps = self._person.dream_history == "topic"
        return Planner(self.root, self.queue, self._log, self._repository(), self.now(), keeps_history=keeps)

    def _plan_choice(self, planner: Planner, hunk: Hunk, choice: Chosen, consent: Consent) -> Plan:
        """What one of several choices will do, those before it done."""
        if choice.verdict == "reject":
            return planner.reject(hunk, consent, self._redactor.redact(choice.reason.strip()).text)
        return planner.accept(self._check_hunk(hunk, choice.text), consent)

    def _decide_one(self, choice: Chosen, hunk: Hunk, consent: Consent) -> Decided:
        def refuse(_: Hunk, error: OneirosError) -> None:
            raise error

        [decided] = self.decide([(choice, hunk)], consent, refuse)
        return decided

    def _carry_out(self, journal: Journal, plan: Plan) -> None:
        """Does what was planned, and writes the pages of the proposals that it is about anew."""
        journal.carry_out(plan)
        about = (*plan.hunks, *(hunk for _, hunk in plan.moved))
        for hunk in {hunk.proposal: hunk for hunk in about}.values():
            self._show_again(hunk)

    def _list_decided(self, plans: Sequence[Plan]) -> list[Decided]:
        commits = ((plan, self._find_commit(plan)) for plan in plans)
        return [Decided(hunk, commit) for plan, commit in commits for hunk in plan.hunks]

    def _require_as_foreseen(self, foreseen: Foreseen) -> None:
        """Raises ContentError where chain, hunks or files are not as they were."""
        planner = self._planner()
        is_same = (
            self._log.chain.last == foreseen.last
            and all(self.store.hunk(hunk.id) == hunk for hunk in foreseen.hunks)
            and all(hash_text(planner.text(path)) == before for path, before in foreseen.files.items())
        )
        if not is_same:
            raise ContentError("the memory has changed since you looked at it", remedy="Look at what is shown anew")

    def _check_hunk(self, hunk: Hunk, text: str | None) -> Hunk:
        """A hunk that may be taken up, in the person's words where there are any."""
        if faults := self.find_faults(hunk):
            raise ContentError(faults[0], where=f"hunk {hunk.id}", remedy="Reject it")
        return replace(hunk, text=self.check_wording(text)) if text is not None else hunk

    def _open_hunk(self, name: str) -> Hunk:
        hunk = self.store.hunk(name)
        if not hunk.is_open:
            raise ContentError(f"hunk {hunk.id} is {hunk.state} already", remedy="`oneiros review` shows what is open")
        return hunk

    def _show_again(self, hunk: Hunk) -> None:
        """Writes the pages of a hunk's proposal anew."""
        if self._to_show is not None:
            self._to_show.add(hunk.proposal)
        elif hunk.proposal:
            self.queue.write_out(self.store.proposal(hunk.proposal), local_day(self.now()))

    def _bring_level(self) -> None:
        if self._to_show is None:
            self._level()

    def _find_commit(self, plan: Plan) -> str:
        repository = self._repository() if plan.message else None
        return repository.find_commit(plan.name) if repository else ""

    def commit_in_words(self, commit: str) -> str:
        """What is said behind a decision of its commit: which it is, or why there is none."""
        if commit or not self._person.dream_commit:
            return f", commit {commit[:8]}" if commit else ""
        if self._repository() is None:
            return f"; not committed, since no git repository is there: git init {shlex.quote(str(self.root.path))}"
        return "; not committed, since git ignores it"

    def _repository(self) -> Repository | None:
        return find_repository(self.root.path) if self._person.dream_commit else None


def _join_plans(planner: Planner, plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """One plan for each run of plans about one topic, and one for those that change no file."""
    return tuple(
        planner.join_plans(list(run)) for _, run in groupby(plans, key=lambda plan: next(iter(plan.texts), ""))
    )


def _by_topic(choices: Sequence[tuple[Chosen, Hunk]]) -> list[tuple[Chosen, Hunk]]:
    """The choices topic by topic, in the order in which these come; rejections, which change none, behind them."""
    places = {hunk.target: place for place, (_, hunk) in reversed(list(enumerate(choices)))}
    return sorted(choices, key=lambda one: (one[0].verdict == "reject", places[one[1].target]))
