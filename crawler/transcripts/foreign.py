"""Tells Claude Code's transcripts from the JSONL of other tools, and names the tool where it can.

The client's format has no signature, and its neighbours resemble it (one of them down to `uuid` and `parentUuid`). What
only Claude Code writes is a `user` or `assistant` record whose `message` is an object with `content`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from crawler.transcripts.classify import Record, decode_json
from memory_server.machine.files import UNREADABLE_JSON

RECORDS_JUDGED = 200  # a transcript shows itself within its first few records

# How other tools' records give themselves away: a fragment of the first lines, then the name to show.
SIGNATURES = (
    (b'"originator":"codex', "Codex"),
    (b'"type":"session_meta"', "Codex"),
    (b'"type":"event_msg"', "Codex"),
    (b'"producer":"copilot-agent"', "Copilot"),
    (b'"systemPayload"', "Qwen Code"),
    (b'"projectHash"', "Gemini CLI"),
    (b'"source":"USER_EXPLICIT"', "Antigravity"),
    (b'"type":"CONVERSATION_HISTORY"', "Antigravity"),
    (b"You are Grok", "Grok"),
    (b'"synthetic_reason"', "Grok"),
    (b'"prompt_index"', "Grok"),
    (b'"protocol_version"', "Kimi"),
    (b'"sessionTitle"', "Droid"),
    (b'"model":"droid', "Droid"),
    (b'"type":"session","version":3,"id"', "Pi"),
    (b'"type":"session","id"', "OpenClaw"),
    (b'"mapping"', "an OpenAI chat export"),
    (b'"messages"', "an OpenAI training file"),
    (b'"edit_format"', "Aider"),
    (b'"event":', "Aider"),
    (b'{"role":"user","message"', "Cursor"),
    (b'{"role":"assistant","message"', "Cursor"),
)
BOOKKEEPING = frozenset(
    {"summary", "file-history-snapshot", "progress", "queue-operation", "attachment", "custom-title", "ai-title"}
    | {"last-prompt", "permission-mode", "mode", "agent-name", "api-request-shape", "system"}
)


class Origin(Enum):
    """Whose file it is; OPEN while too little of it has been written."""

    CLAUDE_CODE = "claude-code"
    FOREIGN = "foreign"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whose file it is and, for a refusal, the sentence that says why."""

    origin: Origin
    reason: str = ""


def judge(records: Iterable[Record], head: bytes) -> Judgement:
    """Whose transcript this is, from its first records; `head` is the raw start of the file."""
    seen = bookkeeping = misshapen = 0
    for record in records:
        seen += 1
        if is_conversation(record):
            return Judgement(Origin.CLAUDE_CODE)
        misshapen += record.type in ("user", "assistant")
        bookkeeping += is_bookkeeping(record)
        if seen >= RECORDS_JUDGED:
            break
    if bookkeeping and not misshapen and not find_tool(head):
        return Judgement(Origin.CLAUDE_CODE)
    if not seen and not head.strip(b"\x00 \t\r\n").count(b"\n"):
        return Judgement(Origin.OPEN)
    tool = find_tool(head)
    return Judgement(Origin.FOREIGN, f"written by {tool}" if tool else "no record in the shape that Claude Code writes")


def is_conversation(record: Record) -> bool:
    """Whether a record has the one shape that only Claude Code writes."""
    if record.type not in ("user", "assistant") or not (record.uuid or record.session_id):
        return False
    raw = bytes(record.message)
    if not raw.startswith(b"{") or b'"content"' not in raw:
        return False
    try:
        message = decode_json(record.message)
    except UNREADABLE_JSON:
        return False
    return isinstance(message, dict) and isinstance(message.get("content"), str | list)


def is_bookkeeping(record: Record) -> bool:
    """Whether a record is one of the kinds that stand beside the conversation."""
    return record.type in BOOKKEEPING and bool(record.session_id or record.uuid or bytes(record.leaf))


def find_tool(head: bytes) -> str:
    """The tool whose signature stands in the first bytes of a file, or an empty string."""
    compact = head.replace(b'": ', b'":').replace(b', "', b',"')
    return next((tool for signature, tool in SIGNATURES if signature in compact), "")
