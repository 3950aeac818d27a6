"""PreToolUse: what topics and lessons say about the files that a tool is about to touch.

Whether the tool may is not decided here: `protected.py` does that without a daemon.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from memory_server.memory import Memory
from oneiros.hooks.call import HookCall
from oneiros.hooks.injection import NOTHING, HookAnswer, tagged
from oneiros.hooks.pointers import Pointer, holding
from oneiros.hooks.whereabouts import whereabouts

MAX_PATHS = 4  # of one call
MAX_POINTERS = 2
COMMON = 3  # a name that stands in more sources than that says little about this file
LEAST_NAME_CHARS = 4
HEAD = "Approved topics that name this file (rank 1):"
PATH = re.compile(r"[\w./~+-]*(?:/[\w.+-]+|\.[A-Za-z]\w{0,7})")


def answer_before_tool(memory: Memory, call: HookCall, shown_before: set[str], max_bytes: int) -> HookAnswer:
    """Pointers to what names a file of the call, once a session."""
    found: list[Pointer] = []
    project = whereabouts(call.folder, memory.person).project
    for path in list(paths_of(call))[:MAX_PATHS]:
        for name in names_of(path):
            hints = holding(memory, name, COMMON + 1, project)
            if 0 < len(hints) <= COMMON:
                seen = shown_before | {pointer.key for pointer in found}
                found += [hint for hint in hints if hint.key not in seen]
                break
    found = found[:MAX_POINTERS]
    if not found:
        return NOTHING
    context = tagged([HEAD, *(pointer.line for pointer in found)], max_bytes)
    return HookAnswer(context, keys=tuple(pointer.key for pointer in found if pointer.line in context))


def paths_of(call: HookCall) -> Iterator[str]:
    """The files that a tool call names, in order, each once."""
    seen = set()
    for path in _named(call):
        if path and path not in seen:
            seen.add(path)
            yield path


def _named(call: HookCall) -> Iterator[str]:
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


def names_of(path: str) -> Iterator[str]:
    """How a topic may name a file, the surest first: with its folder, then alone where the name says enough."""
    parts = PurePosixPath(path).parts
    if len(parts) > 1 and parts[-2] not in ("/", "~", ".", ".."):
        yield "/".join(parts[-2:])
    if parts and len(parts[-1]) >= LEAST_NAME_CHARS and "." in parts[-1]:
        yield parts[-1]
