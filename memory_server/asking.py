"""How a question goes through the layers: topics and sessions first, references where these are silent, turns where
they are asked for or where all else is weak.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory_server.document import Answer, Hit, Layer
from memory_server.errors import UsageError
from memory_server.index.raw import RawIndex
from memory_server.index.speech import Spoken
from memory_server.search.query import Query
from memory_server.search.raw_turns import SURE_COVERED, WEAK, RawSearcher, appended, joined
from memory_server.search.search import Searcher
from memory_server.search.terms import Stemmer

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
JOINED_HITS = 100  # of either search, before the two are joined
NO_TURNS = "No archived turn holds that. Try recall without a filter, or other words."
TURNS_TOO = "Raw hits are what was said or done once, found by its words; lines count the turns of a session."
FROM_REFERENCES = "Only references answer that: files of projects, context and no authority."
SEARCHES: Mapping[str, Callable[[Searcher, Query, int, int], Answer]] = {
    "recall": Searcher.recall,
    "search_memory": Searcher.by_meaning,
    "search_exact": Searcher.exact,
}


@dataclass(frozen=True, slots=True)
class Request:
    """How much a search is asked for. Raises UsageError for numbers that cannot be."""

    limit: int
    per_source: int
    include_raw: bool

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise UsageError(f"limit is {self.limit}", remedy=f"Give a number from 1 to {MAX_LIMIT}")
        if self.per_source < 1:
            raise UsageError(f"per_source is {self.per_source}", remedy="Give a number from 1 on")


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one question of all layers, on the indices as they are now."""

    searcher: Searcher
    raw: RawIndex | None
    stemmer: Stemmer
    nearest_speech: Callable[[str], Mapping[int, Spoken]]

    def answer(self, tool: str, query: Query, request: Request) -> Answer:
        """What the layers above say; with the turns where these are asked for, or where that is weak."""
        wanted = query.filter.layers
        is_raw_asked = request.include_raw or Layer.RAW in wanted
        answer = self._of_layers_above(tool, query, request, is_raw_asked)
        is_needed = is_raw_asked or (not wanted and is_weak(answer))
        if not is_needed or self.raw is None or self.raw.is_empty:
            return replace(answer, hits=answer.hits[: request.limit])
        return self._with_turns(tool, answer, query, request, is_raw_asked)

    def _of_layers_above(self, tool: str, query: Query, request: Request, is_raw_asked: bool) -> Answer:
        search, wanted = SEARCHES[tool], query.filter.layers
        above = tuple(layer for layer in wanted if layer is not Layer.RAW)
        if wanted and not above:
            return Answer((), NO_TURNS)
        limit = max(request.limit, JOINED_HITS) if is_raw_asked and tool == "recall" else request.limit
        answer = search(self.searcher, _only(query, above), limit, request.per_source)
        if not wanted and not answer.hits:
            context = search(self.searcher, _only(query, (Layer.REFERENCE,)), request.limit, request.per_source)
            answer = replace(context, note=FROM_REFERENCES) if context.hits else answer
        return replace(answer, hits=context_last(answer.hits))

    def _with_turns(self, tool: str, answer: Answer, query: Query, request: Request, is_raw_asked: bool) -> Answer:
        assert self.raw is not None
        turns, limit = RawSearcher(self.raw, self.stemmer, self.nearest_speech), request.limit
        if tool == "search_exact":
            return appended(answer, turns.exact(query, limit, request.per_source), limit, TURNS_TOO)
        if tool == "recall" and is_raw_asked:
            return joined(answer, turns.recall(query, JOINED_HITS), limit)
        least = 0.0 if is_raw_asked else SURE_COVERED
        return appended(answer, turns.recall(query, limit, least_covered=least), limit, TURNS_TOO)


def context_last(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits in their order, but references, which are no authority, behind all others."""
    return tuple(sorted(hits, key=lambda hit: hit.layer is Layer.REFERENCE))


def is_weak(answer: Answer) -> bool:
    """Whether so little was found that the turns may know better."""
    return not answer.hits or answer.hits[0].score < WEAK


def _only(query: Query, layers: tuple[Layer, ...]) -> Query:
    return replace(query, filter=replace(query.filter, layers=layers))
