"""What was said in archived sessions, found by its meaning where a person wants that."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawler.archived import ArchivedSessions
from crawler.ingest import Ingester
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, settings_in, write_transcript
from tests.memories import recall, root_at

NOW = dt.datetime(2026, 3, 5, tzinfo=dt.UTC)
QUESTION = "a kitten that dozes in a warm place layer:raw"  # shares no word with what was said


@contextmanager
def opened(folder: Path, *, raw_vectors: bool) -> Iterator[Memory]:
    """A memory with two archived sessions, one on a cat and one on a printer."""
    root = root_at(folder / "mem")
    root.derived.mkdir(parents=True, exist_ok=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    write_transcript(folder / "live", person(1, "Our old cat sleeps on the heater all day long."))
    other = [
        person(21, "The printer jams on thick paper.", session=OTHER_SESSION),
        assistant(22, "Its rollers were worn and I ordered new ones.", session=OTHER_SESSION),
    ]
    write_transcript(folder / "live", *other, session=OTHER_SESSION)
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([folder / "live"])
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    settings = PersonSettings(raw_vectors=raw_vectors)
    with Memory(root, person=settings, hub_cache=folder, now=lambda: NOW, sessions=store) as memory:
        memory.reindex()
        yield memory


def found(memory: Memory) -> list[str]:
    return [hit.path.rpartition("/")[2] for hit in recall(memory, QUESTION, include_raw=True).hits]


def test_a_session_is_found_by_meaning_alone_where_the_setting_says_so(tmp_path: Path) -> None:
    with opened(tmp_path / "with", raw_vectors=True) as memory:
        assert found(memory)[:1] == [SESSION]
    with opened(tmp_path / "without", raw_vectors=False) as memory:
        assert found(memory) == []
        assert not memory.root.raw_vectors.exists()


def test_what_was_said_is_embedded_once(tmp_path: Path) -> None:
    with opened(tmp_path, raw_vectors=True) as memory:
        assert memory.speech is not None
        file = memory.speech.folder / "vectors.f32"
        before = file.stat().st_mtime_ns, file.stat().st_size

        memory.reindex()

        assert (file.stat().st_mtime_ns, file.stat().st_size) == before


def test_a_rebuild_leaves_no_vector_of_a_session_that_was_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path, raw_vectors=True) as memory:
        assert memory.speech is not None
        folder = memory.speech.folder
        with Ingester(settings_in(memory.root.path)) as ingester:
            ingester.forget(SESSION)

        memory.reindex(rebuild=True)

        assert (folder / "vectors.f32").stat().st_size == 2 * 4 * memory.model.card.dimensions
        assert SESSION not in found(memory)


def test_vectors_of_another_model_are_removed(tmp_path: Path) -> None:
    with opened(tmp_path, raw_vectors=True) as memory:
        other = memory.root.raw_vectors / "another-model"
        other.mkdir()

        memory.reindex()

        assert [folder.name for folder in memory.root.raw_vectors.iterdir()] == [memory.model.fingerprint]
