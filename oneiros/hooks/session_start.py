"""SessionStart: how the memory stands, for the person; what it says at rank 1, for the model.

What the model is given depends on the memory and on the pages that the client loads, on nothing else, so that a resumed
session is given the same bytes. What the person sees is of the moment.
"""

import concurrent.futures
import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from memory_server.errors import OneirosError
from memory_server.layers.index_page import pointer
from memory_server.layers.topics import read_text, topic_heads
from memory_server.memory import Memory
from oneiros.claude.files import ClaudeFiles
from oneiros.hooks.call import HookCall
from oneiros.hooks.injection import HookAnswer, tagged

HEALTH_SECONDS = 2.0  # a model that is still being loaded is not waited for
MAX_LINES = 10
READING = (
    "oneiros is this person's approved memory (rank 1 decides over what sessions said once). recall answers questions "
    'about it and about earlier work, search_exact finds names and numbers, read_memory("handoff") tells where the '
    "last sessions stopped."
)
LESSONS = "Lessons, to be checked before a task:"
TOPICS = "Topics:"
FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


class ReviewLines(Protocol):
    """What is to be said of proposals and approvals; a line each."""

    def for_person(self) -> Sequence[str]: ...

    def for_model(self) -> Sequence[str]:
        """The same while the memory is the same."""


def answer_session_start(memory: Memory, call: HookCall, home: Path, max_bytes: int, review: ReviewLines) -> HookAnswer:
    """Both answers."""
    files = ClaudeFiles(home, Path(call.folder or home))
    context = tagged([READING, *review.for_model(), *context_lines(memory, files)], max_bytes)
    return HookAnswer(
        context=context,
        to_person="\n".join(person_lines(memory, review.for_person)[:MAX_LINES]),
        keys=(f"start:{hashlib.sha256(context.encode()).hexdigest()[:16]}",),
    )


def context_lines(memory: Memory, files: ClaudeFiles) -> list[str]:
    """The lessons, and the topics where the client does not load MEMORY.md by an import anyway."""
    lines: list[str] = []
    lessons = lesson_lines(memory)
    if lessons:
        lines += [LESSONS, *lessons]
    if not files.imports_of(memory.root.index_page):
        heads = [head for head in topic_heads(memory.root) if head.path.startswith("topics/")]
        if heads:
            lines += [TOPICS, *(pointer(head, 90) for head in heads)]
    return lines


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


def person_lines(memory: Memory, review: Callable[[], Sequence[str]]) -> list[str]:
    """How the memory stands, in a few lines, the most important first."""
    status = memory.status()
    counts = {layer.value: number for layer, number in status.sources.items()}
    topics, sessions = status.topics, counts["session"]
    held = f"{topics} topic{'s' * (topics != 1)}, {sessions} session{'s' * (sessions != 1)}, {counts['raw']} archived"
    lines = [f"oneiros: {held}, in {status.root}", f"Search: {health(memory)}"]
    if status.changed or status.removed or status.unfinished:
        lines.append(f"Indices: {status.level}.")
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
