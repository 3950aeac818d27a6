"""PostToolUse and its failure: an error that a lesson already knows brings that line with it.

Statements of topics are left out: at errors they were as often pushed out of a foreign memory as out of the own one.
"""

import re

from memory_server.layers.lessons import LESSONS_PAGE
from memory_server.memory import Memory
from oneiros.hooks.call import NOTHING, HookAnswer, HookCall, tag_lines
from oneiros.hooks.pointers import find_pointers
from oneiros.hooks.whereabouts import whereabouts

MAX_POINTERS = 2
MAX_ERROR_CHARS = 300
HEAD = "Lessons on an error like this (rank 1):"
ERROR_LINE = re.compile(
    r"(?:error|exception|fail(?:ed|ure)|cannot|could not|no such|not found|denied|refused|undefined|panic|fatal)",
    re.IGNORECASE,
)
VARIABLE = (  # what differs from one occurrence of an error to the next
    (re.compile(r"\b[0-9a-f]{7,}\b|0x[0-9a-f]+", re.IGNORECASE), " "),
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"(?:[A-Za-z]:)?(?:/[\w.@+-]+){2,}/"), " "),  # folders; the file's name stays
    (re.compile(r"(?<![\w.])\d+(?:[.:]\d+)*(?![\w.])"), " "),
)


def answer_after_tool(memory: Memory, call: HookCall, shown_before: set[str], max_bytes: int) -> HookAnswer:
    """Pointers to what the lessons know of the error in a tool's output."""
    template = error_template(call.tool_output)
    if not template:
        return NOTHING
    project = whereabouts(call.folder, memory.person).project
    keyed = {f"error:{pointer.key}": pointer for pointer in find_pointers(memory, template, project, (LESSONS_PAGE,))}
    fresh = {key: pointer for key, pointer in keyed.items() if key not in shown_before}
    chosen = dict(list(fresh.items())[:MAX_POINTERS])
    context = tag_lines([HEAD, *(pointer.line for pointer in chosen.values())], max_bytes) if chosen else ""
    return HookAnswer(context, keys=tuple(chosen)) if context else NOTHING


def error_template(output: str) -> str:
    """The last line of an output that tells of an error, without what changes from time to time; else empty."""
    lines = [line.strip() for line in output.splitlines() if ERROR_LINE.search(line)]
    if not lines:
        return ""
    text = lines[-1][:MAX_ERROR_CHARS]
    for pattern, instead in VARIABLE:
        text = pattern.sub(instead, text)
    return " ".join(text.split())
