"""`Memory`: the one door to a memory root. MCP tool, REST route, command and hook call the same method here.

The process that owns a root alone opens ChromaDB and writes; any other may open it at the same time, gets the same
answers, and cannot reindex.
"""

import datetime as dt
import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np

from memory_server.chunking import split_lines
from memory_server.document import Answer, ChunkId, Hit, Layer, LineRange, SourcePath
from memory_server.embedding.engine import Embedded, Engine, Vectors
from memory_server.embedding.model import ModelFiles, find_model
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import EmbeddingControl, WorkerPlan
from memory_server.errors import ContentError, NeedsRepair, Problem, UsageError
from memory_server.files import is_out_of_room, replace_file
from memory_server.index.build import Changes, Progress, Report
from memory_server.index.digest import DigestStore
from memory_server.index.indices import Indices, NotOwner
from memory_server.index.raw import RawIndex, SessionStore, raw_path, session_of_path
from memory_server.index.speech import SpeechVectors, Spoken
from memory_server.layers.blackboard import Blackboard
from memory_server.layers.episodes import Episode, delete_episode, list_episodes, read_episode, write_episode
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import read_session as session_file
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
from memory_server.search.calibration import NOTE as CALIBRATION_NOTE
from memory_server.search.calibration import calibrate
from memory_server.search.probes import PROBES
from memory_server.search.query import Query, parse_query
from memory_server.search.query_log import QueryLog
from memory_server.search.raw_turns import SURE_COVERED, WEAK, RawSearcher, appended, joined
from memory_server.search.search import EMPTY, Searcher
from memory_server.search.terms import Stemmer
from memory_server.search.typed import of_type, require_type
from memory_server.settings import MemorySettings, PersonSettings, change_setting, read_memory_settings

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
JOINED_HITS = 100  # of either search, before the two are joined
TURNS_READ = 20  # of an archived session, where no end is named
NO_TURNS = "No archived turn holds that. Try recall without a filter, or other words."
TURNS_TOO = "Raw hits are what was said or done once, found by its words; lines count the turns of a session."
NOT_INDEXED = "Nothing of this memory is indexed yet (files: %d). Run `oneiros reindex`, then ask again."
FROM_REFERENCES = "Only references answer that: files of projects, context and no authority."
NO_ROOM_REMEDY = "Free some space on that disk; nothing is lost, and a running daemon goes on by itself"
SMALL_CHANGE = 50  # sources that a search may index by itself before it answers
SMALL_REST = 300  # passages likewise that an interrupted run has left


@dataclass(frozen=True, slots=True)
class Request:
    """How much a search is asked for. Raises UsageError for numbers that cannot be."""

    limit: int
    per_source: int
    include_raw: bool

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise UsageError(f"limit is {self.limit}", remedy=f"Give a number from 1 to {MAX_LIMIT}")
        if self.per_source < 1:
            raise UsageError(f"per_source is {self.per_source}", remedy="Give a number from 1 on")


def context_last(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits in their order, but references, which are no authority, behind all others."""
    return tuple(sorted(hits, key=lambda hit: hit.layer is Layer.REFERENCE))


def is_weak(answer: Answer) -> bool:
    """Whether so little was found that the turns may know better."""
    return not answer.hits or answer.hits[0].score < WEAK


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The semantic index beside the ledger; never its own count."""

    held: int  # passages that the ledger says it holds
    wrong: int  # of these, missing or with another vector; and such as it holds unasked
    unreached: int  # sampled ones that are not found by their own vector


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
        sessions: SessionStore | None = None,
    ):
        """Opens a root that exists. Loads nothing heavy: the model and the indices come with the first search.

        `sessions` keeps the archive; without it there is no layer 3 to search or read.
        """
        self.root = require_memory(root)
        self.person = person
        self.settings: MemorySettings = read_memory_settings(root.settings)
        self.model = find_model(self.settings.model, hub_cache)
        self.indices = Indices(root, self.model)
        self.raw = RawIndex(root.raw_index, sessions) if sessions else None
        self.digest = DigestStore(root.derived / "digest.db")
        self._now = now
        self._make_engine = make_engine
        self._stemmer = Stemmer()
        self._guard = threading.RLock()
        self._engine: Engine | None = None
        self._query_log: QueryLog | None = None
        self._speech: SpeechVectors | None = None
        self._hub_cache = hub_cache
        self.before_search: Callable[[bool], str] = lambda _: ""  # is told whether the indices were ever complete,
        # waits for the run that matters, and says in a sentence what is still missing
        self.embedding = EmbeddingControl(self._worker_plan)

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes indices, model and log, and gives the root back where this process owned it."""
        self.indices.close()
        self.digest.close()
        if self.raw is not None:
            self.raw.close()
        with self._guard:
            self._stemmer.close()
            if self._speech is not None:
                self._speech.close()
                self._speech = None
            if self._engine is not None:
                self._engine.close()
            if self._query_log is not None:
                self._query_log.close()
            self._engine = self._query_log = None

    # -- searching ----------------------------------------------------------------------------------------------

    def search_memory(
        self, query: str, *, limit: int = DEFAULT_LIMIT, per_source: int = 1, include_raw: bool = False
    ) -> Answer:
        """Passages by meaning alone. Raises UsageError for a query or limit that cannot be used.

        Turns are not embedded, so with `include_raw` they come by their words, behind the others.
        """
        return self._search("search_memory", query, Request(limit, per_source, include_raw), Searcher.by_meaning)

    def search_exact(
        self, query: str, *, limit: int = DEFAULT_LIMIT, per_source: int = 1, include_raw: bool = False
    ) -> Answer:
        """Passages that hold every word or quoted phrase; identifiers letter by letter."""
        return self._search("search_exact", query, Request(limit, per_source, include_raw), Searcher.exact)

    def recall(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        per_source: int = 1,
        include_raw: bool = False,
        type: str = "",  # noqa: A002  as the tool's argument is named
        project: str = "",
    ) -> Answer:
        """Passages by meaning and words together, with a second look at the best.

        `type`: only what sessions said of that type, by the recorder: decision, lesson, preference and so on.
        """
        if project:
            query = f'{query} project:"{project}"'
        if not type:
            return self._search("recall", query, Request(limit, per_source, include_raw), Searcher.recall)
        kind = require_type(type)
        Request(limit, per_source, include_raw)  # refuses what cannot be
        wide = Request(MAX_LIMIT, MAX_LIMIT, include_raw)
        answer = self._search("recall", f"{query} layer:session", wide, Searcher.recall)
        return of_type(answer, self.digest, parse_query(query), kind, limit)

    def _search(
        self, tool: str, text: str, request: Request, method: Callable[[Searcher, Query, int, int], Answer]
    ) -> Answer:
        query = parse_query(text)
        under_way = self.before_search(self._is_indexed())
        with self._repairable(), self.indices.gate.searching():
            answer = self._answered(tool, query, request, method)
        self._log(lambda log: log.asked(tool, text, [hit.chunk for hit in answer.hits]))
        return replace(answer, note=under_way) if under_way else self._with_what_waits(answer)

    def _is_indexed(self) -> bool:
        """Whether a run has ever brought these indices to their end."""
        with self._repairable():
            return self.indices.ledger.note(CALIBRATION_NOTE) != ""

    def _with_what_waits(self, answer: Answer) -> Answer:
        """An answer from empty indices says so where the disk holds more than they do."""
        waiting = len(self.changes().changed) if answer.note == EMPTY else 0
        return replace(answer, note=NOT_INDEXED % waiting) if waiting else answer

    def _answered(
        self, tool: str, query: Query, request: Request, method: Callable[[Searcher, Query, int, int], Answer]
    ) -> Answer:
        """What the layers above say; with the turns where these are asked for, or where that is weak."""
        wanted = query.filter.layers
        above = tuple(layer for layer in wanted if layer is not Layer.RAW)
        is_raw_asked = request.include_raw or Layer.RAW in wanted
        limit, per_source = request.limit, request.per_source
        if wanted and not above:
            answer = Answer((), NO_TURNS)
        else:
            narrowed = replace(query, filter=replace(query.filter, layers=above))
            among = JOINED_HITS if is_raw_asked and tool == "recall" else limit
            answer = method(self.searcher(), narrowed, max(limit, among), per_source)
            if not wanted and not answer.hits:
                context = replace(query, filter=replace(query.filter, layers=(Layer.REFERENCE,)))
                answer = self._or_references(answer, method(self.searcher(), context, limit, per_source))
        answer = replace(answer, hits=context_last(answer.hits))
        is_needed = is_raw_asked or (not wanted and is_weak(answer))
        if not is_needed or self.raw is None or self.raw.is_empty:
            return replace(answer, hits=answer.hits[:limit])
        searcher = RawSearcher(self.raw, self._stemmer, self._nearest_speech)
        if tool == "search_exact":
            return appended(answer, searcher.exact(query, limit, per_source), limit, TURNS_TOO)
        if tool == "recall" and is_raw_asked:
            return joined(answer, searcher.recall(query, JOINED_HITS), limit)
        least = 0.0 if is_raw_asked else SURE_COVERED
        return appended(answer, searcher.recall(query, limit, least_covered=least), limit, TURNS_TOO)

    @staticmethod
    def _or_references(answer: Answer, context: Answer) -> Answer:
        return replace(context, note=FROM_REFERENCES) if context.hits else answer

    def search_itself(self) -> str:
        """Searches for a passage by its own text: what is wrong, in a sentence; empty where it is found."""
        with self.indices.gate.searching():
            searcher = self.searcher()
            passage = searcher.any_passage()
            if passage is None:
                return ""  # an empty memory is in order
            name, text = passage
            ids = [hit.chunk for hit in searcher.by_meaning(parse_query(text), MAX_LIMIT, MAX_LIMIT).hits]
        return "" if name in ids else f"passage {name} is not found by its own text; run `oneiros doctor`"

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
        """Lines of a topic or another source, by name or path. Raises ContentError where there is no such one.

        Of an archived session, `sessions/archive/<id>`, the lines are its turns.
        """
        if self.raw is not None and (session_id := session_of_path(name.strip())):
            return self._read_turns(self.raw, session_id, first, last)
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

    def _read_turns(self, raw: RawIndex, session_id: str, first: int, last: int | None) -> Reading:
        if session_id not in raw.store.marks():
            raise ContentError(f"no session {session_id!r} is archived", remedy="Name the path of a raw hit")
        session = raw.store.session(session_id)
        first, last = max(1, first), min(len(session.turns), last if last is not None else first + TURNS_READ - 1)
        if last < first:
            asked = f"{session_id} has {len(session.turns)} turns, {first} was asked for"
            raise UsageError(asked, remedy="Ask for turns that exist")
        shown = session.turns[first - 1 : last]
        text = "\n".join(f"[{number}] {turn.who}: {turn.text}" for number, turn in enumerate(shown, start=first))
        path, lines = raw_path(session_id), LineRange(first, last)
        self._log(lambda log: log.read(path, str(lines)))
        return Reading(path, Layer.RAW, session.title, session.date, lines, len(session.turns), text)

    def read_session(self, name: str, depth: str, first: int = 1) -> str:
        """A session at a depth: line, digest, file or raw. `name`: its id, the beginning of it, or the path of a hit.

        `first` counts raw turns from 1. Raises ContentError where there is no such session.
        """
        if self.raw is None:
            raise ContentError("this memory keeps no archive", remedy="Read the session's file by its path")
        session_id = session_of_path(name.strip()) or name.strip()
        if session_id.endswith(".md"):
            session_id = session_file(self.root.file(self._source_named(session_id).path)).session_id
        return self.raw.store.at_depth(session_id, depth, max(0, first - 1))

    def handoff(self) -> str:
        """Where the last sessions stopped, and what those that run say."""
        return Blackboard(self.root).text(self._now())

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

    # -- episodes -----------------------------------------------------------------------------------------------

    def add_episode(self, text: str, *, title: str = "", tags: Sequence[str] = (), project: str = "") -> Episode:
        """Takes a note in: masked, of layer 2, found after the next reindex."""
        return write_episode(self.root, text, now=self._now(), title=title, tags=tags, project=project)

    def episodes(self, *, page: int = 1, per_page: int = 20) -> tuple[list[Episode], int]:
        """A page of episodes, newest first, and how many there are."""
        return list_episodes(self.root, page=page, per_page=per_page)

    def episode(self, identity: str) -> Episode:
        """One episode by its id. Raises ContentError where there is none."""
        return read_episode(self.root, identity)

    def delete_episode(self, identity: str) -> SourcePath:
        """Removes an episode; the next reindex forgets what was indexed of it."""
        return delete_episode(self.root, identity)

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
        if self.raw is not None and 0 < sum(map(len, self.raw.changes())) <= SMALL_CHANGE:
            self.raw.bring_level(report_progress)
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
        with self._repairable():
            report = self.indices.reindex(
                self.engine, self.embedding, report_progress, rebuild=rebuild, finish=self._calibrate
            )
        if self.raw is not None:
            if rebuild:
                self.raw.drop()
                self._drop_speech()
            self.raw.bring_level(report_progress)
            self._bring_speech_level(self.raw, report_progress)
        logger.info("%d sources read, %d removed, %.1f s", report.changed, report.removed, report.seconds)
        return report

    @property
    def speech(self) -> SpeechVectors | None:
        """The vectors of what was said in archived sessions; None where the person wants none."""
        with self._guard:
            if not self.person.raw_vectors:
                return None
            folder = self.root.raw_vectors / self.model.fingerprint
            if self._speech is None or self._speech.folder != folder or not self._speech.is_current:
                if self._speech is not None:
                    self._speech.close()
                self._speech = SpeechVectors(folder, self.model.card.dimensions)
            return self._speech

    def _bring_speech_level(self, raw: RawIndex, report_progress: Callable[[Progress], None]) -> None:
        if (speech := self.speech) is not None and not raw.is_empty:
            speech.bring_level(raw.ledger, self.engine, self.embedding, self._probe_vectors, report_progress)

    def _probe_vectors(self) -> Vectors:
        return np.stack([self.embed_query(probe).vector for probe in PROBES])

    def _drop_speech(self) -> None:
        with self._guard:
            if self._speech is not None:
                self._speech.close()
            self._speech = None
        shutil.rmtree(self.root.raw_vectors, ignore_errors=True)

    def _nearest_speech(self, text: str) -> Mapping[int, Spoken]:
        """How near each archived session comes to a text, by what was said in it."""
        if (speech := self.speech) is None or self.raw is None:
            return {}
        return speech.near(self.raw.ledger, self.raw.ledger.generation(), self.embed_query(text).vector)

    def _calibrate(self) -> None:
        calibrate(self.indices.ledger, self.indices.snapshot(), self._stemmer, self.embed_query)

    @contextmanager
    def _repairable(self) -> Iterator[None]:
        """Says what to do where the indices cannot be read or written."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # our own mistake
        except (sqlite3.DatabaseError, OSError, NeedsRepair) as error:
            if is_out_of_room(error):
                raise NeedsRepair(
                    "there is no room to write the indices", where=self.root.derived, remedy=NO_ROOM_REMEDY
                ) from error
            if not isinstance(error, sqlite3.DatabaseError):
                raise
            raise NeedsRepair(
                f"the indices cannot be read ({error})",
                where=self.root.derived,
                remedy="Run `oneiros reindex --rebuild`; it loses no knowledge",
            ) from error

    def compared(self, sample: int) -> Comparison:
        """What a query can return, beside what the ledger says. Call as the root's owner, with no run under way."""
        with self._repairable():
            wrong = sum(len(self.indices.semantic_differences(layer)) for layer in Layer)
            return Comparison(self.indices.ledger.counts()["semantic"], wrong, self.indices.unreachable(sample))

    def is_unfinished(self) -> bool:
        """Whether an interrupted run left passages that the semantic index has still to learn or forget."""
        ledger = self.indices.ledger
        counts = ledger.counts()
        return counts["semantic"] < counts["searchable"] or bool(ledger.gone() or ledger.note("semantic_is_dirty"))

    def _worker_plan(self) -> WorkerPlan:
        return WorkerPlan.of_settings(self.person.embedding_share, self.person.embedding_cores)

    @property
    def next_model(self) -> str:
        """The model that a change under way leads to; empty where none is."""
        try:
            return self.root.next_model.read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def plan_model(self, name: str) -> ModelFiles:
        """Notes that the memory is to use another model, so that a restart goes on with it. Embeds nothing yet."""
        files = find_model(name or self.settings.model, self._hub_cache)
        if files.fingerprint == self.model.fingerprint:
            self.root.next_model.unlink(missing_ok=True)
        else:
            replace_file(self.root.next_model, files.card.name + "\n")
        return files

    def change_model(self, report_progress: Callable[[Progress], None] = lambda _: None) -> bool:
        """Carries out the planned change of model; false where none is planned.

        Everything is embedded beside the indices in use, which serve until the last passage is done; then questions,
        vectors and the name in `oneiros.toml` change at once. Resumes what an earlier run did. Raises NotOwner where
        another process owns the root.
        """
        if not (name := self.next_model):
            return False
        was_owner = self.indices.is_owner
        if not was_owner and not self.indices.own():
            raise NotOwner("another process owns this memory", where=self.root.path, remedy="It changes the model")
        files = find_model(name, self._hub_cache)
        engine = self._make_engine(files)
        try:
            self.indices.prepare_model(files, lambda: engine, self.embedding, report_progress)
            with self.indices.gate.exchanging():
                self.indices.switch_model(files)
                with self._guard:
                    old, self._engine, self.model = self._engine, engine, files
                change_setting(self.root.settings, "model", files.card.name)
                self.settings = read_memory_settings(self.root.settings)
                self.indices.ledger.set_note(CALIBRATION_NOTE, "")
                calibrate(self.indices.ledger, self.indices.snapshot(), self._stemmer, self.embed_query)
            self.root.next_model.unlink(missing_ok=True)
            if old is not None:
                old.close()
            self.reindex(report_progress=report_progress)
        except BaseException:
            if engine is not self._engine:
                engine.close()
            raise
        finally:
            if not was_owner:
                self.indices.disown()
        return True

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
            sources={layer: sources.count(layer) for layer in Layer} | {Layer.RAW: self._archived()},
            passages=counts["searchable"],
            semantic=counts["semantic"],
            changed=len(changes.changed),
            removed=len(changes.removed),
            problems=problems,
            index_bytes=sum(file.stat().st_size for file in self.root.derived.rglob("*") if file.is_file()),
            owner=self.indices.owner(),
            queries_logged=logged,
        )

    def _archived(self) -> int:
        return len(self.raw.store.marks()) if self.raw is not None else 0

    # -- the query log ------------------------------------------------------------------------------------------

    def _open_log(self) -> QueryLog:
        with self._guard:
            if self._query_log is None:
                self._query_log = QueryLog(self.root.query_log, redact, self._now)
            return self._query_log

    def forget_queries(self, chunks: Collection[ChunkId], paths: Collection[SourcePath]) -> None:
        """Removes from the log what these passages answered, and the readings of these sources."""
        if self.root.query_log.exists():
            with self._guard:
                self._open_log().forget(chunks, paths)

    def logged_queries(
        self, *, without_hits: bool = False, limit: int = 50, compare: bool = False
    ) -> list[dict[str, object]]:
        """The questions of the log, newest first: when, which tool, the question, how many hits.

        `compare` asks the other searches what they find for those that found nothing, and logs nothing of that.
        """
        if not self.root.query_log.exists():
            return []
        with self._guard:
            logged = self._open_log().queries(without_hits=without_hits)[:limit]
        found = []
        for query in logged:
            row: dict[str, object] = {
                "at": query.at.isoformat(),
                "tool": query.tool,
                "query": query.query,
                "hits": len(query.hits),
            }
            if compare and not query.hits:
                row["others"] = self._others_find(query.tool, query.query)
            found.append(row)
        return found

    def _others_find(self, tool: str, text: str) -> dict[str, int]:
        """How many hits each of the other searches has for a question."""
        methods = {"recall": Searcher.recall, "search_memory": Searcher.by_meaning, "search_exact": Searcher.exact}
        counts = {}
        for name, method in methods.items():
            if name != tool:
                with self.indices.gate.searching():
                    counts[name] = len(method(self.searcher(), parse_query(text), DEFAULT_LIMIT, 1).hits)
        return counts

    def _log(self, write: Callable[[QueryLog], None]) -> None:
        """Writes to the query log where it is on; a log that cannot be written never stands in the way of an answer."""
        if not self.person.query_log:
            return
        try:
            with self._guard:
                write(self._open_log())
        except sqlite3.Error as error:
            logger.warning("the query log cannot be written (%s); `oneiros config query_log false` ends it", error)
