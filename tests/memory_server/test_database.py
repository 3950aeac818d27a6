"""SQLite files as they are opened."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from memory_server.machine.database import connect


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
