import io
import json
from typing import Any

import pytest

from crawler.archive.discovery import judge
from crawler.transcripts.tail import Verdict
from crawler.transcripts.transcript import TranscriptReader
from tests.crawler.builders import person, record, to_lines


def judged(*records: Any) -> tuple[Verdict, str]:
    data = to_lines(*records)
    return judge(TranscriptReader(io.BytesIO(data)).records(), data)


@pytest.mark.parametrize(
    ("first", "tool"),
    [
        ({"type": "session_meta", "payload": {"originator": "codex_cli_rs"}}, "Codex"),
        ({"type": "session.start", "data": {"producer": "copilot-agent"}}, "Copilot"),
        ({"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}}, "Cursor"),
        ({"type": "user", "uuid": "u", "sessionId": "s", "message": {"parts": []}, "systemPayload": {}}, "Qwen Code"),
        ({"sessionId": "s", "projectHash": "0b7d"}, "Gemini CLI"),
        ({"event": "launched", "properties": {"edit_format": "diff"}}, "Aider"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "an OpenAI training file"),
    ],
)
def test_another_tools_file_is_refused_by_name(first: dict[str, Any], tool: str) -> None:
    assert judged(first) == (Verdict.FOREIGN, f"written by {tool}")


@pytest.mark.parametrize(
    "first",
    [
        {"type": "user", "uuid": "u-1", "text": "hello"},
        {"type": "user", "sessionId": "s", "message": "a string", "uuid": "x"},
        {"type": "assistant", "sessionId": "s", "message": ["a", "list"], "uuid": "x"},
    ],
)
def test_a_look_alike_is_refused(first: dict[str, Any]) -> None:
    assert judged(first, first) == (Verdict.FOREIGN, "no record in the shape that Claude Code writes")


@pytest.mark.parametrize(
    "first",
    [
        person(1, "hello"),
        {"type": "summary", "summary": "The relay", "leafUuid": "u"},
        {"type": "file-history-snapshot", "messageId": "m", "sessionId": "s"},
        record("progress", 1),
    ],
)
def test_a_transcript_is_taken_from_its_first_record_on(first: dict[str, Any]) -> None:
    assert judged(first)[0] is Verdict.TAKEN


def test_a_file_that_begins_with_unknown_types_is_judged_by_what_follows() -> None:
    strange = [{"type": "host-row", "n": number} for number in range(20)]

    assert judged(*strange, person(1, "hello"))[0] is Verdict.TAKEN


def test_a_file_with_no_complete_line_is_left_open() -> None:
    torn = json.dumps(person(1, "hello"))[:-5].encode()

    assert judge(TranscriptReader(io.BytesIO(torn)).records(), torn)[0] is Verdict.OPEN
