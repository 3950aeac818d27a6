"""The review in a browser: one hunk at a time, beside everything that it rests on.

A choice is only prepared here; `dream/decisions/page.py` keeps it until the person decides, at their terminal or with
a passkey.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from crawler.archive.store import Archive
from crawler.quotes import Quote
from crawler.transcripts.turns import Turn
from dream.decisions.page import Chosen
from dream.decisions.signing import shown_digest
from dream.proposals.placing import Manner
from dream.proposals.rendering import diff_steps, metadata_lines, warnings_about
from dream.records import Hunk, State
from dream.routes import ChosenBody, HunkId
from memory_server.document import Hit, Layer
from memory_server.errors import ContentError, UsageError
from memory_server.search.query import filter_of, parse_query
from page.diffs import DiffRow, diff_rows
from page.passkey import signing_of
from page.rendering import Renderer
from page.served import ServedMemory

AROUND = 2  # turns shown before and after the quoted one
NEAR_CHARS = 600  # of the quoted turn, on both sides of the quote
SIMILAR = 4
QUERY_CHARS = 400


@dataclass(frozen=True, slots=True)
class QuotedTurn:
    """A quote where it was said."""

    quote: Quote
    before: Sequence[Turn]
    lead: str  # of the same turn, in front of the quote
    rest: str  # and behind it
    after: Sequence[Turn]
    trouble: str = ""  # why it cannot be shown among its turns


@dataclass(frozen=True, slots=True)
class ShownHunk:
    """One hunk with what a reviewer needs to judge it."""

    hunk: Hunk
    rows: Sequence[DiffRow]  # none where it fits its topic no longer
    quotes: Sequence[QuotedTurn]
    warnings: Sequence[str]
    faults: Sequence[str]
    metadata: Sequence[str]
    digest: str  # what a passkey signs of it


def review_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """The review, and what is chosen in it."""
    routes = APIRouter()
    review = _Review(served, render)

    @routes.get("/review")
    def first() -> HTMLResponse:
        return review.view("")

    @routes.get("/review/{name}")
    def one(name: HunkId) -> HTMLResponse:
        return review.view(name)

    @routes.get("/review/{name}/similar")
    def similar(name: HunkId) -> HTMLResponse:
        return render("review_similar.html", hits=similar_statements(served, review.hunk(name)))

    @routes.post("/review/undo")
    def undo() -> HTMLResponse:
        last = next(reversed(served.pages.choices()), "")
        served.pages.take_back(last)
        return review.view(last)

    @routes.post("/review/{name}")
    def choose(name: HunkId, wanted: ChosenBody) -> HTMLResponse:
        hunk = review.hunk(name)
        text = None if wanted.text == hunk.text else wanted.text
        served.pages.choose(Chosen(hunk.id, wanted.verdict, text, wanted.reason, wanted.shown))
        return review.view(review.after(name))

    @routes.post("/review/{name}/rest")
    def rest(name: HunkId) -> HTMLResponse:
        """Accepts the hunk and all others of its topic that nothing was chosen for."""
        hunk, chosen = review.hunk(name), served.pages.choices()
        for other in review.waiting():
            if other.target == hunk.target and (other.id == hunk.id or other.id not in chosen):
                served.pages.choose(Chosen(other.id, "accept", shown=shown_digest(served.decisions(), other)))
        return review.view(review.after(name))

    return routes


class _Review:
    """The hunks that wait, in the order in which they are gone through."""

    def __init__(self, served: ServedMemory, render: Renderer):
        self._served = served
        self._render = render

    def waiting(self) -> list[Hunk]:
        """By topic, the topic of the best hunk first."""
        found = [hunk for hunk in self._served.decisions().store.hunks() if hunk.state is State.PENDING]
        places = {target: place for place, target in reversed(list(enumerate(hunk.target for hunk in found)))}
        return sorted(found, key=lambda hunk: places[hunk.target])

    def hunk(self, name: str) -> Hunk:
        """Raises ContentError where no such hunk waits."""
        found = next((hunk for hunk in self.waiting() if hunk.id == name), None)
        if found is None:
            raise ContentError("this change waits no longer", remedy="Open the review again")
        return found

    def after(self, name: str) -> str:
        """The next hunk for which nothing was chosen; empty where there is none."""
        waiting, chosen = [hunk.id for hunk in self.waiting()], self._served.pages.choices()
        place = waiting.index(name) if name in waiting else 0
        return next((one for one in (*waiting[place:], *waiting[:place]) if one not in chosen), "")

    def view(self, name: str) -> HTMLResponse:
        """The review at a hunk; without a name at the first that nothing was chosen for, or at its end."""
        waiting, chosen = self.waiting(), self._served.pages.choices()
        known = {hunk.id: hunk for hunk in waiting}
        hunk = known.get(name) or known.get(self.after(""))
        place = waiting.index(hunk) if hunk else 0
        counts = Counter(chosen[one].verdict for one in known if one in chosen)
        return self._render(
            "review.html",
            topics=[(target, list(hunks)) for target, hunks in groupby(waiting, key=lambda one: one.target)],
            chosen=chosen,
            counts=counts,
            total=len(waiting),
            number=place + 1,
            previous=waiting[place - 1].id if hunk and place else "",
            following=waiting[place + 1].id if hunk and place + 1 < len(waiting) else "",
            shown=shown_hunk(self._served, hunk) if hunk else None,
            choice=chosen.get(hunk.id) if hunk else None,
            signing=signing_of(self._served, waiting) if chosen else None,
        )


def shown_hunk(served: ServedMemory, hunk: Hunk) -> ShownHunk:
    """A hunk with its diff on the file as it is now, and its quotes where they were said."""
    decisions = served.decisions()
    steps = diff_steps(decisions.root, [hunk], Manner(decisions.now().date()))
    rows = diff_rows(hunk.target, steps[0].before, steps[0].after) if steps else []
    quotes = [quoted_turn(served.archive, quote) for quote in hunk.quotes]
    digest = shown_digest(decisions, hunk)
    warnings, metadata = list(warnings_about(hunk)), list(metadata_lines(hunk.update.candidate))
    return ShownHunk(hunk, rows, quotes, warnings, decisions.faults_of(hunk), metadata, digest)


def quoted_turn(archive: Archive, quote: Quote) -> QuotedTurn:
    """A quote among the turns around it."""
    try:
        turns = list(archive.turns(quote.session_id))
    except ContentError as error:
        return QuotedTurn(quote, (), "", "", (), trouble=str(error))
    place = next((place for place, turn in enumerate(turns) if quote.entry in turn.entries), None)
    if place is None:
        return QuotedTurn(quote, (), "", "", (), trouble="The archive holds this entry no longer.")
    text = turns[place].text
    if text[quote.first : quote.end] != quote.text:
        return QuotedTurn(quote, (), "", "", (), trouble="The archive holds other words there.")
    lead = text[max(0, quote.first - NEAR_CHARS) : quote.first]
    rest = text[quote.end : quote.end + NEAR_CHARS]
    return QuotedTurn(
        quote,
        turns[max(0, place - AROUND) : place],
        f"…{lead}" if quote.first > NEAR_CHARS else lead,
        f"{rest}…" if quote.end + NEAR_CHARS < len(text) else rest,
        turns[place + 1 : place + 1 + AROUND],
    )


def similar_statements(served: ServedMemory, hunk: Hunk) -> list[Hit]:
    """What the topics say already that is near to a hunk."""
    words = " ".join(re.findall(r"\w+", hunk.text.casefold()))[:QUERY_CHARS]
    try:
        question = parse_query(words, beside=filter_of({"layer": [Layer.TOPIC.value]}), limit=SIMILAR, per_source=2)
    except UsageError:  # no word in it
        return []
    return list(served.memory.look_up(question).hits)
