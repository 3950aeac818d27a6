"""Cursor: the transcripts of its CLI below `~/.cursor/projects`, and the chats of the editor in `state.vscdb`.

The editor's file is a table of keys and values beside one (`ItemTable`) that holds the tokens of logins: of the former
the keys of chats are asked for by name, of the latter nothing ever. What the person typed stands inside `<user_query>`,
among blocks about files and the folder that nobody typed.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from crawler.sources.agent import read_head
from crawler.sources.conversation import AgentFile
from crawler.transcripts.classify import filter_objects, list_blocks, text_or_empty
from memory_server.errors import ContentError
from memory_server.machine.database import open_foreign
from parts.agents.conversation import Conversation, join_texts, json_or_text, mapping
from parts.agents.files import decode_line, is_database, records

NAME = "cursor"
TITLE = "Cursor"
MADE_FROM = "CLI 2026.09, editor 2.0"
STATE = "state.vscdb"
QUERY = re.compile(r"<user_query>\s*(.*?)\s*(?:</user_query>|\Z)", re.DOTALL)
BLOCK = re.compile(r"<([a-z]+(?:[_-][a-z]+)*)(?:\s[^>]*)?>.*?</\1>", re.DOTALL)
BEFORE_QUERY = re.compile(  # to the last end of its name: an attached file may hold an end and a query of its own
    r"\s*<(?!user_query\b)([a-z]+(?:[_-][a-z]+)*)(?:\s[^>]*)?>.*</\1>", re.DOTALL
)
MAX_BLOCKS = 50  # before a query; each costs a look at the whole text
STAMP = re.compile(
    r"<timestamp>\s*\w+, (\w{3} \d+, \d{4}, \d+:\d\d [AP]M) \(UTC([+-]\d+)?(?::(\d\d))?\)\s*</timestamp>"
)
CALLS = frozenset({"tool_use", "tool_call", "tool-call"})
SILENT = frozenset({"thinking", "redacted_thinking", "reasoning", "tool_result", "tool-result", "image", "file"})
CHATS = "select value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;'"
BUBBLE = "select value from cursorDiskKV where key = ?"


def stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where the command line and the editor keep theirs."""
    mac = home / "Library" / "Application Support"
    editor = mac if sys.platform == "darwin" else Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    return Path(variables.get("CURSOR_CONFIG_DIR") or home / ".cursor"), editor / "Cursor" / "User"


def files(store: Path) -> Iterator[Path]:
    """The transcripts of the CLI, sub-agents' too, and the editor's one file."""
    yield from sorted((store / "projects").glob("*/agent-transcripts/**/*.jsonl"))
    yield from (path for path in (store / "globalStorage" / STATE, store / STATE) if path.is_file())


def fits(path: Path, head: bytes) -> bool:
    """Whether a file begins as a transcript does, or is the editor's."""
    if is_database(head):
        return b"cursorDiskKV" in head
    start = head[:200].replace(b" ", b"")
    return path.suffix == ".jsonl" and start.startswith((b'{"role":"user","message"', b'{"role":"assistant","message"'))


def read(found: AgentFile) -> Iterator[Conversation]:
    """The conversations of a file."""
    if is_database(read_head(found.path, 16)):
        yield from _chats(found)
        return
    talk = _Transcript(found).read()
    if len(talk.entries) > 1:
        yield talk


# -- the command line --------------------------------------------------------------------------------------------------


class _Transcript:
    """One transcript while it is read. It holds no times but those put before what the person typed."""

    def __init__(self, found: AgentFile):
        path = found.path
        self._found = found
        self._time: object = path.stat().st_mtime
        is_child = path.parent.name == "subagents"
        session = path.parent.parent.name if is_child else path.stem
        source = path.stem if is_child else "main"
        self.talk = Conversation("cursor", session, source=source, side_chain=path.stem if is_child else "")
        self.talk.is_timed = False
        self.talk.cwd = find_folder(path, session)

    def read(self) -> Conversation:
        for line in records(self._found):
            role = line.get("role")
            for block in list_blocks(mapping(line.get("message")).get("content")):
                self._block(str(role), block)
            if role not in ("user", "assistant") and line.get("type") != "turn_ended":
                self._found.unknown[text_or_empty(line.get("type")) or f"role {role}"] += 1
        return self.talk

    def _block(self, role: str, block: Mapping[str, Any]) -> None:
        kind, words = text_or_empty(block.get("type")), text_or_empty(block.get("text"))
        if kind == "text" and role == "user":
            self._time = parse_time(words) or self._time
            self.talk.prompt(find_typed_text(words), self._time)
        elif kind == "text" and role == "assistant":
            self.talk.reply(words, self._time)
        elif kind in CALLS and role == "assistant":
            self.talk.call(block.get("name"), block.get("input"), block.get("id"), self._time)
        elif kind not in SILENT:
            self._found.unknown[f"block {kind}"] += 1


def find_typed_text(words: str) -> str:
    """What of a message in the person's role they typed."""
    left = words
    for _ in range(MAX_BLOCKS):
        if "<user_query>" not in left or not (block := BEFORE_QUERY.match(left)):
            break
        left = left[block.end() :]
    if first := QUERY.match(left.lstrip()):
        return first[1]
    queries = QUERY.findall(left)
    return "\n".join(queries) if queries else BLOCK.sub("", words).strip() if words.lstrip().startswith("<") else words


def parse_time(words: str) -> str:
    """The time that the client puts before what the person typed; empty where it does not."""
    if not (found := STAMP.search(words)):
        return ""
    zone = f"{int(found[2] or 0):+03d}{found[3] or '00'}"
    try:
        return datetime.strptime(f"{found[1]} {zone}", "%b %d, %Y, %I:%M %p %z").isoformat()
    except ValueError:
        return ""


def find_folder(path: Path, session: str) -> str:
    """The folder in which a conversation ran, as the client notes it beside its own store."""
    home = next((folder.parent for folder in path.parents if folder.name == "projects"), None)
    noted = next((home / "chats").glob(f"*/{session}/meta.json"), None) if home and session.isprintable() else None
    return text_or_empty(mapping(decode_line(read_head(noted))).get("cwd")) if noted else ""


# -- the editor --------------------------------------------------------------------------------------------------------


def _chats(found: AgentFile) -> Iterator[Conversation]:
    try:
        with closing(open_foreign(found.path)) as database:
            for (value,) in database.execute(CHATS):
                chat = mapping(_value(value))
                if talk := _chat(found, database, chat):
                    yield talk
    except sqlite3.Error as error:
        what = f"it cannot be read ({error})"
        raise ContentError(what, where=found.path, remedy="Close Cursor, then try again") from error


def _chat(found: AgentFile, database: sqlite3.Connection, chat: Mapping[str, Any]) -> Conversation | None:
    name, stamp = text_or_empty(chat.get("composerId")), str(chat.get("lastUpdatedAt") or "")
    if not name or found.is_known(name, stamp):
        return None
    talk = Conversation("cursor", name, key=name)
    talk.stamp = stamp
    headers = filter_objects(chat.get("fullConversationHeadersOnly"))
    bubbles = [_bubble(database, name, head) for head in headers] or filter_objects(chat.get("conversation"))
    talk.cwd = next((folder for one in bubbles if (folder := text_or_empty(one.get("workspaceProjectDir")))), "")
    for bubble in bubbles:
        _say(found, talk, bubble, bubble.get("createdAt") or chat.get("createdAt"))
    if len(talk.entries) > 1:
        talk.title(chat.get("name"))
        return talk
    return None


def _bubble(database: sqlite3.Connection, chat: str, head: Mapping[str, Any]) -> Mapping[str, Any]:
    row = database.execute(BUBBLE, (f"bubbleId:{chat}:{head.get('bubbleId')}",)).fetchone()
    return mapping(_value(row[0])) if row else {}


def _say(found: AgentFile, talk: Conversation, bubble: Mapping[str, Any], time: object) -> None:
    kind, name = bubble.get("type"), bubble.get("bubbleId")
    words = text_or_empty(bubble.get("text")) or text_or_empty(bubble.get("rawText"))
    if kind == 1:
        talk.prompt(find_typed_text(words), time, name)
    elif kind == 2:
        talk.reply(words, time, name)
        if work := mapping(bubble.get("toolFormerData")):
            call_id = work.get("toolCallId") or name
            talk.call(work.get("name"), work.get("rawArgs") or work.get("params"), call_id, time)
            if (result := work.get("result")) is not None:
                inner = json_or_text(result) if isinstance(result, str) else result
                output = join_texts(inner) or text_or_empty(mapping(inner).get("output")) or result
                talk.result(output, call_id, time, is_error=work.get("status") == "error")
    elif bubble:
        found.unknown[f"bubble {kind}"] += 1


def _value(value: object) -> object:
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return decode_line(raw) if isinstance(raw, bytes) else None
