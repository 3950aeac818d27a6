"""Routes that need more than the memory: taking sessions in, what is crawled, and trainers.

What is crawled is changed at a terminal alone, since it decides whose words are read; the answers name the command.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import AliasChoices, Field

from crawler.reported import ReportedPair, take_reported
from memory_server.errors import OneirosError, UsageError
from memory_server.faces.body import Body
from memory_server.faces.rest import error_json
from oneiros.daemon.daemon import Daemon
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.environment import Environment, now
from oneiros.ingest.readings import reading_states
from oneiros.ingest.settings import crawl_roots, ingest_settings, open_archive, waiting
from oneiros.ingest.trainer_client import TrainerClient, parse_machines

CRAWLED = (
    *("crawl_roots", "machines", "agents", "speakers", "machine", "ingest_allow", "ingest_deny", "project_aliases"),
    *("reference_roots", "reference_endings", "reference_tags", "reference_minutes", "references"),
    *("idle_hours", "daily_at"),
)
CHANGE = "oneiros config KEY VALUE, at your terminal: what is read there asks for your consent"
MAX_TURN_CHARS = 200_000
MAX_PROMPT_CHARS = 100_000
SSE_TYPE = "text/event-stream"


class Reported(Body):
    """A pair of turns by hearsay."""

    prompt: str = Field(min_length=1, max_length=MAX_TURN_CHARS, validation_alias=AliasChoices("prompt", "user"))
    reply: str = Field(min_length=1, max_length=MAX_TURN_CHARS, validation_alias=AliasChoices("reply", "assistant"))
    session: str = Field("", max_length=200, description="your name for it; without one: project, instance and day")
    project: str = Field("", max_length=500)
    instance: str = Field("", max_length=200)
    time: datetime | None = Field(None, description="when it was said; without one: now")


class Message(Body):
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(max_length=MAX_PROMPT_CHARS)


class Generate(Body):
    """What a model is to go on from."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=200)]
    max_tokens: int = Field(256, ge=1, le=8_192)
    temperature: float = Field(0.0, ge=0.0, le=2.0)
    stream: bool = Field(True, description="false: the whole answer as one object with `text`")


def add_daemon_routes(api: FastAPI, daemon: Daemon) -> None:
    """Adds the routes of this module."""
    _add_ingest(api, daemon)
    _add_trainers(api, daemon)


def _add_ingest(api: FastAPI, daemon: Daemon) -> None:
    root = daemon.memory.root

    @api.post("/api/ingest")
    def ingest(pair: Reported) -> dict[str, Any]:
        """Takes a pair of turns in as reported: layer 3, evidence of nothing."""
        time = pair.time or now()
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        reported = ReportedPair(**pair.model_dump(exclude={"time"}), time=aware)
        taken = take_reported(reported, ingest_settings(_renew_environment(), root), is_timed=pair.time is not None)
        daemon.on_ingested("", False)
        return asdict(taken)

    @api.get("/api/jsonl/status")
    def jsonl_status() -> dict[str, Any]:
        """What of the transcripts of this machine is archived and read, and what the last daily ingest did."""
        left = waiting(_renew_environment(), root, now())
        jobs = (asdict(job) for job in read_states(schedule_file(root)) if job.name == "ingest")
        return {
            "running": daemon.queue.worker.is_busy,
            "archived": len(open_archive(root).session_ids()),
            "not_archived": left.not_archived,
            "expiring": left.expiring,
            "readings": reading_states(_renew_environment(), root, now()),
            "daily": next(jobs, None),
        }

    @api.post("/api/jsonl/ingest", status_code=202)
    def jsonl_ingest() -> dict[str, Any]:
        """Takes in whatever is new on this machine, in the background."""
        status = "already_running" if daemon.queue.worker.is_busy else "started"
        daemon.queue.note_all()
        return {"status": status, "message": "GET /api/jsonl/status tells how it stands"}

    @api.get("/api/crawler/config")
    def crawler_config() -> dict[str, Any]:
        """Which folders, machines and files are read."""
        environment = _renew_environment()
        settings = asdict(environment.person)
        roots = [{"folder": str(one.folder), "machine": one.machine} for one in crawl_roots(environment)]
        return {"settings": {key: settings[key] for key in CRAWLED}, "roots": roots, "change": CHANGE}

    @api.put("/api/crawler/config", status_code=403)
    def change_crawler_config() -> JSONResponse:
        """Refuses: whose words are read is decided at a terminal."""
        error = UsageError("what is crawled is changed by the person alone", remedy=CHANGE)
        return JSONResponse({"error": error_json(error)}, 403)

    def _renew_environment() -> Environment:
        """The environment with the person's settings as they are now."""
        return replace(daemon.environment)


def _add_trainers(api: FastAPI, daemon: Daemon) -> None:
    @lru_cache(maxsize=1)
    def client() -> TrainerClient:
        """One for all requests: it knows which machine failed lately."""
        return TrainerClient(parse_machines(daemon.environment.variables))

    @api.get("/api/trainers")
    def trainers() -> dict[str, Any]:
        """Each trainer that ONEIROS_TRAINER_URLS names, as it is now, or why it does not answer."""
        names = daemon.running.trainers()
        with ThreadPoolExecutor(len(names) or 1) as pool:  # those that are off are waited for together
            return {"trainers": list(pool.map(daemon.running.trainer, names))}

    @api.post("/api/generate", response_class=StreamingResponse, responses={200: {"content": {SSE_TYPE: {}}}})
    def generate(wanted: Generate) -> Response:
        """Has the first trainer that can answer go on, piece by piece: `data: {"text": ...}`, then `data: [DONE]`.

        Where the one that answers goes away, the last event is an `error`.
        """
        messages = [message.model_dump() for message in wanted.messages]
        pieces = client().stream(messages, max_tokens=wanted.max_tokens, temperature=wanted.temperature)
        if not wanted.stream:
            return JSONResponse({"text": "".join(pieces)})
        first = next(pieces, "")  # raises before anything is sent
        return StreamingResponse(_events(first, pieces), media_type=SSE_TYPE, headers={"Cache-Control": "no-store"})


def _events(first: str, pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of an answer as server-sent events."""
    yield _event({"text": first})
    try:
        for piece in pieces:
            yield _event({"text": piece})
    except OneirosError as error:
        yield f"event: error\n{_event({'error': error_json(error)})}"
        return
    yield "data: [DONE]\n\n"


def _event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"
