"""Puts the parts of the weekly review together, over an open memory, and as text: what asks for the person first.

It changes nothing.
"""

import datetime as dt
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from crawler.archive.store import Archive
from crawler.reading.record import FOLDER, Readings
from dream.blame import count_citations
from dream.changes import Event
from dream.decisions.accept import Decisions
from dream.decisions.approvals import doubts_of_git
from dream.records import DirectWords, Given, Hunk, State
from dream.report.findings import (
    Concern,
    Finding,
    LoggedQuestion,
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
from memory_server.escaping import escape_line, plural
from memory_server.layers.topics import topic_heads
from memory_server.lifecycle.backups import backup_days
from memory_server.lifecycle.findable import read_losses
from memory_server.machine.clock import local_day
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot

WEEK = dt.timedelta(days=7)
MAX_QUESTIONS = 1_000
EXPIRED_DAYS = 30  # for which the report names what expired
SHOWN = 3  # findings of a part on the first screen
# of a step: words that a shell takes as they are, or quoted; a name may hold anything else
COMMAND = re.compile(r"""git -C [^`]+|(?<![\w/'])oneiros(?: (?:'[^']*'|"[^"]*"|[\w@%+=:./-])+)+""")
COUNTED = ("offered", "accepted", "rejected")


@dataclass(frozen=True, slots=True)
class Review:
    """One weekly review."""

    week: str  # of ISO 8601: 2026-W09
    day: dt.date
    findings: tuple[Finding, ...]
    offered: int  # hunks of the last seven days
    accepted: int
    rejected: int
    asked: int  # questions of the last seven days
    kinds: Mapping[str, Mapping[str, int]] = field(
        default_factory=dict
    )  # offered, accepted or rejected -> kind -> how many
    told: int = 0  # what the person said directly, which nobody had offered

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
        rows = self._memory.list_queries(limit=MAX_QUESTIONS, compare=True, since=now - WEEK)
        questions = msgspec.convert(rows, list[LoggedQuestion])
        hunks = [hunk for hunk in store.hunks() if not _is_told(hunk.update.candidate.given)]
        offered = [hunk for hunk in hunks if hunk.proposed and local_day(now) - hunk.proposed < WEEK]
        decided = [hunk for hunk in hunks if hunk.decided and now - hunk.decided <= WEEK]
        taken = [one for one in store.approvals() if one.event is Event.ACCEPTED and now - one.at <= WEEK]
        told = sum(_is_told(one.given) for one in taken)
        return Review(
            week=f"{local_day(now):%G-W%V}",
            day=local_day(now),
            findings=tuple(self._findings(questions, local_day(now))),
            offered=len(offered),
            accepted=len(taken) - told,
            rejected=sum(hunk.state is State.REJECTED for hunk in decided),
            asked=len(questions),
            kinds={
                "offered": _kinds(offered),
                **{str(one): _kinds(decided, one) for one in (State.ACCEPTED, State.REJECTED)},
            },
            told=told,
        )

    def _findings(self, questions: Sequence[LoggedQuestion], today: dt.date) -> Iterator[Finding]:
        memory, root = self._memory, self._memory.root
        topics, problems = read_topics(root), memory.validate()
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
        yield from self._expired(today)
        yield from stale_topics(topics, hunks, self._memory.person.dream_stale_days, today)
        yield from grown_topics(topics)
        yield from ending_topics(topic_heads(root), today)
        yield from dead_links(root, topics, problems)
        yield from page_problems(problems, is_level=self._memory.upkeep.changes().is_empty)
        yield from self._over_time(hunks, today)
        empty = dict.fromkeys((one.tool, one.query) for one in questions if not one.hits)
        unanswered = {one for one in empty if memory.is_unanswered(*one)}
        yield from find_unanswered([one for one in questions if one.hits or (one.tool, one.query) in unanswered])
        readings = Readings(root.sessions.parent / FOLDER).every()
        yield from find_repeated_errors(readings, self._list_sessions_of_week(), topics)
        yield from self._index()

    def _list_sessions_of_week(self) -> set[str]:
        since = (self._now() - WEEK).isoformat()
        return {one.session_id for one in self._archive.records() if one.ended >= since}

    def _over_time(self, hunks: Sequence[Hunk], today: dt.date) -> Iterator[Finding]:
        memory, root = self._memory, self._memory.root
        aging = memory.aging()
        uses = aging.aliveness().uses
        idle = {path: (today - use.last).days for path, use in uses.items() if use.accesses and use.last}
        for approval in (one for one in self._decisions.store.approvals() if one.event is not Event.FOUND):
            for change in approval.files:  # the day in a topic may be that of its statements, from before it came here
                days = (today - local_day(approval.at)).days
                idle[SourcePath(change.path)] = min(days, idle.get(SourcePath(change.path), days))
        yield from find_losses(list(map(str, read_losses(root))))
        yield from retirable_topics(topic_heads(root), hunks, today, idle)
        yield from find_unused_topics(aging.find_unused_topics())
        changes = aging.plan(count_citations(root)).changes
        yield from fading(len(changes), [step.source.path for step in changes[:-4:-1]])
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
                verb = "waits" if len(waiting) == 1 else "wait"
                what, more = f"{plural(len(waiting), 'hunk')} {verb}, {(today - oldest).days} days old{more}", ""
                yield Finding(Concern.PROPOSALS, f"proposals/{proposal.name}/proposal.md", 1, what, "oneiros review")
        if more:  # no proposal counts for what is none yet
            yield Finding(Concern.PROPOSALS, "proposals/queue.json", 0, more.strip("; "), "oneiros dream, tomorrow")

    def _expired(self, today: dt.date) -> Iterator[Finding]:
        """What was withdrawn since nobody decided; named for a while, by the day on which it was offered."""
        shown_days = self._memory.person.dream_expiry_days + EXPIRED_DAYS
        for proposal in self._decisions.store.proposals():
            expired = [one for one in proposal.hunks if one.state is State.EXPIRED and one.proposed]
            if any((today - one.proposed).days <= shown_days for one in expired if one.proposed):
                path = f"proposals/{proposal.name}/proposal.md"
                what = f"{plural(len(expired), 'hunk')} expired: nobody decided in time"
                step = f"say what still holds; the page lists them, one is shown by oneiros dream why {expired[0].id}"
                yield Finding(Concern.PROPOSALS, path, 0, what, step)

    def _index(self) -> Iterator[Finding]:
        status = self._memory.status()
        if (status.changed or status.removed or status.unfinished) and not status.owner:  # else that process is at it
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
    own = (one for one in review.findings if owner.get(SourcePath(one.path), wanted) in ("", wanted))
    return replace(review, findings=tuple(own))


def _is_told(given: Sequence[Given]) -> bool:
    return any(isinstance(one, DirectWords) for one in given)


def _kinds(hunks: Sequence[Hunk], state: State | None = None) -> dict[str, int]:
    """How many there are of each kind, of those in a state or of all."""
    kinds = Counter(str(hunk.update.candidate.kind) for hunk in hunks if state in (None, hunk.state))
    return dict(kinds.most_common())


def first_screen(review: Review) -> str:
    """What is read at once: three sentences and a command, then the first findings of each part that has any."""
    return _format_report(review, SHOWN)


def report_page(review: Review) -> str:
    """The file of a week: the same with every finding, and the kinds of what was decided."""
    return _format_report(review) + _format_kinds(review.kinds)


def _format_report(review: Review, most: int | None = None) -> str:
    """The report as Markdown, each thing a paragraph of its own; `most` findings of a part, and how many more."""
    found = [(part, review.list_findings(part)) for part in Concern]
    ordered = [finding for _, findings in found for finding in findings]
    lines = [f"# Week {review.week}, to {review.day.isoformat()}", "", _summarise(review, ordered)]
    if ordered:
        lines += ["", f"    {_find_command(ordered[0])}"]
    for part, findings in ((part, findings) for part, findings in found if findings):
        lines += ["", f"## {part.value[:1].upper()}{part.value[1:]}", *map(_in_detail, findings[:most])]
        if most and len(findings) > most:
            lines.append(f"- and {len(findings) - most} more: `oneiros report --all`")
    return "\n".join(lines) + "\n"


def _summarise(review: Review, ordered: Sequence[Finding]) -> str:
    """What the week brought, what was asked, and how much asks for the person, with the most urgent of it."""
    unanswered = len(review.list_findings(Concern.QUERIES))
    lost = f", {unanswered} of them without a good answer" if unanswered else ""
    waits = "Nothing asks for you."
    if ordered:
        waits = f"{len(ordered)} thing{'s ask' if len(ordered) > 1 else ' asks'} for you, first: {_say(ordered[0])}."
    brought = f"{plural(review.offered, 'statement')} offered, {review.accepted} accepted, {review.rejected} rejected"
    told = f"; {review.told} told by you" if review.told else ""
    return f"{brought}{told}. {plural(review.asked, 'question')} asked{lost}. {waits}"


def _find_command(finding: Finding) -> str:
    """The command that a next step names; else the one that shows what is wrong."""
    named = COMMAND.search(finding.step)
    if named:
        return named.group()
    return f"oneiros read {shlex.quote(finding.place)}" if finding.place else "oneiros report --all"


def _say(finding: Finding) -> str:
    return f"`{finding.place}`: {finding.what}" if finding.place else finding.what


def _in_detail(finding: Finding) -> str:
    ends_in_command = finding.step.endswith(tuple(COMMAND.findall(finding.step)))  # a full stop would be read as of it
    return f"- {_say(finding)}. Next: {finding.step}{'' if ends_in_command else '.'}"


def _format_kinds(kinds: Mapping[str, Mapping[str, int]]) -> str:
    """How many statements of each kind were offered, accepted and rejected; nothing where there were none."""
    every = dict.fromkeys(kind for what in COUNTED for kind in kinds.get(what, {}))
    rows = (f"- {kind} {', '.join(str(kinds.get(what, {}).get(kind, 0)) for what in COUNTED)}" for kind in every)
    return "\n".join([f"\n## {', '.join(COUNTED).capitalize()}", *rows, ""]) if every else ""
