"""The archive through the doors of a memory: tools and depths."""

import asyncio
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from crawler.archived import ArchivedSessions
from crawler.closed import ClosedWhen
from crawler.ingest import ingest
from crawler.reading.record import Readings
from memory_server.embedding.catalogue import Catalogue
from memory_server.errors import ContentError, NeedsRepair, UsageError
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from tests.crawler.builders import SESSION, settings_in, working_session, write_transcript
from tests.memories import recall, root_at, search_exact

NOW = dt.datetime(2026, 3, 5, tzinfo=dt.UTC)


@contextmanager
def archived(folder: Path) -> Iterator[Memory]:
    """A memory that took one session in."""
    root = root_at(folder / "mem")
    root.derived_folder.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    write_transcript(folder / "live", *working_session())
    closed = ClosedWhen(NOW, process_start=lambda pid: None)
    ingest(
        [folder / "live"], settings_in(root.path), root.sessions, Readings(root.path / "sessions" / "readings"), closed
    )
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    with Memory(
        root, person=PersonSettings(), catalogue=Catalogue(folder), now=lambda: NOW, sessions=lambda: store
    ) as opened:
        opened.reindex()
        yield opened


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with archived(tmp_path_factory.mktemp("archived")) as opened:
        yield opened


def ask(memory: Memory, tool: str, **arguments: Any) -> str:
    async def call() -> str:
        async with Client(create_server(memory, "test")) as client:
            answer = await client.call_tool(tool, arguments)
            return "\n".join(block.text for block in answer.content if block.type == "text")

    return asyncio.run(call())


def test_turns_answer_when_they_are_asked_for(memory: Memory) -> None:
    assert "raw (rank 3)" in ask(memory, "search_exact", query="updated", include_raw=True)
    assert "raw (rank 3)" in ask(memory, "recall", query="peer closed layer:raw")


def test_turns_answer_where_nothing_else_holds_the_words(memory: Memory) -> None:
    text = ask(memory, "search_exact", query='"has been updated"')

    assert "raw (rank 3)" in text and f"| {SESSION[:8]}:5 |" in text


def test_a_raw_hit_can_be_read_on(memory: Memory) -> None:
    text = ask(memory, "read_memory", name=f"sessions/archive/{SESSION}", first=3, last=3)

    assert text.startswith("raw (rank 3)") and "[3] tool Bash" in text


def test_a_session_found_by_statement_and_turns_is_one_hit(memory: Memory) -> None:
    hits = recall(memory, "idle timeout of the proxy", include_raw=True).hits

    assert len(hits) == 1 and {reason.arm for reason in hits[0].why} >= {"turns", "semantic"}


@pytest.mark.parametrize(("depth", "place"), [("line", SESSION), ("digest", SESSION), ("file", f"{SESSION}:1")])
def test_each_depth_names_the_next_as_a_model_would_call_it(memory: Memory, depth: str, place: str) -> None:
    assert f'read_memory("{place}")' in memory.read_session(SESSION[:8], depth)


def test_a_depth_takes_the_path_of_a_hit_and_a_first_turn(memory: Memory) -> None:
    path = recall(memory, "relay").hits[0].path

    assert "keepalive" in memory.read_session(path, "digest")
    assert memory.read_session(SESSION, "raw", first=7).startswith("[0000000a] ")


def test_a_wrong_depth_and_an_unknown_session_are_told_in_one_sentence(memory: Memory) -> None:
    with pytest.raises(UsageError, match="line, digest, file, raw"):
        memory.read_session(SESSION, "deep")
    with pytest.raises(ContentError):
        memory.read("sessions/archive/nothing")


@pytest.mark.parametrize(
    "search",
    [Memory.reindex, lambda memory: memory.upkeep.refresh(), lambda memory: recall(memory, "x layer:raw")],
)
def test_a_damaged_index_of_turns_is_named_and_a_rebuild_mends_it(
    tmp_path: Path, search: Callable[[Memory], object]
) -> None:
    with archived(tmp_path) as memory:
        expected = search_exact(memory, "updated", include_raw=True).hits
        assert memory.raw is not None
        memory.raw.close()
        memory.root.raw_index.write_bytes(b"SQLite format 3\0" + b"rubbish" * 1_000)
        for suffix in ("-wal", "-shm"):
            memory.root.raw_index.with_name(f"raw.db{suffix}").unlink(missing_ok=True)

        with pytest.raises(NeedsRepair, match=r"oneiros reindex --rebuild"):
            search(memory)
        memory.reindex(rebuild=True)

        assert search_exact(memory, "updated", include_raw=True).hits == expected


def test_a_rebuilt_index_gives_the_same_answers(memory: Memory) -> None:
    before = ask(memory, "search_exact", query='"has been updated"')

    memory.reindex(rebuild=True)

    assert ask(memory, "search_exact", query='"has been updated"') == before
