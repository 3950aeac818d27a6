"""A session as its reader sees it: every word the person typed, and of the rest what tells how it came and ended.

Of each reply stand its beginning and its end, with the question that a yes answers; errors stand with what then
worked, commits and passing tests as proof. Pasted text is cut to a few lines, narration between two calls is left out.
What is shown stands behind a margin, escaped, so that no line of it can pass for one of ours; a quote is copied from
there.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from crawler.facts import ASKING_TOOL, SessionFacts, error_line, find_command, find_commits, find_fix, find_other_ways
from crawler.outcome import has_passed
from crawler.quotes import SessionTurns
from crawler.reading.record import Request
from crawler.reading.repeats import error_template
from crawler.spoken import find_spoken, parse_questions, prose_regions
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.escaping import escape_line, escape_text
from memory_server.language.shortening import clip
from memory_server.machine.clock import local

ID_CHARS = 8
MARGIN = "| "
SESSION_CHARS = 26_000  # some 7,000 tokens: the most of one session
TYPED_CHARS = 6_000  # of one prompt of the person; who dictates more says it again
PASTED_CHARS = 240  # of each run of lines that they did not type
PLAN_CHARS = 5_000
ERROR_CHARS = 200
MOST_COMMITS, MOST_ERRORS, MOST_WORDINGS = 12, 8, 4
LEVELS = (  # characters of the reply that the person answered, of replies before it; the first that fits is taken
    (4_000, 1_600),
    (2_400, 900),
    (1_600, 600),
    (1_000, 400),
    (700, 240),
    (500, 0),
    (300, 0),
)
AIM_CHARS = 9_000  # of a session whose replies are long: about 2,400 tokens


@dataclass(frozen=True, slots=True)
class PageBlock:
    """One entry as it is shown. Empty text: the head says it all."""

    head: str
    text: str = ""
    is_persons: bool = False

    def __str__(self) -> str:
        lines = [f"{MARGIN}{line}" for line in escape_text(self.text).splitlines() if line.strip()]
        return "\n".join([self.head, *lines])


def render_page(
    session: SessionTurns,
    facts: SessionFacts,
    outcome: str,
    habits: Sequence[Sequence[Request]] = (),
    met: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """A session as text: a head, then its entries in order. Empty where nobody said anything.

    `habits`: requests of this session that came in several, each with those of the others; `met`: in how many sessions
    an error was met, by its template.
    """
    head = _head(session, facts, outcome)
    text = ""
    for answered, before in LEVELS:
        blocks = [*_blocks(session, answered, before, met), *map(_make_habit_block, habits)]
        if not blocks:
            return ""
        text = "\n".join([head, *map(str, blocks)])
        if len(text) <= AIM_CHARS:
            return text
    return text if len(text) <= SESSION_CHARS else _fit_blocks(head, blocks)


def _head(session: SessionTurns, facts: SessionFacts, outcome: str) -> str:
    day = f"{local(facts.started):%Y-%m-%d}" if facts.started else "undated"
    marks = [f"session {session.session_id[:ID_CHARS]}", f"project {escape_line(session.project)}", day]
    marks += [f"branch {escape_line(facts.branch)}"] if facts.branch else []
    marks += [f"commits: {len(facts.commits)}", f"by its calls it ended: {outcome}"]
    title = f"\ntitle: {escape_line(clip(facts.title, 90))}" if facts.title else ""
    return f"=== {'; '.join(marks)}{title}"


def _fit_blocks(head: str, blocks: Sequence[PageBlock]) -> str:
    """As many entries as fit: the person's words before all others, and of these the first and the last."""
    room, fitting = SESSION_CHARS - len(head), dict[int, str]()
    ends = [min(place, len(blocks) - 1 - place) for place in range(len(blocks))]
    for place in sorted(range(len(blocks)), key=lambda place: (not blocks[place].is_persons, ends[place])):
        text = str(blocks[place])
        if len(text) < room:
            fitting[place], room = text, room - len(text) - 1
    remark = f"({len(blocks) - len(fitting)} entries are left out, where the ids jump)"
    return "\n".join([head, remark, *(fitting[place] for place in sorted(fitting))])


def _make_habit_block(group: Sequence[Request]) -> PageBlock:
    here, *others = group
    wordings = dict.fromkeys(escape_line(clip(one.quote.text, 60)) for one in others)
    examples = "; ".join(itertools.islice(wordings, MOST_WORDINGS))
    return PageBlock(
        f"[{here.quote.entry[:ID_CHARS]}] asked before, in {len(group)} sessions", f"{here.quote.text}\n{examples}"
    )


def _blocks(session: SessionTurns, answered: int, before: int, met: Mapping[str, int]) -> Iterator[PageBlock]:
    turns = session.turns
    other_ways = find_other_ways(turns)
    commits, errors = itertools.count(), itertools.count()
    for place, turn in enumerate(turns):
        if turn.role is Role.PERSON:
            yield from _make_person_blocks(turn)
        elif turn.kind is PartKind.PLAN:
            yield PageBlock(
                f"[{turn.entries[0][:ID_CHARS]}] plan, which the person accepted", _cut(turn.text, PLAN_CHARS)
            )
        elif turn.role is Role.ASSISTANT:
            room = answered if _is_answered(turns, place) else before
            if text := _cut(turn.text, room) if room and (room == answered or _tells(turn.text)) else "":
                yield PageBlock(f"[{turn.entries[0][:ID_CHARS]}] assistant", text)
        elif turn.kind is PartKind.INTERRUPTION:
            yield PageBlock("(the person stopped the assistant)")
        elif turn.role is Role.TOOL:
            if turn.is_error and find_command(turn) and (line := error_line(turn.text)) and next(errors) < MOST_ERRORS:
                fix = other_ways.get(place) or find_fix(turns, place)
                yield PageBlock(_format_failure(turn, line, fix, met.get(error_template(turn.text), 0)))
            for commit in find_commits([turn]):
                if next(commits) < MOST_COMMITS:
                    subject = escape_line(clip(commit.subject, 100))
                    yield PageBlock(f"[{turn.entries[-1][:ID_CHARS]}] committed {commit.hash} {subject}")
            if has_passed(turn):
                yield PageBlock(f"[{turn.entries[-1][:ID_CHARS]}] tests passed")


def _make_person_blocks(turn: Turn) -> Iterator[PageBlock]:
    """The person's words; of an answer with what was asked and what else could have been chosen."""
    entry = turn.entries[0][:ID_CHARS]
    if turn.is_prompt:
        yield PageBlock(f"[{entry}] person", _cut_pasted(turn.text), is_persons=True)
        return
    for part in find_spoken(turn):
        text = turn.text[part.first : part.end]
        if turn.tool == ASKING_TOOL:
            options = next((labels for question, labels in parse_questions(turn) if question == part.question), ())
            offered = f", offered: {escape_line(clip(' / '.join(options), 600))}" if options else ""
            question = "" if part.is_chosen else f' "{escape_line(clip(part.question, 300))}"'
            yield PageBlock(f"[{entry}] person answered the question{question}{offered}", text, is_persons=True)
        elif turn.kind is PartKind.COMMAND:
            command = escape_line(turn.text.partition(" ")[0])
            yield PageBlock(f"[{entry}] person, behind {command}", _cut_pasted(text), is_persons=True)
        else:
            yield PageBlock(f"[{entry}] person, as the reason for refusing a call", _cut_pasted(text), is_persons=True)


def _cut_pasted(text: str) -> str:
    """A prompt with each pasted run of lines cut to its beginning."""
    shortened, at = "", 0
    for first, end in [*prose_regions(text), (len(text), len(text))]:
        pasted = text[at:first]
        shortened += pasted if len(pasted) <= PASTED_CHARS else f"{pasted[:PASTED_CHARS]}… (pasted)\n"
        shortened += text[first:end]
        at = end
    return _cut(shortened, TYPED_CHARS)


def _cut(text: str, room: int) -> str:
    """A text with its middle left out: it begins with what it is about and ends with what it asks."""
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 5].rstrip(), text[-(room * 3 // 5) :]
    start = tail.find(" ") + 1  # no half word
    return f"{head} …\n… {tail[start:].lstrip()}"


def _is_answered(turns: Sequence[Turn], place: int) -> bool:
    """Whether a reply is the last before the person speaks, or of the session."""
    for turn in turns[place + 1 :]:
        if turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT:
            return False
        if turn.role is Role.PERSON:
            return True
    return True


def _tells(text: str) -> bool:
    """Whether a reply between two calls says more than what is done next."""
    return len(text) >= 160 and not text.rstrip().endswith(":")


def _format_failure(turn: Turn, line: str, fix: Turn | None, sessions: int) -> str:
    parts = [f"[{turn.entries[-1][:ID_CHARS]}] failed: {escape_line(find_command(turn))}"]
    parts.append(f": {escape_line(clip(line, ERROR_CHARS))}")
    parts += [f"; then worked: {escape_line(find_command(fix) or fix.tool)}"] if fix else []
    parts += [f" (met in {sessions} sessions)"] if sessions else []
    return "".join(parts)
