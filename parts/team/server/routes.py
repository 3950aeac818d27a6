"""REST for a team, below `/api`: the routes of a personal memory that make sense for many, with the same bodies.

No route takes a tenant, a person or a right: the entrance has read them off the token.
"""

import logging
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse

from memory_server.errors import NeedsRepair
from memory_server.faces.answer_text import answer_json, explain_answer
from memory_server.faces.memory_text import reading_json, topics_json
from memory_server.faces.rest import ERROR, MAX_NUMBER, RESPONSES, AskedBody, add_errors, error_json
from memory_server.search.question import Search
from parts.team.errors import QuotaExceeded, TeamError, Unavailable
from parts.team.server.entrance import find_asker
from parts.team.server.guarded import GuardedMemory

logger = logging.getLogger(__name__)

SEARCHES = {"recall": Search.RECALL, "search": Search.MEANING, "exact": Search.EXACT}


def create_api(guarded: GuardedMemory, version: str) -> FastAPI:
    """The routes over a guarded memory, without the entrance."""
    info: dict[str, Any] = {
        "title": "oneiros for a team",
        "version": version,
        "responses": {**RESPONSES, 429: ERROR},
    }
    # a redirect would name whatever Host was sent, and http:// behind a proxy with TLS: the token would follow it
    api = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False, **info)
    add_errors(api)
    _add_team_errors(api)
    for name, search in SEARCHES.items():
        _add_search(api, guarded, name, search)

    @api.get("/api/read")
    def read(
        request: Request,
        name: Annotated[str, Query(max_length=1_000, description="a topic, or the path of a hit")],
        first: Annotated[int, Query(ge=1, le=MAX_NUMBER)] = 1,
        last: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
    ) -> dict[str, Any]:
        """Lines of a source, and the commit that they are of."""
        found = guarded.read(find_asker(request), name, first, last)
        return {**reading_json(found.reading), "commit": found.commit}

    @api.get("/api/topics")
    def topics(request: Request) -> dict[str, Any]:
        """The topics."""
        return topics_json(guarded.topics(find_asker(request)))

    @api.get("/api/status")
    def status(request: Request) -> dict[str, Any]:
        """What the memory holds, and which commit its index stands at."""
        return asdict(guarded.status(find_asker(request)))

    return api


def _add_search(api: FastAPI, guarded: GuardedMemory, name: str, search: Search) -> None:
    def answer_search(request: Request, body: AskedBody) -> dict[str, Any]:
        found = guarded.search(find_asker(request), body.question(search))
        stands = {"commit": found.commit, "head": found.head, "is_current": found.is_current}
        more = explain_answer(found.answer) if body.explain else {}
        return {"query": body.query, **answer_json(found.answer), **stands, **more}

    def get(request: Request, body: Annotated[AskedBody, Query()]) -> dict[str, Any]:
        return answer_search(request, body)

    def post(request: Request, body: AskedBody) -> dict[str, Any]:
        return answer_search(request, body)

    api.get(f"/api/{name}", operation_id=f"get_{name}")(get)
    api.post(f"/api/{name}", operation_id=f"post_{name}")(post)


def _add_team_errors(api: FastAPI) -> None:
    @api.exception_handler(TeamError)
    async def foreseen(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, TeamError)
        wait = error.retry_seconds if isinstance(error, QuotaExceeded) else 0
        body = error_json(error) | {"kind": type(error).__name__, "where": None}  # a place in the server is not theirs
        return JSONResponse({"error": body}, error.status, {"retry-after": str(wait)} if wait else None)

    @api.exception_handler(Exception)
    async def unforeseen(_: Request, __: Exception) -> JSONResponse:
        error = TeamError("this was not foreseen", remedy="Give your admin the x-request-id of this answer")
        return JSONResponse({"error": error_json(error) | {"kind": "Unforeseen"}}, error.status)

    @api.exception_handler(NeedsRepair)
    async def answer_failure(request: Request, error: Exception) -> JSONResponse:
        logger.error("git or the disk failed", exc_info=error)  # what it says names places in this server
        remedy = "Ask again in a moment, or give your admin the x-request-id of this answer"
        return await foreseen(request, Unavailable("the repository does not answer", remedy=remedy))
