"""Today: what waits for the person, what happened this week, what ends soon; and how the memory grew, as plots."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from dream.changes import Event
from dream.decisions.approvals import read_approvals
from dream.decisions.chain import ChainEntry
from dream.proposals.rendering import HEADS, waiting_for_person, warnings_about
from dream.records import Hunk, State
from memory_server.document import Layer, SourceHead
from memory_server.errors import OneirosError
from memory_server.layers.sessions import parse_id8
from memory_server.machine.clock import local_day
from oneiros.served import ServedMemory
from parts.page.passkeys.signing import hash_shown, list_steps
from parts.page.plots import Plot, Tile, draw_bars, draw_calendar, draw_map
from parts.page.rendering import Renderer, make_address

DECISIONS = 8
REPORT_CHARS = 20_000
WEEK = dt.timedelta(days=7)
SHOWN = 6  # sessions of a project, statements, questions, ends
ENDS_WITHIN = dt.timedelta(days=30)
DAYS, WEEKS = 60, 26  # that the plots show
TILES = 80
TEXT_CHARS, QUOTE_CHARS = 700, 500  # of the first change: what is longer is answered in the review
STRENGTHS = [f"0.{tenth}" for tenth in range(10)]


@dataclass(frozen=True, slots=True)
class NextChange:
    """The change that is looked at first, with what a yes to it needs."""

    hunk: Hunk
    shown_hash: str
    is_plain: bool  # nothing that a yes to it rests on is left out here


@dataclass(frozen=True, slots=True)
class WeekOfProject:
    """The sessions of a project in a week."""

    project: str
    count: int
    sessions: Sequence[tuple[SourceHead, str]]  # the newest, with their addresses


def today_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """Today, and its slower parts by themselves."""
    routes = APIRouter()
    memory, running = served.memory, served.running

    @routes.get("/today")
    def today() -> HTMLResponse:
        store = served.decisions().store
        hunks, chosen = store.hunks(), served.pages.choices()
        waiting = waiting_for_person(hunks)
        accepted = [one for one in store.approvals() if one.event is Event.ACCEPTED]
        week, is_this_week = list_week(list_sessions(served), memory.today)
        return render(
            "today.html",
            status=running.status(),
            waiting=len(waiting),
            chosen=sum(hunk.id in chosen for hunk in waiting),
            states=Counter(hunk.state for hunk in hunks if hunk.is_open),
            kinds=State,
            change=find_change(served, [hunk for hunk in waiting if hunk.id not in chosen]),
            text_chars=TEXT_CHARS,
            quote_chars=QUOTE_CHARS,
            week=week,
            is_this_week=is_this_week,
            learnt=[one for one in reversed(accepted) if local_day(one.at) > memory.today - WEEK],
            unanswered=memory.list_queries(without_hits=True, limit=SHOWN),
            ending=list_ending(served),
            spent=running.spent(),
            person=memory.person,
            handoff=memory.handoff(),
            report=read_last_report(served),
        )

    @routes.get("/today/plots")
    def plots() -> HTMLResponse:
        """How the memory grew and is used."""
        strengths = measure_strengths(served)
        return render("plots.html", plots=list_plots(served, strengths), fading=list_fading(strengths))

    @routes.get("/today/decisions")
    def decisions() -> HTMLResponse:
        """What was decided last, and whether the chain of decisions holds."""
        try:
            approvals = read_approvals(memory.root, memory.person.signing_key)
            unexplained = approvals.find_unexplained()
        except OneirosError as error:
            empty = {"entries": (), "count": 0, "unexplained": (), "is_signed": False}
            return render("decisions.html", trouble="", error=str(error), **empty)
        entries: Sequence[ChainEntry] = approvals.chain.entries
        return render(
            "decisions.html",
            trouble=approvals.chain.trouble,
            error="",
            entries=[entry for entry in reversed(entries) if entry.event is not Event.FOUND][:DECISIONS],
            count=len(entries),
            unexplained=unexplained,
            is_signed=bool(memory.person.signing_key),
        )

    @routes.get("/pulse/indexing")
    def indexing() -> HTMLResponse:
        return render("indexing.html", state=running.indexing.state())

    return routes


def find_change(served: ServedMemory, open_hunks: Sequence[Hunk]) -> NextChange | None:
    """The first change for which nothing was chosen."""
    if not open_hunks:
        return None
    hunk, decisions = open_hunks[0], served.decisions()
    is_sound = bool(list_steps(decisions, hunk)) and not decisions.find_faults(hunk)
    return NextChange(hunk, hash_shown(decisions, hunk), is_sound and is_plain(hunk))


def is_plain(hunk: Hunk) -> bool:
    """Whether a hunk is shown whole on Today, and nothing of it is to be looked at twice."""
    if hunk.origin:
        return False
    is_short = all(len(text) <= TEXT_CHARS for text in (hunk.text, hunk.update.place.old_text))
    is_quoted_whole = len(hunk.evidence) <= len(hunk.quotes) <= 1 and all(
        len(quote.text) <= QUOTE_CHARS for quote in hunk.quotes
    )
    return is_short and is_quoted_whole and hunk.update.relation not in HEADS and not any(warnings_about(hunk))


def list_sessions(served: ServedMemory) -> list[SourceHead]:
    """The sessions of which the day is known, the newest first; a note is none."""
    sources = served.memory.indices.snapshot().sources.values()
    found = [one for one in sources if parse_id8(one.path) and one.date]
    return sorted(found, key=lambda one: (str(one.date), one.path), reverse=True)


def list_week(sessions: Sequence[SourceHead], today: dt.date) -> tuple[list[WeekOfProject], bool]:
    """The sessions of the last seven days by project, the busiest first; where there are none, the last ones."""
    recent = [one for one in sessions if one.date and today - WEEK < one.date <= today]
    projects: dict[str, list[SourceHead]] = {}
    for one in recent or sessions[:SHOWN]:
        projects.setdefault(one.project, []).append(one)
    by_count = sorted(projects.items(), key=lambda item: -len(item[1]))
    return [
        WeekOfProject(name, len(held), [(one, make_address(one.path, 0, is_raw=False)) for one in held[:SHOWN]])
        for name, held in by_count
    ], bool(recent)


def list_ending(served: ServedMemory) -> list[SourceHead]:
    """Topics that hold for some days more, the first to end first."""
    today = served.memory.today
    ending = [
        one
        for one in served.memory.indices.snapshot().sources.values()
        if one.interval.last and today <= one.interval.last <= today + ENDS_WITHIN
    ]
    return sorted(ending, key=lambda one: str(one.interval.last))[:SHOWN]


def read_last_report(served: ServedMemory) -> tuple[str, str]:
    """Name and text of the newest weekly report; empty where there is none."""
    files = sorted((served.memory.root.path / "reports").glob("????-W??.md"))
    return (
        (files[-1].stem, files[-1].read_text(encoding="utf-8", errors="replace")[:REPORT_CHARS]) if files else ("", "")
    )


def list_plots(served: ServedMemory, strengths: Mapping[SourceHead, float]) -> list[Plot]:
    """Activity, growth, decisions, strength, and the topics as a map."""
    today, sessions = served.memory.today, list_sessions(served)
    of_day = Counter(one.date for one in sessions if one.date)
    days = [today - dt.timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    plots = [
        draw_calendar("A year of sessions", "sessions", of_day, today),
        draw_bars("Activity a day", "sessions", {f"{day:%d %b}": [of_day[day]] for day in days}, ["sessions"]),
        draw_bars("What the memory holds", "files", count_growth(served), ["topics", "sessions"]),
        draw_bars("Decided a week", "changes", count_decisions(served), ["accepted", "rejected"]),
        draw_bars("How alive it is", "files", count_strengths(strengths), ["topics", "sessions"]),
        draw_map("Topics by project and size", "bytes", list_tiles(served)),
    ]
    return [plot for plot in plots if plot.rows]


def list_weeks(today: dt.date) -> list[dt.date]:
    """The Mondays of the weeks that are drawn."""
    return [find_monday(today) - back * WEEK for back in range(WEEKS - 1, -1, -1)]


def find_monday(day: dt.date) -> dt.date:
    return day - dt.timedelta(days=day.weekday())


def count_growth(served: ServedMemory) -> Mapping[str, Sequence[int]]:
    """How many topics and sessions there were at the end of each week; those without a day from the first on."""
    sources = served.memory.indices.snapshot().sources.values()
    topics = [one.date or dt.date.min for one in sources if one.layer is Layer.TOPIC]
    sessions = [one.date or dt.date.min for one in sources if parse_id8(one.path)]
    return {
        f"{week:%d %b}": [sum(day < week + WEEK for day in days) for days in (topics, sessions)]
        for week in list_weeks(served.memory.today)
    }


def count_decisions(served: ServedMemory) -> Mapping[str, Sequence[int]]:
    """What was accepted and rejected in each week."""
    store = served.decisions().store
    yes = _count_weeks(one.at for one in store.approvals() if one.event is Event.ACCEPTED)
    no = _count_weeks(hunk.decided for hunk in store.hunks() if hunk.state is State.REJECTED and hunk.decided)
    return {f"{week:%d %b}": [yes[week], no[week]] for week in list_weeks(served.memory.today)}


def _count_weeks(moments: Iterable[dt.datetime]) -> Counter[dt.date]:
    return Counter(find_monday(local_day(moment)) for moment in moments)


def measure_strengths(served: ServedMemory) -> dict[SourceHead, float]:
    """How alive each topic and session is."""
    sources = served.memory.indices.snapshot().sources.values()
    known = {one.path: one for one in sources if one.layer is Layer.TOPIC or parse_id8(one.path)}
    aliveness = served.memory.aging().aliveness(known)
    return {one: aliveness.strength(one.path, one.date, one.kind).value for one in known.values()}


def count_strengths(strengths: Mapping[SourceHead, float]) -> Mapping[str, Sequence[int]]:
    """How many files are how alive, by tenths."""
    counts = Counter((one.layer, min(int(value * 10), 9)) for one, value in strengths.items())
    return {name: [counts[Layer.TOPIC, tenth], counts[Layer.SESSION, tenth]] for tenth, name in enumerate(STRENGTHS)}


def list_fading(strengths: Mapping[SourceHead, float]) -> list[tuple[SourceHead, str, float]]:
    """The sessions that are used least, with their addresses and how alive they are: these fade next."""
    found = [(one, value) for one, value in strengths.items() if one.layer is Layer.SESSION]
    weakest = sorted(found, key=lambda item: (item[1], str(item[0].date)))[:SHOWN]
    return [(one, make_address(one.path, 0, is_raw=False), value) for one, value in weakest]


def list_tiles(served: ServedMemory) -> list[Tile]:
    """The largest topics."""
    root, tiles = served.memory.root, []
    for one in served.memory.indices.snapshot().sources.values():
        if one.layer is Layer.TOPIC:
            try:
                size = root.file(one.path).stat().st_size
            except OSError:  # gone since it was indexed
                continue
            tiles.append(Tile(one.title or one.path, size, make_address(one.path, 0, is_raw=False), one.project))
    return sorted(tiles, key=lambda tile: -tile.size)[:TILES]
