"""Builds small transcripts, one function a kind of record."""

import json
from pathlib import Path
from typing import Any

from crawler.archive.append import IngestSettings
from crawler.archive.choice import Choice
from crawler.transcripts.turns import Turn, read_transcript

Record = dict[str, Any]
SESSION = "11111111-1111-4111-8111-111111111111"
OTHER_SESSION = "22222222-2222-4222-8222-222222222222"


def entry_id(number: int) -> str:
    """A uuid that is easy to read: entry 7 ends in 7."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def record(kind: str, number: int, *, parent: int | None = None, session: str = SESSION, **more: Any) -> Record:
    """The fields that all message records share."""
    return {
        "type": kind,
        "uuid": entry_id(number),
        "parentUuid": entry_id(number - 1 if parent is None else parent) if number > 1 else None,
        "sessionId": session,
        "timestamp": f"2026-03-01T10:{number // 60:02d}:{number % 60:02d}.000Z",
        "cwd": "/srv/app",
        "gitBranch": "main",
        "version": "2.1.40",
        "isSidechain": False,
        **more,
    }


def person(number: int, content: Any, **more: Any) -> Record:
    return record("user", number, message={"role": "user", "content": content}, **more)


def assistant(number: int, *blocks: Any, message_id: str = "", **more: Any) -> Record:
    """A reply; a string stands for a text block."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": message_id or f"msg_{number}", "role": "assistant", "content": content, "usage": usage}
    return record("assistant", number, message=message, **more)


def call(name: str, call_id: str, **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(number: int, call_id: str, text: Any, *beside: Record, is_error: bool = False, **more: Any) -> Record:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
    return person(number, [block, *beside], **more)


def queued(text: Any, operation: str = "enqueue", second: int = 30) -> Record:
    moment = f"2026-03-01T10:00:{second:02d}.500Z"
    return {
        "type": "queue-operation",
        "operation": operation,
        "content": text,
        "sessionId": SESSION,
        "timestamp": moment,
    }


def to_lines(*records: Record) -> bytes:
    return b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in records)


def write_transcript(folder: Path, *records: Record, session: str = SESSION) -> Path:
    path = folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_lines(*records))
    return path


def turns_of(tmp_path: Path, *records: Record) -> list[Turn]:
    """The turns of a transcript made of these records."""
    return list(read_transcript(write_transcript(tmp_path, *records)))


def settings_in(root: Path, *, choice: Choice | None = None, **more: Any) -> IngestSettings:
    return IngestSettings(
        archive=root / "sessions" / "archive",
        state=root / ".oneiros" / "sessions.db",
        choice=choice or Choice(),
        **more,
    )


def working_session(**more: Any) -> list[Record]:
    """A session in which something was asked, broken, mended and committed."""
    commit = "[main 1a2b3c4d] Keep the relay alive\n 2 files changed"
    return [
        person(1, "The relay in src/relay.py loses its connection after an hour. Please find out why.", **more),
        assistant(2, "The cause is the idle timeout of 3600 seconds in the proxy.", **more),
        assistant(
            3, call("Bash", "c1", command="pytest tests/test_relay.py", description="Run the relay's tests"), **more
        ),
        result(4, "c1", "ConnectionResetError: [Errno 104] peer closed\n1 failed", is_error=True, **more),
        assistant(5, "I decided to send a keepalive every 300 seconds instead of raising the timeout.", **more),
        assistant(6, call("Edit", "c2", file_path="/srv/app/src/relay.py", old_string="a", new_string="b"), **more),
        result(7, "c2", "The file has been updated.", **more),
        assistant(8, call("Bash", "c3", command="git commit -am 'Keep the relay alive'"), **more),
        result(9, "c3", commit, **more),
        assistant(10, "The relay stays connected. Remaining: the same for the IPv6 listener on 10.0.0.7.", **more),
    ]
