"""Puts the parts of the weekly review together, over an open memory. It changes nothing."""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crawler.archive.store import Archive
from dream.decisions.accept import Decisions
from dream.proposals.hunk import State
from dream.proposals.store import Event
from dream.report.files import dead_links, old_decisions, outside_changes, page_problems, stale_topics
from dream.report.finding import Finding, Part
from dream.report.questions import Asked, unanswered
from dream.report.statements import contradictions, lost_evidence
from dream.topics import read_topics
from memory_server.memory import Memory

WEEK = dt.timedelta(days=7)
MAX_QUESTIONS = 1_000


@dataclass(frozen=True, slots=True)
class Review:
    """One weekly review."""

    week: str  # 2026-W09
    day: dt.date
    findings: tuple[Finding, ...]
    accepted: int  # hunks of the last seven days
    rejected: int
    asked: int  # questions of the last seven days

    def of(self, part: Part) -> list[Finding]:
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
        now = self._now()
        asked = self._questions(now)
        hunks = self._decisions.store.hunks()
        decided = [hunk.state for hunk in hunks if hunk.decided and now - hunk.decided <= WEEK]
        accepted = sum(
            one.event is Event.ACCEPTED and now - one.at <= WEEK for one in self._decisions.store.approvals()
        )
        return Review(
            week=week_of(now.date()),
            day=now.date(),
            findings=tuple(self._findings(asked, now.date())),
            accepted=accepted,
            rejected=decided.count(State.REJECTED),
            asked=len(asked),
        )

    def _findings(self, asked: list[Asked], today: dt.date) -> Iterator[Finding]:
        root = self._memory.root
        topics, problems = read_topics(root), self._memory.validate()
        hunks = self._decisions.store.hunks()
        yield from outside_changes(self._decisions.unexplained())
        yield from contradictions(topics)
        yield from old_decisions(hunks)
        yield from lost_evidence(topics, self._archive)
        yield from self._waiting(today)
        yield from stale_topics(topics, hunks, self._memory.person.dream_stale_days, today)
        yield from dead_links(root, topics, problems)
        yield from page_problems(problems, is_level=self._memory.changes().is_empty)
        yield from unanswered(asked)
        yield from self._index()

    def _waiting(self, today: dt.date) -> Iterator[Finding]:
        for proposal in self._decisions.store.proposals():
            waiting = [hunk for hunk in proposal.hunks if hunk.state is State.PENDING]
            if waiting:
                oldest = min(hunk.proposed or hunk.found for hunk in waiting)
                what = f"{len(waiting)} hunks wait, {(today - oldest).days} days old"
                yield Finding(Part.PROPOSALS, f"proposals/{proposal.name}/proposal.md", 1, what, "oneiros review")
        if queue := [hunk for hunk in self._decisions.store.queue() if hunk.state is State.QUEUED]:
            what = f"{len(queue)} more wait for a day with room"
            yield Finding(Part.PROPOSALS, "proposals/queue.json", 0, what, "oneiros dream, tomorrow")

    def _index(self) -> Iterator[Finding]:
        status = self._memory.status()
        if status.changed or status.removed or status.unfinished:
            yield Finding(Part.INDEX, "", 0, f"the indices are {status.level.partition(';')[0]}", "oneiros reindex")
        for problem in status.problems:
            yield Finding(Part.INDEX, problem.path, problem.line, problem.what, problem.remedy)
        if problem_text := self._memory.inspect().search_itself():
            yield Finding(Part.INDEX, "", 0, problem_text, "oneiros doctor")

    def _questions(self, now: dt.datetime) -> list[Asked]:
        rows = self._memory.logged_queries(limit=MAX_QUESTIONS, compare=True)
        asked = [_asked(row) for row in rows]
        return [one for one in asked if now - one.at <= WEEK]


def _asked(row: dict[str, object]) -> Asked:
    others = row.get("others")
    hits = row["hits"]
    assert isinstance(hits, int)
    return Asked(
        dt.datetime.fromisoformat(str(row["at"])),
        str(row["tool"]),
        str(row["query"]),
        hits,
        {str(name): int(count) for name, count in others.items()} if isinstance(others, dict) else {},
    )


def week_of(day: dt.date) -> str:
    """`2026-W09`: year and week of ISO 8601."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"
