"""Brings the indices level with the disk, by the difference alone.

Order of writing: ledger and keyword index (one transaction a source), vector cache, semantic index, confirmation in
the ledger. A kill at any point leaves pending rows in the ledger, which the next run finishes. Nothing is embedded
twice: the vector cache is asked first.
"""

import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from memory_server.chunking import chunk_document
from memory_server.completeness import SkipKind
from memory_server.document import Layer, SourcePath
from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.vector_cache import TextHash, VectorCache, pack_tokens, text_hash
from memory_server.embedding.workers import EmbeddingControl, WorkerPlan, WorkerPool
from memory_server.errors import ContentError, Problem
from memory_server.index.ledger import Ledger, SourceState, build_embedded_text, join_keys
from memory_server.layers.topics import (
    YOUNG_SECONDS,
    SourceFile,
    as_problem,
    find_fault,
    find_sources,
    read_document,
)
from memory_server.lifecycle.fading import Fading
from memory_server.root.paths import MemoryRoot

SOURCES_A_TRANSACTION = 20
TEXTS_AN_APPEND = 64
MOST_SQLITE_INTEGER = 2**63 - 1
HASH_CHARS = 64  # of a sha256; behind it stands what else a source was indexed by
UNFINISHED = "unfinished"  # the note of a run under way, or of one that was interrupted


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between the disk and the ledger."""

    changed: tuple[SourceFile, ...] = ()  # new ones too
    removed: tuple[SourcePath, ...] = ()
    unchanged: int = 0
    unfinished: int = 0  # passages that an interrupted run has left to do; at least 1 where there was one
    young: tuple[SourceFile, ...] = ()  # unchanged, but too young when they were indexed to tell by their time
    skipped: tuple[Problem, ...] = ()  # what cannot be read, or was read key by key, and what is no source
    is_noted: bool = True  # whether the ledger knows of just that
    sources: tuple[SourceFile, ...] = ()  # all that there are

    @property
    def is_empty(self) -> bool:
        return not (self.changed or self.removed or self.unfinished) and self.is_noted

    @property
    def count(self) -> int:
        """How many files differ from what is indexed."""
        return len(self.changed) + len(self.removed)


class StatementQuestions(Protocol):
    """Tells which questions a statement of a topic answers: its hidden keys, by which it is found.

    They come from readings and are kept with what a person accepted, which another package knows.
    """

    def mark(self, path: SourcePath) -> str:
        """A few letters that differ whenever the questions of a file's statements may; empty where there are none."""

    def find_questions(self, path: SourcePath, statement: str) -> tuple[str, ...]:
        """The questions that a statement of a file answers, found by its words."""


class NoQuestions:
    """Where nothing is known of any statement."""

    def mark(self, path: SourcePath) -> str:  # noqa: ARG002  as the protocol asks
        return ""

    def find_questions(self, path: SourcePath, statement: str) -> tuple[str, ...]:  # noqa: ARG002  likewise
        return ()


EMBEDDING = "embedding"  # the stage of all but topics, which takes longest
INDEXING = "indexing"  # the stage that fills the graph from the cache


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one stage of a run is."""

    stage: str  # reading, embedding topics, raw turns, embedding, indexing
    done: int
    total: int


@dataclass(slots=True)
class Report:
    """What a run did."""

    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    chunks: int = 0  # searchable ones, of all sources
    embedded: int = 0  # texts that the model had to read
    from_cache: int = 0
    seconds: float = 0.0
    embedding_seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)


def _no_progress(_: Progress) -> None:
    pass


class Indexer:
    """Writes the indices of one root. Only the process that holds the root's lock may build one."""

    def __init__(
        self,
        root: MemoryRoot,
        ledger: Ledger,
        cache: VectorCache,
        fading: Fading,
        questions: StatementQuestions,
        learn: Callable[[Callable[[Progress], None]], None],
    ):
        """`learn` is called when every vector is made, before what has one counts as found by meaning."""
        self._fading = fading
        self._questions = questions
        self._root = root
        self._ledger = ledger
        self._cache = cache
        self._learn = learn

    def changes(self) -> Changes:
        """What a run would read or remove. Files of known size and time are not opened."""
        known, noted = dict(self._ledger.sources()), {one.path: one for one in self._ledger.problems()}
        changed, young, unchanged = [], [], 0
        skipped: list[Problem] = []
        sources = tuple(find_sources(self._root, skipped))
        for source in sources:
            state, problem = known.pop(source.path, None), noted.get(source.path)
            is_level = state and state.content_hash[HASH_CHARS:] == self._mark(source.path)
            if state and is_level and _same_stat(f"{self._root.path}/{source.path}", state):
                unchanged += 1
                skipped += [problem] if problem else []
            elif state and state.modified_ns == 0 and self._still_holds(state):
                young.append(source)
                skipped += [problem] if problem else []
            elif problem and not state and (fault := find_fault(self._root, source)):
                skipped.append(fault)
            else:
                changed.append(source)
        pending = self._ledger.list_pending_keys()
        missing = len(pending - self._cache.text_hashes()) if pending else 0
        unfinished = missing or int(bool(pending) or self._ledger.note(UNFINISHED) != "")
        is_noted = set(skipped) == set(noted.values())
        unchanged += len(young)
        return Changes(
            tuple(changed), tuple(known), unchanged, unfinished, tuple(young), tuple(skipped), is_noted, sources
        )

    def _still_holds(self, state: SourceState) -> bool:
        """Whether a file that was indexed just after it was saved still holds what was indexed."""
        now = self._read_state(state.path)
        return now is not None and now.content_hash == state.content_hash

    def _read_state(self, path: SourcePath) -> SourceState | None:
        """A file's state, with the level at which it is indexed and the mark of its questions."""
        state = read_state(self._root.file(path), path)
        return replace(state, content_hash=state.content_hash + self._mark(path)) if state else None

    def _mark(self, path: SourcePath) -> str:
        return self._fading.mark(path) + self._questions.mark(path)

    def run(
        self,
        engine: Callable[[], Engine],
        plan: WorkerPlan | EmbeddingControl,
        report_progress: Callable[[Progress], None] = _no_progress,
        read_more: Callable[[], None] = lambda: None,
    ) -> Report:
        """Reads what changed, embeds what is new, and confirms it. May be interrupted at any point.

        `engine` loads the model; it is called only when there is something to embed. Topics are read and embedded
        first; `read_more` is called before all the rest is embedded, which takes longest.
        """
        started = time.monotonic()
        changes = self.changes()
        report = Report(removed=len(changes.removed), unchanged=changes.unchanged, problems=list(changes.skipped))
        self._read(changes, report, report_progress)
        self._embed(engine, plan, report, report_progress, {Layer.TOPIC}, "embedding topics")
        read_more()
        self._embed(engine, plan, report, report_progress, set(Layer))
        report.chunks = self._ledger.counts()["searchable"]
        self._confirm(report_progress)
        report.seconds = time.monotonic() - started
        return report

    def _read(self, changes: Changes, report: Report, report_progress: Callable[[Progress], None]) -> None:
        """Brings the ledger and the keyword index level, and notes what is wrong with files."""
        with self._ledger.transaction():
            for path in changes.removed:
                self._ledger.remove_source(path)
            for source in changes.young:
                if state := self._read_state(source.path):
                    self._note_time(state)
        # topics first, of all else the newest by name, layer by layer
        topics = [source for source in changes.changed if source.layer is Layer.TOPIC]
        others = [source for source in reversed(changes.changed) if source.layer is not Layer.TOPIC]
        changed = [*topics, *sorted(others, key=lambda source: source.layer.rank)]
        for start in range(0, len(changed), SOURCES_A_TRANSACTION):
            with self._ledger.transaction():
                for source in changed[start : start + SOURCES_A_TRANSACTION]:
                    self._read_one(source, report)
            done = min(start + SOURCES_A_TRANSACTION, len(changed))
            report_progress(Progress("reading", done, len(changed)))
        report.problems.sort(key=lambda problem: (problem.path, problem.line))
        self._ledger.set_problems(report.problems)

    def _note_time(self, state: SourceState) -> None:
        known = self._ledger.source_state(state.path)
        if known and known.content_hash == state.content_hash:
            self._ledger.touch_source(state)

    def _read_one(self, source: SourceFile, report: Report) -> None:
        state = self._read_state(source.path)
        if state is None:
            self._ledger.remove_source(source.path)
            fault = find_fault(self._root, source)
            if fault and os.path.lexists(self._root.file(source.path)):  # else it went while the run was under way
                report.problems.append(fault)
            return
        known = self._ledger.source_state(source.path)
        if known and known.content_hash == state.content_hash:
            self._ledger.touch_source(state)
            report.unchanged += 1
            report.problems += (one for one in self._ledger.problems() if one.path == source.path)
            return
        try:
            document = read_document(self._root, source)
        except ContentError as error:
            self._ledger.remove_source(source.path)
            report.problems.append(as_problem(source, error))
            return
        if broken := document.fault:
            what = f"{broken.what}; it was read key by key"
            report.problems.append(Problem(source.path, broken.line or 1, what, broken.remedy, SkipKind.FRONTMATTER))
        chunks = [
            replace(chunk, keys=self._questions.find_questions(source.path, chunk.searchable))
            if chunk.searchable
            else chunk
            for chunk in self._fading.chunks(source.path, chunk_document(document))
        ]
        texts = [
            build_embedded_text(chunk.context(document), chunk.searchable, join_keys(chunk.keys)) for chunk in chunks
        ]
        self._ledger.put_source(document, state, chunks, [text_hash(text) for text in texts])
        report.changed += 1

    def _embed(
        self,
        engine: Callable[[], Engine],
        plan: WorkerPlan | EmbeddingControl,
        report: Report,
        report_progress: Callable[[Progress], None],
        layers: Collection[Layer],
        stage: str = EMBEDDING,
    ) -> None:
        """Puts the vectors of every pending chunk of some layers into the cache."""
        wanted = {key: text for _, layer, key, text in self._ledger.pending() if layer in layers}
        known = self._cache.find(wanted)
        report.from_cache = len(known) - report.embedded
        missing = [(key, text) for key, text in wanted.items() if key not in known]
        if not missing:
            return
        started = time.monotonic()
        fill_cache(self._cache, missing, engine(), plan, report_progress, stage)
        report.embedded += len(missing)
        report.embedding_seconds += time.monotonic() - started

    def _confirm(self, report_progress: Callable[[Progress], None]) -> None:
        """Confirms what has its vector by now, once the graph has learnt it too."""
        pending = self._ledger.pending()
        self._learn(report_progress)
        self._ledger.confirm([name for name, *_ in pending])


def fill_cache(
    cache: VectorCache,
    missing: Sequence[tuple[TextHash, str]],
    engine: Engine,
    plan: WorkerPlan | EmbeddingControl,
    report_progress: Callable[[Progress], None] = _no_progress,
    stage: str = EMBEDDING,
) -> None:
    """Embeds texts and keeps their vectors under their keys. What is done when it is interrupted is kept."""
    with WorkerPool(engine, plan) as pool:
        done = 0
        for batch in _split_batches(pool.embed([text for _, text in missing]), TEXTS_AN_APPEND):
            made = [(*missing[place], embedded) for place, embedded in batch]
            vectors = np.stack([embedded.vector for _, _, embedded in made])
            cache.append(
                [key for key, _, _ in made], vectors, [pack_tokens(embedded, text) for _, text, embedded in made]
            )
            done += len(batch)
            report_progress(Progress(stage, done, len(missing)))


def read_state(file: Path, path: SourcePath, now: float | None = None) -> SourceState | None:
    """A file's size, time and hash; None where it is gone. A file that just changed gets time 0, so that it is
    looked at again: another save within the clock's grain would be missed otherwise.
    """
    try:
        stat = file.stat()
        content = file.read_bytes()
    except OSError:
        return None
    is_old = (time.time() if now is None else now) - stat.st_mtime > YOUNG_SECONDS
    return SourceState(path, stat.st_size, _time_mark(stat) if is_old else 0, hashlib.sha256(content).hexdigest())


def _same_stat(file: str, state: SourceState) -> bool:
    try:
        stat = os.stat(file)  # noqa: PTH116  a path takes longer than the call, and every source is asked
    except OSError:
        return False
    return (stat.st_size, _time_mark(stat)) == (state.size, state.modified_ns)


def _time_mark(stat: os.stat_result) -> int:
    """A file's date and the time of its status, which the system alone sets, as one number: a clock that jumped, a
    restored backup or a synchronised folder may bring other words under the same size and date."""
    return (stat.st_mtime_ns ^ (stat.st_ctime_ns << 1)) & MOST_SQLITE_INTEGER


def _split_batches(items: Iterator[tuple[int, Embedded]], size: int) -> Iterator[list[tuple[int, Embedded]]]:
    batch: list[tuple[int, Embedded]] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
