"""Who takes a session out of the archive need not own the indices: the owner's next run finishes what was noted."""

from pathlib import Path

from crawler.ingest import forget
from memory_server.memory import Memory
from memory_server.root.forgetting import note_forgetting, sessions_to_forget
from oneiros.daemon.index_runs import IndexRuns
from tests.crawler.builders import SESSION, settings_in
from tests.memories import search_exact
from tests.memory_server.test_raw_answers import archived

WORDS = b"keepalive"


def held_by(memory: Memory) -> list[Path]:
    """The files of a memory and its state that hold words of its one session."""
    folders = (memory.root.path, memory.root.state)
    return [path for one in folders for path in one.rglob("*") if path.is_file() and WORDS in path.read_bytes()]


def test_a_daemon_that_runs_finishes_what_another_process_has_forgotten(tmp_path: Path) -> None:
    with archived(tmp_path) as memory:
        indexer = IndexRuns(memory)
        indexer.worker.start()
        try:
            assert search_exact(memory, "keepalive", include_raw=True).hits and held_by(memory)
            note_forgetting(memory.root, [SESSION])
            forget(SESSION, settings_in(memory.root.path), memory.root.sessions)

            assert indexer.wait(indexer.poke(), seconds=60)

            assert held_by(memory) == [] and not sessions_to_forget(memory.root)
            assert search_exact(memory, "keepalive", include_raw=True).hits == ()
        finally:
            indexer.close()


def test_what_is_noted_and_still_archived_waits_and_costs_no_rebuild(tmp_path: Path) -> None:
    with archived(tmp_path) as memory:
        note_forgetting(memory.root, [SESSION])

        assert not memory.is_unfinished()
        assert memory.reindex().changed == 0

        assert sessions_to_forget(memory.root) == {SESSION}
        assert search_exact(memory, "keepalive", include_raw=True).hits
