"""`Memory`: the one door to a memory root. MCP tool, REST route, command and hook call the same method here.

What a call does stands in the rooms below: `search/pipeline.py`, `reading.py`, `upkeep.py`, `inspection.py`. Here they
are put together over one root, and whatever was opened is closed again. A room that few questions enter is imported
by the method that hands it out. The process that owns a root alone opens ChromaDB and writes; any other may open it at
the same time, gets the same answers, and cannot reindex.
"""

import datetime as dt
import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING

from memory_server.completeness import SkipKind, Skipped, how_level, select_skipped, tell_lacks, tell_skipped
from memory_server.document import Answer, Layer, LineRange, RejectedWords, SourcePath, raw_path
from memory_server.embedding.catalogue import Catalogue, unread_note
from memory_server.embedding.engine import Embedded, Engine, ModelInUse
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import EmbeddingControl, WorkerPlan
from memory_server.errors import ContentError, OneirosError, Problem
from memory_server.further import FurtherModels, Trial
from memory_server.index.build import NoQuestions, Progress, Report, StatementQuestions
from memory_server.index.indices import Indices, NotOwner
from memory_server.index.ledger import is_of_another_format
from memory_server.index.raw import TURNS_READ, RawIndex, SessionStore
from memory_server.index.stretch_index import StretchIndex
from memory_server.index.typed_lines import TypedLines
from memory_server.language.words import Stemmer
from memory_server.layers.sessions import cut_id8, find_subject, parse_id8
from memory_server.layers.topics import ONTOLOGY, Unapproved, find_merge_marks, is_topic, read_text
from memory_server.lifecycle.fading import FadingOf, forget_marks
from memory_server.lifecycle.use import CONFIRMED, DRILLED, UseLog
from memory_server.machine.clock import local_day
from memory_server.machine.files import repairable
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory, require_own_folders
from memory_server.search.pipeline import Pipeline, unsettle_merges
from memory_server.search.precedence import SPOKEN, is_tied, settle_ties
from memory_server.search.query_log import AnswerVerdict, JudgedQuestion, QueryLog
from memory_server.search.question import EMPTY, Question, Search, clean, parse_logged
from memory_server.search.ranking.ranking import SILENCE
from memory_server.search.ranking.scoring import CALIBRATION_NOTE, mutual_match
from memory_server.search.raw_turns import RawSearcher
from memory_server.search.retrieval import Retriever
from memory_server.settings import MemorySettings, PersonSettings, read_memory_settings

if TYPE_CHECKING:
    from memory_server.aging import Aging
    from memory_server.inspection import Inspection
    from memory_server.layers.blackboard import Blackboard, WaitingNote
    from memory_server.layers.episodes import Episode, GivenEpisode
    from memory_server.layers.ontology import Ontology
    from memory_server.reading import Reader, SourceText
    from memory_server.upkeep import Status, Upkeep

logger = logging.getLogger(__name__)

NOTHING_THEN = "No topic as it was on %s, and no session up to then, answers that."
CACHED_STATEMENTS = 500  # with their tokens, some 20 kB each
NOT_INDEXED = "Nothing is indexed yet: the indices are %s."


def wait_for_nothing(_: bool) -> str:
    """Before a search of indices that are taken as they are."""
    return ""


class Memory:
    """An open memory root. A context manager; safe to share between threads."""

    def __init__(
        self,
        root: MemoryRoot,
        *,
        person: PersonSettings,
        catalogue: Catalogue,
        now: Callable[[], dt.datetime],
        make_engine: Callable[[ModelFiles], Engine] = OnnxEngine,
        sessions: Callable[[], SessionStore] | None = None,
        unapproved: Unapproved = lambda _: {},
        approved_on: Callable[[], dt.date | None] = lambda: None,
        rejected: Callable[[], Sequence[RejectedWords]] = lambda: (),
        questions: Callable[[], StatementQuestions] = NoQuestions,
        further: FurtherModels | None = None,
        before_search: Callable[[bool], str] = wait_for_nothing,
        elsewhere: Callable[[], Sequence[Skipped]] = lambda: (),
    ):
        """Opens a root that exists. Loads nothing heavy: the model and the indices come with the first search.

        `sessions` opens what keeps the archive, once a run or a reader asks for it; without it there is no layer 3 to
        search or read. `unapproved` tells which of some files of layer 1 nobody has answered for, `approved_on` the day
        on which an approval last changed one, `rejected` what the person did not want as a statement. `questions`
        opens, for a run, what tells the questions that a statement of theirs answers: hidden keys, of which there are
        none without it. `further` are the models that answer beside the dense one. `before_search` is told whether the
        indices were ever complete, waits for the run that matters, and says in a sentence what is still missing.
        `elsewhere` tells what was never taken in; it is asked where nothing is found.
        """
        self.root = require_memory(root)
        self.person = person
        self.settings: MemorySettings = read_memory_settings(root.settings)
        self._now = now
        self.unapproved = unapproved
        self._approved_on = approved_on
        self._rejected = rejected
        self.catalogue = catalogue
        self.further = further or FurtherModels(root.derived_folder)
        dense = self.further.with_late(catalogue.find(self.settings.model))
        self._model = ModelInUse(dense, partial(self.further.make_engine, make_engine))
        self._stemmer = Stemmer()
        self._query_log = QueryLog(root.state_database, lambda text: self._redactor().redact(text).text, now)
        self.use = UseLog(root.state_database, lambda: self.today)
        self.fading = FadingOf(root)
        self.indices = Indices(root, self.model, self.fading, questions)
        sessions = lru_cache(maxsize=1)(sessions) if sessions else None  # the same for turns and stretches
        self.raw = RawIndex(root.raw_index, sessions, fading=self.fading) if sessions else None
        self.stretches = (
            StretchIndex(root.stretches, sessions, self.indices, self._model, self.fading)
            if sessions and person.raw_vectors
            else None
        )
        self.typed_lines = TypedLines(root.sessions_database)
        self.embedding = EmbeddingControl(self._worker_plan)
        self._before_search = before_search
        self._elsewhere = elsewhere
        # what hooks compare prompts with stays the same from one to the next
        self._tokens_of = lru_cache(maxsize=CACHED_STATEMENTS)(lambda _, text: self.engine().embed([text])[0].tokens)
        # it reads the description of every model, and is asked for each hit of a memory in another language
        self._tell_unread = lru_cache(maxsize=1)(lambda *_: unread_note(self.model.card, self.catalogue))
        self._noting = threading.Lock()  # looking for a note's id and writing it are one step

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes indices, model and log, and gives the root back where this process owned it."""
        self.indices.close()
        self.typed_lines.close()
        if self.raw is not None:
            self.raw.close()
        if self.stretches is not None:
            self.stretches.close()
        self._stemmer.close()
        self._model.close()
        self._query_log.close()
        self.use.close()

    @cached_property
    def upkeep(self) -> "Upkeep":
        """The runs that keep the indices level."""
        from memory_server.upkeep import Upkeep

        return Upkeep(
            root=self.root,
            indices=self.indices,
            raw=self.raw,
            stretches=self.stretches,
            model=self._model,
            find_model=lambda name: self.further.with_late(self.catalogue.find(name)),
            further=self.further,
            stemmer=self._stemmer,
            control=lambda: self.embedding,
            fading=self.fading,
            finished=lambda: self.aging().note_findable(),
            unapproved=self.unapproved,
            uses=self.settled_uses,
        )

    @property
    def today(self) -> dt.date:
        """The day by the memory's clock."""
        return local_day(self._now())

    @property
    def model(self) -> ModelFiles:
        """The embedding model that the indices are made with."""
        return self._model.files

    def engine(self) -> Engine:
        """The embedding engine, loaded when it is first asked for."""
        return self._model.engine()

    def embed_query(self, text: str) -> Embedded:
        """A question as vectors, on the calling thread."""
        return self._model.embed_query(text)

    def _worker_plan(self) -> WorkerPlan:
        return WorkerPlan.of_settings(self.person.embedding_share, self.person.embedding_cores)

    def _redactor(self) -> Redactor:
        return Redactor(self.person.deny_words)

    # -- searching ----------------------------------------------------------------------------------------------

    def search(self, question: Question) -> Answer:
        """The answer to a question of any kind; noted in the query log."""
        with repairable(self.root.derived_folder):
            is_complete = self.indices.ledger.note(CALIBRATION_NOTE) != ""  # whether a run ever came to its end
        under_way = self._before_search(is_complete)
        answer = self.look_up(question)
        self._log(
            lambda log: log.note_question(question.search, question.logged_query, [hit.chunk for hit in answer.hits])
        )
        paths = [hit.path for hit in answer.hits]
        self._count(lambda use: use.count_found(question.full_query, paths))
        if under_way and not is_complete:
            return replace(answer, note=under_way)
        return self._with_what_waits(answer, under_way)

    def look_up(self, question: Question) -> Answer:
        """The same from the indices as they are, waiting for nothing and noting nothing: for programs that ask."""
        with repairable(self.root.derived_folder), self.indices.search_lock.searching():
            skipped = select_skipped(self.indices.ledger.problems())
            if question.filter.as_of is not None:
                answer = self._answer_past(question, min(question.filter.as_of, self.today))
            else:
                answer = self._in_order(question, self.pipeline().answer(question))
                answer = unsettle_merges(answer, self._is_in_merge)
        return replace(answer, lacks=tell_lacks(skipped, [hit.path for hit in answer.hits]))

    def _answer_past(self, question: Question, day: dt.date) -> Answer:
        """The answer of topics as git had them on a day, and of sessions up to then."""
        from memory_server.search.as_of import join_topics, question_then, topic_hits

        pipeline, then, layers = self.pipeline(), question_then(question, day), question.filter.layers
        answer = pipeline.answer(then) if then.filter.layers else Answer(())
        answer = answer if answer.hits or answer.note == EMPTY else replace(answer, note=NOTHING_THEN % day)
        if layers and Layer.TOPIC not in layers:
            return answer
        topics = topic_hits(
            self.root,
            question,
            day,
            self.embed_query(question.text).vector,
            lambda texts: self.engine().embed(texts) if texts else [],
            self.indices.cache,
            pipeline.retriever.calibration,
            self._stemmer,
        )
        return join_topics(answer, topics, question.limit)

    def _in_order(self, question: Question, answer: Answer) -> Answer:
        """An answer in which of neighbours that score the same the one that is used more stands first, if wanted."""
        is_ranked = question.search is not Search.EXACT and not question.types  # the others have an order of their own
        if not (is_ranked and self.person.use_breaks_ties):
            return answer
        scores = [(str(hit.layer), hit.score) for hit in answer.hits]
        if not any(is_tied(one, other) for one, other in pairwise(scores)):
            return answer
        uses = self.aging().measure_use([hit.path for hit in answer.hits])
        ordered = settle_ties(scores, [uses[hit.path]["strength"] for hit in answer.hits])
        return replace(answer, hits=tuple(answer.hits[place] for place in ordered))

    def _is_in_merge(self, path: SourcePath) -> bool:
        """Whether a topic has both sides of a merge that nobody has finished."""
        try:
            file = self.root.file(path)
            return b"<<<<<<<" in file.read_bytes() and bool(find_merge_marks(read_text(file)))
        except (ContentError, OSError):
            return False

    def settled_uses(self) -> Mapping[SourcePath, int]:
        """How often each source was opened up to the day on which an approval last changed the memory: what orders
        topics where they are listed, so that the order stays until the next one.
        """
        day = self._approved_on()
        return self.use.count_opened(day) if day else {}

    def find_topics(self, project: str) -> set[SourcePath]:
        """The topics of a project and those of none, as the indices know them; the lessons and MEMORY.md left out."""
        ours, sources = ("", project.casefold()), self.indices.snapshot().sources.values()
        return {one.path for one in sources if is_topic(one.path) and one.project.casefold() in ours}

    def closeness(self, text: str, statements: Sequence[str]) -> list[float]:
        """How well each of some statements and a text match, token by token and both ways; see `mutual_match`."""
        with repairable(self.root.derived_folder), self.indices.search_lock.searching():
            background = self.pipeline().retriever.calibration.background
        tokens, model = self.embed_query(text).tokens, self.model.fingerprint
        return [mutual_match(tokens, self._tokens_of(model, one), background) for one in statements]

    def pipeline(
        self,
        *,
        floor: float = SILENCE,
        rerank: bool = True,
        spoken: Mapping[str, float] | None = SPOKEN,
        trial: Trial | None = None,
    ) -> Pipeline:
        """The way to an answer on the indices as they are. Take it while `indices.search_lock` lets searches through.

        `floor`, `rerank`, and `spoken`, the weights by which stretches are reranked, None for an answer without them:
        for measurements. `trial`: with the models of that in the place of those in use; none of it is logged.
        """
        in_use: Trial | Memory = trial or self
        embed, further = lru_cache(maxsize=1)(in_use.embed_query), in_use.further  # both retrievers ask for the same
        turns = stretches = None
        if self.raw is not None and not self.raw.is_empty:
            turns = RawSearcher(self.raw, self._stemmer)
        if spoken is not None and self.stretches is not None and not self.stretches.is_empty:
            of_stretches = in_use.stretches or self.stretches
            sparse = further.make_scorer(of_stretches.file)
            stretches = Retriever(of_stretches, self._stemmer, embed, spoken, sparse=sparse)
        sparse = further.make_scorer(trial.indices.file if trial else self.root.ledger)
        retriever = Retriever(in_use.indices, self._stemmer, embed, today=self.today, sparse=sparse)
        return Pipeline(
            retriever,
            stretches,
            turns,
            self.typed_lines,
            self.unapproved,
            floor=floor,
            rerank=rerank,
            rejected=lambda: self._rejected() if self.root.rejected.exists() else (),
            cross=further.find_cross() if rerank else None,
            unread=lambda text: (
                ""
                if trial or self._model.reads(text)
                else self._tell_unread(self.model.card.name, self.catalogue.stamp_added())
            ),
        )

    def _with_what_waits(self, answer: Answer, under_way: str) -> Answer:
        """An answer that says what is still to come; one that found nothing, whatever may hold what was asked for."""
        if answer.hits:
            return replace(answer, lacks=" ".join(filter(None, [under_way, answer.lacks]))) if under_way else answer
        waiting = self.upkeep.changes().count if answer.note == EMPTY else 0
        if waiting:
            return replace(answer, note=NOT_INDEXED % how_level(waiting, 0, self.owner()))
        skipped = tell_skipped(self.list_skipped(), self.owner())
        return replace(answer, lacks=" ".join(filter(None, [under_way, skipped])))

    def list_skipped(self) -> list[Skipped]:
        """What of the disk and of this machine's transcripts an answer lacks; looks at both."""
        return [*self.upkeep.list_skipped(self.upkeep.changes()), *self._list_elsewhere()]

    def _list_elsewhere(self) -> Sequence[Skipped]:
        try:
            return self._elsewhere()
        except (OneirosError, sqlite3.Error, OSError) as error:  # of the settings, or of what ingest noted
            return [Skipped(SkipKind.ELSEWHERE, str(error))]

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def _reader(self) -> "Reader":
        from memory_server.reading import Reader

        return Reader(self.root, self.raw.store if self.raw is not None else None, self.unapproved, self.today)

    def read(
        self, name: str, first: int | None = None, last: int | None = None, *, with_tools: bool = False
    ) -> "SourceText":
        """Lines of a topic or another source, by name or path, which may end in its lines: `mail:12-30`.

        Of an archived session, `5f0c2a9e:66`, the lines are its turns; see `read_turns`. Raises ContentError where
        there is no such source.
        """
        reading = self._reader.read(name, first, last, with_tools=with_tools)
        self._log(lambda log: log.read(reading.path, str(reading.lines)))
        self._count(lambda use: use.count_access(reading.path, reading.lines))
        return reading

    def read_session(self, name: str, depth: str, first: int = 1) -> str:
        """A session at a depth: line, digest, file or raw. `name`: its id, the beginning of it, or the path of a hit.

        `first` counts raw turns from 1. Raises ContentError where there is no such session.
        """
        first = max(1, first)
        session_id, text = self._reader.read_session(name, depth, first)
        self.note_drilled(session_id, depth, first)
        return text

    def note_drilled(self, session_id: str, depth: str, first: int) -> None:
        """Counts that somebody drilled into a session; `first` counts raw turns from 1."""
        lines = LineRange(first, first + TURNS_READ - 1) if depth == "raw" else LineRange(0, 0)
        self._count(lambda use: use.count_access(raw_path(session_id), lines, DRILLED))

    def handoff(self) -> str:
        """Where the last sessions stopped, and what those that run say."""
        return self._blackboard.text(self._now())

    def find_waiting_note(self, session_id: str, project: str) -> "WaitingNote | None":
        """What another session left for one of this project."""
        return self._blackboard.find_waiting_note(session_id, project, self._now())

    def validate(self) -> list[Problem]:
        """What is wrong with the files of this memory."""
        from memory_server.layers.validate import validate_root

        return validate_root(self.root, self.settings, self.unapproved, self.settled_uses())

    def note_for_sessions(self, session_id: str, kind: str, text: str) -> None:
        """Tells other sessions of this memory something, masked. Raises UsageError as `Blackboard.tell` does."""
        require_own_folders(self.root)
        self._blackboard.tell(session_id, kind, self._redactor().redact(clean(text)).text, self._now())

    @property
    def _blackboard(self) -> "Blackboard":
        from memory_server.layers.blackboard import Blackboard

        return Blackboard(self.root)

    def ontology(self) -> "Ontology | None":
        """What `ontology.yaml` says; None where there is none, nobody approved it as it stands, or it is broken."""
        from memory_server.layers.ontology import read_ontology

        try:
            found = read_ontology(self.root)
        except ContentError:
            return None  # `validate` names what is wrong
        return None if found is None or self.unapproved([ONTOLOGY]) else found

    # -- episodes -----------------------------------------------------------------------------------------------

    def add_episode(self, given: "GivenEpisode") -> "Episode":
        """Takes a note in: masked, of layer 2, found after the next reindex. Raises as `write_episode` does."""
        from memory_server.layers.episodes import write_episode

        with self._noting:
            return write_episode(self.root, given, now=self._now(), redactor=self._redactor())

    # -- indices ------------------------------------------------------------------------------------------------

    def reindex(self, *, rebuild: bool = False, report_progress: Callable[[Progress], None] = lambda _: None) -> Report:
        """Brings the indices level with the disk. Raises NeedsRepair where another process owns the root.

        Of sessions that were to be forgotten, and whose archive is gone, not a byte is left in anything derived.
        """
        if rebuild:
            self.typed_lines.drop_damaged()
        if not (gone := self.upkeep.find_forgotten()):
            return self.upkeep.reindex(report_progress, rebuild=rebuild)
        self.own()
        is_erased = self._forget_notes(gone)
        return self.upkeep.forget(gone if is_erased else (), report_progress, rebuild=rebuild)

    def inspect(self) -> "Inspection":
        """What can be proven of the indices, each by asking for it."""
        from memory_server.inspection import Inspection

        return Inspection(self.root, self.indices, self.pipeline)

    def owner(self) -> str:
        """Which process owns the root, in words; empty where none does."""
        return self.indices.owner()

    def own(self) -> None:
        """Takes the root for this process. Raises NotOwner where another one has it."""
        if not self.indices.own():
            raise NotOwner(self.root)

    def _forget_notes(self, session_ids: Collection[str]) -> bool:
        """Removes sessions from typed lines, blackboard, query log and log of use; the ledger must still know them.
        Whether no byte of them is left, which another reader may prevent.
        """
        is_erased = self.typed_lines.forget(session_ids)
        for session_id in session_ids:
            self._blackboard.forget(session_id)
        names = set(map(cut_id8, session_ids))
        paths = [
            *map(raw_path, session_ids),
            *(path for path in self.indices.ledger.sources() if parse_id8(path) in names),
        ]
        ledgers = [self.indices.ledger, *([self.raw.ledger] if self.raw is not None and not self.raw.is_empty else [])]
        subjects = {*names, *paths}
        forget_marks(self.root.marks, subjects)
        is_erased &= self.use.forget([path for path in self.use.paths() if find_subject(path) in subjects])
        return is_erased & self._query_log.forget(set().union(*(ledger.find_ids(paths) for ledger in ledgers)), paths)

    def is_of_another_format(self) -> bool:
        """Whether another version of the program made one of the indices: the next run makes it anew."""
        of_turns = [self.root.raw_index] if self.raw else []
        of_stretches = [self.stretches.file] if self.stretches else []
        files = [self.root.ledger, *of_turns, *of_stretches]
        return any(map(is_of_another_format, files))

    def is_unfinished(self) -> bool:
        """Whether a run is due although no source has changed: one was interrupted, or a session is to be forgotten."""
        return self.upkeep.is_unfinished() or bool(self.upkeep.find_forgotten())

    def plan_model(self, name: str) -> ModelFiles:
        """Notes that the memory is to use another model, so that a restart goes on with it. Embeds nothing yet."""
        return self.upkeep.plan_model(name or self.settings.model)

    def change_model(self, report_progress: Callable[[Progress], None] = lambda _: None) -> bool:
        """Carries out the planned change of model; false where none is planned.

        Everything is embedded beside the indices in use, which serve until the last passage is done; then questions,
        vectors and the name in `oneiros.toml` change at once. Resumes what an earlier run did. Raises NotOwner where
        another process owns the root.
        """
        try:
            return self.upkeep.change_model(report_progress)
        finally:
            self.settings = read_memory_settings(self.root.settings)

    def status(self, elsewhere: Sequence[Skipped] | None = None) -> "Status":
        """How this memory stands. Searches nothing and loads no model. `elsewhere`: what was never brought here, where
        whoever asks knows it.
        """
        status = self.upkeep.describe(self._list_elsewhere() if elsewhere is None else elsewhere)
        with suppress(sqlite3.Error):  # a log that cannot be read stands in nobody's way
            return replace(status, queries_logged=self._query_log.count(), used=self.use.counts())
        return status

    # -- the query log ------------------------------------------------------------------------------------------

    def list_queries(
        self,
        *,
        without_hits: bool = False,
        limit: int = 50,
        compare: bool = False,
        since: dt.datetime | None = None,
    ) -> list[dict[str, object]]:
        """The questions of the log, newest first: when, which tool, the question, how many hits.

        `compare` asks the other searches what they find for those that found nothing, and logs nothing of that.
        """
        found = []
        queries = self._query_log.queries(without_hits=without_hits, limit=limit)
        for query in (one for one in queries if since is None or one.at >= since):
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

    def judge(self, judgement: JudgedQuestion) -> None:
        """Keeps what the person says of a question's answers."""
        self._query_log.judge(judgement)
        right = [path for path, verdict in judgement.verdicts.items() if verdict is AnswerVerdict.RIGHT]
        for path in right:
            self._count(lambda use, path=path: use.count_access(path, LineRange(0, 0), CONFIRMED))  # type: ignore[misc]  # a default binds the round's value

    def judgements(self) -> list[JudgedQuestion]:
        """What the person said of answers so far."""
        return self._query_log.judgements()

    def is_unanswered(self, tool: str, text: str) -> bool:
        """Whether a question of the log finds nothing now, and not because its filter names what no source has."""
        question = parse_logged(text, Search(tool) if tool in set(Search) else Search.RECALL)
        with repairable(self.root.derived_folder), self.indices.search_lock.searching():
            if self.pipeline().retriever.unknown_values(question):
                return False
        return not self.look_up(question).hits

    def _others_find(self, tool: str, text: str) -> dict[str, int]:
        """How many hits each of the other searches has for a question."""
        others = [search for search in Search if search != tool]
        return {search: len(self.look_up(parse_logged(text, search)).hits) for search in others}

    def _log(self, write: Callable[[QueryLog], None]) -> None:
        """Writes to the query log where it is on; a log that cannot be written never stands in the way of an answer."""
        if not self.person.query_log:
            return
        self._try_write(lambda: write(self._query_log))

    def _count(self, write: Callable[[UseLog], None]) -> None:
        """Counts a use, under the same rules."""
        if self.person.query_log:
            self._try_write(lambda: write(self.use))

    def _try_write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except (sqlite3.Error, OSError) as error:
            logger.warning("the query log cannot be written (%s); `oneiros config query_log false` ends it", error)

    # -- use ----------------------------------------------------------------------------------------------------

    def aging(self) -> "Aging":
        """What time does to this memory."""
        from memory_server.aging import Aging

        return Aging(self.root, self.indices, self.raw, self.use, self.person, self.today)

    def with_use(self, answer: Answer) -> Answer:
        """An answer that says of each hit how its source was used so far, among the parts of its score.

        A hit of another memory says it already.
        """
        uses = self.aging().measure_use([hit.path for hit in answer.hits if "strength" not in hit.parts])
        return replace(
            answer, hits=tuple(replace(hit, parts={**hit.parts, **uses.get(hit.path, {})}) for hit in answer.hits)
        )
