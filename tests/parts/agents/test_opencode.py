"""By the tables and files of its published schema; no genuine store may be kept here."""

import json
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crawler.archive.append import ArchiveReport, Ingester
from crawler.sources.conversation import AgentFile
from crawler.transcripts.turns import Role
from parts.agents import opencode as reader
from parts.agents.files import whole
from parts.agents.table import SOURCES
from tests.crawler.builders import settings_in
from tests.parts.agents.builders import conversations, prompts, turns_of

SESSION = "ses_1"
DONE = {"completed": 9}
WORK = {
    "type": "tool",
    "tool": "bash",
    "callID": "c",
    "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.py"},
}
FIRST = """
create table if not exists session(id text primary key, project_id text, parent_id text, directory text, title text,
    version text, revert text, time_created integer, time_updated integer);
create table if not exists message(id text primary key, session_id text, time_created integer, time_updated integer,
    data text);
create table if not exists part(id text primary key, message_id text, session_id text, time_updated integer, data text);
"""
SECOND = """
create table if not exists session_v2(id text primary key, parent_id text, directory text, title text, revert text,
    time_created integer, time_updated integer);
create table if not exists session_message(id text primary key, session_id text, type text, seq integer,
    time_created integer, time_updated integer, data text);
"""


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def first(folder: Path, *messages: tuple[str, list[dict[str, Any]]], session: str = SESSION, **about: Any) -> Path:
    """A database of the first generation: messages as (role, parts)."""
    path = folder / "opencode.db"
    head = {"id": session, "directory": "/srv/app", "title": "Listing", "version": "1.2.0", **about}
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(FIRST)
        database.execute(
            f"insert or replace into session({', '.join(head)}) values({', '.join('?' * len(head))})", [*head.values()]
        )
        for number, (role, parts) in enumerate(messages):
            name = f"msg_{session}_{number}"
            data = json.dumps({"role": role, "time": {"created": number, **DONE}})
            database.execute(
                "insert or replace into message values(?, ?, ?, ?, ?)", (name, session, number, number, data)
            )
            for place, part in enumerate(parts):
                row = (f"prt_{session}_{number}_{place}", name, session, number, json.dumps(part))
                database.execute("insert or replace into part values(?, ?, ?, ?, ?)", row)
    return path


PROMPT = ("user", [text("List them."), text("Called the Read tool with ...", synthetic=True)])
REPLIED = ("assistant", [WORK, text("One file."), {"type": "step-finish"}])


def test_words_and_work_become_turns(tmp_path: Path) -> None:
    [talk], found = conversations("opencode", first(tmp_path, PROMPT, REPLIED))

    assert [(turn.role, turn.text) for turn in turns_of(talk)] == [
        (Role.SYSTEM, "Listing"),
        (Role.PERSON, "List them."),
        (Role.TOOL, "a.py"),
        (Role.ASSISTANT, "One file."),
    ]
    assert (talk.session_id, talk.cwd, found.version, found.unknown) == (SESSION, "/srv/app", "1.2.0", {})


def test_a_child_session_is_a_sub_agents(tmp_path: Path) -> None:
    path = first(tmp_path, ("user", [text("Look.")]), session="ses_child", parent_id=SESSION)

    [talk], _ = conversations("opencode", path)

    assert (talk.session_id, talk.source, talk.key) == (SESSION, "ses_child", "ses_child")
    assert Role.PERSON not in {turn.role for turn in turns_of(talk)}


def test_what_a_revert_undid_is_dropped(tmp_path: Path) -> None:
    messages = [PROMPT, REPLIED, ("user", [text("Drop this.")]), ("assistant", [text("Dropped.")])]

    assert prompts("opencode", first(tmp_path, *messages, revert=f'{{"messageID": "msg_{SESSION}_2"}}')) == [
        "List them."
    ]


def test_the_second_generation_is_read_where_it_is(tmp_path: Path) -> None:
    path = first(tmp_path, ("user", [text("Old row.")]))
    messages = [
        ("user", {"text": "List them.", "time": {"created": 1}}),
        ("synthetic", {"text": "Not typed."}),
        ("shell", {"callID": "s", "command": "pwd", "output": "/srv"}),
        ("assistant", {"content": [text("One file.")], "time": {"created": 2, **DONE}}),
        ("assistant", {"content": [text("Still being writ")], "time": {"created": 3}}),
    ]
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(SECOND)
        database.execute("insert into session_v2(id, directory) values(?, '/srv/app')", (SESSION,))
        for seq, (kind, data) in enumerate(messages):
            row = (f"m{seq}", SESSION, kind, seq, seq, seq, json.dumps(data))
            database.execute("insert into session_message values(?, ?, ?, ?, ?, ?, ?)", row)

    [talk], _ = conversations("opencode", path)

    assert [turn.text for turn in turns_of(talk)] == ["List them.", "/srv", "One file."]


def test_the_older_store_of_files(tmp_path: Path) -> None:
    def write(name: str, value: Any) -> Path:
        path = tmp_path / "storage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    session = write(
        "session/proj/ses_1.json", {"id": SESSION, "projectID": "proj", "directory": "/srv/app", "version": "1.1.6"}
    )
    write("message/ses_1/msg_2.json", {"id": "msg_2", "role": "assistant", "time": {"created": 2, **DONE}})
    write("message/ses_1/msg_1.json", {"id": "msg_1", "role": "user", "time": {"created": 1}})
    write("part/msg_1/prt_1.json", {"id": "prt_1", **text("List them.")})
    write("part/msg_2/prt_2.json", {"id": "prt_2", **WORK})

    [talk], _ = conversations("opencode", session)

    assert [turn.text for turn in turns_of(talk)] == ["List them.", "a.py"]
    assert list(reader.files(tmp_path)) == [session]


@pytest.fixture
def ingester(tmp_path: Path) -> Ingester:
    return Ingester(settings_in(tmp_path / "memory"))


def read_again(ingester: Ingester, path: Path) -> ArchiveReport:
    report = ArchiveReport()
    ingester.ingest_source(SOURCES["opencode"], [path], report)
    return report


def test_a_growing_database_is_taken_in_without_doubles(ingester: Ingester, tmp_path: Path) -> None:
    path = first(tmp_path, PROMPT)
    first(tmp_path, PROMPT, session="ses_other")

    assert sorted(read_again(ingester, path).sessions) == [SESSION, "ses_other"]
    first(tmp_path, PROMPT, REPLIED)
    report = read_again(ingester, path)

    assert (sorted(report.sessions), report.entries) == ([SESSION], 3)
    assert [turn.text for turn in ingester.archive.turns(SESSION)][1:] == ["List them.", "a.py", "One file."]
    assert read_again(ingester, path).unchanged == 1
    assert ingester.find_sessions(path) == [SESSION, "ses_other"]
    ingester.close()


def test_a_small_file_is_read_in_little_memory_and_one_beyond_the_bound_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "s.json"
    file.write_text('{"id": "ses"}', encoding="utf-8")

    tracemalloc.start()
    try:
        assert whole(AgentFile(file)) == {"id": "ses"}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setattr("parts.agents.files.MAX_FILE_BYTES", 12)
    assert whole(found := AgentFile(file)) is None
    assert [bad.what for bad in found.bad_lines] == ["not JSON, or too large"]


@pytest.mark.parametrize("name", ["../../elsewhere", "x" * 5_000, "a\0b", "*", "..", "/"])
def test_an_id_leads_to_nothing_outside_of_the_store(tmp_path: Path, name: str) -> None:
    store = tmp_path / "store" / "storage"
    session = store / "session" / "p" / "s.json"
    for folder in (session.parent, store / "message" / "ses", tmp_path / "store" / "elsewhere"):
        folder.mkdir(parents=True, exist_ok=True)
    payload = {"id": name, "role": "user", "time": {"created": 1}, "text": "said elsewhere"}
    (tmp_path / "store" / "elsewhere" / "m.json").write_text(json.dumps(payload), encoding="utf-8")
    (store / "message" / "ses" / "m.json").write_text(json.dumps({**payload, "text": "said here"}), encoding="utf-8")
    texts = []
    for own in (name, "ses"):
        session.write_text(json.dumps({"id": own, "projectID": "p"}), encoding="utf-8")
        texts += prompts("opencode", session)

    assert texts == ["said here"]
