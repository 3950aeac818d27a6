"""SQLite files as they are opened."""

import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memory_server.machine.database import SharedDatabase, connect

QUESTION_TABLE = "create table if not exists asked(what text not null, times integer not null default 1);"
USED = "create table if not exists used(path text primary key) without rowid;"
WORDS = """
create table if not exists line(id integer primary key, text text not null);
create virtual table if not exists words using fts5(text, content='line', content_rowid='id');
create trigger if not exists line_new after insert on line begin
    insert into words(rowid, text) values (new.id, new.text);
end;
"""
# opens a shared file and is killed at the nth statement, or at the nth removal of a file
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from memory_server.machine import database

file, kind, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def opened(file, connect=database.connect):
    connection = connect(file)
    if kind == "statement":
        connection.set_trace_callback(count)
    return connection

def removed(file, remove=database.remove_file):
    if kind == "removal":
        count()
    remove(file)

database.connect, database.remove_file = opened, removed
with database.SharedDatabase(file, sys.argv[4], "asked.db").open():
    print("whole")
"""


def test_a_file_that_another_process_is_writing_first_is_waited_for(tmp_path: Path) -> None:
    """SQLite refuses the change to a write-ahead log at once while another one writes, whatever the timeout."""
    file, opened = tmp_path / "state.db", threading.Event()

    def open_it() -> None:
        connect(file).close()
        opened.set()

    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as writer:
        writer.execute("create table turn(x)")
        writer.execute("begin immediate")
        opening = threading.Thread(target=open_it)
        opening.start()
        assert not opened.wait(0.3)  # it waits, or has failed, which the end tells

        writer.execute("commit")
        opening.join(10)

    assert opened.is_set()


def earlier_file(folder: Path) -> Path:
    with closing(connect(folder / "asked.db")) as earlier:
        earlier.execute("create table asked(what text not null)")
        earlier.executemany("insert into asked values (?)", [("which port",), ("which port",), ("what for",)])
    return folder / "asked.db"


def rows_of(file: Path) -> list[tuple[str, int]]:
    with SharedDatabase(file, QUESTION_TABLE, "asked.db").open() as connection:
        return connection.execute("select what, times from asked order by rowid").fetchall()


ROWS = [("which port", 1), ("which port", 1), ("what for", 1)]


def test_the_file_of_an_earlier_layout_is_taken_over_once_and_goes(tmp_path: Path) -> None:
    earlier = earlier_file(tmp_path)
    with SharedDatabase(tmp_path / "state.db", USED, "used.db").change() as connection:
        connection.execute("insert into used values ('topics/mail.md')")

    shared = SharedDatabase(tmp_path / "state.db", QUESTION_TABLE, "asked.db")

    assert shared.exists()
    assert rows_of(tmp_path / "state.db") == ROWS == rows_of(tmp_path / "state.db")
    assert not list(tmp_path.glob(f"{earlier.name}*"))


def test_rows_that_are_taken_over_are_found_by_their_words(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "digest.db")) as earlier:
        earlier.executescript(WORDS)
        earlier.execute("insert into line(text) values ('the relay listens')")

    with SharedDatabase(tmp_path / "sessions.db", WORDS, "digest.db").open() as connection:
        assert connection.execute("select rowid from words where words match 'relay'").fetchall() == [(1,)]


@pytest.mark.parametrize("kind", ["statement", "removal"])
def test_a_kill_at_any_point_loses_no_row_and_doubles_none(kind: str, tmp_path: Path) -> None:
    kills = 0
    while True:
        folder = tmp_path / str(kills)
        folder.mkdir()
        earlier_file(folder)
        program = [sys.executable, "-c", KILLED, str(folder / "state.db"), kind, str(kills + 1), QUESTION_TABLE]
        ended = subprocess.run(program, capture_output=True, text=True, check=False)
        assert rows_of(folder / "state.db") == ROWS
        assert not list(folder.glob("asked.db*"))
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        kills += 1
    assert kills >= 3


def test_nothing_is_lost_where_the_earlier_file_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = earlier_file(tmp_path)

    def refuse(file: Path) -> None:
        raise PermissionError(13, "refused", str(file))

    with monkeypatch.context() as patched, pytest.raises(PermissionError):
        patched.setattr("memory_server.machine.database.remove_file", refuse)
        rows_of(tmp_path / "state.db")

    assert earlier.exists()
    assert rows_of(tmp_path / "state.db") == ROWS
