"""The search: one box whose text is the query syntax, filters as chips of that text, hits and why they were found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from memory_server.document import Answer, Layer
from memory_server.fields import FIELDS
from memory_server.memory import Memory
from memory_server.search.query import TOKEN, parse_query
from memory_server.search.question import Question, Search
from oneiros.served import ServedMemory
from parts.page.rendering import Renderer

HOW = {
    Search.RECALL: "By words and meaning",
    Search.MEANING: "By meaning",
    Search.EXACT: "As written",
}
ARM_HITS = 6
OFFERED = 30  # values of one filter
Text = Annotated[str, Query(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter of a query."""

    text: str  # as it stands in the query
    without: str  # the query without it


def search_routes(served: ServedMemory, render: Renderer) -> APIRouter:
    """The search."""
    routes = APIRouter()
    memory = served.memory

    @routes.get("/search")
    def search(
        request: Request, q: Text = "", how: Search = Search.RECALL, arms: bool = False, limit: int = 10
    ) -> HTMLResponse:
        query = with_filters(q, request.query_params)
        told: dict[str, Any] = {
            "query": query,
            "chosen": how,
            "arms": arms,
            "hows": HOW,
            "chips": parse_chips(query),
            "offered": list_choices(memory),
            "limit": limit,
        }
        if not query:
            recent = list(dict.fromkeys(str(row["query"]) for row in memory.list_queries(limit=40)))[:8]
            return render("search.html", **told, answer=None, words=[], recent=recent, others={}, sides=())
        if arms:
            sides = [(HOW[one], look_up(memory, query, one, ARM_HITS)) for one in (Search.EXACT, Search.MEANING)]
            words = list_words(parse_query(query))
            return render("search.html", **told, answer=Answer(()), words=words, recent=(), others={}, sides=sides)
        question = parse_query(query, how, limit=limit)
        answer = memory.search(question)
        others = {} if answer.hits else other_searches(memory, query, how)
        return render(
            "search.html", **told, answer=answer, words=list_words(question), recent=(), others=others, sides=()
        )

    return routes


def look_up(memory: Memory, query: str, how: Search, limit: int) -> Answer:
    """An answer that is not logged."""
    return memory.look_up(parse_query(query, how, limit=limit))


def list_words(question: Question) -> list[str]:
    """The words that were typed, as they are marked beside the stems that were looked up."""
    return [word for term in question.terms() for word in term.text.split()]


def other_searches(memory: Memory, query: str, how: Search) -> dict[Search, int]:
    """How much the searches that were not asked would find."""
    counts = {other: len(look_up(memory, query, other, ARM_HITS).hits) for other in Search if other is not how}
    return {other: count for other, count in counts.items() if count}


def with_filters(query: str, given: Mapping[str, str]) -> str:
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
