"""Recognises what this memory itself put into a conversation, so that it never comes back as something said.

Hooks inject inside the tag below; the tools and the command line answer with recalled text; model calls of the
compressor and of dream are sessions of their own. Each is found by a fixed mark, also when a client cut the text off
in the middle or nested one injection in another.
"""

import re

TAG = "oneiros-memory"  # what hooks inject stands between <oneiros-memory ...> and </oneiros-memory>
OWN_SESSION_MARK = "<oneiros-task"  # how the prompt of every model call of ours begins
CHAT_MARK = "oneiros-chat"  # at the beginning of every chat with a memory, and of what is exported of it or a session
EXPORT_MARK = f"<!-- {CHAT_MARK}: made from a memory, no source of one -->"
CHAT_MARK_CHARS = 60  # within which it stands
OWN_TOOL = re.compile(r"mcp__(plugin_)?oneiros(_|\b)")
OWN_COMMAND = re.compile(r"(?:^|[;&|(]\s*|\$\(\s*)(?:\S*/)?oneiros\s+[a-z]", re.MULTILINE)

_TAG_EDGE = re.compile(rf"<(/?){TAG}\b[^>]*(?:>|\Z)")
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
# to its last end: what a reminder repeats of a file is in it as it stands, and may hold such an end
_REMINDERS = re.compile(r"<system-reminder>(?:.*</system-reminder>|.*\Z)", re.DOTALL)


def cut_injected(text: str) -> str:
    """The text without our injected memory; an injection that is never closed reaches to the end."""
    if TAG not in text:
        return text
    parts = []
    depth = position = 0
    for edge in _TAG_EDGE.finditer(text):
        if depth == 0:
            parts.append(text[position : edge.start()])
        depth = max(0, depth - 1) if edge[1] else depth + 1
        position = edge.end()
    if depth == 0:
        parts.append(text[position:])
    return "".join(parts)


def cut_reminders(text: str) -> str:
    """The text without the client's `<system-reminder>` blocks."""
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def cut_reminder_span(text: str) -> str:
    """What was said in a text with the client's reminders: nothing from the first to the last of them.

    A reminder may quote a file, in which an end of the block may stand for what follows to pass as said.
    """
    return _REMINDERS.sub("", text) if "<system-reminder>" in text else text


def is_own_call(tool: str, arguments: str) -> bool:
    """Whether a tool call asks this memory something, so that its result is recalled text."""
    if OWN_TOOL.match(tool):
        return True
    return tool == "Bash" and "oneiros" in arguments and bool(OWN_COMMAND.search(find_command(arguments)))


def find_command(arguments: str) -> str:
    """The command line in a Bash call's arguments, with JSON's escaped line ends undone."""
    return arguments.partition('"command":"')[2].replace("\\n", "\n")


def is_own_chat(beginning: str) -> bool:
    """Whether a file holds a chat with a memory: made from it, and so neither evidence nor a reference of it."""
    return CHAT_MARK in beginning[:CHAT_MARK_CHARS]


def is_own_session(first_prompt: str) -> bool:
    """Whether a session was started by the compressor or by dream rather than by a person."""
    return first_prompt.lstrip().startswith(OWN_SESSION_MARK)
