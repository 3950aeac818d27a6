"""What a digest may be made of, and which of it fits: sentences of person and assistant, and what tools were asked for.

A candidate is a line that stands by itself, with the section it belongs to and the entries it came from. A line is
worth the words that no chosen line has yet, each by how much the session speaks of it and how little everybody does;
chosen is what is worth most for its length. Greedy choice by density is within a constant of the best for such sums
(Lin and Bilmes 2011).
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from crawler.facts import (
    ASKING_TOOL,
    EDITORS,
    TASK_TOOLS,
    SessionFacts,
    error_line,
    find_command,
    find_fix,
    find_other_ways,
    list_tasks,
    parse_arguments,
    relative,
)
from crawler.reading.rules import bears, find_signs
from crawler.spoken import parse_questions
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.sentences import split_sentences, without_markup
from memory_server.language.shortening import clip
from memory_server.language.words import find_digest_words

REPEATED = 0.25  # what a word is still worth once a chosen line has it
LINE_COST = 16  # characters of list sign, reference and line end
MIN_CHARS, MAX_CHARS = 24, 240
MAX_SENTENCES = 60  # of one turn: a pasted document must not crowd out the conversation
TITLED = re.compile(r"--title[ =](?:\"([^\"]+)\"|'([^']+)')")
AGENT_TOOLS = ("Task", "Agent")
ERROR_CHARS = 140
CHOICE_WEIGHT = 1.6
REASON_WEIGHT = 2.0


class SectionName(StrEnum):
    """The sections of a digest, in the order in which they stand."""

    GOAL = "Goal"
    DECISIONS = "Decisions"
    OUTCOME = "Outcome"
    ERRORS = "Errors and fixes"
    SUPERSEDED = "Superseded"
    OPEN = "Open items"
    EXCHANGES = "Key exchanges"
    WORK = "Work done"
    IDENTIFIERS = "Identifiers"


SECTIONS = {
    "open": SectionName.OPEN,
    "superseded": SectionName.SUPERSEDED,
    "decision": SectionName.DECISIONS,
    "error": SectionName.ERRORS,
}  # by the kind of the sign that puts a sentence there


@dataclass(frozen=True, slots=True)
class DigestCandidate:
    """A line that could stand in a digest. `weight` multiplies what its words are worth."""

    section: SectionName
    text: str
    entries: tuple[str, ...]
    weight: float = 1.0
    names: tuple[str, ...] = ()  # what must stand letter by letter in every digest, however it puts the rest


def suggest_candidates(turns: Sequence[Turn], facts: SessionFacts) -> Iterator[DigestCandidate]:
    """Every line that a digest of the session could hold, best kept in this order when two weigh the same."""
    for turn in turns:
        if turn.role is Role.PERSON and turn.text:
            yield from _suggest_prompt(turn)
        elif turn.kind is PartKind.PLAN:
            yield from _suggest_sentences(turn, weight=1.2)
        elif turn.role is Role.ASSISTANT:
            yield from _suggest_sentences(turn, weight=1.0)
        elif turn.role is Role.SUB_AGENT and turn.kind is not PartKind.PROMPT:
            yield from _suggest_sentences(turn, weight=0.6)
        elif turn.tool == ASKING_TOOL:
            yield from _choices(turn)
        elif turn.role is Role.TOOL:
            yield from _suggest_call(turn, facts.cwd)
    yield from _tasks(turns)
    yield from _errors(turns, facts.cwd)
    yield from _identifiers(facts)


def _suggest_prompt(turn: Turn) -> Iterator[DigestCandidate]:
    sentences = list(split_sentences(turn.text))[:MAX_SENTENCES]
    text = clip(" ".join(sentences), MAX_CHARS) if sentences else clip(without_markup(turn.text), MAX_CHARS)
    if len(text) < 8:
        return
    section = SectionName.SUPERSEDED if not turn.is_live else SectionName.EXCHANGES
    yield DigestCandidate(section, f"Person: {text}", turn.entries, weight=1.6)
    for sentence in sentences[3:]:
        if len(sentence) >= MIN_CHARS:
            yield DigestCandidate(choose_section(sentence, SectionName.EXCHANGES), sentence, turn.entries, weight=1.1)


def _suggest_sentences(turn: Turn, *, weight: float) -> Iterator[DigestCandidate]:
    for sentence in list(split_sentences(turn.text))[:MAX_SENTENCES]:
        if len(sentence) < MIN_CHARS:
            continue
        factor = 0.45 if bears(sentence, "narrates") else 1.0
        section = SectionName.SUPERSEDED if not turn.is_live else choose_section(sentence, SectionName.WORK)
        if bears(sentence, "gives a reason"):
            factor *= REASON_WEIGHT
        yield DigestCandidate(section, clip(sentence, MAX_CHARS), turn.entries, weight=weight * factor)


def choose_section(sentence: str, otherwise: SectionName) -> SectionName:
    """The section that a sentence's own words put it in."""
    kinds = (sign.kind for sign, _ in find_signs(sentence, "digest", is_persons=True))
    return next((SECTIONS[kind] for kind in kinds if kind in SECTIONS), otherwise)


def _suggest_call(turn: Turn, cwd: str) -> Iterator[DigestCandidate]:
    arguments = parse_arguments(turn)
    description = arguments.get("description")
    if isinstance(description, str) and len(description) >= 12:
        weight = 1.2 if turn.tool in AGENT_TOOLS else 0.9
        yield DigestCandidate(SectionName.WORK, clip(without_markup(description), 120), turn.entries[:1], weight)
    for key in ("query",) if turn.tool in TASK_TOOLS else ("subject", "activeForm", "query"):  # tasks tell themselves
        value = arguments.get(key)
        if isinstance(value, str) and len(value) >= 12:
            yield DigestCandidate(SectionName.WORK, clip(without_markup(value), 140), turn.entries[:1])
    command = arguments.get("command")
    if isinstance(command, str) and (title := TITLED.search(command)):
        yield DigestCandidate(SectionName.OUTCOME, f"Pull request: {title[1] or title[2]}", turn.entries, weight=2.0)
    path = arguments.get(EDITORS.get(turn.tool, ""))
    content = arguments.get("content")
    if isinstance(path, str) and isinstance(content, str) and path.endswith(".md"):
        headings = [without_markup(line) for line in content.splitlines() if line.startswith("#")][:8]
        if headings:
            text = f"{relative(path, cwd)}: {'; '.join(headings)}"
            yield DigestCandidate(SectionName.WORK, clip(text, MAX_CHARS), turn.entries[:1])


def _choices(turn: Turn) -> Iterator[DigestCandidate]:
    """What the person answered where the client asked; of one who chose, with the options that lost."""
    for question, labels in parse_questions(turn):
        answer = turn.text.partition(f'"{question}"="')[2].partition('"')[0]
        lost = [label for label in labels if label not in answer]
        if question and answer:
            over = f" (not: {'; '.join(lost)})" if 0 < len(lost) < len(labels) else ""
            text = clip(f"{without_markup(question)} Chosen: {without_markup(answer)}{over}", MAX_CHARS)
            yield DigestCandidate(SectionName.DECISIONS, text, turn.entries[-1:], CHOICE_WEIGHT)


def _tasks(turns: Sequence[Turn]) -> Iterator[DigestCandidate]:
    """The tasks that the assistant listed, open where the last word on them leaves them so."""
    for task in list_tasks(turns):
        section = SectionName.OPEN if task.is_open else SectionName.WORK
        yield DigestCandidate(section, clip(without_markup(task.text), 140), (task.entry,))


def _errors(turns: Sequence[Turn], cwd: str) -> Iterator[DigestCandidate]:
    """Failed calls, each with what made it good; every digest owes a command that did it in other words."""
    other_ways = find_other_ways(turns)
    for place, turn in enumerate(turns):
        if not turn.is_error or not turn.text:
            continue
        what = error_line(turn.text)
        if not what:
            continue
        fix = other_ways.get(place) or find_fix(turns, place)
        line = f"{_format_call(turn, cwd)} failed: {clip(what, ERROR_CHARS)}"
        entries = turn.entries[-1:]
        if fix:
            line, entries = f"{line}; then {_format_call(fix, cwd)}", (*entries, fix.entries[0])
        names = (find_command(other_ways[place]).rstrip("…"),) if place in other_ways else ()
        yield DigestCandidate(SectionName.ERRORS, line, entries, names=names)


def _format_call(turn: Turn, cwd: str) -> str:
    arguments = parse_arguments(turn)
    for key in ("file_path", "notebook_path", "path"):
        if isinstance(arguments.get(key), str):
            return f"{turn.tool} {relative(arguments[key], cwd)}"
    command = find_command(turn)
    return f"`{command}`" if command else turn.tool or "the call"


def _identifiers(facts: SessionFacts) -> Iterator[DigestCandidate]:
    """Files touched, a few to a line so that each line keeps its entries."""
    files = facts.touched
    for start in range(0, len(files), 4):
        group = files[start : start + 4]
        entries = tuple(dict.fromkeys(touched.entries[0] for touched in group))
        text = "Files: " + ", ".join(touched.path for touched in group)
        yield DigestCandidate(SectionName.IDENTIFIERS, clip(text, 320), entries, weight=1.3 if start == 0 else 1.0)


# -- which of them fit ----------------------------------------------------------------------------------------------


def choose(
    candidates: Sequence[DigestCandidate], speech: Iterable[str], *, max_chars: int, covered: Iterable[str] = ()
) -> list[DigestCandidate]:
    """The candidates worth most together within a number of characters, in the order of the session.

    `speech` is what the session says, whose words are weighed; `covered` is text that stands in the digest already.
    """
    counts = Counter(word for text in speech for word in find_digest_words(text))
    weights = {word: math.log1p(count) for word, count in counts.items()}
    seen = Counter(word for text in covered for word in set(find_digest_words(text)))
    words = [frozenset(find_digest_words(candidate.text)) for candidate in candidates]
    heap = [(-_density(candidate, words[i], weights, seen), i) for i, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    chosen: list[int] = []
    texts: set[str] = set()
    left = max_chars
    while heap and left > LINE_COST:
        _, i = heapq.heappop(heap)
        candidate = candidates[i]
        if count_chars(candidate) > left or candidate.text in texts:
            continue
        worth = _density(candidate, words[i], weights, seen)
        if worth <= 0:
            break
        if heap and worth < -heap[0][0] - 1e-12:
            heapq.heappush(heap, (-worth, i))
            continue
        chosen.append(i)
        texts.add(candidate.text)
        seen.update(words[i])
        left -= count_chars(candidate)
    return [candidates[i] for i in sorted(chosen)]


def _density(candidate: DigestCandidate, words: frozenset[str], weights: dict[str, float], seen: Counter[str]) -> float:
    worth = sum(weights.get(word, 0.35) * REPEATED ** min(seen[word], 3) for word in words)
    return candidate.weight * worth / count_chars(candidate)


def count_chars(candidate: DigestCandidate) -> int:
    """How many characters a line takes in a digest."""
    return len(candidate.text) + LINE_COST + 10 * (len(candidate.entries) - 1)
