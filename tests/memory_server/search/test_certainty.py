"""How sure a hit is, as a word: by the manner of search, and never rising down an answer."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from memory_server.document import Answer, Certainty, ChunkId, Hit, Layer, LineRange, Reason, SourcePath
from memory_server.memory import Memory
from memory_server.search.certainty import how_sure, limit_to_project, with_certainty
from memory_server.search.question import Search
from tests.memories import recall, search_exact, searches_of

SURE, LIKELY, PERHAPS = Certainty.SURE, Certainty.LIKELY, Certainty.PERHAPS


def hit(detail: str = "", parts: Mapping[str, float] | None = None, *, decides: bool = False) -> Hit:
    why = (Reason("literal", detail),) if detail else ()
    path, lines = SourcePath("topics/a.md"), LineRange(1, 1)
    return Hit(ChunkId("0"), "text", path, lines, Layer.TOPIC, "A", None, 0.5, why, parts=parts or {}, decides=decides)


@pytest.mark.parametrize(
    ("one", "search", "word"),
    [
        (hit(decides=True), Search.RECALL, SURE),
        (hit("as written"), Search.RECALL, SURE),
        (hit(parts={"tokens": 2.5, "meaning": 2.0, "words_near": 0.5}), Search.RECALL, LIKELY),
        (hit(parts={"tokens": 2.5, "meaning": 2.0, "words_near": 0.3}), Search.RECALL, PERHAPS),
        (hit(), Search.RECALL, PERHAPS),
        (hit("as written"), Search.EXACT, SURE),
        (hit("in another case"), Search.EXACT, LIKELY),
        (hit("inside longer words"), Search.EXACT, PERHAPS),
        (hit(parts={"meaning": 3.6}), Search.MEANING, LIKELY),
        (hit(parts={"meaning": 3.4}), Search.MEANING, PERHAPS),
    ],
)
def test_the_word_of_a_hit_follows_from_how_it_was_found(one: Hit, search: Search, word: Certainty) -> None:
    assert how_sure(one, search) is word


def test_a_word_never_rises_down_an_answer() -> None:
    hits = [hit(parts={"tokens": 4.0}), hit(decides=True), hit(), hit("as written")]

    found = with_certainty(hits, Search.RECALL, is_unsure=False)

    assert [one.certainty for one in found] == [LIKELY, LIKELY, PERHAPS, PERHAPS]


def test_what_another_project_holds_decides_nothing_and_is_likely_at_most() -> None:
    other, ours, own = (replace(hit(decides=True), project=name, certainty=SURE) for name in ("shop", "App", ""))

    found = limit_to_project(Answer((ours, own, other)), "app").hits

    assert [(one.decides, one.certainty) for one in found] == [(True, SURE), (True, SURE), (False, LIKELY)]
    assert limit_to_project(Answer((other,)), "").hits == (other,), "who asks from nowhere is told of all"


def test_an_unsure_answer_is_perhaps_throughout() -> None:
    assert with_certainty([hit("as written")], Search.RECALL, is_unsure=True) == (
        replace(hit("as written"), certainty=PERHAPS),
    )


def test_every_search_of_a_memory_says_how_sure_it_is(garden: Memory) -> None:
    assert recall(garden, "which port does the relay listen on").hits[0].certainty is SURE
    assert search_exact(garden, "STARTTLS").hits[0].certainty is SURE
    assert search_exact(garden, "rust").hits[0].certainty is LIKELY  # it stands there as Rust
    for search in searches_of(garden):
        words = [list(Certainty).index(one.certainty) for one in search("relay port").hits]
        assert words == sorted(words)
