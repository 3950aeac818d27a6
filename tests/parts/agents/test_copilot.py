from pathlib import Path
from typing import Any

import pytest

from crawler.transcripts.turns import Role
from tests.parts.agents.builders import Line, conversations, prompts, turns_of, write_lines

SESSION = "aaaabbbb-1111-4222-8333-ccccddddeeee"


def log(tmp_path: Path, *lines: Line) -> Path:
    context = {"cwd": "/srv/app", "branch": "main"}
    start = event(
        "session.start", 0, sessionId=SESSION, producer="copilot-agent", copilotVersion="1.0.11", context=context
    )
    return write_lines(tmp_path / "session-state" / SESSION / "events.jsonl", start, *lines)


def event(kind: str, number: int, *, agent: str = "", **data: Any) -> Line:
    envelope = {"type": kind, "data": data, "id": f"e{number}", "timestamp": f"2026-03-01T10:00:{number:02d}.000Z"}
    return envelope | ({"agentId": agent} if agent else {})


def make_prompt(number: int, text: str, **data: Any) -> Line:
    return event("user.message", number, content=text, **data)


def test_words_and_work_become_turns(tmp_path: Path) -> None:
    call = {"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}
    path = log(
        tmp_path,
        make_prompt(1, "List them."),
        event("assistant.message", 2, content="", toolRequests=[call]),
        event("tool.execution_start", 3, toolCallId="c", toolName="bash", arguments={"command": "ls"}),
        event("tool.execution_complete", 4, toolCallId="c", success=True, result={"content": "a.py"}),
        event("assistant.message", 5, content="One file."),
        event("session.hologram", 6),
    )

    [talk], found = conversations("copilot", path)

    assert [(turn.role, turn.text) for turn in turns_of(talk)] == [
        (Role.PERSON, "List them."),
        (Role.TOOL, "a.py"),
        (Role.ASSISTANT, "One file."),
    ]
    assert (talk.session_id, talk.cwd, talk.branch, found.version) == (SESSION, "/srv/app", "main", "1.0.11")
    assert found.unknown == {"session.hologram": 1}


@pytest.mark.parametrize(
    "data",
    [{"source": "skill-pdf"}, {"source": "agent-2"}, {"source": "autopilot"}, {"isAutopilotContinuation": True}],
)
def test_what_nobody_typed_is_no_speech(tmp_path: Path, data: dict[str, Any]) -> None:
    assert prompts(
        "copilot", log(tmp_path, make_prompt(1, "Continue.", **data), make_prompt(2, "Mine.", source="user"))
    ) == ["Mine."]


def test_a_sub_agents_events_are_its_own(tmp_path: Path) -> None:
    path = log(tmp_path, event("user.message", 1, agent="a1", content="Look."), make_prompt(2, "Mine."))

    [talk], _ = conversations("copilot", path)

    assert [turn.role for turn in turns_of(talk)] == [Role.SUB_AGENT, Role.PERSON]


@pytest.mark.parametrize(
    ("back_to", "removed", "left"),
    [("e3", 2, ["One"]), ("e2", 2, ["One"]), ("e3", None, ["One"]), ("e9", 1, ["One", "Two"])],
)
def test_a_rewind_is_honoured_whether_its_event_is_dropped_or_kept(
    tmp_path: Path, back_to: str, removed: int | None, left: list[str]
) -> None:
    lines = [make_prompt(1, "One"), event("assistant.message", 2, content="1"), make_prompt(3, "Two")]
    lines.append(event("assistant.message", 4, content="2"))

    path = log(tmp_path, *lines, event("session.snapshot_rewind", 5, upToEventId=back_to, eventsRemoved=removed))

    assert prompts("copilot", path) == left
