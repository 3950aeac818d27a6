"""Puts the parts of the weekly review together, over an open memory, and as text: one screen first, the details below.

It changes nothing.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from crawler.archive.store import Archive
from crawler.reading.store import FOLDER, Readings
from dream.citations import count_citations
from dream.decisions.accept import Decisions
from dream.decisions.approvals import doubts_of_git
from dream.proposals.store import Event
from dream.records import Hunk, State
from dream.report.findings import (
    Asked,
    Concern,
    Finding,
    contradictions,
    dead_links,
    ending_topics,
    fading,
    find_losses,
    find_lost_evidence,
    find_repeated_errors,
    find_unanswered,
    find_unsigned_decisions,
    find_unused_topics,
    grown_topics,
    keeping,
    old_decisions,
    outside_changes,
    page_problems,
    retirable_topics,
    stale_topics,
)
from dream.topics import LESSONS, read_topics
from memory_server.completeness import OF_MEMORY, SkipKind, count_skipped
from memory_server.document import SourcePath
from memory_server.escaping import escape_line
from memory_server.layers.topics import shorten_text, topic_heads
from memory_server.lifecycle.backups import backup_days
from memory_server.lifecycle.findable import read_losses
from memory_server.machine.clock import local_day
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot

WEEK = dt.timedelta(days=7)
MAX_QUESTIONS = 1_000
SCREEN_LINES = 24  # of a plain terminal
WIDTH = 100
COUNTED = ("offered", "accepted", "rejected")


@dataclass(frozen=True, slots=True)
class Review:
    """One weekly review."""

    week: str  # 2026-W09
    day: dt.date
    findings: tuple[Finding, ...]
    offered: int  # hunks of the last seven days
    accepted: int
    rejected: int
    asked: int  # questions of the last seven days
    kinds: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict
    )  # offered, accepted or rejected -> kind -> how many

    def list_findings(self, part: Concern) -> list[Finding]:
        return [finding for finding in self.findings if finding.part is part]


class WeeklyReview:
    """Makes the review of one memory."""

    def __init__(self, memory: Memory, decisions: Decisions, archive: Archive, now: Callable[[], dt.datetime]):
        self._memory = memory
        self._decisions = decisions
        self._archive = archive
        self._now = now

    def make(self) -> Review:
        """The review of the week that is now."""
        now, store = self._now(), self._decisions.store
        rows = msgspec.convert(self._memory.list_queries(limit=MAX_QUESTIONS, compare=True), list[Asked])
        asked = [one for one in rows if now - one.at <= WEEK]
        hunks = store.hunks()
        offered = [hunk for hunk in hunks if hunk.proposed and local_day(now) - hunk.proposed < WEEK]
        decided = [hunk for hunk in hunks if hunk.decided and now - hunk.decided <= WEEK]
        return Review(
            week=format_week(local_day(now)),
            day=local_day(now),
            findings=tuple(self._findings(asked, local_day(now))),
            offered=len(offered),
            accepted=sum(one.event is Event.ACCEPTED and now - one.at <= WEEK for one in store.approvals()),
            rejected=sum(hunk.state is State.REJECTED for hunk in decided),
            asked=len(asked),
            kinds={
                "offered": _kinds(offered),
                **{str(one): _kinds(decided, one) for one in (State.ACCEPTED, State.REJECTED)},
            },
        )

    def _findings(self, asked: Sequence[Asked], today: dt.date) -> Iterator[Finding]:
        root = self._memory.root
        topics, problems = read_topics(root), self._memory.validate()
        hunks = self._decisions.store.hunks()
        unexplained, unsigned = self._decisions.doubts()
        yield from outside_changes(unexplained)
        yield from find_unsigned_decisions(unsigned.of_week(self._now()))
        if self._memory.person.dream_commit:
            yield from find_unsigned_decisions(doubts_of_git(root, self._memory.person.signing_key))
        yield from contradictions(topics)
        yield from old_decisions(hunks)
        yield from find_lost_evidence(topics, self._archive)
        yield from self._waiting(today)
        yield from stale_topics(topics, hunks, self._memory.person.dream_stale_days, today)
        yield from grown_topics(topics)
        yield from ending_topics(topic_heads(root), today)
        yield from dead_links(root, topics, problems)
        yield from page_problems(problems, is_level=self._memory.upkeep.changes().is_empty)
        yield from self._over_time(hunks, today)
        yield from find_unanswered(asked)
        yield from find_repeated_errors(Readings(root.sessions.parent / FOLDER).every(), self._list_sessions_of_week())
        yield from self._index()

    def _list_sessions_of_week(self) -> set[str]:
        since = (self._now() - WEEK).isoformat()
        return {one.session_id for one in self._archive.records() if one.ended >= since}

    def _over_time(self, hunks: Sequence[Hunk], today: dt.date) -> Iterator[Finding]:
        memory, root = self._memory, self._memory.root
        aging = memory.aging()
        uses = aging.aliveness().uses
        idle = {path: (today - use.last).days for path, use in uses.items() if use.accesses and use.last}
        yield from find_losses(list(map(str, read_losses(root))))
        yield from retirable_topics(topic_heads(root), hunks, today, idle)
        yield from find_unused_topics(aging.find_unused_topics())
        changes = aging.plan(count_citations(root)).changes
        yield from fading(len(changes), [step.source.path for step in changes[:3]])
        folder, made = self._archive.folder, backup_days(root, today)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
        age = (today - aging.aliveness().since).days  # of what is known; a new memory needs no backup yet
        yield from keeping(size, memory.person.archive_max_mb, age if made is None else made, memory.person.backup_days)

    def _waiting(self, today: dt.date) -> Iterator[Finding]:
        queued = sum(hunk.state is State.QUEUED for hunk in self._decisions.store.queue())
        more = f"; {queued} more wait for a day with room" if queued else ""
        for proposal in self._decisions.store.proposals():
            waiting = [hunk for hunk in proposal.hunks if hunk.state is State.PENDING]
            if waiting:
                oldest = min(hunk.proposed or hunk.found for hunk in waiting)
                what, more = f"{len(waiting)} hunks wait, {(today - oldest).days} days old{more}", ""
                yield Finding(Concern.PROPOSALS, f"proposals/{proposal.name}/proposal.md", 1, what, "oneiros review")
        if more:  # no proposal counts for what is none yet
            yield Finding(Concern.PROPOSALS, "proposals/queue.json", 0, more.strip("; "), "oneiros dream, tomorrow")

    def _index(self) -> Iterator[Finding]:
        status = self._memory.status()
        if status.changed or status.removed or status.unfinished:
            yield Finding(Concern.INDEX, "", 0, f"the indices are {status.level.partition(';')[0]}", "oneiros reindex")
        for problem in status.problems:
            yield Finding(Concern.INDEX, problem.path, problem.line, problem.what, problem.remedy)
        for one in status.skipped:
            if one.kind not in OF_MEMORY and one.kind is not SkipKind.LINE:  # in which there is nothing to mend
                yield Finding(Concern.INDEX, escape_line(one.where), 0, count_skipped([one]), f"oneiros {one.remedy}")
        if problem_text := self._memory.inspect().search_itself():
            yield Finding(Concern.INDEX, "", 0, problem_text, "oneiros doctor")


def limit_review(review: Review, root: MemoryRoot, project: str) -> Review:
    """A review without what is about the topics of other projects; its counts are of the whole memory."""
    owner = {topic.path: topic.project for topic in read_topics(root).files if topic.path != LESSONS}
    wanted = project.casefold()
    kept = (one for one in review.findings if owner.get(SourcePath(one.path), wanted) in ("", wanted))
    return replace(review, findings=tuple(kept))


def _kinds(hunks: Sequence[Hunk], state: State | None = None) -> dict[str, int]:
    """How many there are of each kind, of those in a state or of all."""
    kinds = Counter(str(hunk.update.candidate.kind) for hunk in hunks if state in (None, hunk.state))
    return dict(kinds.most_common())


def format_week(day: dt.date) -> str:
    """`2026-W09`: year and week of ISO 8601."""
    return f"{day:%G-W%V}"


def first_screen(review: Review) -> list[str]:
    """What fits on one screen: a line a part, and the first finding of the most urgent ones that have any."""
    counts = ", ".join(f"{getattr(review, what)} {what}" for what in COUNTED)
    told = f"Week {review.week} to {review.day.isoformat()}: {counts}, {review.asked} questions asked."
    lines = [shorten_text(told, WIDTH), *_by_kind(review.kinds), ""]
    with_lead = [part for part in Concern if review.list_findings(part)][: SCREEN_LINES - len(lines) - len(Concern) - 2]
    for part in Concern:
        found = review.list_findings(part)
        lines.append(f"{len(found) or 'no':>4}  {part.value}")
        if part in with_lead:
            lead = f"{found[0].place}  {found[0].what}" if found[0].place else found[0].what
            lines.append(shorten_text(f"        {lead}", WIDTH))
    first = review.findings[0] if review.findings else None
    lines += ["", shorten_text(f"Next: {first.step}", WIDTH) if first else "Nothing asks for you this week."]
    return lines


def _by_kind(kinds: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A line such as `Offered, accepted, rejected: decision 9, 4, 1; fact 3, 2, 0.`; none where there was nothing."""
    every = dict.fromkeys(kind for what in COUNTED for kind in kinds.get(what, {}))
    told = "; ".join(f"{kind} {', '.join(str(kinds.get(what, {}).get(kind, 0)) for what in COUNTED)}" for kind in every)
    return [shorten_text(f"{', '.join(COUNTED).capitalize()}: {told}.", WIDTH)] if told else []


def report_page(review: Review) -> str:
    """The file of a week: the screen, then every finding."""
    lines = [f"# Review of week {review.week}", "", "```", *first_screen(review), "```"]
    for part in Concern:
        if found := review.list_findings(part):
            lines += ["", f"## {part.value[:1].upper()}{part.value[1:]}", "", *map(_in_detail, found)]
    return "\n".join(lines) + "\n"


def _in_detail(finding: Finding) -> str:
    place = f"`{finding.place}`: " if finding.place else ""
    return f"- {place}{finding.what}. Next: {finding.step}."
