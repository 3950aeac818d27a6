"""The local query log: what it keeps, what it masks, and that it never stands in the way."""

import datetime as dt
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.document import ChunkId, SourcePath
from memory_server.redaction import redact
from memory_server.search.query_log import AnswerVerdict, JudgedQuestion, LoggedQuery, QueryLog
from memory_server.settings import PersonSettings
from tests.conftest import MakeEngine
from tests.memories import NOON, new_root, open_memory, search_exact, write_topic

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[QueryLog]:
    opened = QueryLog(tmp_path / "state.db", redact, lambda: NOON)
    yield opened
    opened.close()


def test_a_question_is_kept_with_its_hits_and_what_was_then_read(log: QueryLog, tmp_path: Path) -> None:
    log.note_question("recall", "relay port", [ChunkId("a"), ChunkId("b")])
    log.read(SourcePath("topics/mail.md"), "3-4")

    rows = sqlite3.connect(tmp_path / "state.db").execute("select path, lines, query from reading").fetchall()

    assert log.queries() == [LoggedQuery(NOON, "recall", "relay port", (ChunkId("a"), ChunkId("b")))]
    assert rows == [("topics/mail.md", "3-4", 1)]


def test_questions_without_an_answer_can_be_listed(log: QueryLog) -> None:
    log.note_question("recall", "found", [ChunkId("a")])
    log.note_question("recall", "missed", [])

    assert [query.query for query in log.queries(without_hits=True)] == ["missed"]


def test_a_secret_is_masked_also_where_the_text_is_cut(log: QueryLog) -> None:
    for before in (0, 480, 495, 499):
        log.note_question("recall", "x " * (before // 2) + " " * (before % 2) + SECRET, [])

    for query in log.queries():
        assert "ghp_a" not in query.query
        assert "a1B2" not in query.query


def test_half_surrogates_and_nul_bytes_are_kept_as_something(log: QueryLog) -> None:
    log.note_question("recall", "relay \ud800 \0", [])

    assert len(log.queries()) == 1


def test_the_oldest_questions_go_first(log: QueryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_server.search.query_log.MAX_ROWS", 100)
    for number in range(1_000):
        log.note_question("recall", f"q{number}", [])
        log.read(SourcePath("a.md"), "1")

    assert log.count() == 100
    assert log.queries()[0] == LoggedQuery(NOON, "recall", "q999", ())
    assert log.queries()[-1].at == dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)


def test_the_log_survives_a_rebuild_and_can_be_switched_off(tmp_path: Path, make_engine: MakeEngine) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "The relay listens on port 2525.")
    with open_memory(root, make_engine) as memory:
        memory.reindex()
        search_exact(memory, "2525")
        memory.reindex(rebuild=True)
        assert memory.status().queries_logged == 1
    with open_memory(root, make_engine, person=PersonSettings(query_log=False)) as memory:
        search_exact(memory, "2525")
        assert memory.status().queries_logged == 1


def test_what_is_read_before_anything_was_indexed_is_logged(
    tmp_path: Path, make_engine: MakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "The relay listens on port 2525.")
    with open_memory(root, make_engine) as memory:
        memory.read("mail")

    assert sqlite3.connect(root.state_database).execute("select path from reading").fetchall() == [("topics/mail.md",)]
    assert caplog.messages == []


def test_a_damaged_log_stands_in_nobodys_way(tmp_path: Path, make_engine: MakeEngine) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "The relay listens on port 2525.")
    with open_memory(root, make_engine) as memory:
        memory.reindex()
        root.state_database.write_bytes(b"no database at all" * 100)

        assert search_exact(memory, "2525").hits
        assert memory.read("mail").text == "The relay listens on port 2525."
        assert memory.status().queries_logged == 0


def test_what_was_said_of_a_forgotten_source_goes_with_it(log: QueryLog, tmp_path: Path) -> None:
    gone, kept = SourcePath("sessions/compressed/2026/gone.md"), SourcePath("topics/mail.md")
    log.note_question("recall", "the launch codename", [ChunkId("a")])
    log.judge(JudgedQuestion("recall", "the launch codename", {kept: AnswerVerdict.WRONG}))
    log.judge(JudgedQuestion("recall", "who said hyacinth", {gone: AnswerVerdict.RIGHT, kept: AnswerVerdict.WRONG}))
    log.judge(JudgedQuestion("recall", "relay port", {kept: AnswerVerdict.RIGHT}))

    log.forget([ChunkId("a")], [gone])
    log.close()

    assert [one.query for one in log.judgements()] == ["relay port"]
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"hyacinth" not in held and b"codename" not in held and b"relay port" in held
