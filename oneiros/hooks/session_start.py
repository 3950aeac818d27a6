"""SessionStart: a line on how the memory stands, for the person; what it says at rank 1, for the model.

The model is given what somebody approved, of this project and of the person's own. That depends on the memory, the
project, the pages that the client loads and on whether a note waits, so that a resumed session is given the same bytes;
of time it depends only where a topic begins or ends to hold on a day. What the person sees is of the moment.
"""

import concurrent.futures
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dream.decisions.accept import Decisions
from dream.decisions.approvals import Unexplained, doubts_for_model, doubts_for_person, suspicious
from dream.progress import DreamProgress
from dream.records import State
from memory_server.completeness import select_skipped, tell_skipped
from memory_server.document import SourcePath
from memory_server.errors import OneirosError
from memory_server.escaping import escape_line, plural
from memory_server.layers.index_page import escape_target, own_lines, pointer
from memory_server.layers.lessons import LESSONS_PAGE, read_lessons
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import TopicHead, is_topic, read_text, select_approved, topic_heads
from memory_server.lifecycle.findable import read_losses
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot, choose_root
from oneiros.claude.files import ClaudeFiles
from oneiros.hooks.call import HookAnswer, HookCall, count_bytes, fitting, measure_room, safe, tag_lines
from oneiros.hooks.whereabouts import Whereabouts, whereabouts

HEALTH_SECONDS = 2.0  # a model that is still being loaded is not waited for
READING = (
    "oneiros is this person's approved memory (rank 1 decides over what sessions said once). recall answers questions "
    'about it and about earlier work, search_exact finds names and numbers, read_memory("handoff") tells where the '
    "last sessions stopped."
)
NOTE_WAITS = 'A note of another session waits: read_memory("handoff") shows it.'
LESSONS = "Lessons, to be checked before a task:"
TOPICS = "Topics:"
SUMMARY_CHARS = 90
COUNT_BYTES = 4  # of the digits of a count, beyond the two of its place
MORE_TOPICS = "- %d more topics stand behind recall."
MORE_LINES = '(%d more lines: read_memory("MEMORY"))'
UNTRUSTED = "%s is not trusted and stays out of every answer; look at it, then `oneiros trust %s`."
INDEX_PAGE = SourcePath("MEMORY.md")
TO_REVIEW = "oneiros review"
TO_DREAM = "sessions wait to be read: /oneiros:dream"


@dataclass(frozen=True, slots=True)
class ReviewLines:
    """What is to be said of proposals and approvals."""

    waiting: Sequence[str] = ()  # for the person what waits, a clause each
    doubts: Sequence[str] = ()  # for the person what nobody answers for, a line each, until they were told
    for_model: Sequence[str] = ()  # that something is left out; the same while the memory is the same


def answer_session_start(
    memory: Memory, call: HookCall, home: Path, max_bytes: int, review: ReviewLines, client: Path | None = None
) -> HookAnswer:
    """Both answers. `client`: the folder of Claude Code, where that is not `~/.claude`."""
    files = ClaudeFiles(home, Path(call.folder or home), client)
    where = whereabouts(call.folder, memory.root, memory.person)
    lines, waiting = [READING, *review.for_model], list(review.waiting)
    if not where.is_quiet(memory.person):
        if note := memory.find_waiting_note(call.session_id, where.project):
            lines.append(NOTE_WAITS)
            waiting.append(f"a {note.kind} of session {escape_line(cut_id8(note.session_id))} waits, of {note.age}")
        lines += context_lines(memory, files, where, measure_room(max_bytes) - count_bytes(map(safe, lines)))
    context = tag_lines(lines, max_bytes)
    messages = [person_line(memory, where, waiting), *review.doubts, *warn_untrusted(memory, call, home)]
    return HookAnswer(
        context=context,
        to_person="\n".join(messages),
        keys=(f"start:{hashlib.sha256(context.encode()).hexdigest()[:16]}",),
    )


def context_lines(memory: Memory, files: ClaudeFiles, where: Whereabouts, room: int) -> list[str]:
    """The person's own lines of MEMORY.md, the lessons, and the topics that hold here, in `room` bytes.

    Where the client loads MEMORY.md by an import, what stands on it is not repeated.
    """
    left_out = {*memory.unapproved([INDEX_PAGE, LESSONS_PAGE]), *where.list_muted(memory.person)}
    page = "" if INDEX_PAGE in left_out else page_text(memory.root)
    is_loaded = bool(files.list_importers(memory.root.index_page))
    uses = memory.settled_uses()
    topics = [
        pointer(head, SUMMARY_CHARS)
        for head in sorted(heads_here(memory, where), key=lambda head: order(head, uses))
        if head.path not in left_out and not (is_loaded and f"({escape_target(head.path)})" in page)
    ]
    lines = [] if is_loaded else fit_lines([], parse_own_lines(page), room // 2, MORE_LINES)
    lessons = [f"- {lesson.text}" for lesson in read_lessons(memory.root) if where.holds(lesson.project)]
    if LESSONS_PAGE not in left_out and lessons:
        lines += fitting(
            [LESSONS, *map(safe, lessons)], room - count_bytes([*lines, MORE_TOPICS, TOPICS]) - COUNT_BYTES
        )
    return [*lines, *fit_lines([TOPICS], topics, room - count_bytes(lines), MORE_TOPICS)]


def heads_here(memory: Memory, where: Whereabouts) -> list[TopicHead]:
    """The approved topics of this project and the person's own that hold today."""
    heads = [head for head in topic_heads(memory.root) if is_topic(head.path) and where.holds(head.project)]
    return [head for head in select_approved(heads, memory.unapproved) if not head.interval.outside(memory.today)]


def fit_lines(head: Sequence[str], lines: Sequence[str], room: int, more: str) -> list[str]:
    """As many of the lines as fit below their head, the last one telling how many do not."""
    lines, room = [safe(line) for line in lines], room - count_bytes(head)
    shown = fitting(lines, room)
    if len(shown) < len(lines):
        shown = fitting(lines, room - count_bytes([more]) - COUNT_BYTES)
        shown.append(more % (len(lines) - len(shown)))
    return [*head, *shown] if shown else []


def order(head: TopicHead, uses: Mapping[SourcePath, int]) -> tuple[bool, bool, int, str]:
    """What a topic is sorted by: marked to be kept, of the project rather than the person's own, used most."""
    return not head.keep, not head.project, -uses.get(head.path, 0), head.name


def page_text(root: MemoryRoot) -> str:
    try:
        return read_text(root.index_page)
    except OneirosError:
        return ""


def parse_own_lines(page: str) -> list[str]:
    try:
        return own_lines(page)
    except OneirosError:
        return []  # its markers are broken; `validate` says so


def warn_untrusted(memory: Memory, call: HookCall, home: Path) -> list[str]:
    """Once a session: that a memory which came with the folder stays out of every answer."""
    if not call.folder or call.source not in ("", "startup"):
        return []
    trusted = [Path(root) for root in memory.person.trusted_roots]
    ignored = choose_root({}, Path(call.folder), home, trusted).ignored
    is_out = ignored is not None and ignored.resolve() != memory.root.path
    return [UNTRUSTED % ((escape_line(str(ignored)),) * 2)] if is_out else []


def person_line(memory: Memory, where: Whereabouts, waiting: Sequence[str]) -> str:
    """How the memory stands, in one line: the topics that hold here, what waits, and what is wrong, if anything."""
    skipped = select_skipped(
        memory.upkeep.changes().skipped
    )  # of the memory alone: there may be thousands of transcripts
    wrong = [
        *(["earlier memories are found no more: oneiros report"] if read_losses(memory.root) else []),
        *([lacks.replace("`", "").rstrip(".")] if (lacks := tell_skipped(skipped)) else []),
        *([f"{problem.rstrip('.')}: oneiros doctor"] if (problem := search_problem(memory)) else []),
    ]
    held = ", ".join([plural(len(heads_here(memory, where)), "topic"), *waiting])
    return "; ".join([f"oneiros: {held}", *wrong])


def search_problem(memory: Memory) -> str:
    """Why a search for something that the memory holds does not find it; empty where it does, or has no time."""
    pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="health")
    try:
        return pool.submit(memory.inspect().search_itself).result(HEALTH_SECONDS)
    except TimeoutError:
        return ""
    except OneirosError as error:
        return str(error)
    finally:
        pool.shutdown(wait=False)


def read_review(decisions: Decisions) -> ReviewLines:
    """What is to be said of a memory's proposals and approvals; doubts count as told from now on."""
    proposed, now = sum(hunk.state is State.PENDING for hunk in decisions.store.hunks()), decisions.now()
    found: Sequence[Unexplained] = ()
    try:
        found, unsigned = decisions.doubts()
        doubts = [*doubts_for_person(unsigned.new_changes(now)), *map(str, unsigned.since_session(now))]
        unsigned.note_announced(now)
    except OneirosError as error:
        doubts = [str(error)]
    waits = say_what_waits(proposed, found) or (TO_DREAM if DreamProgress(decisions.root).glance(now) else "")
    return ReviewLines([waits] if waits else [], doubts, doubts_for_model(found))


def say_what_waits(proposed: int, unexplained: Sequence[Unexplained]) -> str:
    """How many proposals and files wait for the person, in a clause; empty where none does."""
    doubted = len(suspicious(unexplained))
    retitled = len(unexplained) - doubted
    counts = [plural(proposed, "proposal")] if proposed else []
    counts += [plural(retitled, "new title")] if retitled else []
    counts += [plural(doubted, "file") + " that nobody approved"] if doubted else []
    verb = "waits" if proposed + len(unexplained) == 1 else "wait"
    return f"{' and '.join(counts)} {verb}: {TO_REVIEW}" if counts else ""
