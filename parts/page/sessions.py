"""The sessions: by day, and each at four depths down to its turns, which are loaded as one scrolls."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from crawler.archive.store import SessionRecord
from crawler.compress.levels import Depth
from dream.records import Hunk
from memory_server.document import SourceHead
from memory_server.errors import ContentError
from memory_server.layers.sessions import (
    CompressedSession,
    Section,
    Statement,
    find_session_files,
    parse_id8,
    read_session,
)
from memory_server.reading import find_session_id
from oneiros.ingest.readings import open_readings
from oneiros.served import ServedMemory
from parts.page.rendering import Renderer
from parts.page.turns import Only, TurnReader

PAGE = 40  # sessions loaded at a time
BEFORE_ENTRY = 4  # turns shown above the one that was jumped to
FIRST = ("Goal", "Outcome", "Decisions", "Findings", "Open items", "Errors and fixes", "Errors")
ERRORS = ("Errors and fixes", "Errors")


@dataclass(frozen=True, slots=True)
class ListedSession:
    """One row of the list."""

    id8: str
    title: str
    goal: str
    outcome: str
    project: str
    files: int
    commits: int
    errors: int


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which turns alone a person wants to see."""

    only: Only
    find: str


def session_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """List, session and turns."""
    routes = APIRouter()
    sessions = _Sessions(served, render)

    @routes.get("/sessions")
    def session_list(
        project: Annotated[str, Query(max_length=500)] = "",
        first: Annotated[int, Query(ge=0)] = 0,
        rows: Annotated[int, Query(ge=0)] = 0,
    ) -> HTMLResponse:
        return sessions.render_list(project, first, max(rows, PAGE))

    @routes.get("/sessions/{name}")
    def session(
        name: str,
        depth: Depth | None = None,
        entry: Annotated[str, Query(max_length=100)] = "",
        line: Annotated[int, Query(ge=0)] = 0,
        first: Annotated[int, Query(ge=0)] = 0,
        only: Only = "",
        find: Annotated[str, Query(max_length=400)] = "",
    ) -> HTMLResponse:
        wanted = Depth.RAW if entry else Depth.FILE if line else Depth.DIGEST
        return sessions.session(name, depth or wanted, entry, line, first, Narrowing(only, find))

    @routes.get("/turns/{name}")
    def turns(
        name: str,
        first: Annotated[int, Query(ge=1)] = 1,
        only: Only = "",
        find: Annotated[str, Query(max_length=400)] = "",
    ) -> HTMLResponse:
        """Further turns, for whoever scrolls."""
        session_id = sessions.find_session_id(name)
        return render("turns.html", here=0, **sessions.tell_turns(session_id, first, Narrowing(only, find)))

    return routes


class _Sessions:
    """The sessions of the served memory."""

    def __init__(self, served: ServedMemory, render: Renderer):
        self._served = served
        self._root = served.memory.root
        self._render = render
        self._turns = TurnReader(served.archive)

    def render_list(self, project: str, first: int, rows: int) -> HTMLResponse:
        """So many rows of the list, the newest first."""
        known = [one for one in self._served.memory.indices.snapshot().sources.values() if parse_id8(one.path)]
        wanted = [one for one in known if not project or one.project == project]
        wanted.sort(key=lambda one: (str(one.date or ""), one.path), reverse=True)
        part = wanted[first : first + rows]
        days = [(day, [self._row(one) for one in group]) for day, group in groupby(part, key=lambda one: one.date)]
        return self._render(
            "session_page.html" if first else "sessions.html",
            days=days,
            project=project,
            projects=sorted({one.project for one in known if one.project}),
            total=len(wanted),
            following=first + rows if first + rows < len(wanted) else 0,
            waiting=len(self._list_archived()) - len(known) if not first else 0,
        )

    def _list_archived(self) -> Sequence[str]:
        return self._served.archive.session_ids()

    def _row(self, source: SourceHead) -> ListedSession:
        row = {"id8": parse_id8(source.path), "title": source.title, "project": source.project}
        try:
            session = read_session(self._root.file(source.path))
        except (OSError, ContentError):  # gone since it was indexed
            return ListedSession(**row, goal="", outcome="gone", files=0, commits=0, errors=0)
        goal = next((one.text for one in find_statements(session, "Goal")), session.summary)
        errors = sum(len(section.statements) for section in session.sections if section.title in ERRORS)
        files, commits = len(session.files_touched), len(session.commits)
        return ListedSession(**row, goal=goal, outcome=session.outcome, files=files, commits=commits, errors=errors)

    def find_session_id(self, name: str) -> str:
        """The id of a session by it, by its beginning, or by a path. Raises ContentError where there is none."""
        wanted = find_session_id(self._root, name)
        found = [one for one in self._list_archived() if one.startswith(wanted)]
        if len(found) == 1 or wanted in found:
            return wanted if wanted in found else found[0]
        if file := self._file(wanted):
            return read_session(file).session_id
        raise ContentError(f"there is no session {wanted[:40]!r}", remedy="Choose one from the list")

    def _file(self, session_id: str) -> Path | None:
        """The newest revision of a session's file, also by the first eight letters of its id."""
        if found := find_session_files(self._root.sessions, session_id):
            return found[-1]
        paths = (one.path for one in self._served.memory.indices.snapshot().sources.values())
        return next((self._root.file(path) for path in paths if parse_id8(path) == session_id[:8]), None)

    def session(self, name: str, depth: Depth, entry: str, line: int, first: int, narrowing: Narrowing) -> HTMLResponse:
        """A session at a depth; at its turns from the one that an entry is of, or that is numbered."""
        session_id = self.find_session_id(name)
        file, is_archived = self._file(session_id), session_id in self._list_archived()
        if depth is not Depth.RAW and file is None:
            depth = Depth.RAW
        session = read_session(file) if file else None
        record = self._served.archive.record(session_id) if is_archived else None
        turns: dict[str, object] = {}
        if depth is Depth.RAW:
            every = self._turns.read(session_id)
            first = every.find_number(entry) if entry else first
            turns = self.tell_turns(session_id, max(1, first - BEFORE_ENTRY), narrowing)
            turns |= {"map": every.map, "counts": every.counts}
        reading = open_readings(self._root).load(session_id)
        return self._render(
            "session.html",
            **{"session_id": session_id, "turns": (), **turns},
            session=session,
            project=session.project_name if session else self._project(record),
            depth=depth,
            is_file=file is not None,
            sections=order_sections(session) if session else (),
            first=FIRST,
            proof=reading.proof if reading else "",
            is_archived=is_archived,
            here=first,
            lines=file.read_text(encoding="utf-8").split("\n") if file and depth is Depth.FILE else (),
            line=line,
            became=self._find_hunks(session_id),
        )

    def tell_turns(self, session_id: str, first: int, narrowing: Narrowing) -> dict[str, object]:
        """What the template of a window of turns is told."""
        every = self._turns.read(session_id)
        numbers = every.select(narrowing.only, narrowing.find)
        shown = every.window(numbers, first)
        return {
            "session_id": session_id,
            "turns": shown,
            "total": len(numbers),
            "left": len(numbers) - numbers.index(shown[-1].number) - 1 if shown else 0,
            "narrowing": narrowing,
        }

    @staticmethod
    def _project(record: SessionRecord | None) -> str:
        return record.project_name if record else ""

    def _find_hunks(self, session_id: str) -> list[Hunk]:
        """What was proposed because of a session."""
        hunks = self._served.decisions().store.hunks()
        return [hunk for hunk in hunks if any(quote.session_id == session_id for quote in hunk.quotes)]


def find_statements(session: CompressedSession, title: str) -> Sequence[Statement]:
    """The statements below one heading."""
    return next((section.statements for section in session.sections if section.title == title), ())


def order_sections(session: CompressedSession) -> Sequence[Section]:
    """The sections of a session's file, what a person asks first standing first."""
    places = {title: place for place, title in enumerate(FIRST)}
    return sorted(session.sections, key=lambda section: places.get(section.title, len(FIRST)))
