"""What the query log gives reason to look at: questions that found nothing, and questions that were put again."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dream.report.finding import Finding, Part
from dream.statements.words import content_words
from memory_server.escaping import shown_line
from memory_server.search.question import with_commands

AGAIN_WITHIN = dt.timedelta(minutes=3)  # between a question and its rewording
MOST_SHOWN = 15
QUESTION_CHARS = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the log."""

    at: dt.datetime
    tool: str
    query: str
    hits: int
    others: Mapping[str, int]  # hits of the other searches, where it found nothing


def unanswered(asked: Sequence[Asked]) -> Iterator[Finding]:
    """Questions, each once, that found nothing, with what another search finds; then those that were reworded."""
    seen: set[str] = set()
    for one in asked:
        if one.hits == 0 and one.query not in seen and len(seen) < MOST_SHOWN:
            seen.add(one.query)
            yield _of(one, "found nothing", *_other(one))
    for first, second in _reworded(asked):
        if first.query not in seen and len(seen) < 2 * MOST_SHOWN:
            seen.add(first.query)
            what = f"was put again as “{_short(second.query)}” ({with_commands(second.tool)}: {second.hits} hits)"
            yield _of(first, what, "", "let a topic use the words of the first question")


def _reworded(asked: Sequence[Asked]) -> Iterator[tuple[Asked, Asked]]:
    """Neighbours in time of which the second asks for much the same in other words."""
    ordered = sorted(asked, key=lambda one: one.at)
    for first, second in pairwise(ordered):
        mine, theirs = set(content_words(first.query)), set(content_words(second.query))
        is_near = second.at - first.at <= AGAIN_WITHIN and first.query.casefold() != second.query.casefold()
        if is_near and mine and theirs and 2 * len(mine & theirs) >= min(len(mine), len(theirs)):
            yield first, second


def _other(one: Asked) -> tuple[str, str]:
    """What another search finds, and the step that follows from it."""
    better = [f"{with_commands(name)} finds {count}" for name, count in one.others.items() if count]
    if better:
        return f"; {', '.join(better)}", "ask that way, or let a topic say it in these words"
    return "; no search finds it", "if you know the answer, write it into a topic"


def _of(one: Asked, what: str, more: str, step: str) -> Finding:
    return Finding(Part.QUERIES, "", 0, f"“{_short(one.query)}” ({with_commands(one.tool)}) {what}{more}", step)


def _short(text: str) -> str:
    text = shown_line(text)
    return text if len(text) <= QUESTION_CHARS else f"{text[: QUESTION_CHARS - 1]}…"
