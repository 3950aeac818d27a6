"""The topics: a list, and each as it reads, with whose words stand beside its lines, its source and its history.

Nothing here writes: a topic changes by a hunk, or in the person's own editor.
"""

import datetime as dt
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from dream.blame import blame
from dream.decisions.repository import Version, find_repository
from dream.proposals.store import Approval, find_approvals
from dream.records import Hunk, State
from dream.statements.provenance import CLAUDE, YOU, read_notes
from dream.topics import LESSONS
from memory_server.chunking import split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import SourceFile, TopicHead, as_document, read_text, topic_heads
from memory_server.reading import find_source
from oneiros.served import ServedMemory
from parts.page.diffs import DiffRow, diff_rows
from parts.page.markdown import Block, is_renderable, render_blocks
from parts.page.rendering import Renderer

PAGE = 100  # topics loaded at a time
VERSIONS = 50
SOURCE_CHARS = 400_000
Show = Literal["text", "source", "history"]


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """One row of the list."""

    head: TopicHead
    size: int  # bytes
    waiting: int  # hunks


@dataclass(frozen=True, slots=True)
class NoteBeside:
    """Whose words stand behind a block."""

    label: str
    line: int  # of the file that defines it, else the first that refers to it, counted from 1
    text: str  # of the footnote
    approval: Approval | None
    is_signed: bool
    moving: Hunk | None = None  # that waits to put the statement into another topic

    @property
    def state(self) -> str:
        """How the statement stands to what a person said yes to; empty of a note that was written by hand."""
        if self.approval:
            return "approved" if self.is_signed else "unsigned"
        return "changed" if self.text.startswith((YOU, CLAUDE)) else ""


def topic_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """List, topic, blame and history."""
    routes = APIRouter()
    topics = _Topics(served, render)

    @routes.get("/topics")
    def topic_list(first: Annotated[int, Query(ge=0)] = 0, rows: Annotated[int, Query(ge=0)] = 0) -> HTMLResponse:
        return topics.render_list(first, max(rows, PAGE))

    @routes.get("/topics/{name:path}")
    def topic(
        name: str,
        show: Show = "text",
        line: Annotated[int, Query(ge=0)] = 0,
        day: dt.date | None = None,
        commit: Annotated[str, Query(pattern="^[0-9a-f]{0,64}$")] = "",
        at: Annotated[int, Query(ge=0)] = 0,
    ) -> HTMLResponse:
        source = find_source(served.memory.root, name)
        if commit:
            return topics.change(source, commit)
        if show == "history":
            return topics.history(source, at)
        return topics.text(source, line, day, is_source=show == "source")

    @routes.get("/blame/{name:path}")
    def show_blame(name: str, line: Annotated[int, Query(ge=1)]) -> HTMLResponse:
        """What stands behind a line, looked up in the archive."""
        decisions, source = served.decisions(), find_source(served.memory.root, name)
        text = read_text(served.memory.root.file(source.path))
        return render("topic_blame.html", found=blame(text, line, decisions.store, served.archive, decisions.is_signed))

    return routes


class _Topics:
    """The topics of the served memory."""

    def __init__(self, served: ServedMemory, render: Renderer):
        self._served = served
        self._root = served.memory.root
        self._render = render

    def render_list(self, first: int, rows: int) -> HTMLResponse:
        """A part of the list by name, with what waits for each."""
        hunks = self._served.decisions().store.hunks()
        waiting = Counter(path for hunk in hunks if hunk.state is State.PENDING for path in hunk.paths)
        heads = topic_heads(self._root)
        part = heads[first : first + rows]
        return self._render(
            "topic_rows.html" if first else "topics.html",
            topics=[ListedTopic(one, self._size(one.path), waiting[one.path]) for one in part],
            total=sum(head.name != "lessons" for head in heads),
            has_lessons=any(head.name == "lessons" for head in heads),
            following=first + rows if first + rows < len(heads) else 0,
        )

    def _size(self, path: SourcePath) -> int:
        """Bytes of a file; 0 of one that has just gone."""
        try:
            return self._root.file(path).stat().st_size
        except FileNotFoundError:
            return 0

    def text(self, source: SourceFile, line: int, day: dt.date | None, *, is_source: bool) -> HTMLResponse:
        """A topic as it is, or as it was at the end of a day."""
        text = read_text(self._root.file(source.path)) if day is None else self._read_earlier_text(source, day)
        document = as_document(source, parse_frontmatter(text))
        is_shown = is_source or not is_renderable(document.body)
        blocks = [] if is_shown else list(render_blocks(document.body, document.body_line, source.path, self._exists))
        is_titled = bool(blocks) and blocks[0].html.striptags() == document.title
        file = self._root.file(source.path)
        return self._render(
            "topic.html",
            document=document,
            lines=split_lines(text[:SOURCE_CHARS]) if is_shown else [],
            is_source=is_source,
            blocks=blocks[1:] if is_titled else blocks,
            notes=self._notes(source.path, text, blocks) if day is None else {},
            is_movable=day is None and source.path != LESSONS,
            line=line,
            day=day,
            file=file,
            editing=f"${{EDITOR:-vi}} {shlex.quote(str(file))}",
            is_doubted=day is None and bool(self._served.memory.unapproved([source.path])),
            waiting=sum(
                hunk.state is State.PENDING and source.path in hunk.paths
                for hunk in self._served.decisions().store.hunks()
            ),
        )

    def _notes(self, path: SourcePath, text: str, blocks: Sequence[Block]) -> dict[str, NoteBeside]:
        """What the approvals know of each footnote; the archive is asked for one line at a time, by `blame`."""
        labels = {label for block in blocks for _, label in block.notes}
        if not labels:
            return {}
        decisions, notes = self._served.decisions(), read_notes(text)
        approvals, chain = find_approvals(text, decisions.store.approvals()), decisions.chain()
        footnotes, found = find_footnotes(text), {label: approvals.get(label) for label in labels}
        lines = {label: places[0] + 1 for label, places in {**footnotes.used, **footnotes.defined}.items()}
        signed = {label for label, one in found.items() if one is not None and chain.is_approval_signed(one)}
        waiting = {
            hunk.origin.approval: hunk
            for hunk in decisions.store.hunks()
            if hunk.is_open and hunk.origin and hunk.origin.path == path
        }
        moving = {label: waiting.get(one.nonce) for label, one in found.items() if one is not None}
        return {
            label: NoteBeside(label, lines.get(label, 0), notes.get(label, ""), one, label in signed, moving.get(label))
            for label, one in found.items()
        }

    def history(self, source: SourceFile, at: int) -> HTMLResponse:
        """The commits that changed a topic, and what one of them changed: the `at`th from the oldest on, 0 the last."""
        versions = self._versions(source)
        shown = len(versions) - min(at or len(versions), len(versions))
        rows = self._rows(source, versions, shown) if versions else []
        return self._render(
            "topic_history.html", source=source, versions=versions, name=source.path, shown=shown, rows=rows
        )

    def change(self, source: SourceFile, commit: str) -> HTMLResponse:
        """What one commit changed in a topic."""
        versions = self._versions(source)
        place = next((at for at, version in enumerate(versions) if version.commit == commit), None)
        if place is None:
            raise ContentError("git knows no such change of this topic", remedy="Open its history again")
        return self._render("topic_change.html", rows=self._rows(source, versions, place))

    def _rows(self, source: SourceFile, versions: Sequence[Version], place: int) -> list[DiffRow]:
        """What the version at a place changed; the newest stands first."""
        repository = find_repository(self._root.path)
        if repository is None:
            return []
        before = repository.text(source.path, versions[place + 1].commit) if place + 1 < len(versions) else None
        return diff_rows(source.path, before, repository.text(source.path, versions[place].commit) or "")

    def _versions(self, source: SourceFile) -> list[Version]:
        repository = find_repository(self._root.path)
        return repository.versions(source.path, VERSIONS) if repository else []

    def _read_earlier_text(self, source: SourceFile, day: dt.date) -> str:
        """The last text that git has of a topic at the end of a day."""
        repository = find_repository(self._root.path)
        versions = repository.versions(source.path, 1, day) if repository else []
        text = repository.text(source.path, versions[0].commit) if repository and versions else None
        if text is None:
            raise ContentError(f"git has no text of {source.path} of {day}", remedy="Choose a later day")
        return text

    def _exists(self, path: str) -> bool:
        try:
            return self._root.file(SourcePath(path)).is_file()
        except OSError:  # a name that is longer than the file system takes
            return False
