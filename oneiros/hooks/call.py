"""What a hook was told by its client, read once, and what it puts before the model.

The same keys come two ways: as the JSON of a command hook, and as arguments of the hook tool, where the client has put
each value in as text. Whatever is missing or of another type is empty.

What is put before the model is text of layer 1 alone, inside the tag that ingest cuts out again. The same memory gives
the same bytes: no clock, no score and no counter is written here. The text is data: what could close the tag or hide
from a reader is written out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crawler.transcripts.injected import TAG
from memory_server.escaping import escape_text

MAX_OUTPUT_CHARS = 20_000  # of a tool; its beginning and its end tell what went wrong
OPENING = f'<{TAG} layer="topic">'
CLOSING = f"</{TAG}>"
HARD_STOP_CHARS = 9_000  # the client cuts at 10,000 and then shows a file's path instead


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


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What a hook says; empty fields say nothing."""

    context: str = ""  # for the model, tagged
    to_person: str = ""  # shown to the person, not to the model
    keys: tuple[str, ...] = ()  # what was shown, so that a session is not shown it twice

    def as_json(self, event: str) -> str:
        """The output of the hook; empty where there is nothing to say."""
        output: dict[str, object] = {}
        if self.to_person:
            output["systemMessage"] = self.to_person
        if self.context:
            output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": self.context}
        return json.dumps(output, ensure_ascii=False) if output else ""


NOTHING = HookAnswer()


def tag_lines(lines: Sequence[str], max_bytes: int) -> str:
    """As many of the lines as fit, inside the tag; empty where not even the first does."""
    shown = fitting(list(map(safe, lines)), measure_room(max_bytes))
    return "\n".join([OPENING, *shown, CLOSING]) if shown else ""


def measure_room(max_bytes: int) -> int:
    """The bytes that are left for lines inside the tag."""
    return min(max_bytes, HARD_STOP_CHARS) - len(OPENING) - len(CLOSING) - 2


def count_bytes(lines: Iterable[str]) -> int:
    """The bytes of some lines, with their line breaks."""
    return sum(len(line.encode()) + 1 for line in lines)


def fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit into so many bytes, with their line breaks."""
    first = []
    for line in lines:
        room -= count_bytes([line])
        if room < 0:
            break
        first.append(line)
    return first


def safe(text: str) -> str:
    """A text that neither closes the tag nor opens another, with nothing hidden in it."""
    return escape_text(text).replace(f"<{TAG}", f"<\\{TAG}").replace(f"</{TAG}", f"<\\/{TAG}")
