"""What a hook was told by its client, read once.

The same keys come two ways: as the JSON of a command hook, and as arguments of the hook tool, where the client has put
each value in as text. Whatever is missing or of another type is empty.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_OUTPUT_CHARS = 20_000  # of a tool; its beginning and its end tell what went wrong


@dataclass(frozen=True, slots=True)
class HookCall:
    """One event of one session."""

    event: str
    session_id: str = ""
    folder: str = ""  # the session's working folder
    transcript: str = ""
    prompt: str = ""
    tool: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_output: str = ""  # or its error
    source: str = ""  # of SessionStart: startup, resume, fork, clear, compact
    client_pid: int = 0


def parse_call(event: str, payload: object) -> HookCall:
    """The call that a hook was told of. `event` may be empty where `payload` names it."""
    values = payload if isinstance(payload, Mapping) else {}
    return HookCall(
        event=event or _text(values, "hook_event_name"),
        session_id=_text(values, "session_id"),
        folder=_text(values, "cwd"),
        transcript=_text(values, "transcript_path"),
        prompt=_text(values, "prompt"),
        tool=_text(values, "tool_name"),
        tool_input=_object(values.get("tool_input")),
        tool_output=_output(values),
        source=_text(values, "source"),
        client_pid=_number(values.get("client_pid")),
    )


def _text(values: Mapping[str, Any], key: str) -> str:
    found = values.get(key)
    return found if isinstance(found, str) else ""


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdigit() else 0


def _object(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}


def _output(values: Mapping[str, Any]) -> str:
    """What a tool said: its error where it failed, else what it printed."""
    if error := _text(values, "error"):
        return both_ends(error, MAX_OUTPUT_CHARS, "\n")
    response = _object(values.get("tool_response"))
    output = "\n".join(text for key in ("stdout", "stderr") if (text := _text(response, key)))
    return both_ends(output, MAX_OUTPUT_CHARS, "\n")


def both_ends(text: str, most: int, gap: str) -> str:
    """A text of so many characters at most: its beginning and its end."""
    return text if len(text) <= most else f"{text[: most // 2]}{gap}{text[-(most // 2) :]}"
