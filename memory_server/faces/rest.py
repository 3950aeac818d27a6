"""The REST face: the operations of `Memory` under `/api`, with their description at `/openapi.json`.

Errors are one JSON object, `{"error": {"kind", "what", "where", "line", "remedy"}}`: 400 or 422 for what was asked, 404
for what is not there, 409 for an id that is taken, 503 for what needs repair. Who may ask is decided before, by
`guard.py`.
"""

import dataclasses
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AliasChoices, BeforeValidator, Field, create_model
from starlette.exceptions import HTTPException

from memory_server.completeness import tell_skipped
from memory_server.document import TYPES, SourcePath
from memory_server.embedding.workers import usable_cores
from memory_server.errors import ContentError, NeedsRepair, OneirosError, UsageError
from memory_server.faces.answer_text import answer_json, explain_answer
from memory_server.faces.body import Body
from memory_server.faces.door import Door
from memory_server.faces.indexing import FRESH_SECONDS, Indexing
from memory_server.faces.memory_text import reading_json, status_json, topics_json
from memory_server.fields import FIELDS
from memory_server.index.build import Changes
from memory_server.layers import episodes as notes
from memory_server.layers.episodes import (
    MAX_TAGS,
    MAX_TEXT_CHARS,
    TAG,
    Episode,
    EpisodeTaken,
    GivenEpisode,
)
from memory_server.layers.topics import topic_heads
from memory_server.lifecycle.aliveness import Aliveness
from memory_server.lifecycle.use import Use
from memory_server.memory import Memory
from memory_server.search.precedence import limit_to_project
from memory_server.search.question import DEFAULT_LIMIT, MAX_LIMIT, Question, Search, build_filter, parse_query, several
from memory_server.upkeep import is_small

MAX_WAIT_SECONDS = 600.0
WAITERS = 50
MAX_LOG_ROWS = 1_000
MAX_NUMBER = 1 << 31
MAX_ID_CHARS = 200

UNTIL = "the daemon ends or your settings change; ask with `keep` and they are your settings"
TEXTS = ("text", "raw_exchange")  # of an episode: not in a list

STATUS_OF = {EpisodeTaken: 409, UsageError: 400, ContentError: 404, NeedsRepair: 503}
Wait = Callable[[int, float], Awaitable[bool]]  # for the run of a ticket, so many seconds; whether it is done
# by its schema: of a model FastAPI builds a validator for each status of each route
ERROR: dict[str, Any] = {
    "description": "what happened, and what to do next",
    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": True}}},
}
RESPONSES: dict[int | str, dict[str, Any]] = dict.fromkeys((400, 401, 403, 404, 409, 413, 421, 422, 503), ERROR)

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="most hits")]
Name = Annotated[str, Field(max_length=500)]
Several = Annotated[
    Sequence[Name],
    Field(max_length=50),
    BeforeValidator(
        lambda given: [given] if isinstance(given, str) else given, json_schema_input_type=Name | Sequence[Name]
    ),  # a union's errors name its schemas
]
Day = Annotated[str, Field(max_length=20, description="such as 2026-03-07 or 2026-03")]
Text = Annotated[str, Query(max_length=20_000, description="words, a question, or the query syntax")]
Folder = Annotated[str, Query(max_length=4_096, description="whose project it is told in, on this machine's disk")]
Identity = Annotated[str, Path(max_length=MAX_ID_CHARS, description="8 hexadecimal digits, or its `episode_id`")]


class WordsBody(Body):
    """What is asked, and how much of it."""

    query: str = Field(max_length=20_000)
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT)
    per_source: int = Field(1, ge=1, le=MAX_LIMIT)
    include_raw: bool = Field(False, description="archived turns too, as layer:raw")


def filter_keys() -> dict[str, Any]:
    """The keys of a body that filter, by the table of filters; what sessions said of a type stands behind its own."""
    keys: dict[str, Any] = {}
    for field in FIELDS:
        default: Any = "" if field.is_day else ()
        keys[field.key] = (Day if field.is_day else Several, Field(default, description=field.help))
        if field.key != field.name:
            keys[field.name] = (Several, Field((), description=f"only what sessions said of it: {', '.join(TYPES)}"))
    return keys


FilterBody = create_model("FilterBody", __base__=WordsBody, **filter_keys())


class AskedBody(FilterBody):  # type: ignore[misc, valid-type]  # made of a table
    """A question, with what it is to be filtered by beside it; values of one key are alternatives."""

    explain: bool = Field(False, description="with the words looked up and the score of every part")

    def question(self, search: Search) -> Question:
        """The question as data. Raises UsageError where it is none."""
        return parse_query(
            self.query,
            search,
            beside=build_filter({field.name: several(getattr(self, field.key)) for field in FIELDS}),
            types=several(self.type),
            limit=self.limit,
            per_source=self.per_source,
            include_raw=self.include_raw,
        )


class QuestionBody(AskedBody):
    """A question to a memory whose files lie on the disk of the one who answers."""

    fresh: bool = Field(True, description="index a small change of the disk before the answer; else `behind` is null")
    both: bool = Field(False, description="the account's memory too, where this one is a project's")
    quiet: bool = Field(False, description="wait for no run, and note the question nowhere")


class Reindex(Body):
    """An order to bring the indices level."""

    rebuild: bool = False
    wait_seconds: float = Field(0.0, ge=0.0, le=MAX_WAIT_SECONDS)


class NewEpisode(Body):
    """A note to be taken in; secrets in it are masked before it is written."""

    text: str = Field(
        min_length=1,
        max_length=MAX_TEXT_CHARS,
        validation_alias=AliasChoices("text", "summary"),
        description="what is to be found; `summary` is the same",
    )
    title: str = Field("", max_length=500)
    tags: list[Annotated[str, Field(max_length=100)]] = Field(default_factory=list, max_length=MAX_TAGS)
    project: str = Field("", max_length=500)
    instance: str = Field("", max_length=200, description="which agent or machine notes it; `machine:` filters by it")
    episode_id: str = Field(
        "",
        max_length=MAX_ID_CHARS,
        validation_alias=AliasChoices("episode_id", "id"),
        description="an id of the sender's: the same note again is the one that is there, another is refused",
    )
    raw_exchange: str = Field("", max_length=MAX_TEXT_CHARS, description="what it was made from: kept, never searched")


class EpisodeQuestion(Body):
    """A question to the episodes alone."""

    query: str = Field(max_length=20_000, validation_alias=AliasChoices("query", "query_text"))
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, validation_alias=AliasChoices("limit", "top_k"))] = DEFAULT_LIMIT
    project: Annotated[Several, Field(validation_alias=AliasChoices("project", "project_filter"))] = ()
    instance: Annotated[Several, Field(validation_alias=AliasChoices("instance", "instance_filter"))] = ()
    tag: Annotated[Several, Field(validation_alias=AliasChoices("tag", "tag_filter"))] = ()


class Workers(Body):
    """Which cores embed, until the daemon ends or the settings change; and whether they rest."""

    share: float | None = Field(None, gt=0, le=1)
    cores: list[Annotated[int, Field(ge=0, le=4096)]] | None = Field(None, max_length=4096)
    paused: bool | None = None
    keep: bool = Field(False, description="write share and cores to your settings, where the next daemon finds them")


class Model(Body):
    """The embedding model that the memory is to use."""

    name: str = Field(max_length=200)


def create_api(
    memory: Memory,
    indexing: Indexing,
    version: str,
    *,
    on_stop: Callable[[], None],
    on_restart: Callable[[], None],
    door: Door | None = None,
    project_of: Callable[[str], str] = lambda _: "",
    keep_setting: Callable[[str, object], None] = lambda *_: None,
) -> FastAPI:
    """The application over an open memory. `on_stop` ends the process that serves it, `on_restart` renews it.

    `door`: what answers for it, where another memory may stand beside. `project_of`: the project of a folder.
    `keep_setting` writes one of the person's.
    """
    api = FastAPI(
        title="oneiros",
        version=version,
        description="One person's memory: approved topics, sessions and episodes, searched by words and meaning.",
        docs_url=None,  # the page would load scripts from the network
        redoc_url=None,
        responses=RESPONSES,
    )
    waiters = CapacityLimiter(WAITERS)

    async def wait_for_indexing(ticket: int, seconds: float) -> bool:
        return await run_sync(indexing.wait, ticket, seconds, limiter=waiters)

    add_errors(api)
    _add_searches(api, memory, door or memory, indexing, wait_for_indexing, project_of)
    _add_reading(api, memory, door or memory)
    _add_episodes(api, memory, indexing, wait_for_indexing)
    _add_indexing(api, memory, indexing, wait_for_indexing, keep_setting)

    @api.post("/api/stop", status_code=202)
    async def stop() -> dict[str, Any]:
        """Ends the daemon once what is under way has been answered."""
        on_stop()
        return {"stopping": True}

    @api.post("/api/restart", status_code=202)
    async def restart() -> dict[str, Any]:
        """Ends the daemon and starts it anew; clients of MCP notice nothing."""
        on_restart()
        return {"restarting": True}

    return api


def add_errors(api: FastAPI) -> None:
    """Has every error answered as one JSON object."""

    @api.exception_handler(OneirosError)
    async def foreseen(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, OneirosError)
        status = next((status for kind, status in STATUS_OF.items() if isinstance(error, kind)), 503)
        return JSONResponse({"error": error_json(error)}, status)

    @api.exception_handler(RequestValidationError)
    async def answer_malformed(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = f"{place}: {first['msg']}"
        body = {"kind": "UsageError", "what": what, "where": None, "line": None, "remedy": "See /openapi.json"}
        return JSONResponse({"error": body}, 422)

    @api.exception_handler(HTTPException)
    async def unknown(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        what = f"{request.method} {request.url.path[:200]}: {error.detail}"
        body = {"kind": "UsageError", "what": what, "where": None, "line": None, "remedy": "See /openapi.json"}
        return JSONResponse({"error": body}, error.status_code, headers=error.headers)


def error_json(error: OneirosError) -> dict[str, Any]:
    """An error for programs."""
    where = None if error.where is None else str(error.where)
    kind = next((kind.__name__ for kind in STATUS_OF if isinstance(error, kind)), "NeedsRepair")
    return {"kind": kind, "what": error.what, "where": where, "line": error.line, "remedy": error.remedy}


def _add_searches(
    api: FastAPI,
    memory: Memory,
    door: Door,
    indexing: Indexing,
    waited: Wait,
    project_of: Callable[[str], str],
) -> None:
    async def ask(search: Search, body: QuestionBody, folder: str = "") -> dict[str, Any]:
        question = body.question(search)
        behind = await make_fresh(memory, indexing, waited) if body.fresh and not body.quiet else None
        look_up = memory.look_up if body.quiet else memory.search
        answer = await run_sync(door.search if body.both else look_up, question)
        answer = limit_to_project(answer, await run_sync(project_of, folder) if folder else "")
        more = explain_answer(await run_sync(memory.with_use, answer)) if body.explain else {}
        return {"query": body.query, **answer_json(answer), "behind": behind, "here": answer.here, **more}

    def add(search: Search, help_text: str) -> None:
        async def get(body: Annotated[QuestionBody, Query()]) -> dict[str, Any]:
            return await ask(search, body)

        async def post(body: QuestionBody, folder: Folder = "") -> dict[str, Any]:
            return await ask(search, body, folder)

        api.get(search.route, operation_id=f"get_{search.command}", description=help_text)(get)
        api.post(search.route, operation_id=f"post_{search.command}", description=help_text)(post)

    add(Search.RECALL, "Finds by meaning and words together; the best first answer to a question.")
    add(Search.MEANING, "Finds by meaning alone, whatever words are used.")
    add(Search.EXACT, "Finds every word or quoted phrase as written.")


async def make_fresh(memory: Memory, indexing: Indexing, waited: Wait) -> int:
    """Has a small change indexed, also one that is half done; how many files are still to be read."""
    changes: Changes = await run_sync(memory.upkeep.changes)
    if changes.is_empty:
        return 0
    ticket = indexing.poke()
    if is_small(changes) and await waited(ticket, FRESH_SECONDS):
        changes = await run_sync(memory.upkeep.changes)  # the run may have failed
    return changes.count


def _add_reading(api: FastAPI, memory: Memory, door: Door) -> None:
    @api.get("/health")
    def health() -> JSONResponse:
        """Searches for something that the memory holds, 503 where that does not find it; and says what is left out."""
        started = time.perf_counter()
        problem = memory.inspect().search_itself()
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        lacks = tell_skipped(memory.list_skipped(), memory.owner())
        state = "failed" if problem else "incomplete" if lacks else "ok"
        body = {"status": state, "problem": problem, "lacks": lacks, "milliseconds": milliseconds}
        return JSONResponse(body, 503 if problem else 200)

    @api.get("/api/status")
    def status() -> dict[str, Any]:
        """What the memory holds and how its indices stand."""
        return status_json(memory.status())

    @api.get("/api/topics")
    def topics() -> dict[str, Any]:
        """The approved topics."""
        return topics_json(topic_heads(memory.root))

    @api.get("/api/read")
    def read(
        name: Annotated[
            str, Query(max_length=1_000, description="a topic, the path of a hit, or its place: 5f0c2a9e:66-70")
        ],
        first: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
        last: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
        with_tools: Annotated[bool, Query(description="of a session, turns of tools too")] = False,
    ) -> dict[str, Any]:
        """Lines of a topic, or turns of a session."""
        return reading_json(door.read(name, first, last, with_tools=with_tools))

    @api.get("/api/session")
    def session(
        name: Annotated[
            str, Query(max_length=1_000, description="the id of a session or the beginning of one, or a path")
        ],
        depth: Annotated[str, Query(max_length=20, description="line, digest, file or raw")] = "digest",
        first: Annotated[int, Query(ge=1, le=MAX_NUMBER, description="first raw turn")] = 1,
    ) -> dict[str, Any]:
        """A session as text, at a depth: from its one line to its turns."""
        return {"text": door.read_session(name, depth, first)}

    @api.get("/api/handoff")
    def handoff() -> dict[str, Any]:
        """Where the last sessions stopped, and what those that run say."""
        return {"text": memory.handoff()}

    @api.get("/api/validate")
    def validate() -> dict[str, Any]:
        """What is wrong with the files of the memory."""
        return {"problems": [dataclasses.asdict(problem) for problem in memory.validate()]}

    @api.get("/api/queries")
    def queries(
        without_hits: bool = False, limit: Annotated[int, Query(ge=1, le=MAX_LOG_ROWS)] = 50, compare: bool = False
    ) -> dict[str, Any]:
        """What was asked, newest first; with `compare`, what the other searches find where nothing was found."""
        return {"queries": memory.list_queries(without_hits=without_hits, limit=limit, compare=compare)}


def _add_episodes(api: FastAPI, memory: Memory, indexing: Indexing, waited: Wait) -> None:
    async def search(body: EpisodeQuestion) -> dict[str, Any]:
        beside = {"project": several(body.project), "machine": several(body.instance)}
        tags = several(body.tag)  # values of one filter are alternatives: with tags, notes are told by their place
        limit = MAX_LIMIT if tags else body.limit
        question = parse_query(body.query, beside=build_filter({**beside, "tag": tags or [TAG]}), limit=limit)
        await make_fresh(memory, indexing, waited)
        answer = await run_sync(memory.search, question)
        hits = tuple(hit for hit in answer.hits if hit.path.startswith("episodes/"))[: body.limit]
        found, uses = answer_json(dataclasses.replace(answer, hits=hits)), read_uses(hit.path for hit in hits)
        return {**found, "hits": [{**hit, **use_json(uses.use(hit["path"]))} for hit in found["hits"]]}

    def read_uses(paths: Iterable[SourcePath]) -> Aliveness:
        return memory.aging().aliveness(list(paths))

    def to_json(episode: Episode) -> dict[str, Any]:
        return episode_json(episode, read_uses([episode.path]).use(episode.path))

    @api.post("/api/episodes", status_code=201)
    def create_episode(note: NewEpisode) -> dict[str, Any]:
        """Takes a note in: layer 2, never authority."""
        episode = memory.add_episode(GivenEpisode(**note.model_dump()))
        indexing.poke()
        return to_json(episode)

    @api.get("/api/episodes")
    def list_episodes(
        page: Annotated[int, Query(ge=1, le=MAX_NUMBER)] = 1, per_page: Annotated[int, Query(ge=1, le=200)] = 20
    ) -> dict[str, Any]:
        """A page of episodes, newest first."""
        episodes, total = notes.list_episodes(memory.root, page=page, per_page=per_page)
        uses = read_uses(one.path for one in episodes)
        whole = [episode_json(one, uses.use(one.path)) for one in episodes]
        found = [{key: value for key, value in one.items() if key not in TEXTS} for one in whole]
        return {"episodes": found, "total": total, "page": page, "per_page": per_page}

    @api.get("/api/episodes/search")
    async def search_episodes(query: Text, limit: Limit = DEFAULT_LIMIT) -> dict[str, Any]:
        """Finds among the episodes alone."""
        return await search(EpisodeQuestion(query=query, limit=limit))

    @api.post("/api/episodes/search")
    async def post_search_episodes(body: EpisodeQuestion) -> dict[str, Any]:
        """Finds among the episodes alone, of some projects, instances or tags."""
        return await search(body)

    @api.get("/api/episodes/{identity}")
    def read_episode(
        identity: Identity,
        depth: Annotated[Literal["text", "raw"], Query(description="raw: with what it was made from")] = "text",
    ) -> dict[str, Any]:
        """One episode with its text."""
        return to_json(notes.read_episode(memory.root, identity, with_exchange=depth == "raw"))

    @api.delete("/api/episodes/{identity}")
    def delete_episode(identity: Identity) -> dict[str, Any]:
        """Removes an episode and what was indexed of it."""
        path = notes.delete_episode(memory.root, identity)
        indexing.poke()
        return {"deleted": path}


def episode_json(episode: Episode, use: Use) -> dict[str, Any]:
    """An episode for programs."""
    return {**dataclasses.asdict(episode), "tags": list(episode.tags), **use_json(use)}


def use_json(use: Use) -> dict[str, Any]:
    """How often a source was found, opened or drilled into, and the day on which that last was so."""
    last = use.last_retrieved
    return {"retrieval_count": use.retrieval_count, "last_retrieved": last.isoformat() if last else None}


def _add_indexing(
    api: FastAPI,
    memory: Memory,
    indexing: Indexing,
    waited: Wait,
    keep_setting: Callable[[str, object], None],
) -> None:
    def state_json() -> dict[str, Any]:
        report = indexing.last_report
        state = dataclasses.asdict(indexing.state())
        return {**state, "last_report": dataclasses.asdict(report) if report else None}

    @api.get("/api/indexing")
    def state() -> dict[str, Any]:
        """What is being indexed, with the progress of a change of model."""
        return state_json()

    @api.get("/api/compare")
    def compare(sample: Annotated[int, Query(ge=1, le=1_000)] = 50) -> dict[str, Any]:
        """Compares what a query can return with the ledger; 503 while a run is under way."""
        if indexing.state().stage != "idle":
            raise NeedsRepair("the indices are being written", remedy="Ask again when that is done")
        return dataclasses.asdict(memory.inspect().compare_indices(sample))

    @api.post("/api/reindex")
    async def reindex(order: Reindex) -> dict[str, Any]:
        """Brings the indices level with the disk; `done` tells whether that happened within the time."""
        ticket = indexing.poke(rebuild=order.rebuild, anyway=True)
        done = await waited(ticket, order.wait_seconds) if order.wait_seconds else False
        return {"done": done, **state_json()}

    @api.put("/api/embedding")
    def embedding(workers: Workers) -> dict[str, Any]:
        """Changes share or cores of the embedding workers while they run, or lets them rest."""
        if workers.cores:
            unknown = sorted(set(workers.cores) - set(usable_cores()))
            if unknown:
                raise UsageError(f"this process may not use core {unknown[0]}", remedy=f"Usable: {usable_cores()}")
        if workers.share and workers.keep and workers.cores is None and memory.person.embedding_cores:
            remedy = 'Name them too: "cores": [] gives them up'
            raise UsageError("cores are set, which stand before a share", remedy=remedy)
        named: dict[str, Any] = {} if workers.share is None else {"embedding_share": workers.share}
        if workers.cores is not None:
            named["embedding_cores"] = tuple(workers.cores)
        for key, value in named.items() if workers.keep else ():
            keep_setting(key, value)
        instead = {} if workers.share is None else {"embedding_cores": ()}
        memory.person = dataclasses.replace(memory.person, **{**instead, **named})
        if workers.paused is not None:
            (memory.embedding.pause if workers.paused else memory.embedding.resume)()
        is_kept = workers.keep and named and workers.paused is None
        return {**state_json(), "until": "you change your settings" if is_kept else UNTIL}

    @api.post("/api/model", status_code=202)
    def model(wanted: Model) -> dict[str, Any]:
        """Embeds everything anew with another model, in the background; the indices in use serve until it is done."""
        memory.plan_model(wanted.name)
        indexing.poke()
        return state_json()
