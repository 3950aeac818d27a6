"""Before a tool: what topics and lessons say of the files that it may touch; after it: what lessons know of an error.

Whether the tool may is not decided here: a part does that without a daemon. At errors statements of topics are left
out: they were as often pushed out of a foreign memory as out of the own one.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from memory_server.escaping import escape_line
from memory_server.layers.index_page import pointer
from memory_server.layers.lessons import LESSONS_PAGE
from memory_server.layers.ontology import find_areas
from memory_server.layers.topics import is_topic, select_approved, topic_heads
from memory_server.memory import Memory
from oneiros.environment import find_top
from oneiros.hooks.call import NOTHING, HookAnswer, HookCall, safe, tag_lines
from oneiros.hooks.pointers import Pointer, find_pointers, holding
from oneiros.hooks.whereabouts import whereabouts

MAX_PATHS = 4  # of one call
MAX_POINTERS = 2
COMMON = 3  # a name that stands in more sources than that says little about this file
LEAST_NAME_CHARS = 4
SUMMARY_CHARS = 120
AREA_HEAD = "Approved topics about %s, which this file belongs to (rank 1):"
HEAD = "Approved topics that name this file (rank 1):"
PATH = re.compile(r"[\w./~+-]*(?:/[\w.+-]+|\.[A-Za-z]\w{0,7})")
MAX_ERROR_CHARS = 300
ERROR_HEAD = "Lessons on an error like this (rank 1):"
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


def answer_before_tool(memory: Memory, call: HookCall, shown_before: set[str], max_bytes: int) -> HookAnswer:
    """Pointers to what names a file of the call or bears on its area, once a session."""
    found: list[Pointer] = []
    project = whereabouts(call.folder, memory.root, memory.person).project
    for path in list(list_paths(call))[:MAX_PATHS]:
        for name in list_names(path):
            hints = holding(memory, name, COMMON + 1, project)
            if 0 < len(hints) <= COMMON:
                seen = shown_before | {pointer.key for pointer in found}
                found += [hint for hint in hints if hint.key not in seen]
                break
    found = found[:MAX_POINTERS]
    seen = shown_before | {pointer.key for pointer in found}
    named = area_pointers(memory, call, seen, project, MAX_POINTERS - len(found))
    lines = [*([HEAD] if found else []), *(pointer.line for pointer in found)]
    for area, pointers in named.items():
        lines += [AREA_HEAD % escape_line(area), *(pointer.line for pointer in pointers)]
        found += pointers
    if not found:
        return NOTHING
    context = tag_lines(lines, max_bytes)
    return HookAnswer(context, keys=tuple(pointer.key for pointer in found if pointer.line in context))


def area_pointers(
    memory: Memory, call: HookCall, seen: set[str], project: str, most: int
) -> Mapping[str, Sequence[Pointer]]:
    """Approved topics that bear on the areas of the call's files, by the area; none of `seen`."""
    if not most:
        return {}
    ontology = memory.ontology()
    paths = [_below_top(call.folder, path) for path in list(list_paths(call))[:MAX_PATHS]]
    areas = dict.fromkeys(area for path in paths if path for area in find_areas(path, ontology))
    found: dict[str, list[Pointer]] = {}
    for head in topic_heads(memory.root) if areas else ():
        area = next((area for area in areas if area.includes(head)), None)
        is_ours = is_topic(head.path) and head.project.casefold() in ("", project.casefold())
        if area is None or not is_ours or head.path in seen or head.interval.outside(memory.today):
            continue
        if approved := select_approved([head], memory.unapproved):
            found.setdefault(area.name, []).append(Pointer(head.path, safe(pointer(approved[0], SUMMARY_CHARS))))
            if sum(map(len, found.values())) == most:
                break
    return found


def _below_top(folder: str, path: str) -> str:
    """A path from the top of the work tree that a folder lies in; empty where it lies elsewhere."""
    if not Path(folder).is_absolute():
        return ""
    top = find_top(Path(folder)) or Path(folder)
    whole = Path(os.path.normpath(Path(folder, path)))
    return whole.relative_to(top).as_posix() if whole.is_relative_to(top) else ""


def list_paths(call: HookCall) -> Iterator[str]:
    """The files that a tool call names, in order, each once."""
    seen = set()
    for path in _find_paths(call):
        if path and path not in seen:
            seen.add(path)
            yield path


def _find_paths(call: HookCall) -> Iterator[str]:
    for key in ("file_path", "notebook_path"):
        if isinstance(path := call.tool_input.get(key), str):
            yield path
    command = call.tool_input.get("command")
    if call.tool == "Bash" and isinstance(command, str):
        try:
            words = shlex.split(command[:4_000], posix=True)
        except ValueError:
            words = command[:4_000].split()
        yield from (word for word in words if PATH.fullmatch(word))


def list_names(path: str) -> Iterator[str]:
    """How a topic may name a file, the surest first: with its folder, then alone where the name says enough."""
    parts = PurePosixPath(path).parts
    if len(parts) > 1 and parts[-2] not in ("/", "~", ".", ".."):
        yield "/".join(parts[-2:])
    if parts and len(parts[-1]) >= LEAST_NAME_CHARS and "." in parts[-1]:
        yield parts[-1]


def answer_after_tool(memory: Memory, call: HookCall, shown_before: set[str], max_bytes: int) -> HookAnswer:
    """Pointers to what the lessons know of the error in a tool's output."""
    template = error_template(call.tool_output)
    if not template:
        return NOTHING
    project = whereabouts(call.folder, memory.root, memory.person).project
    keyed = {f"error:{pointer.key}": pointer for pointer in find_pointers(memory, template, project, (LESSONS_PAGE,))}
    fresh = {key: pointer for key, pointer in keyed.items() if key not in shown_before}
    chosen = dict(list(fresh.items())[:MAX_POINTERS])
    context = tag_lines([ERROR_HEAD, *(pointer.line for pointer in chosen.values())], max_bytes) if chosen else ""
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
