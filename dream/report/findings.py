"""What files, statements and the query log give reason to look at, each with its place and a next step."""

import datetime as dt
import posixpath
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, pairwise
from urllib.parse import unquote

from crawler.archive.store import Archive
from crawler.reading.record import Reading
from crawler.reading.repeats import group_errors
from dream.decisions.approvals import Doubt, Unexplained
from dream.judge.compare import near_pairs
from dream.judge.contradiction import measure_contradiction, measure_share
from dream.records import Hunk, Relation, State, are_apart
from dream.statements.provenance import read_note, read_notes
from dream.statements.reading import StatementReading
from dream.topics import LESSONS, Topics
from memory_server.chunking import code_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError, Problem
from memory_server.escaping import escape_line
from memory_server.language.shortening import clip
from memory_server.language.words import Rarity, content_words
from memory_server.layers.footnotes import find_footnotes, without_code_spans
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import TopicHead, shorten_text, topic_name
from memory_server.layers.validate import LINK_TARGET, ValidationRule
from memory_server.machine.clock import local_day
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import Search, with_commands

PAGE_RULES = frozenset(
    {
        ValidationRule.INDEX_MISSING,
        ValidationRule.INDEX_LINES,
        ValidationRule.INDEX_CHARS,
        ValidationRule.MARKERS,
        ValidationRule.TOPIC_UNLISTED,
    }
)
SURE_FROM = 0.75  # approved statements stand side by side on purpose: only what is surer than in a chat is shown
ALIKE_FROM = 0.5  # of what both tell together; two statements about one thing say the rest in much the same words
QUOTED_CHARS = 90
LEAST_AGAIN, SAME_AGAIN = 2, 0.6  # telling words, and share of those of the longer one, that a rewording has in common
AGAIN_WITHIN = dt.timedelta(minutes=3)  # between a question and its rewording
MOST_SHOWN = 15
GROWN = 40  # statements of a topic, beyond which it is offered to be cut
IDLE_DAYS = 120  # without a change or a reader
ENDS_WITHIN_DAYS, WEEK_DAYS = 14, 7  # topics named before their end, and for a week behind it
QUESTION_CHARS = 100


class Concern(StrEnum):
    """What the review is about, in the order of their urgency, as they read behind a number and behind `no`."""

    OUTSIDE = "changes outside of review, and unsigned decisions"
    CONTRADICTION = "contradictions"
    DRIFT = "old decisions gone against, and older words"
    EVIDENCE = "statements whose evidence is gone"
    PROPOSALS = "proposals waiting for a decision"
    STALE = "stale topics, those that end, and those that grew long"
    LINKS = "dead links and pointers"
    PAGE = "problems of MEMORY.md"
    QUERIES = "questions without an answer"
    ERRORS = "errors that came back"
    USE = "what nobody uses, and what would fade"
    INDEX = "problems of the indices"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at."""

    part: Concern
    path: str  # relative to the memory root; empty where it is about none
    line: int  # counted from 1; 0 where it is about none
    what: str
    step: str  # the suggested next one

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path and self.line else self.path


# -- files ----------------------------------------------------------------------------------------------------------


def outside_changes(found: Sequence[Unexplained]) -> Iterator[Finding]:
    """Approved files in a state that no acceptance and no commit of a person explains; another title is a proposal."""
    for one in found:
        yield Finding(Concern.PROPOSALS if one.approved else Concern.OUTSIDE, one.path, 1, one.in_words, one.step)


def find_unsigned_decisions(found: Sequence[Doubt]) -> Iterator[Finding]:
    """Decisions that no key vouches for, and a chain of them that is not as it was left."""
    for doubt in found:
        yield Finding(Concern.OUTSIDE, "", 0, doubt.what, doubt.step)


def stale_topics(topics: Topics, hunks: Sequence[Hunk], stale_days: int, today: dt.date) -> Iterator[Finding]:
    """Topics untouched for long about which sessions have said something since."""
    for topic in topics.files:
        if topic.date is None or (today - topic.date).days < stale_days:
            continue
        later = [
            hunk for hunk in hunks if hunk.target == topic.path and hunk.is_open and _has_later_words(hunk, topic.date)
        ]
        if later:
            what = f"untouched since {topic.date.isoformat()}, and {len(later)} later statements wait for it"
            yield Finding(Concern.STALE, topic.path, 1, what, "decide about them: oneiros review")


def grown_topics(topics: Topics) -> Iterator[Finding]:
    """Topics that hold more than is read at a sitting."""
    for topic in topics.files:
        if topic.path != LESSONS and len(topic.statements) > GROWN:
            step = f"oneiros topics split {shlex.quote(topic_name(topic.path))} --reader"
            yield Finding(Concern.STALE, topic.path, 1, f"it has grown to {len(topic.statements)} statements", step)


def ending_topics(heads: Sequence[TopicHead], today: dt.date) -> Iterator[Finding]:
    """Topics that hold for some days more, by what their frontmatter says, and those that have just ended."""
    for head in sorted(heads, key=lambda one: (one.interval.last or today, one.path)):
        left = (head.interval.last - today).days if head.interval.last else ENDS_WITHIN_DAYS + 1
        if -WEEK_DAYS < left <= ENDS_WITHIN_DAYS:
            ends = f"it holds until {head.interval.last}" if left >= 0 else f"it held until {head.interval.last}"
            step = "set validUntil or ttl anew if it still holds, else take it out"
            yield Finding(Concern.STALE, head.path, 1, ends, step)


def _has_later_words(hunk: Hunk, day: dt.date) -> bool:
    return any(words.time is not None and local_day(words.time) > day for words in hunk.evidence)


def old_decisions(hunks: Sequence[Hunk]) -> Iterator[Finding]:
    """What is asked about and no update: decisions of long ago gone against without a reason, and older words."""
    for hunk in hunks:
        if hunk.state is State.FLAGGED:
            is_earlier = hunk.update.relation is Relation.EARLIER
            how = "older words say otherwise" if is_earlier else "it was gone against without a reason"
            what = f"{how}: “{escape_line(hunk.text)[:120]}”"
            line = hunk.update.place.after_line
            yield Finding(Concern.DRIFT, hunk.target, line, what, "say which holds: oneiros review")


def dead_links(root: MemoryRoot, topics: Topics, problems: Sequence[Problem]) -> Iterator[Finding]:
    """Links of topics to files that are not there, and pointers of the index page likewise."""
    for problem in problems:
        if problem.rule == ValidationRule.POINTER_DEAD:
            yield Finding(Concern.LINKS, problem.path, problem.line, problem.what, problem.remedy)
    for topic in topics.files:
        code = code_lines(topic.text)
        prose = [(number, line) for number, line in enumerate(topic.lines, start=1) if number - 1 not in code]
        for number, line in prose:
            for bracketed, bare in LINK_TARGET.findall(without_code_spans(line)):
                target = unquote((bracketed or bare).partition("#")[0])
                if target and ":" not in target.partition("/")[0] and not _exists(root, topic.path, target):
                    what = f"it links to {escape_line(target)[:100]}, which is not there"
                    yield Finding(Concern.LINKS, topic.path, number, what, "correct the link, or remove it")


def _exists(root: MemoryRoot, path: str, target: str) -> bool:
    """Whether a relative link leads to something inside the memory; others are not judged."""
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return whole.startswith(("..", "/")) or (root.path / whole).exists()


def page_problems(problems: Sequence[Problem], *, is_level: bool) -> Iterator[Finding]:
    """What is wrong with the index page: over its budget, topics without a pointer.

    Where the indices are not level, the run that makes them so writes the pointers too, and is suggested anyway.
    """
    for problem in problems:
        if problem.rule in PAGE_RULES and (is_level or problem.rule != ValidationRule.TOPIC_UNLISTED):
            yield Finding(Concern.PAGE, problem.path, problem.line, problem.what, problem.remedy)


# -- over time ------------------------------------------------------------------------------------------------------


def find_losses(losses: Sequence[str]) -> Iterator[Finding]:
    """What can be found no more, although no command took it away."""
    for loss in losses:
        yield Finding(Concern.INDEX, "", 0, loss, "oneiros doctor; git log; else oneiros backup --restore")


def retirable_topics(
    heads: Sequence[TopicHead], hunks: Sequence[Hunk], today: dt.date, idle: Mapping[str, int]
) -> Iterator[Finding]:
    """Topics that ended some time ago, and such as nobody changed or opened for long; each with what retires it.

    `idle`: by path the days since a topic was last opened or changed by an approval.
    """
    spoken_of = {hunk.target for hunk in hunks if hunk.is_open}
    for head in sorted(heads, key=lambda one: one.path):
        if head.keep or head.name == "lessons":
            continue
        age = (today - head.date).days if head.date else 0
        step = f"if it is over: oneiros topics retire {shlex.quote(head.name)}"
        if head.interval.last and (today - head.interval.last).days >= WEEK_DAYS:
            yield Finding(Concern.STALE, head.path, 1, f"it held until {head.interval.last}", step)
        elif min(age, idle.get(head.path, age)) >= IDLE_DAYS and head.path not in spoken_of:
            yield Finding(Concern.STALE, head.path, 1, f"nobody changed or opened it for {IDLE_DAYS} days", step)


def find_unused_topics(found: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """Topics that nobody finds, and such as are found and never opened."""
    for path, use in found[:MOST_SHOWN]:
        retiring = f"oneiros topics retire {shlex.quote(topic_name(SourcePath(path)))}"
        yield Finding(Concern.USE, path, 1, use, f"say it in the words that you ask in, or {retiring}")


def fading(changes: int, next_to_fade: Sequence[str]) -> Iterator[Finding]:
    """What a run of gc would do. What is read before it fades stays."""
    if changes:
        what = f"{changes} of all sessions and episodes would fade, last alive: {', '.join(next_to_fade)}"
        step = (
            "oneiros gc --dry-run, read again what you still need (oneiros drill ID), which keeps it, then oneiros gc"
        )
        yield Finding(Concern.USE, "", 0, what, step)


def keeping(archive_mb: float, most_mb: int, days: int, most_days: int) -> Iterator[Finding]:
    """An archive beyond the size that a person set, and a memory of which no backup was made for so many days."""
    if most_mb and archive_mb > most_mb:
        what = f"the archive has {archive_mb:.0f} MB, archive_max_mb is {most_mb}"
        yield Finding(Concern.USE, "sessions/archive", 0, what, "oneiros archive prune --to FILE")
    if most_days and days > most_days:
        yield Finding(Concern.USE, "", 0, f"no backup was made for {days} days", "oneiros backup FILE, on another disk")


# -- statements -----------------------------------------------------------------------------------------------------


def contradictions(topics: Topics) -> Iterator[Finding]:
    """Pairs of statements of a project, of which one puts something else in the place of the other."""
    placed = [(topic, statement) for topic in topics.files for statement in topic.statements]
    for one, other in near_pairs([statement.reading for _, statement in placed]):
        (topic, earlier), (its_topic, later) = placed[one], placed[other]
        are_rows = earlier.text.startswith("|") and later.text.startswith("|")  # of tables: they speak of other cases
        if are_rows or are_apart(topic.project, its_topic.project):
            continue
        against = measure_contradiction(later.reading, earlier.reading, topics.rarity)
        if against.score < SURE_FROM or _alike(earlier.reading, later.reading, topics.rarity) < ALIKE_FROM:
            continue
        mine, theirs = (shorten_text(escape_line(one.text), QUOTED_CHARS) for one in (later, earlier))
        what = f"“{mine}” against {topic.path}:{earlier.lines.first} “{theirs}” ({against.why})"
        step = f"say which holds: oneiros read {shlex.quote(f'{topic.path}:{earlier.lines}')}"
        yield Finding(Concern.CONTRADICTION, its_topic.path, later.lines.first, what, step)


def _alike(one: StatementReading, other: StatementReading, rarity: Rarity) -> float:
    """How much of what two statements tell, they both tell; values are left out, since these may differ."""
    mine, theirs = (reading.words - reading.values for reading in (one, other))
    return measure_share(mine & theirs, mine | theirs, rarity)


def find_lost_evidence(topics: Topics, archive: Archive) -> Iterator[Finding]:
    """Statements whose footnote names a session or entry that the archive does not have any more."""
    known: dict[str, frozenset[str]] = {}
    archived = {cut_id8(session_id) for session_id in archive.session_ids()}
    for topic in topics.files:
        notes = find_footnotes(topic.text)
        for label, note in read_notes(topic.text).items():
            for source in (one for one in read_note(note) if one.session_id):
                session = source.session_id
                if source.entry:
                    known.setdefault(session, _entries(archive, session))
                is_there = source.entry in known[session] if source.entry else cut_id8(session) in archived
                if not is_there:
                    line = (notes.used.get(label) or notes.defined[label])[0] + 1
                    what = f"[^{label}] rests on session {cut_id8(session)}, which the archive does not have"
                    step = "keep the statement if you still know it, else take it out"
                    yield Finding(Concern.EVIDENCE, topic.path, line, what, step)
                    break


def _entries(archive: Archive, session_id: str) -> frozenset[str]:
    try:
        segments = archive.record(session_id).segments
    except ContentError:
        return frozenset()
    return frozenset(entry for segment in segments for entry in segment.entries)


# -- questions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoggedQuestion:
    """One question of the log."""

    at: dt.datetime
    tool: str
    query: str
    hits: int
    others: Mapping[str, int] = field(default_factory=dict)  # hits of the other searches, where it found nothing


def find_unanswered(questions: Sequence[LoggedQuestion]) -> Iterator[Finding]:
    """Questions, each once, that found nothing, with what another search finds; then those that were reworded."""
    seen: set[str] = set()
    for one in questions:
        if one.hits == 0 and one.query not in seen and len(seen) < MOST_SHOWN:
            seen.add(one.query)
            more, step = _other(one)
            yield _make_finding(one, f"found nothing; {more}", step)
    for first, second in _find_rewordings(questions):
        if first.query not in seen and len(seen) < 2 * MOST_SHOWN:
            seen.add(first.query)
            what = f"was put again as “{_short(second.query)}” ({with_commands(second.tool)}: {second.hits} hits)"
            yield _make_finding(first, what, "let a topic use the words of the first question")


def _find_rewordings(questions: Sequence[LoggedQuestion]) -> Iterator[tuple[LoggedQuestion, LoggedQuestion]]:
    """Neighbours in time of which the second asks for much the same in other words."""
    for first, second in pairwise(sorted(questions, key=lambda one: one.at)):
        mine, theirs = set(content_words(first.query)), set(content_words(second.query))
        is_near = second.at - first.at <= AGAIN_WITHIN and first.query.casefold() != second.query.casefold()
        if is_near and len(mine & theirs) >= max(LEAST_AGAIN, SAME_AGAIN * max(len(mine), len(theirs))):
            yield first, second


def _other(one: LoggedQuestion) -> tuple[str, str]:
    """What another search finds, and the step that follows from it."""
    # by meaning something is near to every question
    counts = {name: count for name, count in one.others.items() if name != Search.MEANING}
    better = [f"{with_commands(name)} finds {count}" for name, count in counts.items() if count]
    if better:
        return ", ".join(better), "ask that way, or let a topic say it in these words"
    return "no search finds it", "if you know the answer, write it into a topic"


def _make_finding(one: LoggedQuestion, what: str, step: str) -> Finding:
    return Finding(Concern.QUERIES, "", 0, f"“{_short(one.query)}” ({with_commands(one.tool)}) {what}", step)


def _short(text: str) -> str:
    return clip(escape_line(text), QUESTION_CHARS)


# -- sessions -------------------------------------------------------------------------------------------------------


def find_repeated_errors(readings: Iterable[Reading], recent: Collection[str], topics: Topics) -> Iterator[Finding]:
    """Errors of commands that sessions of one project met again in a `recent` one and no lesson tells, with what
    worked, where that is known.
    """
    lessons = topics.file(LESSONS)
    known = [set(content_words(one.text)) for one in lessons.statements] if lessons else []
    again = (
        (project, met)
        for project, met in group_errors(readings)
        if any(name in recent for name, _ in met)
        and not any(set(content_words(_short(met[-1][1].error))) <= words for words in known)
    )
    for project, met in islice(again, MOST_SHOWN):
        worked = next((one.worked for _, one in reversed(met) if one.worked), "")
        error, fix = _short(met[-1][1].error), _short(worked)
        then = f"; “{fix}” worked" if fix else ""
        lesson = f"On “{error}” run `{fix}`." if fix and fix == worked else f"On “{error}” ..."
        what = f"“{error}” in {len(met)} sessions of {escape_line(project) or 'no project'}{then}"
        step = f"say what to do: oneiros remember {shlex.quote(lesson)} --topic lessons"
        yield Finding(Concern.ERRORS, "", 0, what, step)
