"""SQLite files as they are opened."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

from memory_server.machine.database import SharedDatabase, connect


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


def test_a_second_opening_of_a_derived_file_leaves_the_first_its_log(tmp_path: Path) -> None:
    """A closed descriptor ends the locks of the whole process; the next process to leave would then remove the log."""
    file, schema = tmp_path / "sessions.db", "create table if not exists turn(x)"
    first, second = (SharedDatabase(file, schema, is_derived=True) for _ in range(2))
    leave = f"import sqlite3; c = sqlite3.connect({str(file)!r}); c.execute('select * from turn').fetchall(); c.close()"
    with closing(first), closing(second):
        with first.change() as connection:
            connection.execute("insert into turn values (1)")
        with second.open():
            pass

        subprocess.run([sys.executable, "-c", leave], check=True)
        with first.change() as connection:
            connection.execute("insert into turn values (2)")

        with closing(sqlite3.connect(file)) as other:
            assert other.execute("select x from turn").fetchall() == [(1,), (2,)]
