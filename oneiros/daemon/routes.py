"""Routes that need more than the memory: taking sessions in, and what is crawled.

What is crawled is changed at a terminal alone, since it decides whose words are read; the answers name the command.
"""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import AliasChoices, Field

from crawler.reported import ReportedPair, take_reported
from memory_server.errors import UsageError
from memory_server.faces.body import Body
from memory_server.faces.rest import error_json
from oneiros.daemon.daemon import Daemon
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.environment import Environment, now
from oneiros.ingest.readings import reading_states
from oneiros.ingest.settings import crawl_roots, ingest_settings, open_archive, waiting

CRAWLED = (
    *("crawl_roots", "machines", "agents", "speakers", "machine", "ingest_allow", "ingest_deny", "project_aliases"),
    *("reference_roots", "reference_endings", "reference_tags", "reference_minutes", "references"),
    *("idle_hours", "daily_at"),
)
CHANGE = "oneiros config KEY VALUE, at your terminal: what is read there asks for your consent"
MAX_TURN_CHARS = 200_000


class Reported(Body):
    """A pair of turns by hearsay."""

    prompt: str = Field(min_length=1, max_length=MAX_TURN_CHARS, validation_alias=AliasChoices("prompt", "user"))
    reply: str = Field(min_length=1, max_length=MAX_TURN_CHARS, validation_alias=AliasChoices("reply", "assistant"))
    session: str = Field("", max_length=200, description="your name for it; without one: project, instance and day")
    project: str = Field("", max_length=500)
    instance: str = Field("", max_length=200)
    time: datetime | None = Field(None, description="when it was said; without one: now")


def add_daemon_routes(api: FastAPI, daemon: Daemon) -> None:
    """Adds the routes of this module."""
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
