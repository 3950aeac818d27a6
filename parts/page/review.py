"""The review in a browser: one hunk at a time, with the keys of the review at a terminal.

A choice is only prepared here; `dream/decisions/page.py` keeps it until the person decides, at their terminal or with
a passkey.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from pydantic import Field

from crawler.archive.store import Archive
from crawler.quotes import Quote
from dream.decisions.accept import MAX_NAME_CHARS
from dream.decisions.page import Chosen
from dream.judge.filing import find_topic, list_names
from dream.proposals.rendering import (
    HEADS,
    STANDS,
    Heard,
    metadata_lines,
    read_context,
    rest_of_topic,
    waiting_for_person,
    warnings_about,
)
from dream.records import Hunk
from dream.routes import ChosenBody, HunkId
from dream.topics import read_topics
from memory_server.document import Hit, Layer, SourcePath
from memory_server.errors import ContentError, UsageError
from memory_server.faces.body import Body
from memory_server.layers.footnotes import REFERENCE
from memory_server.reading import find_source
from memory_server.search.question import build_filter, parse_query
from oneiros.served import ServedMemory
from parts.page.diffs import DiffRow, changed_rows
from parts.page.passkeys.fragments import build_signing
from parts.page.passkeys.routes import MAX_CHOICES
from parts.page.passkeys.signing import hash_shown, list_steps
from parts.page.rendering import Renderer

SIMILAR = 4
QUERY_CHARS = 400


@dataclass(frozen=True, slots=True)
class QuotedWords:
    """A quote, and what was said around it."""

    quote: Quote
    around: Sequence[Heard]
    trouble: str = ""  # why that cannot be shown


@dataclass(frozen=True, slots=True)
class FaultyWording:
    """A wording that cannot be taken, for the editor that opens again."""

    text: str
    wrong: str


class PlaceBody(Body):
    """Where a hunk is to go; the names are checked as a wording is."""

    topic: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    section: str = Field("", max_length=MAX_NAME_CHARS)


class MoveBody(PlaceBody):
    """Where an accepted statement is to go."""

    label: str = Field(min_length=1, max_length=MAX_NAME_CHARS)  # of its footnote


@dataclass(frozen=True, slots=True)
class ShownHunk:
    """One hunk with what a reviewer needs to judge it."""

    hunk: Hunk
    changes: Sequence[tuple[SourcePath, Sequence[DiffRow]]]  # file by file; none where it fits its topic no longer
    question: str  # where it is one
    stands: str  # the reason of a no to that
    replaced: str  # what its topic says until now; empty where it takes nothing away
    warnings: Sequence[str]
    faults: Sequence[str]
    metadata: Sequence[str]
    shown_hash: str  # what a passkey signs of it


def review_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """The review, and what is chosen in it."""
    routes = APIRouter()
    review = _Review(served, render)

    @routes.get("/review")
    def first(decided: Annotated[str, Query(pattern="^[0-9a-f,]*$", max_length=13 * MAX_CHOICES)] = "") -> HTMLResponse:
        return review.view("", decided=decided.split(","))

    @routes.get("/review/{name}")
    def one(name: HunkId) -> HTMLResponse:
        return review.view(name)

    @routes.get("/review/{name}/similar")
    def similar(name: HunkId) -> HTMLResponse:
        return render("review_similar.html", hits=find_similar_statements(served, review.hunk(name)))

    @routes.get("/review/{name}/said")
    def read_quotes(name: HunkId) -> HTMLResponse:
        """What was said around the quotes of a hunk. A session is read for each of them, so a hunk is shown without."""
        quotes = [read_quoted_words(served.archive, quote) for quote in review.hunk(name).quotes]
        return render("review_said.html", quotes=quotes)

    @routes.get("/review/{name}/places")
    def places(name: HunkId) -> HTMLResponse:
        """Where a hunk may go. Every statement of every topic is read for that, so a hunk is shown without it."""
        project = review.hunk(name).update.candidate.project
        return render("review_places.html", topics=list_names(project, read_topics(served.decisions().root)))

    @routes.get("/move/{name:path}")
    def destinations(name: str, label: str) -> HTMLResponse:
        """Where an accepted statement of a topic may go."""
        topics, path = read_topics(served.memory.root), find_source(served.memory.root, name).path
        here = topics.file(path)
        project = here.project if here else ""
        names = list_names(project, topics)
        others = {name: names[name] for name in names if find_topic(name, project, topics) != here}
        return render("topic_move.html", path=path, label=label, topics=others)

    @routes.post("/move/{name:path}")
    def move(name: str, wanted: MoveBody) -> HTMLResponse:
        """Proposes that an accepted statement stand in another topic; the review asks about it like any change."""
        path = find_source(served.memory.root, name).path
        return review.view(served.decisions().propose_move(path, wanted.label, wanted.topic, wanted.section).id)

    @routes.post("/review/undo")
    def undo() -> HTMLResponse:
        return review.view(served.pages.take_back())

    @routes.post("/review/{name}")
    def choose(name: HunkId, wanted: ChosenBody) -> HTMLResponse:
        hunk = review.hunk(name)
        text = None if wanted.text is None or wanted.text.strip() == hunk.text.strip() else wanted.text
        try:
            text = served.decisions().check_wording(text) if text is not None else None
        except ContentError as error:
            return review.view(name, FaultyWording(text or "", str(error)))
        if wanted.text is None and wanted.verdict == "accept":
            text = review.find_wording(name)
        served.pages.choose(Chosen(hunk.id, wanted.verdict, text, wanted.reason, wanted.shown))
        return review.view(review.find_next(name))

    @routes.post("/review/{name}/place")
    def place(name: HunkId, wanted: PlaceBody) -> HTMLResponse:
        """Proposes the hunk for another topic or section; what was chosen for it is chosen for the old place alone."""
        hunk = review.hunk(name)
        placed = served.decisions().refile(hunk.id, wanted.topic, wanted.section)
        served.pages.forget(name)
        return review.view(placed.id)

    @routes.post("/review/{name}/rest")
    def rest(name: HunkId) -> HTMLResponse:
        """Accepts the hunk and what else waits for its topic and can be; a replacement is shown by itself."""
        hunk, chosen, decisions = review.hunk(name), served.pages.choices(), served.decisions()
        others = rest_of_topic(hunk, (one for one in review.waiting() if one.id not in chosen))
        served.pages.choose(
            *(
                Chosen(one.id, "accept", review.find_wording(one.id), shown=hash_shown(decisions, one))
                for one in (hunk, *others)
                if not decisions.find_faults(one) and list_steps(decisions, one)
            )
        )
        return review.view(review.find_next(name))

    return routes


class _Review:
    """The hunks that wait, in the order in which they are gone through."""

    def __init__(self, served: ServedMemory, render: Renderer):
        self._served = served
        self._render = render

    def waiting(self) -> list[Hunk]:
        return waiting_for_person(self._served.decisions().store.hunks())

    def hunk(self, name: str) -> Hunk:
        """Raises ContentError where no such hunk waits."""
        found = next((hunk for hunk in self.waiting() if hunk.id == name), None)
        if found is None:
            raise ContentError("this change waits no longer", remedy="Open the review again")
        return found

    def find_wording(self, name: str) -> str | None:
        """The person's own wording of a hunk that they accepted; None where they have none."""
        choice = self._served.pages.choices().get(name)
        return choice.text if choice else None

    def find_next(self, name: str) -> str:
        """The next hunk for which nothing was chosen; empty where there is none."""
        waiting, chosen = [hunk.id for hunk in self.waiting()], self._served.pages.choices()
        place = waiting.index(name) if name in waiting else 0
        return next((one for one in (*waiting[place:], *waiting[:place]) if one not in chosen), "")

    def view(self, name: str, faulty: FaultyWording | None = None, decided: Sequence[str] = ()) -> HTMLResponse:
        """The review at a hunk; without a name at the first that nothing was chosen for, or at its end.

        `faulty`: what the person has just written and is to mend. `decided`: the hunks that they have just signed.
        """
        waiting = self.waiting()
        known = {hunk.id: hunk for hunk in waiting}
        chosen = {one: choice for one, choice in self._served.pages.choices().items() if one in known}
        hunk = known.get(name) or known.get(self.find_next(""))
        place = waiting.index(hunk) if hunk else 0
        every = {one.id: one for one in self._served.decisions().store.hunks()} if decided or name not in known else {}
        return self._render(
            "review.html",
            topics=[(target, list(hunks)) for target, hunks in groupby(waiting, key=lambda one: one.target)],
            chosen=chosen,
            counts=Counter(choice.verdict for choice in chosen.values()),
            decided=[every[one] for one in decided if one in every],
            gone=every.get(name),
            total=len(waiting),
            number=place + 1,
            previous=waiting[place - 1].id if hunk and place else "",
            following=waiting[place + 1].id if hunk and place + 1 < len(waiting) else "",
            shown=show_hunk(self._served, hunk, self.find_wording(hunk.id)) if hunk else None,
            choice=chosen.get(hunk.id) if hunk else None,
            faulty=faulty,
            signing=build_signing(self._served, waiting) if chosen else None,
        )


def show_hunk(served: ServedMemory, hunk: Hunk, wording: str | None) -> ShownHunk:
    """A hunk with what it changes in the file as it is now, in the person's own wording where there is one."""
    decisions, candidate = served.decisions(), hunk.update.candidate
    steps = list_steps(decisions, hunk)
    worded = list_steps(decisions, replace(hunk, text=wording)) if wording else steps
    return ShownHunk(
        hunk,
        [(step.path, changed_rows(step.before, step.after)) for step in worded or steps],
        HEADS.get(hunk.update.relation, ""),
        STANDS.get(hunk.update.relation, ""),
        REFERENCE.sub("", hunk.update.place.old_text).strip().removeprefix("- "),
        list(warnings_about(hunk)),
        decisions.find_faults(hunk),
        list(metadata_lines(candidate)),
        hash_shown(decisions, hunk),
    )


def read_quoted_words(archive: Archive, quote: Quote) -> QuotedWords:
    """A quote with what was said around it."""
    try:
        return QuotedWords(quote, read_context(archive, quote))
    except ContentError as error:
        return QuotedWords(quote, (), trouble=str(error))


def find_similar_statements(served: ServedMemory, hunk: Hunk) -> list[Hit]:
    """What the topics say already that is near to a hunk."""
    words = " ".join(re.findall(r"\w+", hunk.text.casefold()))[:QUERY_CHARS]
    try:
        question = parse_query(words, beside=build_filter({"layer": [Layer.TOPIC.value]}), limit=SIMILAR, per_source=2)
    except UsageError:  # no word in it
        return []
    return list(served.memory.look_up(question).hits)
