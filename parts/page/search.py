"""The search: one box whose text is the query syntax, filters as chips of that text, hits and why they were found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from memory_server.document import Answer, Layer, SourceHead, SourcePath
from memory_server.errors import UsageError
from memory_server.fields import FIELDS
from memory_server.layers.sessions import parse_id8
from memory_server.memory import Memory
from memory_server.search.question import TOKEN, Question, Search, parse_logged, parse_query
from oneiros.served import ServedMemory
from parts.page.passages import read_pieces
from parts.page.rendering import Renderer, make_address, make_hit_address

HOW = {
    Search.RECALL: "By words and meaning",
    Search.MEANING: "By meaning",
    Search.EXACT: "As written",
}
ARM_HITS = 6
NAMED, FOUND = 4, 6  # titles of a kind, and hits, that are offered while one types
OFFERED = 30  # values of one filter
Text = Annotated[str, Query(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter of a query."""

    text: str  # as it stands in the query
    without: str  # the query without it


@dataclass(frozen=True, slots=True)
class Destination:
    """One place that may be meant by what is typed."""

    icon: str  # named as the view whose it is
    title: str
    address: str
    more: str = ""


def find_routes(served: ServedMemory, render: Renderer, views: Sequence[str]) -> APIRouter:
    """What a person may mean while they type: views, topics and sessions by name, then what the search finds."""
    routes = APIRouter()

    @routes.get("/find")
    def find(q: Annotated[str, Query(max_length=500)] = "") -> HTMLResponse:
        query = q.strip()
        named = [*list_named_views(views, query), *list_named_sources(served.memory, query)]
        every = Destination("search", query, f"/search?{urlencode({'q': query})}", "all answers")
        return render(
            "find.html",
            query=query,
            offers=[*named, *([every, *list_found(served.memory, query)] if query else ())],
        )

    return routes


def list_named_views(views: Sequence[str], query: str) -> list[Destination]:
    """The views whose names begin as the query does; all of them without one."""
    return [Destination(name, name.capitalize(), f"/{name}") for name in views if name.startswith(query.casefold())]


def list_named_sources(memory: Memory, query: str) -> list[Destination]:
    """Topics and sessions whose titles hold all words of a query, the newest first; without one the last sessions."""
    words = query.casefold().split()
    found: dict[str, list[SourceHead]] = {"topics": [], "sessions": []}
    for source in memory.indices.snapshot().sources.values():
        view, title = name_view(source.layer, source.path), source.title.casefold()
        if view in found and (words or view == "sessions") and all(word in title for word in words):
            found[view].append(source)
    return [
        Destination(view, source.title or source.path, make_address(source.path, 0, is_raw=False), source.project)
        for view, sources in found.items()
        for source in sorted(sources, key=lambda one: str(one.date), reverse=True)[:NAMED]
    ]


def name_view(layer: Layer, path: SourcePath) -> str:
    """The view that what is of a layer stands for; a note is of the layer of sessions."""
    if layer is Layer.RAW or parse_id8(path):
        return "sessions"
    return "notes" if layer in (Layer.SESSION, Layer.REFERENCE) else "topics"


def list_found(memory: Memory, query: str) -> list[Destination]:
    """The first hits; none of what is half typed and no query yet."""
    try:
        hits = look_up(memory, query, Search.RECALL, FOUND).hits
    except UsageError:
        return []
    return [Destination(name_view(hit.layer, hit.path), hit.passage, make_hit_address(hit), hit.title) for hit in hits]


def search_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """The search."""
    routes = APIRouter()
    memory = served.memory

    @routes.get("/search")
    def search(
        request: Request, q: Text = "", how: Search = Search.RECALL, arms: bool = False, limit: int = 10
    ) -> HTMLResponse:
        query = add_filters(q, request.query_params)
        values: dict[str, Any] = {
            "query": query,
            "chosen": how,
            "arms": arms,
            "hows": HOW,
            "chips": parse_chips(query),
            "offered": list_choices(memory),
            "limit": limit,
            "answer": None,
            "words": [],
            "recent": (),
            "others": {},
            "sides": (),
            "wrong": "",
        }
        if not query:
            recent = list(dict.fromkeys(str(row["query"]) for row in memory.list_queries(limit=40)))[:8]
            return render("search.html", **values | {"recent": recent})
        try:
            question = parse_logged(query, how, limit=limit)  # as it is offered again
            values["words"] = list_words(question)
            if arms:
                sides = [(HOW[one], look_up(memory, query, one, ARM_HITS)) for one in (Search.EXACT, Search.MEANING)]
                return render("search.html", **values | {"answer": Answer(()), "sides": sides})
            answer = memory.search(question)
        except UsageError as error:  # of what is typed: the box stays, with it in it
            return render("search.html", **values | {"wrong": str(error)})
        others = {} if answer.hits else count_other_searches(memory, query, how)
        return render("search.html", **values | {"answer": answer, "others": others})

    return routes


def passage_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """A hit's passage in its place, shown beside the hits where there is room."""
    routes = APIRouter()

    @routes.get("/passage")
    def passage(
        path: Annotated[str, Query(max_length=1_000)],
        first: Annotated[int, Query(ge=0)],
        last: Annotated[int, Query(ge=0)],
        q: Text = "",
    ) -> HTMLResponse:
        pieces = read_pieces(served.memory, SourcePath(path), first, last)
        return render(
            "passage.html", pieces=pieces, path=path, line=first, words=list_words(parse_query(q)) if q else ()
        )

    return routes


def look_up(memory: Memory, query: str, how: Search, limit: int) -> Answer:
    """An answer that is not logged."""
    return memory.look_up(parse_logged(query, how, limit=limit))


def list_words(question: Question) -> list[str]:
    """The words that were typed, as they are marked beside the stems that were looked up."""
    return [word for term in question.terms() for word in term.text.split()]


def count_other_searches(memory: Memory, query: str, how: Search) -> dict[Search, int]:
    """How much the searches that were not asked would find."""
    counts = {other: len(look_up(memory, query, other, ARM_HITS).hits) for other in Search if other is not how}
    return {other: count for other, count in counts.items() if count}


def add_filters(query: str, given: Mapping[str, str]) -> str:
    """A query with the filters that were chosen beside the box. Of a day the last one counts."""
    for field in FIELDS:
        value = given.get(field.name, "").strip().replace('"', '""')
        if field.is_day and value:
            query = next((chip.without for chip in parse_chips(query) if chip.text.startswith(f"{field.name}:")), query)
        if value:
            query += f" {field.name}:{value}" if value.replace("-", "").isalnum() else f' {field.name}:"{value}"'
    return query.strip()


def parse_chips(query: str) -> list[Chip]:
    """The filters that a query holds."""
    found = [match for match in TOKEN.finditer(query) if match["field"]]
    return [
        Chip(match[0].strip(), " ".join(f"{query[: match.start()]} {query[match.end() :]}".split())) for match in found
    ]


def list_choices(memory: Memory) -> dict[str, Sequence[str]]:
    """What each filter can be set to, the most frequent first."""
    sources = memory.indices.snapshot().sources.values()
    offered: dict[str, Sequence[str]] = {}
    for field in FIELDS:
        if field.is_choice:
            counts = Counter(value for source in sources for value in field.read_values(source))
            offered[field.name] = [value for value, _ in counts.most_common(OFFERED)]
    return {**offered, "layer": list(Layer)}
