"""A team's memory: the one door to what a tenant knows. Whoever calls says which tenant, and knows it from a token."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from memory_server.document import Answer, Layer, SourcePath
from memory_server.embedding.catalogue import unread_note
from memory_server.embedding.engine import ModelInUse
from memory_server.errors import UsageError
from memory_server.language.words import WORDS, Stemmer
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import SourceFile, TopicHead, as_document, by_name, topic_name
from memory_server.machine.clock import local_day
from memory_server.reading import SourceText, make_reading
from memory_server.search.pipeline import Pipeline
from memory_server.search.question import Question
from parts.team.engine.database import Database
from parts.team.engine.heads import HeadsCache
from parts.team.engine.loading import name_maker
from parts.team.engine.store import pipeline
from parts.team.errors import NotFound, Unfit


@dataclass(frozen=True, slots=True)
class TeamAnswer:
    """An answer with the commit that it is of, and the newest one that was accepted."""

    answer: Answer
    commit: str
    head: str

    @property
    def is_current(self) -> bool:
        """Whether the index stands at what was accepted last."""
        return self.commit == self.head


@dataclass(frozen=True, slots=True)
class TeamReading:
    """Lines of a file of the memory, as the commit has them."""

    reading: SourceText
    commit: str


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """What a tenant holds, and how far the index has come."""

    name: str
    sources: int
    passages: int
    commit: str
    head: str
    generation: int
    model: str


class TeamMemory:
    """Answers questions of tenants. Safe to share between threads; every question is one transaction."""

    def __init__(self, database: Database, model: ModelInUse, now: Callable[[], dt.datetime] = dt.datetime.now):
        self._database = database
        self._model = model
        self._now = now
        self._heads = HeadsCache()
        self._cutter = Stemmer(WORDS)
        self._stemmer = Stemmer()

    def search(self, tenant: int, question: Question) -> TeamAnswer:
        """The answer to a question, from what the tenant's index holds at one moment.

        Raises UsageError for a question as of a day, which is git's to answer, and Unfit where another model than this
        process has made the index.
        """
        if question.filter.as_of:
            raise UsageError("as_of is not answered by a team's memory", remedy="Ask the repository's history by git")
        with self._database.tenant(tenant) as connection:
            answer = self.pipeline(connection, tenant).answer(question)
            stands = connection.execute("select git_rev, head_of(id, git_rev) from tenant where id = %s", (tenant,))
            commit, head = stands.fetchone() or ("", "")
        return TeamAnswer(answer, commit, head)

    def pipeline(self, connection: psycopg.Connection, tenant: int) -> Pipeline:
        """The way from a question to an answer, in the transaction of `connection`. Raises Unfit as `search` does."""
        heads = self._heads.load(connection, tenant)
        if heads.made_by not in ("", name_maker(self._model.files.fingerprint)):
            raise Unfit(f"the index of this memory is {heads.made_by}", remedy="Run `oneiros-team index` again")
        parts = (self._cutter, self._stemmer, self._model.embed_query, local_day(self._now()), self._unread)
        return pipeline(connection, tenant, heads, *parts)

    def _unread(self, text: str) -> str:
        return "" if self._model.reads(text) else unread_note(self._model.files.card)

    def read(self, tenant: int, path: str, first: int = 1, last: int | None = None) -> TeamReading:
        """Lines of a file, counted from 1. Raises NotFound, UsageError for lines that it has not."""
        name = path.replace("\0", "\ufffd").casefold()  # no text of PostgreSQL holds a NUL, and no path
        with self._database.tenant(tenant) as connection:
            row = connection.execute(
                "select path, layer, text, git_rev from source join tenant on tenant.id = source.tenant"
                " where source.tenant = %s and lower(path) = any(%s)",
                (tenant, [name, f"{name}.md", f"topics/{name}", f"topics/{name}.md"]),
            ).fetchone()
        if row is None:
            raise NotFound(f"there is no {path!r}", remedy="List the topics, or search for it")
        found, layer, text, commit = row
        document = as_document(SourceFile(SourcePath(found), Layer(layer)), parse_frontmatter(text))
        return TeamReading(make_reading(document, text, first, last, local_day(self._now())), commit)

    def topics(self, tenant: int) -> list[TopicHead]:
        """The topics of a tenant, as `topic_heads` lists them but for the summaries, which stand in the texts."""
        with self._database.tenant(tenant) as connection:
            rows = connection.execute(
                "select path, title, date, namespace from source"
                " where tenant = %s and layer = %s and path <> 'MEMORY.md'",
                (tenant, Layer.TOPIC),
            ).fetchall()
        heads = (
            TopicHead(topic_name(path), title, date, "", path, namespace=namespace)
            for path, title, date, namespace in rows
        )
        return sorted(heads, key=by_name)

    def status(self, tenant: int) -> TeamStatus:
        """What a tenant holds. Raises NotFound."""
        with self._database.tenant(tenant) as connection:
            row = connection.execute(
                "select name, (select count(*) from source where source.tenant = tenant.id),"
                " (select count(*) from embedding where embedding.tenant = tenant.id), git_rev,"
                " head_of(id, git_rev), generation, made_by from tenant where id = %s",
                (tenant,),
            ).fetchone()
        if row is None:
            raise NotFound("there is no such memory")
        return TeamStatus(*row)
