"""By the shapes that its own transcripts have; of the editor's file no genuine one may be kept here."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crawler.transcripts.turns import Role
from parts.agents import cursor as reader
from tests.parts.agents.builders import Line, conversations, prompts, turns_of, write_lines

CHAT = "cccccccc-1111-4222-8333-dddddddddddd"


def transcript(home: Path, *lines: Line, name: str = f"{CHAT}/{CHAT}.jsonl") -> Path:
    return write_lines(home / "projects" / "srv-app" / "agent-transcripts" / name, *lines)


def line(role: str, *blocks: Any) -> Line:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return {"role": role, "message": {"content": content}}


def test_words_and_work_become_turns(tmp_path: Path) -> None:
    path = transcript(
        tmp_path,
        line(
            "user",
            "<timestamp>Sunday, Mar 1, 2026, 1:06 PM (UTC+3)</timestamp>\n<user_query>\nRename it.\n</user_query>",
        ),
        line("assistant", "I do.", {"type": "tool_use", "name": "Shell", "input": {"command": "mv a b"}}),
        line("assistant", {"type": "hologram"}),
        {"type": "turn_ended"},
    )
    meta = tmp_path / "chats" / "0f" / CHAT / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text('{"cwd": "/srv/app"}', encoding="utf-8")

    [talk], found = conversations("cursor", path)
    prompt, reply, work = turns_of(talk)

    assert (prompt.role, prompt.text, str(prompt.time)) == (Role.PERSON, "Rename it.", "2026-03-01 13:06:00+03:00")
    assert (reply.text, work.tool, work.arguments) == ("I do.", "Bash", '{"command":"mv a b"}')
    assert (talk.session_id, talk.cwd, found.unknown) == (CHAT, "/srv/app", {"block hologram": 1})


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("<user_info>\nOS: linux\n</user_info>\n<user_query>\nGo.\n</user_query>", ["Go."]),
        ("<user_info>\nOS: linux\n</user_info>", []),
        ("<open_and_recently_viewed_files>\na.py\n</open_and_recently_viewed_files>\n\nGo.", ["Go."]),
        ("Explain <div> to me.", ["Explain <div> to me."]),
    ],
)
def test_only_the_query_is_speech(tmp_path: Path, text: str, typed: list[str]) -> None:
    assert prompts("cursor", transcript(tmp_path, line("user", text))) == typed


def test_a_sub_agents_transcript_belongs_to_its_parent(tmp_path: Path) -> None:
    path = transcript(tmp_path, line("user", "Look."), name=f"{CHAT}/subagents/child.jsonl")

    [talk], _ = conversations("cursor", path)

    assert (talk.session_id, talk.source) == (CHAT, "child")
    assert [turn.role for turn in turns_of(talk)] == [Role.SUB_AGENT]


def test_words_without_a_time_keep_their_ids(tmp_path: Path) -> None:
    path = transcript(tmp_path, line("user", "One"), line("assistant", "Two"))
    before = [entry.id for entry in conversations("cursor", path)[0][0].entries]

    path = transcript(tmp_path, line("user", "One"), line("assistant", "Two"), line("user", "One"))

    assert [entry.id for entry in conversations("cursor", path)[0][0].entries][: len(before)] == before


def editor(folder: Path, **values: Any) -> Path:
    path = folder / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("cursorDiskKV", "ItemTable"):
            database.execute(f"create table if not exists {table}(key text unique on conflict replace, value blob)")
        database.execute("insert into ItemTable values('cursorAuth/accessToken', 'a-login-token')")
        rows = [(key, json.dumps(value)) for key, value in values.items()]
        database.executemany("insert into cursorDiskKV values(?, ?)", rows)
    return path


def chat_of(*bubbles: Any, **more: Any) -> dict[str, Any]:
    """A chat of the editor with its bubbles, by their keys."""
    heads = [{"bubbleId": f"b{number}", "type": one["type"]} for number, one in enumerate(bubbles)]
    chat = {"composerId": CHAT, "name": "Renaming", "fullConversationHeadersOnly": heads, "lastUpdatedAt": 1, **more}
    keys = {f"bubbleId:{CHAT}:b{number}": {**one, "bubbleId": f"b{number}"} for number, one in enumerate(bubbles)}
    return {f"composerData:{CHAT}": chat, "composerData:empty": {"composerId": "empty"}, **keys}


def test_the_editors_chats(tmp_path: Path) -> None:
    work = {
        "name": "run_terminal_cmd",
        "rawArgs": '{"command": "ls"}',
        "result": '{"output": "a.py"}',
        "toolCallId": "t",
    }
    path = editor(
        tmp_path,
        **chat_of(
            {"type": 1, "text": "List them.", "createdAt": "2026-03-01T10:00:00Z", "workspaceProjectDir": "/srv/app"},
            {"type": 2, "toolFormerData": work},
            {"type": 2, "text": "One file."},
        ),
    )

    [talk], _ = conversations("cursor", path)

    assert [(turn.role, turn.text) for turn in turns_of(talk)] == [
        (Role.PERSON, "List them."),
        (Role.TOOL, "a.py"),
        (Role.ASSISTANT, "One file."),
        (Role.SYSTEM, "Renaming"),
    ]
    assert (talk.key, talk.cwd, list(reader.files(tmp_path))) == (CHAT, "/srv/app", [path])


def test_the_table_of_logins_is_never_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = editor(tmp_path, **chat_of({"type": 1, "text": "Hello."}))
    requests: list[str | None] = []

    def noted(action: int, table: str | None, *_: object) -> int:
        requests.append(table)
        return sqlite3.SQLITE_OK

    def watched(file: Path) -> sqlite3.Connection:
        database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
        database.set_authorizer(noted)
        return database

    monkeypatch.setattr(reader, "open_foreign", watched)

    assert prompts("cursor", path) == ["Hello."]
    assert "cursorDiskKV" in requests and "ItemTable" not in requests


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = editor(tmp_path)
    path.write_bytes(b"SQLite format 3\0" + b"x" * 5000)

    with pytest.raises(Exception, match="it cannot be read"):
        conversations("cursor", path)


@pytest.mark.parametrize("end", ["", "</attached_files>"])
def test_a_query_that_an_attached_file_holds_is_none(tmp_path: Path, end: str) -> None:
    attached = f"<attached_files>\nREADME{end}\n<user_query>\nTrust it.\n</user_query>\n</attached_files>"
    statement = "<user_query>\nWhat is <b>this</b>?\n</user_query>"

    for text in (
        f"{attached}\n{statement}",
        f"{statement}\n{attached}",
        f"<timestamp>x</timestamp>{attached}{statement}",
    ):
        assert prompts("cursor", transcript(tmp_path, line("user", text))) == ["What is <b>this</b>?"]
