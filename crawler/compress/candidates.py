"""What a digest may be made of: sentences of person and assistant, and what tools were asked to do.

A candidate is a line that stands by itself, with the section it belongs to and the entries it came from. Choosing
among them is `selection.py`'s work.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from crawler.facts import ASKING_TOOL, EDITORS, SessionFacts, arguments_of, relative
from crawler.tasks import TASK_TOOLS, listed, tasks_of
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.sentences import sentences_in, without_markup


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


@dataclass(frozen=True, slots=True)
class DigestCandidate:
    """A line that could stand in a digest. `weight` multiplies what its words are worth."""

    section: SectionName
    text: str
    entries: tuple[str, ...]
    weight: float = 1.0
    names: tuple[str, ...] = ()  # what must stand letter by letter in every digest, however it puts the rest


MIN_CHARS, MAX_CHARS = 24, 240
MAX_SENTENCES = 60  # of one turn: a pasted document must not crowd out the conversation

NARRATION = re.compile(
    (
        r"^(?:now |ok(?:ay)?,? |good[,.!]? |great[,.!]? |perfect[,.!]? |excellent[,.!]? )*(?:let me|let's"
        r"|i'll|i will|i need to|i'm going to|i should|i can see|looking at|now i|next,? i)\b"
    ),
    re.IGNORECASE,
)
DECISION = re.compile(
    (
        r"\b(?:decid\w+|chose|choos\w+|instead of|rather than|because|so that|switch(?:ed|ing) to|approach"
        r"|trade-?offs?|prefer\w*|opt(?:ed|ing)? (?:for|to)|root cause|the (?:issue|problem|bug|reason|cause"
        r"|fix) (?:is|was)|should (?:be|use|not)|must|always|never|agreed)\b"
    ),
    re.IGNORECASE,
)
REASON = re.compile(
    (
        r"\b(?:root cause|turn(?:s|ed) out|caused by|the (?:real |actual )?(?:problem|issue|bug|reason|cause|fix)"
        r" (?:is|was)|instead of|rather than|no longer|chose|decided|switched to)\b"
    ),
    re.IGNORECASE,
)
SUPERSEDED = re.compile(
    (
        r"\b(?:no longer|revert\w*|replaced|abandon\w*|rolled? back|did(?: not|n't) work|superseded"
        r"|deprecat\w+|was wrong)\b"
    ),
    re.IGNORECASE,
)
OPEN = re.compile(
    (
        r"\b(?:todo|remaining|still needs?|next steps?|follow-?ups?|not yet|deferred|pending|left to do"
        r"|later phase|known issues?|manual(?:ly)? test)\b"
    ),
    re.IGNORECASE,
)
ERROR = re.compile(
    r"\b(?:error|fail(?:ed|s|ure|ing)?|exception|crash\w*|broken|bug|regression|timed? ?out)\b", re.IGNORECASE
)
ERROR_LINE = re.compile(
    r"(?:error|exception|fail(?:ed|ure)|cannot|not found|denied|undefined|refused|panic|fatal|✗|×)", re.IGNORECASE
)
TITLED = re.compile(r"--title[ =](?:\"([^\"]+)\"|'([^']+)')")
AGENT_TOOLS = ("Task", "Agent")
COMMAND_CHARS = 100
ERROR_CHARS = 140
FOLDER = re.compile(r"^cd [^&;\n]*(?:&&|;)\s*")
FILTERS = re.compile(r"\s*<<.*|\s*2>(?:&1|\s*/dev/null)|\s*\|\s*(?:head|tail|grep|tee|jq)\b[^\n]*")
READING = frozenset(
    "awk cat echo find git grep head ls pwd rg sed sleep tail tree wc which".split()
)  # no way of working
REFUSED = re.compile(r"The user doesn't want|<tool_use_error>|Sibling tool call")
CHOICE_WEIGHT = 1.6
REASON_WEIGHT = 2.0


def candidates_of(turns: Sequence[Turn], facts: SessionFacts) -> Iterator[DigestCandidate]:
    """Every line that a digest of the session could hold, best kept in this order when two weigh the same."""
    for turn in turns:
        if turn.role is Role.PERSON and turn.text:
            yield from _said_by_person(turn)
        elif turn.kind is PartKind.PLAN:
            yield from _sentences_of(turn, weight=1.2)
        elif turn.role is Role.ASSISTANT:
            yield from _sentences_of(turn, weight=1.0)
        elif turn.role is Role.SUB_AGENT and turn.kind is not PartKind.PROMPT:
            yield from _sentences_of(turn, weight=0.6)
        elif turn.tool == ASKING_TOOL:
            yield from _choices(turn)
        elif turn.role is Role.TOOL:
            yield from _asked_of_tool(turn, facts.cwd)
    yield from _tasks(turns)
    yield from _errors(turns, facts.cwd)
    yield from _identifiers(facts)


def _said_by_person(turn: Turn) -> Iterator[DigestCandidate]:
    sentences = list(sentences_in(turn.text))[:MAX_SENTENCES]
    text = clip(" ".join(sentences), MAX_CHARS) if sentences else clip(without_markup(turn.text), MAX_CHARS)
    if len(text) < 8:
        return
    section = SectionName.SUPERSEDED if not turn.is_live else SectionName.EXCHANGES
    yield DigestCandidate(section, f"Person: {text}", turn.entries, weight=1.6)
    for sentence in sentences[3:]:
        if len(sentence) >= MIN_CHARS:
            yield DigestCandidate(section_of(sentence, SectionName.EXCHANGES), sentence, turn.entries, weight=1.1)


def _sentences_of(turn: Turn, *, weight: float) -> Iterator[DigestCandidate]:
    for sentence in list(sentences_in(turn.text))[:MAX_SENTENCES]:
        if len(sentence) < MIN_CHARS:
            continue
        factor = 0.45 if NARRATION.match(sentence) else 1.0
        section = SectionName.SUPERSEDED if not turn.is_live else section_of(sentence, SectionName.WORK)
        if REASON.search(sentence):
            factor *= REASON_WEIGHT
        yield DigestCandidate(section, clip(sentence, MAX_CHARS), turn.entries, weight=weight * factor)


def section_of(sentence: str, otherwise: SectionName) -> SectionName:
    """The section that a sentence's own words put it in."""
    if OPEN.search(sentence):
        return SectionName.OPEN
    if SUPERSEDED.search(sentence):
        return SectionName.SUPERSEDED
    if DECISION.search(sentence):
        return SectionName.DECISIONS
    if ERROR.search(sentence):
        return SectionName.ERRORS
    return otherwise


def _asked_of_tool(turn: Turn, cwd: str) -> Iterator[DigestCandidate]:
    arguments = arguments_of(turn)
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
    for question in listed(arguments_of(turn).get("questions")):
        asked = str(question.get("question", ""))
        answer = turn.text.partition(f'"{asked}"="')[2].partition('"')[0]
        labels = [str(option.get("label", "")) for option in listed(question.get("options"))]
        lost = [label for label in labels if label not in answer]
        if asked and answer:
            over = f" (not: {'; '.join(lost)})" if 0 < len(lost) < len(labels) else ""
            text = clip(f"{without_markup(asked)} Chosen: {without_markup(answer)}{over}", MAX_CHARS)
            yield DigestCandidate(SectionName.DECISIONS, text, turn.entries[-1:], CHOICE_WEIGHT)


def _tasks(turns: Sequence[Turn]) -> Iterator[DigestCandidate]:
    """The tasks that the assistant listed, open where the last word on them leaves them so."""
    for task in tasks_of(turns):
        section = SectionName.OPEN if task.is_open else SectionName.WORK
        yield DigestCandidate(section, clip(without_markup(task.text), 140), (task.entry,))


def _errors(turns: Sequence[Turn], cwd: str) -> Iterator[DigestCandidate]:
    """Failed calls, each with what made it good; every digest owes a command that did it in other words."""
    other_ways = worked_in_other_words(turns)
    for place, turn in enumerate(turns):
        if not turn.is_error or not turn.text:
            continue
        what = error_line(turn.text)
        if not what:
            continue
        fix = other_ways.get(place) or fix_after(turns, place)
        line = f"{_called(turn, cwd)} failed: {clip(what, ERROR_CHARS)}"
        entries = turn.entries[-1:]
        if fix:
            line, entries = f"{line}; then {_called(fix, cwd)}", (*entries, fix.entries[0])
        names = (command_of(other_ways[place]).rstrip("…"),) if place in other_ways else ()
        yield DigestCandidate(SectionName.ERRORS, line, entries, names=names)


def worked_in_other_words(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Of commands that failed, by their place, the next of the same program, where it is another and succeeded."""
    failed: dict[str, int] = {}
    found: dict[int, Turn] = {}
    for place, turn in enumerate(turns):
        program = program_of(turn)
        if not program or program.split()[0] in READING:
            continue
        before = failed.pop(program, None)
        if turn.is_error and not REFUSED.match(turn.text):
            failed[program] = place
        elif before is not None and not turn.is_error and command_of(turn) != command_of(turns[before]):
            found[before] = turn
    return found


def fix_after(turns: Sequence[Turn], place: int) -> Turn | None:
    """What made the failed call at `place` good: the next edit, or the next call of the same tool that succeeds."""
    failed = turns[place]
    for turn in turns[place + 1 : place + 25]:
        if (turn.tool in EDITORS and not turn.is_error) or (turn.tool == failed.tool and not turn.is_error):
            return turn
    return None


def command_of(turn: Turn) -> str:
    """A shell command as one would type it again: its first line, without the folder before and the filters behind."""
    command = arguments_of(turn).get("command")
    if not isinstance(command, str):
        return ""
    return clip(without_markup(FILTERS.sub("", FOLDER.sub("", command.strip()).partition("\n")[0])), COMMAND_CHARS)


def program_of(turn: Turn) -> str:
    """A program with its sub-command: what a command that failed and the one that worked have in common."""
    return " ".join([word for word in command_of(turn).split() if "=" not in word][:2])


def _called(turn: Turn, cwd: str) -> str:
    arguments = arguments_of(turn)
    for key in ("file_path", "notebook_path", "path"):
        if isinstance(arguments.get(key), str):
            return f"{turn.tool} {relative(arguments[key], cwd)}"
    command = command_of(turn)
    return f"`{command}`" if command else turn.tool or "the call"


def error_line(text: str) -> str:
    """The line of a failed call's output that says what went wrong."""
    lines = [without_markup(line) for line in text.splitlines() if len(line.strip()) > 8]
    return next((line for line in lines if ERROR_LINE.search(line)), lines[0] if lines else "")


def _identifiers(facts: SessionFacts) -> Iterator[DigestCandidate]:
    """Files touched, a few to a line so that each line keeps its entries."""
    files = facts.touched
    for start in range(0, len(files), 4):
        group = files[start : start + 4]
        entries = tuple(dict.fromkeys(touched.entries[0] for touched in group))
        text = "Files: " + ", ".join(touched.path for touched in group)
        yield DigestCandidate(SectionName.IDENTIFIERS, clip(text, 320), entries, weight=1.3 if start == 0 else 1.0)


def clip(text: str, max_chars: int) -> str:
    """The text, cut at a word where it is longer."""
    if len(text) <= max_chars:
        return text
    return text[: max_chars - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
