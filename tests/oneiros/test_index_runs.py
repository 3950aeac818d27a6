"""The indexer, and what a question is told while they are made for the first time."""

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.closed import ClosedWhen
from crawler.ingest import ingest
from crawler.reading.record import Readings
from memory_server.completeness import SkipKind
from memory_server.document import raw_path
from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Embedded
from memory_server.embedding.model import ModelFiles
from memory_server.errors import NeedsRepair
from memory_server.index.build import EMBEDDING, Progress, fill_cache
from memory_server.index.semantic import SemanticIndex
from memory_server.memory import Memory
from memory_server.search.question import parse_query
from memory_server.settings import PersonSettings
from oneiros.client import Client
from oneiros.daemon import index_runs as module
from oneiros.daemon.index_runs import IndexRuns
from tests.crawler.builders import person, settings_in, write_transcript
from tests.memories import RememberingEngine, recall, root_at, search_exact, search_memory, write_session, write_topic
from tests.memory_server.test_raw_answers import NOW, archived
from tests.system.house import wait_until

LATER = "11112222-3333-4444-5555-666677778888"

asked: list[IndexRuns] = []  # of the memory under test, as the daemon puts them together
is_asked = threading.Event()


def before_search(is_indexed: bool) -> str:
    is_asked.set()
    return asked[0].before_search(is_indexed) if asked else ""


class HeldEngine(RememberingEngine):
    """The real engine, which embeds no passage before it is let go."""

    may_go = threading.Event()

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        if not as_query:
            assert self.may_go.wait(60)
        return super().embed(texts, as_query=as_query)


@pytest.fixture(scope="module")
def held_engine(real_model: ModelFiles) -> HeldEngine:
    return HeldEngine(real_model)


@pytest.fixture
def memory(tmp_path: Path, held_engine: HeldEngine) -> Iterator[Memory]:
    (tmp_path / "topics").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    (tmp_path / "topics" / "mail.md").write_text("# Mail\n\nThe relay listens on port 2525.\n", encoding="utf-8")
    HeldEngine.may_go.clear()
    asked.clear()
    is_asked.clear()
    opened = Memory(
        root_at(tmp_path),
        person=PersonSettings(),
        catalogue=Catalogue(tmp_path),
        now=lambda: dt.datetime.now(dt.UTC),
        make_engine=lambda _: held_engine,
        before_search=before_search,
    )
    with opened:
        yield opened
    HeldEngine.may_go.set()


@pytest.fixture
def indexer(memory: Memory) -> Iterator[IndexRuns]:
    made = IndexRuns(memory)
    asked.append(made)
    yield made
    HeldEngine.may_go.set()
    made.close()


def test_a_question_waits_for_the_first_index(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_INDEX_SECONDS", 120.0)
    answers = []
    indexer.worker.start()
    asking = threading.Thread(target=lambda: answers.append(search_memory(memory, "where does the relay listen")))
    asking.start()
    assert is_asked.wait(60)

    HeldEngine.may_go.set()
    asking.join()

    assert [hit.path for hit in answers[0].hits] == ["topics/mail.md"]


def test_a_question_is_answered_by_words_while_the_first_index_embeds_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_INDEX_SECONDS", 120.0)
    begun = threading.Event()

    def hold(*given: object) -> None:
        if given[-1] == EMBEDDING:
            begun.set()
            assert HeldEngine.may_go.wait(150)
        fill_cache(*given)  # type: ignore[arg-type]

    HeldEngine.may_go.clear()
    with archived(tmp_path) as memory, closing(IndexRuns(memory)) as indexer:
        write_session(memory.root.path, "2026-01-05-tea", "The zebra carries the tea.")
        memory._before_search = indexer.before_search
        monkeypatch.setattr("memory_server.index.build.fill_cache", hold)
        memory.indices.keep_vectors(())
        indexer.poke(rebuild=True)
        indexer.worker.start()
        assert begun.wait(60)

        answer = recall(memory, "zebra")
        HeldEngine.may_go.set()

    assert [hit.path for hit in answer.hits] == ["sessions/compressed/2026/2026-01-05-tea.md"]
    assert answer.note.startswith("This memory is being indexed for the first time")


class PokedMeanwhile(IndexRuns):
    """Another thread orders a rebuild just when a run that was left looks whether one is ordered."""

    ordering: threading.Thread | None = None
    _ordered_rebuild = False

    @property
    def _rebuild(self) -> bool:
        value = self._ordered_rebuild
        if self.ordering and not self.ordering.ident:
            self.ordering.start()
            self.ordering.join(0.2)  # where the lock is held it comes later
        return value

    @_rebuild.setter
    def _rebuild(self, value: bool) -> None:
        self._ordered_rebuild = value

    def _bring_level(self, rebuild: bool, anyway: bool) -> None:
        self.ordering = threading.Thread(target=self.poke, kwargs={"rebuild": True})
        raise module.Overtaken


def test_a_rebuild_that_is_ordered_while_a_run_is_left_is_not_lost(memory: Memory) -> None:
    with closing(PokedMeanwhile(memory)) as indexer:
        indexer._run()
        assert indexer.ordering
        indexer.ordering.join(20)

        assert indexer._take_order()[1:] == (True, True)


def test_a_question_is_told_how_far_the_first_index_is(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_INDEX_SECONDS", 0.0)
    indexer.worker.start()

    answer = search_memory(memory, "where does the relay listen")

    assert answer.note.startswith("This memory is being indexed for the first time")


@pytest.mark.parametrize("is_other_process", [False, True])
def test_an_answer_says_that_it_may_lack_something_while_sessions_are_embedded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_other_process: bool
) -> None:
    begun = threading.Event()

    def hold(*given: object) -> None:
        given[-1](Progress("embedding", 3, 40))  # type: ignore[operator]
        begun.set()
        assert HeldEngine.may_go.wait(60)

    HeldEngine.may_go.clear()
    with archived(tmp_path) as memory, closing(IndexRuns(memory)) as indexer:
        memory._before_search = indexer.before_search
        assert search_memory(memory, "relay").lacks == ""
        assert memory.stretches is not None
        memory.stretches.ledger.set_note("unfinished", "yes")
        monkeypatch.setattr("memory_server.index.stretch_index.fill_cache", hold)
        memory.indices.keep_vectors({*memory.indices.ledger.texts()})
        if is_other_process:
            monkeypatch.setattr(IndexRuns, "_owns_root", lambda _: False)
            monkeypatch.setattr(module, "START_SECONDS", 0.0)
        indexer.worker.start()
        assert is_other_process or begun.wait(60)

        how_far = "" if is_other_process else ", embedding 3 of 40 passages"
        assert search_memory(memory, "relay").lacks == f"Indexing goes on{how_far}: this answer may lack something."
        memory.embedding.pause()
        assert search_memory(memory, "relay").lacks == f"Indexing is paused{how_far}: this answer may lack something."
        memory.embedding.resume()
        HeldEngine.may_go.set()


def test_an_answer_says_why_nothing_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    with archived(tmp_path) as memory, closing(IndexRuns(memory)) as indexer:
        assert memory.stretches is not None
        memory.stretches.ledger.set_note("unfinished", "yes")
        memory._before_search = indexer.before_search
        indexer._error = "the disk is full"

        assert search_memory(memory, "relay").lacks == f"{module.BEHIND} the disk is full"


def test_a_rebuild_does_not_end_with_what_it_is_to_mend(tmp_path: Path) -> None:
    with archived(tmp_path) as memory, closing(IndexRuns(memory)) as indexer:
        indexer._error = "the ledger is damaged. Run `oneiros reindex --rebuild`"

        indexer.poke(rebuild=True, anyway=True)

        assert indexer.state().error == ""


def test_what_goes_on_is_looked_up_behind_a_rebuild_that_drops_a_ledger(tmp_path: Path) -> None:
    told: list[str] = []
    with archived(tmp_path) as memory, closing(IndexRuns(memory)) as indexer:
        indexer._covered = 1
        asking = threading.Thread(target=lambda: told.append(indexer.before_search(True)))
        with memory.indices.search_lock.exchanging():
            asking.start()
            asking.join(0.3)
            assert told == []
        asking.join()

    assert told == [""]


def test_a_question_waits_for_the_run_behind_a_write(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", 120.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    assert indexer.wait(indexer.poke(), 60)
    write_topic(memory, "okapi", "# Okapi\n\nThe okapi is striped.\n")

    indexer.poke()

    assert [hit.path for hit in search_exact(memory, "okapi").hits] == ["topics/okapi.md"]


def test_what_is_written_while_a_long_run_embeds_is_found_before_that_run_is_done(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []

    def embed(engine: HeldEngine, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        if not as_query and not embedded[1:]:  # behind the topics, the first batch of sessions
            write_topic(memory, "okapi", "# Okapi\n\nThe okapi is striped.\n") if embedded else None
            indexer.poke() if embedded else None
        embedded.append("\n".join(texts))
        return RememberingEngine.embed(engine, texts, as_query=as_query)

    monkeypatch.setattr(HeldEngine, "embed", embed)
    monkeypatch.setattr("memory_server.index.build.TEXTS_AN_APPEND", 1)
    for day in range(10, 29):
        write_session(memory, f"2026-01-{day}-day-{day:08}", f"Day {day} was a quiet day.")
    indexer.worker.start()
    assert indexer.wait(indexer.poke(anyway=True), 60)

    places = [
        next(at for at, text in enumerate(embedded) if said in text) for said in ("2525", "Day 28", "okapi", "Day 10")
    ]
    assert places == sorted(places)
    assert len(embedded) < 3 * len(set(embedded))


def test_a_question_says_that_the_run_behind_a_write_failed(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", 120.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    assert indexer.wait(indexer.poke(), 60)
    monkeypatch.setattr(memory.upkeep.indices, "reindex", lambda *_, **__: 1 / 0)
    write_topic(memory, "okapi", "# Okapi\n\nThe okapi is striped.\n")

    indexer.poke()

    assert search_exact(memory, "2525").lacks == (
        "What was written last is not indexed yet. indexing failed: ZeroDivisionError('division by zero')"
    )


def test_without_an_indexer_files_that_wait_are_counted_not_asked_for(memory: Memory) -> None:
    answer = search_exact(memory, "2525")

    assert answer.note == "Nothing is indexed yet: the indices are 2 files behind; bring them level: oneiros reindex."


def test_indices_of_another_format_are_made_anew_without_being_asked(memory: Memory, indexer: IndexRuns) -> None:
    HeldEngine.may_go.set()
    memory.reindex()
    memory.indices.ledger.connection.execute("pragma user_version = 99")
    memory.indices.close()

    indexer.worker.start()
    indexer.wait(indexer.poke(), 60)

    assert [hit.path for hit in search_exact(memory, "2525").hits] == ["topics/mail.md"]


def test_what_is_being_read_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "ask", lambda *_: {"hits": [], "note": "", "lacks": "1 disk is away.", "behind": 3})

    answer = Client({}, tmp_path).search(parse_query("relay"))

    assert answer.lacks == "Being read, and not in this answer: 3 changed files. 1 disk is away."


def test_a_session_that_comes_into_the_archive_alone_is_indexed_by_the_next_look(tmp_path: Path) -> None:
    """As where its digest was read by a run that began before its turns were archived."""
    with archived(tmp_path) as memory:
        memory.reindex()
        write_transcript(tmp_path / "later", person(21, "Is the okapi striped?", sessionId=LATER), session=LATER)
        closed = ClosedWhen(NOW, process_start=lambda pid: None)
        of_root, readings = settings_in(memory.root.path), Readings(tmp_path / "readings")
        ingest([tmp_path / "later"], of_root, tmp_path / "digests of another", readings, closed)
        assert [one.kind for one in memory.upkeep.list_skipped(memory.upkeep.changes())] == [SkipKind.SESSION]
        indexer = IndexRuns(memory)
        indexer.worker.start()
        try:
            assert indexer.wait(indexer.poke(), 60)

            assert memory.upkeep.list_skipped(memory.upkeep.changes()) == []
            assert [hit.path for hit in search_exact(memory, "okapi", include_raw=True).hits] == [raw_path(LATER)]
        finally:
            indexer.close()


def test_behind_the_first_run_every_question_without_a_filter_is_answered_by_chromadb(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRAPH_SECONDS", 0.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    wait_until(lambda: indexer.state().semantic == "ChromaDB", seconds=60)
    assert memory.status().level == "level with the disk"

    for word in ("relay", "port", "listens"):
        assert [hit.path for hit in search_memory(memory, word).hits] == ["topics/mail.md"]
    search_memory(memory, "relay layer:topic tag:none")
    write_topic(memory.root, "shop", "A robot wrote an invoice.")
    assert indexer.wait(indexer.poke(), 60)

    assert [hit.path for hit in search_memory(memory, "invoice").hits][:1] == ["topics/shop.md"]
    assert indexer.state().looks == {"chromadb": 4, "scan": 0}


def test_until_the_graph_is_filled_the_scan_answers_and_nothing_counts_as_behind(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRAPH_SECONDS", 1_000.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    assert indexer.wait(indexer.poke(), 60)

    assert [hit.path for hit in search_memory(memory, "relay").hits] == ["topics/mail.md"]
    state = indexer.state()
    assert (state.semantic, state.looks) == (
        "a scan, until ChromaDB is filled",
        {"chromadb": 0, "scan": 1},
    )
    assert (memory.status().unfinished, memory.status().level) == (0, "level with the disk")


def test_looks_at_a_graph_that_cannot_be_made_keep_no_daemon_from_ending(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        tries.append(len(noted))
        raise NeedsRepair("the semantic index is damaged")

    noted: list[None] = []
    tries: list[int] = []
    monkeypatch.setattr(module, "GRAPH_SECONDS", 0.0)
    monkeypatch.setattr(module, "LAST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(SemanticIndex, "add", fail)
    HeldEngine.may_go.set()
    with closing(IndexRuns(memory, lambda: noted.append(None))) as indexer:
        indexer.worker.start()
        wait_until(lambda: len(tries) > 8, seconds=60)

    assert {*tries} == {tries[0]}


def test_a_graph_that_is_lost_under_a_question_is_filled_again_before_anything_changes(
    memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise NeedsRepair("the semantic index is damaged")

    monkeypatch.setattr(module, "GRAPH_SECONDS", 0.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    wait_until(lambda: indexer.state().semantic == "ChromaDB", seconds=60)
    [before] = memory.root.semantic_index.iterdir()

    with monkeypatch.context() as patch:
        patch.setattr(SemanticIndex, "find_nearest", fail)
        assert [hit.path for hit in search_memory(memory, "relay").hits] == ["topics/mail.md"]
    wait_until(lambda: indexer.state().semantic == "ChromaDB", seconds=60)

    assert [*memory.root.semantic_index.iterdir()] != [before]


def test_who_asks_for_a_scan_has_no_graph(memory: Memory, indexer: IndexRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRAPH_SECONDS", 0.0)
    HeldEngine.may_go.set()
    indexer.worker.start()
    wait_until(lambda: indexer.state().semantic == "ChromaDB", seconds=60)

    memory.person = replace(memory.person, semantic="scan")
    indexer.poke()
    wait_until(lambda: not memory.root.semantic_index.exists(), seconds=60)

    assert indexer.state().semantic == "a scan, as you set it"
