"""The overview: how the memory stands, what asks for the person, what it costs, and how it grows."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from dream.decisions.approvals import read_approvals
from dream.decisions.chain import ChainEntry
from dream.proposals.store import Event
from dream.records import State
from memory_server.errors import OneirosError
from memory_server.layers.sessions import parse_id8
from memory_server.machine.clock import local_day
from oneiros.served import ServedMemory
from parts.page.rendering import Renderer

WEEKS = 26  # of growth that are drawn
DECISIONS = 8
QUESTIONS = 5_000  # of the log
REPORT_CHARS = 20_000


def overview_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """The overview, and its slower parts by themselves."""
    routes = APIRouter()
    memory, running = served.memory, served.running

    @routes.get("/overview")
    def overview() -> HTMLResponse:
        hunks = served.decisions().store.hunks()
        person = memory.person
        return render(
            "overview.html",
            status=running.status(),
            waiting=Counter(hunk.state for hunk in hunks if hunk.is_open),
            states=State,
            spent=running.spent(),
            person=person,
            unanswered=memory.list_queries(without_hits=True, limit=6),
            handoff=memory.handoff(),
            report=last_report(served),
            growth=json.dumps(growth(served)),
        )

    @routes.get("/overview/decisions")
    def decisions() -> HTMLResponse:
        """What was decided last, and whether the chain of decisions holds."""
        try:
            made = served.decisions()
            unexplained, _ = made.doubts()
            chain = read_approvals(memory.root, memory.person.signing_key).chain
        except OneirosError as error:
            return render("decisions.html", trouble=str(error), entries=(), count=0, unexplained=(), is_signed=False)
        entries: Sequence[ChainEntry] = chain.entries
        return render(
            "decisions.html",
            trouble=chain.trouble,
            entries=[entry for entry in reversed(entries) if entry.event is not Event.FOUND][:DECISIONS],
            count=len(entries),
            unexplained=unexplained,
            is_signed=bool(memory.person.signing_key),
        )

    @routes.get("/pulse/indexing")
    def indexing() -> HTMLResponse:
        return render("indexing.html", state=running.indexing())

    return routes


def last_report(served: ServedMemory) -> tuple[str, str]:
    """Name and text of the newest weekly report; empty where there is none."""
    files = sorted((served.memory.root.path / "reports").glob("????-W??.md"))
    return (
        (files[-1].stem, files[-1].read_text(encoding="utf-8", errors="replace")[:REPORT_CHARS]) if files else ("", "")
    )


def growth(served: ServedMemory) -> dict[str, Any]:
    """Sessions, statements taken up and questions of each week, as a curve: seconds of its Monday, and counts."""
    today = served.memory.today
    monday = today - dt.timedelta(days=today.weekday())
    weeks = [monday - dt.timedelta(weeks=back) for back in range(WEEKS - 1, -1, -1)]
    sources = served.memory.indices.snapshot().sources.values()
    store, asked = served.decisions().store, served.memory.list_queries(limit=QUESTIONS)
    counted = {
        "sessions": Counter(_weeks(one.date for one in sources if parse_id8(one.path) and one.date)),
        "statements": Counter(_weeks(local_day(one.at) for one in store.approvals() if one.event is Event.ACCEPTED)),
        "questions": Counter(_weeks(local_day(dt.datetime.fromisoformat(str(row["at"]))) for row in asked)),
    }
    moments = [int(dt.datetime.combine(week, dt.time(), dt.UTC).timestamp()) for week in weeks]
    return {
        "data": [moments, *([counts[week] for week in weeks] for counts in counted.values())],
        "series": list(counted),
    }


def _weeks(days: Iterable[dt.date]) -> Iterator[dt.date]:
    return (day - dt.timedelta(days=day.weekday()) for day in days)
