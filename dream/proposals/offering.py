"""From updates to proposals: at most so many hunks a day, best first, and nothing asked twice.

A proposal is a folder that a person can read (`proposal.md`) and git can apply (`changes.diff`). Both are written from
the hunks whenever these change. Hunks whose target changed find their place anew or are retired; old ones expire.
What is best, the person's decisions teach too (`judge/learned.py`).
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from crawler.quotes import Quote
from dream.changes import hash_text, target_text
from dream.judge.compare import find_outdated
from dream.judge.filing import choose_place, drop_small_section, find_own_topic
from dream.judge.learned import Learned, read_learning_start
from dream.proposals.placing import Manner, anchor_hunk, find_headings, take_from_origin
from dream.proposals.rendering import diff_steps, files_diff, in_review_order, proposal_page
from dream.proposals.store import Proposal, ProposalStore
from dream.records import (
    QUESTIONS,
    Candidate,
    Hunk,
    Kind,
    Relation,
    State,
    StatementOrigin,
    Update,
    make_hunk_id,
    split_words,
)
from dream.topics import Topics, read_topics
from memory_server.chunking import split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.machine.clock import local_day
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot

OPEN_DAYS = 3  # days' worth of hunks that may be open; beyond, nothing more is put before a person


@dataclass(frozen=True, slots=True)
class Offer:
    """What one run of the queue did."""

    proposal: str  # the name of a new proposal; empty where there is none
    offered: int
    queued: int  # that wait for another day
    questions: int  # that a review asks
    expired: int
    retired: int


class ProposalQueue:
    """Keeps the proposals of one memory root. Call under the lock of `accept.py`."""

    def __init__(self, root: MemoryRoot, store: ProposalStore, *, day_hunks: int, expiry_days: int):
        self._root = root
        self.store = store
        self._day_hunks = day_hunks
        self._expiry = dt.timedelta(days=expiry_days)

    def add(self, updates: Iterable[Update], today: dt.date) -> list[Hunk]:
        """Queues what has not been asked before, in whatever state that may be; returns the new hunks."""
        hunks = self.store.hunks()
        known_words = {(hunk.target, *split_words(hunk.text)) for hunk in hunks if hunk.is_open}
        fresh: dict[str, Hunk] = {}
        for update in updates:
            if update.relation is Relation.KNOWN:
                continue
            try:
                hunk = self.make_hunk(update, today)
                if anchor_hunk(target_text(self._root, hunk.target), hunk) is None:
                    continue
            except ContentError:
                continue  # no target: nothing that could be proposed
            words = (hunk.target, *split_words(hunk.text))
            if words not in known_words and not any(rests_on_same(hunk, known) for known in (*hunks, *fresh.values())):
                fresh[hunk.id] = hunk
                known_words.add(words)
        if fresh:
            self.store.save_queue([*self.store.queue(), *fresh.values()])
        return list(fresh.values())

    def withdraw(self, taken_back: Collection[Quote], today: dt.date) -> None:
        """Retires the open hunks that rest on words which were taken back since."""

        def retire_hunk(hunk: Hunk) -> Hunk:
            if hunk.is_open and hunk.evidence and any(hunk.evidence[0].overlaps(quote) for quote in taken_back):
                return replace(hunk, state=State.RETIRED, reason="it was taken back by what was said later")
            return hunk

        if taken_back:
            self._change(retire_hunk, today)

    def file(self, placed: Mapping[str, Candidate], today: dt.date) -> None:
        """Puts open hunks, by their ids, where a reader filed their statements, and in its words."""
        topics, taken = read_topics(self._root), {hunk.id for hunk in self.store.hunks()}

        def file_hunk(hunk: Hunk) -> Hunk:
            filed = placed.get(hunk.id)
            if filed is None or hunk.update.candidate.is_filed:
                return hunk
            stays = replace(hunk, update=replace(hunk.update, candidate=replace(hunk.update.candidate, is_filed=True)))
            try:
                moved = self._place_anew(drop_small_section(filed, topics), topics, hunk)
            except ContentError:
                return stays
            if moved.id != hunk.id and moved.id in taken:
                return stays
            taken.add(moved.id)
            return moved

        self._change(file_hunk, today)

    def ask_about_older(self) -> None:
        """Makes a question of every waiting hunk that a newer open one speaks against."""
        waiting = [hunk for hunk in self.store.hunks() if hunk.state in (State.QUEUED, State.PENDING)]
        older = {
            waiting[place].id: update for place, update in find_outdated([hunk.update for hunk in waiting]).items()
        }
        queue = self.store.queue()
        marked = [
            replace(hunk, update=older[hunk.id], state=State.FLAGGED)
            if hunk.id in older and hunk.state is State.QUEUED
            else hunk
            for hunk in queue
        ]
        if marked != list(queue):
            self.store.save_queue(marked)

    def offer(self, today: dt.date) -> Offer:
        """Puts open hunks in order, withdraws old ones, and offers as many new ones as the day has room for."""
        gone = self._tend(today)
        self.ask_about_older()
        queue, proposals = self.store.queue(), self.store.proposals()
        flagged = [hunk for hunk in queue if hunk.state is State.FLAGGED]
        queued = [hunk for hunk in queue if hunk.state is State.QUEUED]
        decided = [hunk for proposal in proposals for hunk in proposal.hunks if not hunk.is_open]
        learned = Learned(decided, read_learning_start(self._root))
        queued.sort(key=lambda hunk: (-_worth(hunk, learned), hunk.found, hunk.target, hunk.id))
        # what a person asked for, an import or a move, takes no room
        suggested = [hunk for one in proposals for hunk in one.hunks if not (hunk.file or hunk.origin)]
        offered_today = sum(hunk.proposed == today for hunk in suggested)
        undecided = sum(hunk.state is State.PENDING for hunk in suggested)
        room = max(0, min(self._day_hunks - offered_today, OPEN_DAYS * self._day_hunks - undecided))
        chosen, waiting = queued[:room], queued[room:]
        name = self._put_forward(in_review_order(chosen), [*flagged, *waiting], today)
        return Offer(name, len(chosen), len(waiting), len(flagged), gone[State.EXPIRED], gone[State.RETIRED])

    def propose(self, updates: Sequence[Update], today: dt.date) -> str:
        """Offers all of these at once, topic by topic in their order, since a person asked for them; the name of the
        proposal, empty where none is new."""
        fresh = {hunk.id: hunk for hunk in self.add(updates, today) if hunk.state is State.QUEUED}
        topics = list(dict.fromkeys(hunk.target for hunk in fresh.values()))
        chosen = sorted(fresh.values(), key=lambda hunk: topics.index(hunk.target))
        return self._put_forward(chosen, [hunk for hunk in self.store.queue() if hunk.id not in fresh], today)

    def _put_forward(self, chosen: Sequence[Hunk], left: Sequence[Hunk], today: dt.date) -> str:
        """Makes a proposal of these hunks and leaves the others in the queue; its name."""
        if not chosen:
            return ""
        name = self.store.next_name(today)
        offered = (replace(hunk, state=State.PENDING, proposal=name, proposed=today) for hunk in chosen)
        proposal = Proposal(name, tuple(offered))
        self.store.save_proposal(proposal)
        self.store.save_queue(left)
        self.write_out(proposal, today)
        return name

    def write_out(self, proposal: Proposal, today: dt.date) -> None:
        """Writes what a person and git read of a proposal."""
        folder = self.store.folder / proposal.name
        steps = diff_steps(self._root, [hunk for hunk in proposal.hunks if hunk.is_open], Manner(today))
        replace_file(folder / "changes.diff", "".join(files_diff(steps)))
        replace_file(folder / "proposal.md", proposal_page(proposal, steps))

    def make_hunk(self, update: Update, today: dt.date) -> Hunk:
        """An update as a hunk, on its file as it is."""
        return _make_hunk(target_text(self._root, update.place.target), update, today)

    def make_refiled(self, hunk: Hunk, topic: str, section: str) -> Hunk:
        """A hunk in the topic and the section that a person names, as a statement that replaces nothing.

        Raises ContentError where the same words were asked about there before, where it is another project's, and of a
        statement that moves where it stands there.
        """
        candidate = replace(hunk.update.candidate, topic=topic, section=section, is_filed=True)
        if candidate.kind is Kind.LESSON:
            raise ContentError("a lesson stands in lessons.md", remedy="Accept it there, or reject it")
        topics = read_topics(self._root)
        if own := find_own_topic(topic, candidate.project, topics):
            candidate = replace(candidate, project="", topic=own)
        placed = self._place_anew(candidate, topics, hunk, "You put it there.")
        if placed.origin and placed.origin.path == placed.target:
            raise ContentError("it stands there already", where=placed.target, remedy="Name another topic")
        known = next((one for one in self.store.hunks() if one.id == placed.id != hunk.id), None)
        if known and (known.is_open or not placed.origin):  # a move may be asked for again, by a person
            raise ContentError("the same words were asked about there before", where=placed.target)
        return replace(placed, text=hunk.text)

    def offer_move(self, hunk: Hunk, today: dt.date) -> Hunk:
        """Offers a move that a person asked for; one that was decided before is asked about again.

        Raises ContentError where there is no such topic.
        """
        if hunk.update.relation is Relation.NEW:
            raise ContentError("there is no such topic", where=hunk.target, remedy="`oneiros topics` names them")
        known = next((one for one in self.store.hunks() if one.id == hunk.id), None)
        if known is None:
            self._put_forward([hunk], self.store.queue(), today)
        else:
            self.store.save_hunk(replace(hunk, state=State.PENDING, proposal=known.proposal, proposed=today))
            self.write_out(self.store.proposal(known.proposal), today)
        return self.store.hunk(hunk.id)

    def _place_anew(self, candidate: Candidate, topics: Topics, hunk: Hunk, why: str = "") -> Hunk:
        """A hunk of this candidate in the topic that it names, offered as `hunk` was. Raises ContentError where that is
        another project's.
        """
        place = choose_place(candidate, topics.limit_to_project(candidate.project))
        place = replace(place, origin=hunk.origin)
        there = topics.file(place.target)
        if there and there.project != candidate.project.casefold():
            raise ContentError("it is a topic of another project", where=place.target, remedy="Name one of its own")
        relation = Relation.EXTENDS if there else Relation.NEW
        update = Update(candidate, relation, place, why or hunk.update.why)
        placed = _make_hunk(target_text(self._root, place.target), update, hunk.found)
        return _as_it_stood(placed, replace(hunk, id=placed.id, text=placed.text))

    def follow_file(self, hunk: Hunk, target: SourcePath, text: str) -> Hunk:
        """An open hunk whose file has become another one, or a part of it, with this text: placed there, or retired."""
        update = replace(hunk.update, place=replace(hunk.update.place, target=target))
        place = anchor_hunk(text, replace(hunk, update=update, base=hunk.base and "-"))  # "-": of no text
        known = {one.id for one in self.store.hunks()}
        name = make_hunk_id(hunk.evidence, target, hunk.origin)
        stands_there = hunk.origin is not None and hunk.origin.path == target
        if place is None or name in known or stands_there:
            return replace(hunk, state=State.RETIRED, reason=f"its topic has become {target}, where it does not fit")
        return _as_it_stood(_make_hunk(text, replace(update, place=place), hunk.found), replace(hunk, id=name))

    def _tend(self, today: dt.date) -> Counter[State]:
        """Looks at every open hunk again; how many were withdrawn, by what became of them."""
        decided = [local_day(hunk.decided) for hunk in self.store.hunks() if hunk.decided is not None]
        reviewed = max(decided, default=dt.date.min)
        gone = self._change(lambda hunk: self._tend_hunk(hunk, today, reviewed), today)
        return Counter(hunk.state for hunk in gone)

    def _change(self, change: Callable[[Hunk], Hunk], today: dt.date) -> list[Hunk]:
        """Changes every open hunk; those that are open no longer.

        What is withdrawn from the queue is kept in a proposal of its own: it is not to be asked again.
        """
        gone = list[Hunk]()
        for proposal in self.store.proposals():
            if any(hunk.is_open for hunk in proposal.hunks):
                hunks = tuple(change(hunk) if hunk.is_open else hunk for hunk in proposal.hunks)
                changed = replace(proposal, hunks=hunks)
                if changed != proposal:
                    self.store.save_proposal(changed)
                self.write_out(changed, today)  # also where files have changed beneath it
                gone += [new for old, new in zip(proposal.hunks, hunks, strict=True) if old.is_open and not new.is_open]
        queue = self.store.queue()
        left = tuple(map(change, queue))
        if left != queue:
            withdrawn = [hunk for hunk in left if not hunk.is_open]
            if withdrawn:
                name = self.store.next_name(today)
                self.store.save_proposal(Proposal(name, tuple(replace(hunk, proposal=name) for hunk in withdrawn)))
            self.store.save_queue([hunk for hunk in left if hunk.is_open])
            gone += withdrawn
        return gone

    def _tend_hunk(self, hunk: Hunk, today: dt.date, reviewed: dt.date) -> Hunk:
        """An open hunk as it stands today: in its place, retired or expired.

        What nobody was shown does not expire: it must have been proposed, and `reviewed`, the day of the last decision
        about any hunk, lie behind that.
        """
        if not hunk.is_open:
            return hunk
        if hunk.proposed and hunk.proposed <= reviewed and today - hunk.proposed > self._expiry:
            return replace(hunk, state=State.EXPIRED, reason="nobody decided in time")
        try:
            text = target_text(self._root, hunk.target)
        except ContentError as error:
            return replace(hunk, state=State.RETIRED, reason=error.what)
        if hunk.origin and not self._stands_in_origin(hunk, hunk.origin, today):
            return replace(hunk, state=State.RETIRED, reason=f"it stands in {hunk.origin.path} no longer")
        if hash_text(text) == hunk.base:
            return hunk
        place = anchor_hunk(text, hunk)
        if place is None:
            return replace(hunk, state=State.RETIRED, reason="its topic has changed so that it fits no longer")
        return _as_it_stood(self.make_hunk(replace(hunk.update, place=place), hunk.found), hunk)

    def _stands_in_origin(self, hunk: Hunk, origin: StatementOrigin, today: dt.date) -> bool:
        try:
            return take_from_origin(target_text(self._root, origin.path), hunk, origin, today) is not None
        except ContentError:
            return False


def _make_hunk(text: str | None, update: Update, today: dt.date) -> Hunk:
    """An update as a hunk, on a text of its file."""
    place, candidate = update.place, update.candidate
    lines = split_lines(text or "")
    anchor = lines[place.after_line - 1] if 0 < place.after_line <= len(lines) else ""
    above = [line for number, line in find_headings(text or "") if number < place.after_line]
    return Hunk(
        id=make_hunk_id(candidate.evidence, place.target, place.origin),
        update=update,
        text=candidate.text.strip(),
        found=today,
        base=hash_text(text),
        anchor=anchor.rstrip("\r\n"),
        heading="".join(above[-1:]).rstrip("\r\n"),
        state=State.FLAGGED if update.relation in QUESTIONS else State.QUEUED,
    )


def _as_it_stood(placed: Hunk, hunk: Hunk) -> Hunk:
    """A hunk in its new place, as far as it was offered under its name."""
    return replace(placed, id=hunk.id, text=hunk.text, state=hunk.state, proposal=hunk.proposal, proposed=hunk.proposed)


def find_home(hunk: Hunk, texts: Mapping[str, str]) -> SourcePath:
    """Which of these files holds what a hunk replaces or follows; its own, else the first, where none does."""

    def likeness(path: str) -> tuple[bool, bool, bool]:
        text, place = texts[path], hunk.update.place
        wanted = place.old_text.strip() or hunk.anchor.strip()
        lines = {line.strip() for line in split_lines(text)}
        return bool(wanted) and wanted in text, hunk.heading.strip() in lines, path == hunk.target

    return SourcePath(max(texts, key=likeness))


def rests_on_same(hunk: Hunk, known: Hunk) -> bool:
    """Whether a hunk asks again what was asked: the same words of the same entry, cut a little otherwise perhaps.

    An assistant's statements may share the yes behind them, so their own words count. A lesson rests on all its quotes;
    one that happened again after it was turned down may be asked again.
    """
    if hunk.id == known.id:
        return True
    if Kind.LESSON not in (hunk.update.candidate.kind, known.update.candidate.kind):
        return bool(hunk.evidence and known.evidence) and hunk.evidence[0].overlaps(known.evidence[0])
    if hunk.update.candidate.kind is not known.update.candidate.kind:
        return False
    if known.state is State.REJECTED and known.decided is not None:
        return not any(words.time is not None and words.time > known.decided for words in hunk.evidence)
    return any(words.overlaps(other) for words in hunk.evidence for other in known.evidence)


def _worth(hunk: Hunk, learned: Learned) -> float:
    candidate = hunk.update.candidate
    return hunk.worth + learned.gain(candidate.kind, candidate.source, candidate.confidence)
