"""The REST side of proposals. The bearer token reads and proposes; a page session prepares what a terminal decides.

Registered by the face on the application of `memory_server.faces.rest`, whose errors and guard hold here too.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from fastapi import FastAPI, Header, HTTPException, Path, Query, Request
from pydantic import Field

from dream.decisions.accept import MAX_TEXT_CHARS, Decisions
from dream.decisions.page import Chosen, PageSessions
from dream.decisions.presence import require_terminal
from dream.proposals.rendering import hunk_json, waiting_for_person
from dream.records import State
from memory_server.errors import NeedsRepair
from memory_server.faces.body import Body
from memory_server.faces.guard import PAGE_HEADER

NO_PAGE = "choosing needs a page that was opened from a terminal: `oneiros open review`"
NO_TERMINAL = "a link is told to a terminal of this machine alone: `oneiros open`"

Secret = Annotated[str, Header(alias=PAGE_HEADER, max_length=200, include_in_schema=False)]
HunkId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="12 hexadecimal digits")]
ProposalName = Annotated[str, Path(pattern=r"^\d{4}-\d{2}-\d{2}-\d{1,6}$", description="date and number")]


class ChosenBody(Body):
    """What was chosen for a hunk: a yes, with the person's own wording where there is one, or a no with its reason."""

    verdict: Literal["accept", "reject", "later"]
    text: str | None = Field(None, min_length=1, max_length=MAX_TEXT_CHARS)
    reason: str = Field("", max_length=500)
    shown: str = Field("", max_length=64)


class Code(Body):
    """The code that a terminal showed."""

    code: str = Field(max_length=100)


def add_routes(
    api: FastAPI, decisions: Callable[[], Decisions], pages: PageSessions, no_page: NeedsRepair | None = None
) -> None:
    """Adds the routes. `decisions` gives those on the served memory, with the person's present settings; `no_page`
    says why no page is served, where none is.
    """
    _add_reading(api, decisions)
    _add_choosing(api, decisions, pages)
    _add_opening(api, decisions, pages, no_page)


def _add_reading(api: FastAPI, decisions: Callable[[], Decisions]) -> None:
    @api.get("/api/proposals")
    def proposals() -> dict[str, Any]:
        """The proposals, newest first, and how many hunks of each wait for a person."""
        store = decisions().store
        found = [
            {"name": one.name, "hunks": len(one.hunks), "open": sum(hunk.is_open for hunk in one.hunks)}
            for one in reversed(store.proposals())
        ]
        return {"proposals": found, "queued": len(store.queue())}

    @api.get("/api/proposals/{name}")
    def proposal(name: ProposalName) -> dict[str, Any]:
        """One proposal with its hunks."""
        return {"name": name, "hunks": [hunk_json(hunk) for hunk in decisions().store.proposal(name).hunks]}

    @api.get("/api/hunks")
    def hunks(state: Annotated[State, Query(description="what became of them")] = State.PENDING) -> dict[str, Any]:
        """The hunks in one state."""
        return {"hunks": [hunk_json(hunk) for hunk in decisions().store.hunks() if hunk.state is state]}


def _add_choosing(api: FastAPI, decisions: Callable[[], Decisions], pages: PageSessions) -> None:
    @api.post("/api/hunks/{name}/choose")
    def choose(name: HunkId, wanted: ChosenBody, secret: Secret = "") -> dict[str, Any]:
        """Prepares what the person decides at their terminal. Needs a page session."""
        if not pages.holds(secret):
            raise HTTPException(403, NO_PAGE)
        hunk, text = decisions().store.hunk(name), wanted.text
        text = decisions().check_wording(text) if text is not None else None
        pages.choose(Chosen(hunk.id, wanted.verdict, text, wanted.reason, wanted.shown))
        return {"hunk": hunk.id, "chosen": wanted.verdict}


def _add_opening(
    api: FastAPI, decisions: Callable[[], Decisions], pages: PageSessions, no_page: NeedsRepair | None
) -> None:
    # asynchronous, though nothing waits: what anybody may ask for must not hold up a thread of those that work
    @api.post("/page/open", include_in_schema=False)
    async def open_page(body: Code) -> dict[str, str]:
        return {"secret": pages.open(body.code)}

    @api.post("/page/code", include_in_schema=False)
    def code(request: Request) -> dict[str, str]:
        """A code for the person behind the process that asks at the private socket."""
        require_person(request)
        if no_page:
            raise NeedsRepair(no_page.what, remedy=no_page.remedy)
        return {"code": pages.new_code()}

    @api.post("/page/chosen", include_in_schema=False)
    def list_choices(request: Request) -> dict[str, Any]:
        """What was chosen on the page, for the review at the terminal. It is kept until it is decided."""
        require_person(request)
        waiting = {hunk.id for hunk in waiting_for_person(decisions().store.hunks())}
        pages.forget_others(waiting)
        pages.end_sitting(())
        return {"choices": msgspec.to_builtins(list(pages.choices().values()))}


def require_person(request: Request) -> None:
    """Refuses but to a process at a terminal, without Claude Code above it, that asks at the private socket."""
    process = getattr(request.state, "process", None)
    if process is None:
        raise HTTPException(403, NO_TERMINAL)
    require_terminal(process, {})
