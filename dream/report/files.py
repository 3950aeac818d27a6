"""What the files give reason to look at: changes nobody answered for, stale topics, dead links, the index page."""

import datetime as dt
import posixpath
import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from dream.decisions.approvals import NEW, Unexplained
from dream.proposals.hunk import Hunk, State
from dream.report.finding import Finding, Part
from dream.topics import Topics
from memory_server.chunking import code_lines, split_lines
from memory_server.errors import Problem
from memory_server.escaping import shown_line
from memory_server.layers.footnotes import without_code_spans
from memory_server.layers.validate import LINK_TARGET, ValidationRule
from memory_server.root.paths import MemoryRoot

PAGE_RULES = frozenset(
    {
        ValidationRule.INDEX_MISSING,
        ValidationRule.INDEX_LINES,
        ValidationRule.INDEX_CHARS,
        ValidationRule.MARKERS,
        ValidationRule.TOPIC_UNLISTED,
    }
)


def outside_changes(found: Sequence[Unexplained]) -> Iterator[Finding]:
    """Approved files in a state that no acceptance and no commit of a person explains."""
    for one in found:
        if one.what == NEW:
            step = f"if you wrote it: oneiros dream adopt {shlex.quote(one.path)}"
            yield Finding(Part.OUTSIDE, one.path, 1, "new, and not approved yet", step)
            continue
        what = f"{one.what} by no acceptance and by no commit of yours"
        yield Finding(Part.OUTSIDE, one.path, 1, what, f"look at it: git diff -- {one.path}; then oneiros review")


def stale_topics(topics: Topics, hunks: Sequence[Hunk], stale_days: int, today: dt.date) -> Iterator[Finding]:
    """Topics untouched for long about which sessions have said something since."""
    for topic in topics.files:
        if topic.date is None or (today - topic.date).days < stale_days:
            continue
        later = [hunk for hunk in hunks if hunk.target == topic.path and hunk.is_open and _said_after(hunk, topic.date)]
        if later:
            what = f"untouched since {topic.date.isoformat()}, and {len(later)} later statements wait for it"
            yield Finding(Part.STALE, topic.path, 1, what, "decide about them: oneiros review")


def old_decisions(hunks: Sequence[Hunk]) -> Iterator[Finding]:
    """Decisions of long ago that somebody went against without a reason: no update, but a person should know."""
    for hunk in hunks:
        if hunk.state is State.FLAGGED:
            what = f"it was gone against without a reason: “{shown_line(hunk.text)[:120]}”"
            yield Finding(
                Part.DRIFT, hunk.target, hunk.update.place.after_line, what, "say which holds: oneiros review"
            )


def _said_after(hunk: Hunk, day: dt.date) -> bool:
    return any(quote.time is not None and quote.time.date() > day for quote in hunk.quotes)


def dead_links(root: MemoryRoot, topics: Topics, problems: Sequence[Problem]) -> Iterator[Finding]:
    """Links of topics to files that are not there, and pointers of the index page likewise."""
    for problem in problems:
        if problem.rule == ValidationRule.POINTER_DEAD:
            yield Finding(Part.LINKS, problem.path, problem.line, problem.what, problem.remedy)
    for topic in topics.files:
        code = code_lines(topic.text)
        for number, line in enumerate(split_lines(topic.text)):
            if number in code:
                continue
            for bracketed, bare in LINK_TARGET.findall(without_code_spans(line)):
                target = unquote((bracketed or bare).partition("#")[0])
                if target and ":" not in target.partition("/")[0] and not _exists(root, topic.path, target):
                    what = f"it links to {shown_line(target)[:100]}, which is not there"
                    yield Finding(Part.LINKS, topic.path, number + 1, what, "correct the link, or remove it")


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
            yield Finding(Part.PAGE, problem.path, problem.line, problem.what, problem.remedy)
