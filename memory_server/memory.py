"""`Memory`: the one door to a memory root. MCP tool, REST route, command and hook call the same method here.

The process that owns a root alone opens ChromaDB and writes; any other may open it at the same time, gets the same
answers, and cannot reindex.
"""

import datetime as dt
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from memory_server.chunking import split_lines
from memory_server.document import Answer, Layer, LineRange, SourcePath
from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.model import ModelFiles, find_model
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import WorkerPlan
from memory_server.errors import ContentError, NeedsRepair, Problem, UsageError
from memory_server.index.build import Changes, Progress, Report
from memory_server.index.indices import Indices, NotOwner
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import (
    SourceFile,
    TopicHead,
    as_document,
    find_sources,
    read_text,
    topic_heads,
    topic_name,
)
from memory_server.layers.validate import validate_root
from memory_server.redaction import redact
from memory_server.root import MemoryRoot, require_memory
from memory_server.search.calibration import calibrate
from memory_server.search.query import Query, parse_query
from memory_server.search.query_log import QueryLog
from memory_server.search.search import Searcher
from memory_server.search.terms import Stemmer
from memory_server.settings import MemorySettings, PersonSettings, read_memory_settings

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
SMALL_CHANGE = 50  # sources that a search may index by itself before it answers
SMALL_REST = 300  # passages likewise that an interrupted run has left


@dataclass(frozen=True, slots=True)
class Reading:
    """A part of a source as text."""

    path: SourcePath
    layer: Layer
    title: str
    date: dt.date | None
    lines: LineRange  # those that `text` holds
    last_line: int  # of the source
    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """What a memory holds and how its indices stand."""

    root: Path
    model: str
    model_reason: str
    sources: Mapping[Layer, int]  # on the disk
    passages: int  # searchable chunks in the ledger
    semantic: int  # of these, how many the semantic index is said to hold
    changed: int  # sources that differ from the ledger
    removed: int
    problems: tuple[Problem, ...]
    index_bytes: int
    owner: str  # which process owns the root; empty where none does
    queries_logged: int


class Memory:
    """An open memory root. A context manager; safe to share between threads."""

    def __init__(
        self,
        root: MemoryRoot,
        *,
        person: PersonSettings,
        hub_cache: Path,
        now: Callable[[], dt.datetime],
        make_engine: Callable[[ModelFiles], Engine] = OnnxEngine,
    ):
        """Opens a root that exists. Loads nothing heavy: the model and the indices come with the first search."""
        self.root = require_memory(root)
        self.person = person
        self.settings: MemorySettings = read_memory_settings(root.settings)
        self.model = find_model(self.settings.model, hub_cache)
        self.indices = Indices(root, self.model)
        self._now = now
        self._make_engine = make_engine
        self._stemmer = Stemmer()
        self._guard = threading.RLock()
        self._engine: Engine | None = None
        self._query_log: QueryLog | None = None

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes indices, model and log, and gives the root back where this process owned it."""
        self.indices.close()
        with self._guard:
            self._stemmer.close()
            if self._engine is not None:
                self._engine.close()
            if self._query_log is not None:
                self._query_log.close()
            self._engine = self._query_log = None

    # -- searching ----------------------------------------------------------------------------------------------

    def search_memory(self, query: str, *, limit: int = DEFAULT_LIMIT, per_source: int = 1) -> Answer:
        """Passages by meaning alone. Raises UsageError for a query or limit that cannot be used."""
        return self._search("search_memory", query, limit, per_source, Searcher.by_meaning)

    def search_exact(self, query: str, *, limit: int = DEFAULT_LIMIT, per_source: int = 1) -> Answer:
        """Passages that hold every word or quoted phrase; identifiers letter by letter."""
        return self._search("search_exact", query, limit, per_source, Searcher.exact)

    def recall(self, query: str, *, limit: int = DEFAULT_LIMIT, per_source: int = 1) -> Answer:
        """Passages by meaning and words together, with a second look at the best."""
        return self._search("recall", query, limit, per_source, Searcher.recall)

    def _search(
        self,
        tool: str,
        text: str,
        limit: int,
        per_source: int,
        method: Callable[[Searcher, Query, int, int], Answer],
    ) -> Answer:
        if not 1 <= limit <= MAX_LIMIT:
            raise UsageError(f"limit is {limit}", remedy=f"Give a number from 1 to {MAX_LIMIT}")
        if per_source < 1:
            raise UsageError(f"per_source is {per_source}", remedy="Give a number from 1 on")
        query = parse_query(text)
        with self._repairable():
            answer = method(self.searcher(), query, limit, per_source)
        self._log(lambda log: log.asked(tool, text, [hit.chunk for hit in answer.hits]))
        return answer

    def searcher(self) -> Searcher:
        """A searcher on the indices as they are now; it logs nothing."""
        return Searcher(self.indices, self._stemmer, self.embed_query)

    def embed_query(self, text: str) -> Embedded:
        """A question as vectors, on the calling thread."""
        return self.engine().embed([text], as_query=True)[0]

    def engine(self) -> Engine:
        """The embedding engine, loaded when it is first asked for."""
        with self._guard:
            if self._engine is None:
                self._engine = self._make_engine(self.model)
            return self._engine

    # -- reading ------------------------------------------------------------------------------------------------

    def topics(self) -> list[TopicHead]:
        """All topics by name, then the lessons."""
        return topic_heads(self.root)

    def read(self, name: str, first: int = 1, last: int | None = None) -> Reading:
        """Lines of a topic or another source, by name or path. Raises ContentError where there is no such one."""
        source = self._source_named(name)
        text = read_text(self.root.file(source.path))
        document = as_document(source, parse_frontmatter(text))
        lines = split_lines(text)
        count = max(1, len(lines))  # an empty file has one empty line
        first = max(1, first)
        last = min(count, last if last is not None else count)
        if first > count or last < first:
            raise UsageError(
                f"{source.path} has {len(lines)} lines, {first}-{last} was asked for", remedy="Ask for lines that exist"
            )
        reading = Reading(
            source.path,
            source.layer,
            document.title,
            document.date,
            LineRange(first, last),
            len(lines),
            "".join(lines[first - 1 : last]),
        )
        self._log(lambda log: log.read(source.path, str(reading.lines)))
        return reading

    def _source_named(self, name: str) -> SourceFile:
        """A source by its path, its path without `.md`, its topic name, or the unique end or start of a session's."""
        wanted = name.strip().removesuffix(".md").casefold()
        sources = list(find_sources(self.root))
        for naming in (lambda path: path.removesuffix(".md"), topic_name, lambda path: Path(path).stem):
            for source in sources:
                if naming(source.path).casefold() == wanted:
                    return source
        near = [source for source in sources if wanted and wanted in source.path.casefold()]
        if len(near) == 1:
            return near[0]
        known = near or [source for source in sources if source.layer is Layer.TOPIC]
        names = ", ".join(topic_name(source.path) for source in known[:12])
        raise ContentError(
            f"there is {'more than one source' if near else 'no source'} named {name!r}",
            remedy=f"Name one of these: {names}" if names else "This memory is empty",
        )

    def validate(self) -> list[Problem]:
        """What is wrong with the files of this memory."""
        return validate_root(self.root, self.settings)

    # -- indices ------------------------------------------------------------------------------------------------

    def changes(self) -> Changes:
        """What a reindex would read or remove."""
        with self._repairable():
            return self.indices.changes()

    def refresh(self, report_progress: Callable[[Progress], None] = lambda _: None) -> Changes:
        """Indexes a small change, so that an answer is of what the disk holds; returns what is still to be done.

        A large change, or a root that another process owns, is left as it is.
        """
        changes = self.changes()
        is_small = len(changes.changed) + len(changes.removed) <= SMALL_CHANGE and changes.unfinished <= SMALL_REST
        if changes.is_empty or not is_small:
            return changes
        try:
            self.reindex(report_progress=report_progress)
        except NotOwner:
            return changes
        return Changes(unchanged=changes.unchanged)

    def reindex(self, *, rebuild: bool = False, report_progress: Callable[[Progress], None] = lambda _: None) -> Report:
        """Brings the indices level with the disk. Raises NeedsRepair where another process owns the root."""
        plan = WorkerPlan.of_settings(self.person.embedding_share, self.person.embedding_cores)
        with self._repairable():
            report = self.indices.reindex(self.engine, plan, report_progress, rebuild=rebuild, finish=self._calibrate)
        logger.info("%d sources read, %d removed, %.1f s", report.changed, report.removed, report.seconds)
        return report

    def _calibrate(self) -> None:
        calibrate(self.indices.ledger, self.indices.snapshot(), self._stemmer, self.embed_query)

    @contextmanager
    def _repairable(self) -> Iterator[None]:
        """Says what to do where SQLite cannot read its own files."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # our own mistake
        except sqlite3.DatabaseError as error:
            raise NeedsRepair(
                f"the indices cannot be read ({error})",
                where=self.root.derived,
                remedy="Run `oneiros reindex --rebuild`; it loses no knowledge",
            ) from error

    def status(self) -> Status:
        """How this memory stands. Searches nothing and loads no model."""
        changes = self.changes()
        with self._repairable():
            counts, problems = self.indices.ledger.counts(), tuple(self.indices.ledger.problems())
        sources = [source.layer for source in find_sources(self.root)]
        logged = 0
        if self.root.query_log.exists():
            with suppress(sqlite3.Error):  # a log that cannot be read stands in nobody's way
                logged = self._open_log().count()
        return Status(
            root=self.root.path,
            model=self.model.card.name,
            model_reason=self.model.reason,
            sources={layer: sources.count(layer) for layer in Layer},
            passages=counts["searchable"],
            semantic=counts["semantic"],
            changed=len(changes.changed),
            removed=len(changes.removed),
            problems=problems,
            index_bytes=sum(file.stat().st_size for file in self.root.derived.rglob("*") if file.is_file()),
            owner=self.indices.owner(),
            queries_logged=logged,
        )

    # -- the query log ------------------------------------------------------------------------------------------

    def _open_log(self) -> QueryLog:
        with self._guard:
            if self._query_log is None:
                self._query_log = QueryLog(self.root.query_log, redact, self._now)
            return self._query_log

    def _log(self, write: Callable[[QueryLog], None]) -> None:
        """Writes to the query log where it is on; a log that cannot be written never stands in the way of an answer."""
        if not self.person.query_log:
            return
        try:
            with self._guard:
                write(self._open_log())
        except sqlite3.Error as error:
            logger.warning("the query log cannot be written (%s); `oneiros config query_log false` ends it", error)
