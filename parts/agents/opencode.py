"""OpenCode: JSON files below `storage/` up to 1.1, `opencode.db` since 1.2, whose second generation has other tables.

A message is written in place while it grows, so the last one is left until it is complete. Parts that the program put
in are marked `synthetic`. A child session is a sub-agent's. `revert` names the message from which on all is undone.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from crawler.sources.agent import read_head
from crawler.sources.conversation import AgentFile
from crawler.transcripts.classify import filter_objects, text_or_empty
from crawler.transcripts.entry import is_id
from memory_server.errors import ContentError
from memory_server.machine.database import open_foreign
from parts.agents.conversation import Conversation, join_texts, mapping
from parts.agents.files import decode_line, is_database, whole

NAME = "opencode"
TITLE = "OpenCode"
MADE_FROM = "1.1 to 2.0"
SILENT = frozenset(  # parts and messages that say nothing which an entry keeps
    "reasoning file step-start step-finish snapshot patch agent retry compaction subtask synthetic system"
    " agent-switched model-switched agent-selected model-selected location-switched skill".split()
)
RUNNING = frozenset({"pending", "running", "streaming"})
# Of a part nothing is asked but what every version has; its session stands with its message.
IN_PARTS = (
    "(select message_id, part.id, part.data, message.session_id, message.time_created as time_updated"
    " from part join message on message.id = part.message_id)"
)
SECOND = "select type, id, time_created, data from session_message where session_id = ? order by seq"
TABLES = re.compile(rb"(?i)create table\W+(?:session_message|part)\W")
Message = Mapping[str, Any]


def stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Where it keeps its database, or its older files."""
    return (Path(variables.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode",)


def files(store: Path) -> Iterator[Path]:
    """The databases of a store, else its sessions in JSON, which a database has taken over."""
    databases = sorted(store.glob("opencode*.db"))
    yield from databases or sorted(store.glob("storage/session/*/*.json"))


def fits(path: Path, head: bytes) -> bool:
    """Whether a file is a database of OpenCode, or a session of its older store."""
    if is_database(head):
        return bool(TABLES.search(head))
    return path.suffix == ".json" and path.parent.parent.name == "session" and b'"projectID"' in head


def read(found: AgentFile) -> Iterator[Conversation]:
    """The conversations of a file."""
    if is_database(read_head(found.path, 16)):
        yield from _in_database(found)
        return
    session = mapping(whole(found))
    about = {**session, "parent_id": session.get("parentID")}
    if session.get("id"):
        yield _conversation(found, about, list(_read_messages(found, str(session["id"]))), key="")


def _conversation(found: AgentFile, session: Message, messages: list[Message], *, key: str) -> Conversation:
    name, above = str(session["id"]), text_or_empty(session.get("parent_id"))
    talk = Conversation(
        "opencode", above or name, key=key, source=name if above else "main", side_chain=name if above else ""
    )
    talk.cwd, talk.version = text_or_empty(session.get("directory")), found.saw_version(session.get("version"))
    talk.title(session.get("title"))
    back_to, left = mapping(_json(session.get("revert"))).get("messageID"), ""
    for message in messages:
        is_last = message is messages[-1]
        if message["role"] == "assistant" and is_last and not mapping(message["data"].get("time")).get("completed"):
            break
        left = talk.last if message["id"] == back_to else left
        _say(found, talk, message)
    if left:
        talk.rewind(left)
    return talk


def _say(found: AgentFile, talk: Conversation, message: Message) -> None:
    role, data, time = message["role"], message["data"], message["time"]
    if role == "user":
        words = [text_or_empty(data.get("text")), *(part["text"] for part in message["parts"] if is_spoken(part))]
        talk.prompt("\n".join(filter(None, words)), time, message["id"])
    elif role == "assistant" and not data.get("summary"):
        for number, part in enumerate(message["parts"]):
            if is_spoken(part):
                talk.reply(part["text"], time, part.get("id") or f"{message['id']}-{number}")
            elif part.get("type") == "tool":
                _work(talk, part, time)
            elif (kind := text_or_empty(part.get("type"))) not in SILENT | {"text"}:
                found.unknown[f"part {kind}"] += 1
    elif role == "shell":
        talk.call("shell", {"command": data.get("command")}, data.get("callID"), time)
        talk.result(data.get("output"), data.get("callID"), time)
    elif role not in SILENT | {"assistant"}:
        found.unknown[f"message {role}"] += 1


def is_spoken(part: Message) -> bool:
    """Whether a part is text that somebody said, rather than what the program put in or left out."""
    is_put_in = part.get("synthetic") or part.get("ignored")
    return part.get("type") == "text" and not is_put_in and isinstance(part.get("text"), str)


def _work(talk: Conversation, part: Message, time: object) -> None:
    state, call_id = mapping(part.get("state")), part.get("callID") or part.get("id")
    name = part.get("tool") or part.get("name")
    talk.call(name, state.get("input"), call_id, time)
    if text_or_empty(state.get("status")) not in RUNNING:
        error = state.get("error")
        output = text_or_empty(state.get("output")) or join_texts(state.get("content"))
        result = output or text_or_empty(error) or text_or_empty(mapping(error).get("message"))
        is_failed = state.get("status") == "error" or bool(mapping(state.get("metadata")).get("exit"))
        talk.result(result, call_id, time, is_error=is_failed)


# -- files -------------------------------------------------------------------------------------------------------------


def _read_messages(found: AgentFile, session: str) -> Iterator[Message]:
    """The messages of the older store, each in a file, as are their parts."""
    storage = next(folder.parent for folder in found.path.parents if folder.name == "session")
    messages = [_file(found, path) for path in _files(storage / "message", session)]
    for data in sorted(messages, key=lambda one: (_find_creation_time(one), str(one.get("id")))):
        parts = [_file(found, path) for path in _files(storage / "part", str(data.get("id")))]
        yield _message(data.get("role"), data.get("id"), _find_creation_time(data), data, parts)


def _files(folder: Path, name: str) -> list[Path]:
    """What is stored under an id; nothing under a name that is none and might lead elsewhere."""
    return sorted((folder / name).glob("*.json")) if is_id(name) else []


def _file(found: AgentFile, path: Path) -> Message:
    inner = AgentFile(path)
    value = mapping(whole(inner))
    found.bad_lines += inner.bad_lines
    return value


def _find_creation_time(data: Message) -> float:
    created = mapping(data.get("time")).get("created")
    return created if isinstance(created, int | float) else 0


def _message(role: object, name: object, time: object, data: Message, parts: list[Message]) -> Message:
    return {"role": text_or_empty(role), "id": name, "time": time, "data": data, "parts": parts}


# -- databases ---------------------------------------------------------------------------------------------------------


def _in_database(found: AgentFile) -> Iterator[Conversation]:
    try:
        with closing(open_foreign(found.path)) as database:
            database.row_factory = sqlite3.Row
            tables = {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}
            is_second = "session_v2" in tables and bool(database.execute("select 1 from session_message").fetchone())
            for row in database.execute(f"select * from {'session_v2' if is_second else 'session'}"):  # noqa: S608  # ours
                session = dict(row)
                stamp = _stamp(database, str(session["id"]), "session_message" if is_second else IN_PARTS)
                if not found.is_known(str(session["id"]), stamp):
                    messages = (_second if is_second else _first)(database, str(session["id"]))
                    talk = _conversation(found, session, list(messages), key=str(session["id"]))
                    talk.stamp = stamp
                    yield talk
    except (sqlite3.Error, IndexError, KeyError) as error:
        what = f"it cannot be read ({error})"
        raise ContentError(what, where=found.path, remedy="Close OpenCode, then try again") from error


def _stamp(database: sqlite3.Connection, session: str, table: str) -> str:
    """What differs once anything of a session has changed: nearly all writes are in place."""
    sql = f"select count(*), max(time_updated), sum(length(data)) from {table} where session_id = ?"  # noqa: S608  # ours
    return "/".join(map(str, database.execute(sql, (session,)).fetchone()))


def _first(database: sqlite3.Connection, session: str) -> Iterator[Message]:
    parts: dict[str, list[Message]] = {}
    sql = f"select message_id, id, data from {IN_PARTS} where session_id = ? order by message_id, id"  # noqa: S608  # ours
    for name, part, data in database.execute(sql, (session,)):
        parts.setdefault(name, []).append({**mapping(_json(data)), "id": part})
    sql = "select id, time_created, data from message where session_id = ? order by time_created, id"
    for name, time, value in database.execute(sql, (session,)):
        data = mapping(_json(value))
        yield _message(data.get("role"), name, time, data, parts.get(name, []))


def _second(database: sqlite3.Connection, session: str) -> Iterator[Message]:
    for kind, name, time, value in database.execute(SECOND, (session,)):
        data = mapping(_json(value))
        yield _message(kind, name, time, data, [dict(part) for part in filter_objects(data.get("content"))])


def _json(value: object) -> object:
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return decode_line(raw) if isinstance(raw, bytes) else raw
