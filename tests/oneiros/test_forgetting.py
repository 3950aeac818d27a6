"""Who takes a session out of the archive need not own the indices: the owner's next run finishes what was noted."""

import os
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest

from crawler.archived import ArchivedSessions
from crawler.closed import ClosedWhen
from crawler.ingest import forget, ingest
from crawler.reading.record import Readings
from memory_server.machine import database
from memory_server.memory import Memory
from memory_server.root.forgetting import note_forgetting, sessions_to_forget
from oneiros.daemon.index_runs import IndexRuns
from oneiros.ingest.typed_lines import build_recorder
from tests.crawler.builders import OTHER_SESSION, SESSION, person, settings_in, write_transcript
from tests.memories import kept_reading, search_exact
from tests.memory_server.test_raw_answers import NOW, archived

WORDS = b"keepalive"
STEM = b"zirconium"  # of a word that no session holds as it stands


def held_by(memory: Memory, words: bytes = WORDS) -> list[Path]:
    """The files of a memory and its state that hold words of its one session; an indexer may take files away beside."""
    found = []
    for folder, _, names in chain(os.walk(memory.root.path), os.walk(memory.root.state)):
        for path in (Path(folder) / name for name in names):
            with suppress(FileNotFoundError):
                found += [path] if words in path.read_bytes() else []
    return found


def take_in(memory: Memory, folder: Path, text: str) -> None:
    """Takes another session of the person's in and reads its typed lines."""
    write_transcript(folder, person(91, text, session=OTHER_SESSION), session=OTHER_SESSION)
    readings, closed = Readings(memory.root.path / "sessions" / "readings"), ClosedWhen(NOW)
    ingest([folder], settings_in(memory.root.path), memory.root.sessions, readings, closed)
    build_recorder(memory).bring_level()
    memory.reindex()


def test_a_daemon_that_runs_finishes_what_another_process_has_forgotten(tmp_path: Path) -> None:
    with archived(tmp_path) as memory:
        indexer = IndexRuns(memory)
        indexer.worker.start()
        try:
            assert search_exact(memory, "keepalive", include_raw=True).hits and held_by(memory)
            note_forgetting(memory.root, [SESSION])
            forget([SESSION], settings_in(memory.root.path), memory.root.sessions)

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


def test_no_other_session_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def see(store: ArchivedSessions, session_id: str) -> object:
        read.append(session_id)
        return read_session(store, session_id)

    read_session = ArchivedSessions.session
    with archived(tmp_path) as memory:
        take_in(memory, tmp_path / "live", "The heron nests below the weir.")
        note_forgetting(memory.root, [SESSION])
        forget([SESSION], settings_in(memory.root.path), memory.root.sessions)
        monkeypatch.setattr(ArchivedSessions, "session", see)

        memory.reindex()

        assert read == [] and held_by(memory) == [] and not sessions_to_forget(memory.root)
        assert search_exact(memory, "heron", include_raw=True).hits


def test_what_another_process_still_reads_is_forgotten_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    with archived(tmp_path) as memory:
        note_forgetting(memory.root, [SESSION])
        forget([SESSION], settings_in(memory.root.path), memory.root.sessions)
        with kept_reading(memory.root.raw_index, "chunk"):
            memory.reindex()
            assert sessions_to_forget(memory.root) == {SESSION} and memory.is_unfinished()

        memory.reindex()

        assert held_by(memory) == [] and not sessions_to_forget(memory.root)


def test_no_stem_of_a_forgotten_word_stays_whoever_takes_the_lines_out(tmp_path: Path) -> None:
    with archived(tmp_path) as memory:
        take_in(memory, tmp_path / "live", "We decided that the heron is fed ZIRCONIUMS.")
        assert any(path.name.startswith("sessions.db") for path in held_by(memory, STEM))

        note_forgetting(memory.root, [OTHER_SESSION])
        forget([OTHER_SESSION], settings_in(memory.root.path), memory.root.sessions)
        build_recorder(memory).bring_level()
        memory.reindex()

        assert held_by(memory, STEM) == [] and not sessions_to_forget(memory.root)
        assert [line.session_id for line in memory.typed_lines.find(["keepalive"], [], [], 1)] == [SESSION]


def test_stems_that_another_process_still_reads_are_forgotten_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    with archived(tmp_path) as memory:
        take_in(memory, tmp_path / "live", "We decided that the heron is fed ZIRCONIUMS.")
        note_forgetting(memory.root, [OTHER_SESSION])
        forget([OTHER_SESSION], settings_in(memory.root.path), memory.root.sessions)
        with kept_reading(memory.root.sessions_database, "line"):
            memory.reindex()
            assert sessions_to_forget(memory.root) == {OTHER_SESSION}

        memory.reindex()

        assert held_by(memory, STEM) == held_by(memory, OTHER_SESSION.encode()) == []
        assert not sessions_to_forget(memory.root)


def test_what_was_asked_and_used_that_another_process_still_reads_is_forgotten_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    with archived(tmp_path) as memory:
        used = search_exact(memory, "keepalive", include_raw=True).hits[0].path.encode()
        assert held_by(memory, used) and any(path.name.startswith("state.db") for path in held_by(memory))
        note_forgetting(memory.root, [SESSION])
        forget([SESSION], settings_in(memory.root.path), memory.root.sessions)
        with kept_reading(memory.root.state_database, "query"):
            memory.reindex()
            assert sessions_to_forget(memory.root) == {SESSION} and memory.is_unfinished()

        memory.reindex()

        assert held_by(memory) == held_by(memory, used) == [] and not sessions_to_forget(memory.root)
