"""SessionStart: how the memory stands, for the person; what it says at rank 1, for the model.

What the model is given depends on the memory, on the project, folder and branch, and on the pages that the client
loads, so that a resumed session is given the same bytes; of time it depends only where a topic begins or ends to hold
on a day. What the person sees is of the moment.
"""

import concurrent.futures
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from memory_server.errors import OneirosError
from memory_server.escaping import shown_line
from memory_server.language.words import content_words
from memory_server.layers.index_page import own_lines, pointer, target_of
from memory_server.layers.topics import TopicHead, read_text, topic_heads
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot, choose_root
from oneiros.claude.files import ClaudeFiles
from oneiros.hooks.call import HookCall
from oneiros.hooks.injection import HookAnswer, fitting, room_of, safe, size_of, tagged
from oneiros.hooks.whereabouts import Whereabouts, whereabouts

HEALTH_SECONDS = 2.0  # a model that is still being loaded is not waited for
MAX_LINES = 10
READING = (
    "oneiros is this person's approved memory (rank 1 decides over what sessions said once). recall answers questions "
    'about it and about earlier work, search_exact finds names and numbers, read_memory("handoff") tells where the '
    "last sessions stopped."
)
LESSONS = "Lessons, to be checked before a task:"
TOPICS = "Topics:"
SUMMARY_CHARS = 90
COUNT_BYTES = 4  # of the digits of a count, beyond the two of its place
MORE_TOPICS = "- %d more topics stand behind recall."
MORE_LINES = '(%d more lines: read_memory("MEMORY"))'
UNTRUSTED = "%s is not trusted and stays out of every answer; look at it, then `oneiros trust %s`."
FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


class ReviewLines(Protocol):
    """What is to be said of proposals and approvals; a line each."""

    def for_person(self) -> Sequence[str]: ...

    def for_model(self) -> Sequence[str]:
        """The same while the memory is the same."""


def answer_session_start(memory: Memory, call: HookCall, home: Path, max_bytes: int, review: ReviewLines) -> HookAnswer:
    """Both answers."""
    files = ClaudeFiles(home, Path(call.folder or home))
    lines = [READING, *review.for_model()]
    where = whereabouts(call.folder, memory.person)
    if not where.is_quiet(memory.person):
        lines += context_lines(memory, files, where, room_of(max_bytes) - size_of(map(safe, lines)))
    context = tagged(lines, max_bytes)
    told = [*untrusted_lines(memory, call, home), *person_lines(memory, review.for_person)]
    return HookAnswer(
        context=context,
        to_person="\n".join(told[:MAX_LINES]),
        keys=(f"start:{hashlib.sha256(context.encode()).hexdigest()[:16]}",),
    )


def context_lines(memory: Memory, files: ClaudeFiles, where: Whereabouts, room: int) -> list[str]:
    """The person's own lines of MEMORY.md, the lessons, and the topics that matter here first, in `room` bytes.

    Where the client loads MEMORY.md by an import, what stands on it is not repeated.
    """
    page = page_text(memory.root)
    is_loaded = bool(files.imports_of(memory.root.index_page))
    muted = where.muted(memory.person)
    told = [
        pointer(head, SUMMARY_CHARS)
        for head in sorted(topic_heads(memory.root), key=lambda head: order_here(head, where))
        if head.path.startswith("topics/") and head.path not in muted and not head.interval.outside(memory.today)
        if not (is_loaded and f"({target_of(head.path)})" in page)
    ]
    lines = [] if is_loaded else within([], own_lines_of(page), room // 2, MORE_LINES)
    if lessons := lesson_lines(memory):
        lines += fitting([LESSONS, *map(safe, lessons)], room - size_of([*lines, MORE_TOPICS, TOPICS]) - COUNT_BYTES)
    return [*lines, *within([TOPICS], told, room - size_of(lines), MORE_TOPICS)]


def within(head: Sequence[str], lines: Sequence[str], room: int, more: str) -> list[str]:
    """As many of the lines as fit below their head, the last one telling how many do not."""
    lines, room = [safe(line) for line in lines], room - size_of(head)
    kept = fitting(lines, room)
    if len(kept) < len(lines):
        kept = fitting(lines, room - size_of([more]) - COUNT_BYTES)
        kept.append(more % (len(lines) - len(kept)))
    return [*head, *kept] if kept else []


def order_here(head: TopicHead, where: Whereabouts) -> tuple[bool, bool, bool, bool, str]:
    """What a topic is sorted by: marked to be kept, of this project, about this folder or branch, of none."""
    said = frozenset(content_words(f"{head.name} {head.title}".replace("/", " ").replace("-", " ")))
    is_ours = bool(where.project) and head.project.casefold() == where.project.casefold()
    return not head.keep, not is_ours, not (said & where.words), bool(head.project), head.name


def page_text(root: MemoryRoot) -> str:
    try:
        return read_text(root.index_page)
    except OneirosError:
        return ""


def own_lines_of(page: str) -> list[str]:
    try:
        return own_lines(page)
    except OneirosError:
        return []  # its markers are broken; `validate` says so


def lesson_lines(memory: Memory) -> list[str]:
    """The list items of lessons.md as one line each."""
    if not memory.root.lessons.is_file():
        return []
    try:
        body = FRONTMATTER.sub("", read_text(memory.root.lessons).replace("\r\n", "\n"))
    except OneirosError:
        return []
    lines: list[str] = []
    for line in body.splitlines():
        if re.match(r"[-*+]\s", line):
            lines.append("- " + line[2:].strip())
        elif lines and line.startswith("  ") and line.strip():
            lines[-1] += " " + line.strip()
        elif line.startswith("##"):
            lines.append(line.lstrip("#").strip() + ":")
    lessons = [re.sub(r"\[\^[^\]]+\]", "", line) for line in lines]
    return lessons if any(line.startswith("- ") for line in lessons) else []


def untrusted_lines(memory: Memory, call: HookCall, home: Path) -> list[str]:
    """Once a session: that a memory which came with the folder stays out of every answer."""
    if not call.folder or call.source not in ("", "startup"):
        return []
    trusted = [Path(root) for root in memory.person.trusted_roots]
    ignored = choose_root({}, Path(call.folder), home, trusted).ignored
    is_out = ignored is not None and ignored.resolve() != memory.root.path
    return [UNTRUSTED % ((shown_line(str(ignored)),) * 2)] if is_out else []


def person_lines(memory: Memory, review: Callable[[], Sequence[str]]) -> list[str]:
    """How the memory stands, in a few lines, the most important first."""
    status = memory.status()
    counts = {layer.value: number for layer, number in status.sources.items()}
    topics, sessions = status.topics, counts["session"]
    held = f"{topics} topic{'s' * (topics != 1)}, {sessions} session{'s' * (sessions != 1)}, {counts['raw']} archived"
    lines = [f"oneiros: {held}, in {status.root}", f"Search: {health(memory)}"]
    if status.changed or status.removed or status.unfinished:
        lines.append(f"Indices: {status.level}.")
    lines += [f"Lost: {loss}; `oneiros report` says what to do." for loss in status.losses]
    lines += review()
    if status.problems:
        lines.append(f"Files: {len(status.problems)} cannot be read; `oneiros validate` names them.")
    return lines


def health(memory: Memory) -> str:
    """Whether a search for something that the memory holds finds it."""
    pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="health")
    try:
        problem = pool.submit(memory.inspect().search_itself).result(HEALTH_SECONDS)
    except TimeoutError:
        return "the model is still being loaded."
    except OneirosError as error:
        return str(error)
    finally:
        pool.shutdown(wait=False)
    return problem or "works."
