"""What Claude wrote or read as notes answers where nothing that was said does, and decides nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from filelock import FileLock

from crawler.archive.append import Ingester
from crawler.archived import ArchivedSessions
from crawler.ingest import forget
from memory_server.document import Layer
from memory_server.embedding.catalogue import Catalogue
from memory_server.index.indices import NotOwner
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from tests.crawler.builders import SESSION, assistant, call, person, result, settings_in, write_transcript
from tests.memories import recall, root_at, write_topic
from tests.memory_server.test_mcp_server import call as called
from tests.memory_server.test_mcp_server import text_of
from tests.memory_server.test_spoken_answers import NOW

HANDOFF = """# Handoff

The nightly export of the warehouse is written to the second bucket at four.

The payment relay takes port 4040.

The signing key of the label printer is api_key = "Zx81kk02mnbq77Tr".
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A memory with notes that tests read."""
    with memory_with_notes(tmp_path_factory.mktemp("notes")) as opened:
        yield opened


@contextmanager
def memory_with_notes(folder: Path) -> Iterator[Memory]:
    """A session that said something of a relay, and wrote a handoff that says it too, and more."""
    root = root_at(folder / "mem")
    root.derived_folder.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    records = [
        person(1, "Which port shall the payment relay take?"),
        assistant(2, "The payment relay takes port 4040, since 2525 is taken by the mail relay."),
        person(3, "Good. Write the handoff, please."),
        assistant(4, call("Write", "c1", file_path="/srv/app/docs/HANDOFF.md", content=HANDOFF)),
        result(5, "c1", "File created successfully"),
        assistant(6, "The handoff is written."),
    ]
    write_transcript(folder / "live", *records)
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([folder / "live"])
    with reopened(folder) as opened:
        opened.reindex()
        yield opened


def reopened(folder: Path) -> Memory:
    """The memory as it lies on the disk."""
    root = root_at(folder / "mem")
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    return Memory(root, person=PersonSettings(), catalogue=Catalogue(folder), now=lambda: NOW, sessions=lambda: store)


EXPORT = "where is the nightly export of the warehouse written to"


def test_a_note_answers_what_nobody_said(memory: Memory) -> None:
    [note] = [hit for hit in recall(memory, EXPORT).hits if hit.type == "note"]

    assert "second bucket" in note.passage
    assert (note.layer, note.title, note.project, note.decides) == (Layer.REFERENCE, "docs/HANDOFF.md", "app", False)


def test_what_was_said_stands_before_the_note_that_says_it_too(memory: Memory) -> None:
    hits = recall(memory, "which port does the payment relay take").hits

    assert "since 2525 is taken" in hits[0].passage
    assert hits[0].layer is Layer.RAW


def test_notes_are_asked_for_by_their_type(memory: Memory) -> None:
    assert {hit.type for hit in recall(memory, "payment relay type:note").hits} == {"note"}


def test_a_reference_that_calls_itself_a_note_is_no_session_s_note(tmp_path: Path) -> None:
    with memory_with_notes(tmp_path) as memory:
        own = memory.root.references / "app" / "ports.md"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text("---\ntype: note\n---\n\nThe payment relay takes port 4040.\n", encoding="utf-8")
        write_topic(
            memory, "relay", "# Relay\n\nThe payment relay takes port 4040 for cards.\n"
        )  # or references answer
        memory.reindex()
        hits = recall(memory, "which port does the payment relay take").hits

    assert [hit.title for hit in hits if hit.layer is Layer.REFERENCE] == ["docs/HANDOFF.md"]


def test_a_rebuild_that_does_not_own_the_root_takes_no_notes(tmp_path: Path) -> None:
    with memory_with_notes(tmp_path) as memory, FileLock(memory.root.lock):
        with pytest.raises(NotOwner):
            memory.reindex(rebuild=True)

        assert len(list(memory.root.notes.rglob("*.md"))) == 1


@pytest.mark.parametrize("is_owned", [True, False])
def test_notes_are_written_by_the_owner_alone(tmp_path: Path, is_owned: bool) -> None:
    """The turns of a session are indexed before a question by whoever asks."""
    with memory_with_notes(tmp_path) as memory:
        shutil.rmtree(memory.root.notes)
        memory.root.raw_index.unlink()
        with nullcontext() if is_owned else FileLock(memory.root.lock), reopened(tmp_path) as again:
            again.upkeep.refresh()

        assert memory.root.notes.exists() is is_owned


def test_a_note_is_read_by_the_place_that_is_shown(memory: Memory) -> None:
    shown = text_of(called(memory, "recall", query="nightly export of the warehouse type:note"))
    place = shown.partition("\n")[0].split(" | ")[3]

    assert "second bucket" in text_of(called(memory, "read_memory", name=place))


def test_secrets_are_masked_in_notes(memory: Memory) -> None:
    pages = [file.read_text(encoding="utf-8") for file in memory.root.notes.rglob("*.md")]

    assert len(pages) == 1 and "label printer" in pages[0]
    assert "Zx81kk02mnbq77Tr" not in pages[0]


def test_a_session_that_is_forgotten_takes_its_notes_along(tmp_path: Path) -> None:
    with memory_with_notes(tmp_path) as memory:
        forget([SESSION], settings_in(memory.root.path), memory.root.sessions)
        memory.reindex()

        assert not any(hit.type == "note" for hit in recall(memory, EXPORT).hits)
        assert list(memory.root.notes.rglob("*.md")) == []
