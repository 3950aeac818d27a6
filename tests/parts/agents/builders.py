"""Small sessions of other agents, line by line, and what a reader makes of them."""

import json
from pathlib import Path
from typing import Any

from crawler.sources.conversation import AgentFile
from crawler.transcripts.turns import Turn, join_turns
from parts.agents.conversation import Conversation
from parts.agents.table import SOURCES

Line = dict[str, Any]
THREAD = "019b2ea4-0000-7000-8000-000000000001"
OTHER_THREAD = "019b2ea4-0000-7000-8000-000000000002"


def to_jsonl(*lines: Line) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)


def write_lines(path: Path, *lines: Line) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_jsonl(*lines))
    return path


def conversations(agent: str, path: Path, *speakers: str) -> tuple[list[Conversation], AgentFile]:
    found = AgentFile(path, frozenset(name.casefold() for name in speakers))
    return [talk for talk in SOURCES[agent].read(found) if isinstance(talk, Conversation)], found


def turns_of(talk: Conversation) -> list[Turn]:
    return list(join_turns(lambda: iter(talk.entries)))


def prompts(agent: str, path: Path, *speakers: str) -> list[str]:
    """What the person typed, on living branches."""
    talks, _ = conversations(agent, path, *speakers)
    return [turn.text for talk in talks for turn in turns_of(talk) if turn.is_prompt and turn.is_live]


# -- Codex -------------------------------------------------------------------------------------------------------------


def rollout(store: Path, *lines: Line, thread: str = THREAD, **meta: Any) -> Path:
    """A rollout in a store of Codex, with its first line."""
    path = store / "sessions" / "2026" / "03" / "01" / f"rollout-2026-03-01T10-00-00-{thread}.jsonl"
    first = {"id": thread, "cwd": "/srv/app", "cli_version": "0.160.0", "git": {"branch": "main"}, **meta}
    return write_lines(path, codex("session_meta", 0, **first), *lines)


def codex(kind: str, second: int, **payload: Any) -> Line:
    return {"timestamp": f"2026-03-01T10:00:{second:02d}.000Z", "type": kind, "payload": payload}


def make_message(role: str, second: int, *texts: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return codex("response_item", second, type="message", role=role, content=content)


def turn(second: int, turn_id: str) -> Line:
    return codex("turn_context", second, turn_id=turn_id, cwd="/srv/app")
