import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.index.ledger import Ledger
from memory_server.index.schema import SCHEMA, SCHEMA_VERSION
from memory_server.machine.database import connect


def test_a_ledger_that_another_process_writes_for_long_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.machine.database.LOCK_SECONDS", 0.05)
    with closing(Ledger(tmp_path / "ledger.db")) as one, closing(Ledger(tmp_path / "ledger.db")) as other:  # noqa: SIM117
        with one.transaction(), pytest.raises(NeedsRepair, match=r"cannot be written \(database is locked\)"):
            other.set_problems(())


def test_a_ledger_that_another_process_writes_cannot_be_examined_and_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.machine.database.LOCK_SECONDS", 0.05)
    with closing(Ledger(tmp_path / "ledger.db")) as one, closing(Ledger(tmp_path / "ledger.db")) as other:  # noqa: SIM117
        with one.transaction(), pytest.raises(sqlite3.OperationalError, match="database is locked"):
            other.integrity_problems()


def test_a_ledger_that_another_one_makes_at_the_same_time_is_not_called_damaged(tmp_path: Path) -> None:
    """As after a rebuild has dropped it, when questions and the run open it together."""
    file, opened = tmp_path / "ledger.db", list[Ledger]()
    with closing(connect(file)) as maker:
        maker.executescript(f"begin immediate; {SCHEMA} pragma user_version = {SCHEMA_VERSION};")
        opening = threading.Thread(target=lambda: opened.append(Ledger(file)))
        opening.start()
        opening.join(0.3)  # it has seen that there are no tables, and waits
        maker.execute("commit")
        opening.join(20)

    [ledger] = opened
    with closing(ledger), closing(Ledger(file)) as other:
        ledger.set_note("a", "b")
        assert other.note("a") == "b"


def test_a_thread_that_waits_for_a_writer_keeps_no_other_from_going_on(tmp_path: Path) -> None:
    """Where it did, nobody could end the writer's change, and the wait ended with an error."""
    with closing(Ledger(tmp_path / "ledger.db")) as ledger, closing(connect(tmp_path / "ledger.db")) as other:
        ledger.keywords.holders(["word"])
        other.execute("begin immediate")
        writing = threading.Thread(target=ledger.set_note, args=("a", "b"))
        asking = threading.Timer(0.3, ledger.keywords.holders, [["word"]])
        for thread in (writing, asking):
            thread.start()
        asking.join(1)

        other.execute("commit")
        for thread in (writing, asking):
            thread.join()

        assert ledger.note("a") == "b"


TOGETHER = """
import sys
import threading
from pathlib import Path

from memory_server.fields import Filter
from memory_server.index.ledger import Ledger

ledger = Ledger(Path(sys.argv[1]))
ledger.connection.execute(
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)"
    " insert into source select i, i || '.md', 'session', '', null, 'Übersee', 'here', 'n', 'it', '', '', '[]', '[]',"
    " '[]', 0, 0, '', '', null, null, '' from n"
)
wanted = Filter(projects=("übersee",), machines=("HERE",), agents=("it",), namespaces=("N",))

allowed, held = set(), set()

def filtered():
    for _ in range(300):
        allowed.add(len(wanted.find_allowed(ledger.read_sources())))

def weighed():
    for _ in range(3_000):
        held.update(ledger.keywords.holders(["word"]))

threads = [threading.Thread(target=read) for read in (filtered, weighed, filtered, weighed)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(allowed, held)
"""


def test_threads_that_share_a_ledger_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    """In a process of its own: where they did, no thread of it went on, nor did it heed a signal."""
    program = [sys.executable, "-c", TOGETHER, str(tmp_path / "ledger.db")]
    done = subprocess.run(program, check=True, timeout=60, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("{300} {0}\n", "")
