"""How sure a hit is, as a word: by what speaks for it, and never rising down an answer."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory_server.document import Answer, Certainty, ChunkId, Hit, Layer, LineRange, Reason, SourcePath, Standing
from memory_server.embedding.catalogue import PACKAGED_MODEL, SHIPPED, Catalogue
from memory_server.embedding.model import ModelCard
from memory_server.errors import UsageError
from memory_server.memory import Memory
from memory_server.search.certainty import Telling, how_sure, with_certainty
from memory_server.search.precedence import falling, limit_to_project
from memory_server.search.question import Search, parse_query
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory, recall, search_exact, searches_of, write_topic

SURE, LIKELY, PERHAPS = Certainty.SURE, Certainty.LIKELY, Certainty.PERHAPS
ROWS = Path(__file__).parents[3] / "benchmarks" / "languages.tsv"
PLAIN = {"tokens": 4.5, "meaning": 5.0}  # a topic that says what is asked, nearly in the same words
NEAR = {"tokens": 1.0, "meaning": 1.0}  # one that is merely about the same
WELL = {"tokens": 3.0, "meaning": 3.0, "words_near": 1.0}  # of what was said


def hit(detail: str = "", parts: Mapping[str, float] | None = None, **given: object) -> Hit:
    why = (Reason("literal", detail),) if detail else ()
    path, lines = SourcePath("topics/a.md"), LineRange(1, 1)
    layer = Layer.RAW if "standing" in given else Layer.TOPIC
    made = Hit(ChunkId("0"), "the port is 2525", path, lines, layer, "A", None, 0.5, why, parts=parts or {})
    return replace(made, **given)  # type: ignore[arg-type]  # fields of a hit


def word(
    one: Hit, search: Search, *, is_read: bool = True, others: Sequence[Hit] = (), confidence: float = 0.99
) -> str:
    """The word for a hit that is asked for by `port 2525` beside others."""
    telling = Telling({"port": 1.0, "2525": 3.0}, lambda words: words)
    answer = Answer((one, *others), confidence=confidence)
    return how_sure(one, answer, parse_query("port 2525", search), telling, is_read=is_read)


@pytest.mark.parametrize(
    ("one", "search", "expected"),
    [
        (hit(parts=PLAIN), Search.RECALL, SURE),
        (hit(parts=NEAR), Search.RECALL, PERHAPS),
        (hit(parts=NEAR, decides=True), Search.RECALL, PERHAPS),  # its place decides nothing about it
        (hit("as written"), Search.RECALL, SURE),
        (hit(), Search.RECALL, PERHAPS),
        (hit("as written"), Search.EXACT, SURE),
        (hit("as written", passage="the relay"), Search.EXACT, LIKELY),  # what is shown does not hold it
        (hit("in another case"), Search.EXACT, LIKELY),
        (hit("inside longer words"), Search.EXACT, PERHAPS),
        (hit(parts={"meaning": 3.6}), Search.MEANING, LIKELY),
        (hit(parts={"meaning": 3.4}), Search.MEANING, PERHAPS),
    ],
)
def test_the_word_of_a_hit_follows_from_what_speaks_for_it(one: Hit, search: Search, expected: Certainty) -> None:
    assert word(one, search) == expected


@pytest.mark.parametrize(
    ("matches", "passage", "expected"),
    [
        ({"port": 1.0, "2525": 0.7}, "it listens", SURE),  # nearly the same word
        ({"port": 1.0, "2525": 0.1}, "it listens", LIKELY),  # the port of something else
        ({"port": 0.1, "2525": 0.1}, "the port is 2525", SURE),  # it stands there
        ({"port": 0.1, "2525": 1.0}, "it listens", SURE),  # the commoner word counts less
        ({}, "it listens", SURE),  # nothing of it was compared
    ],
)
def test_a_topic_is_sure_only_where_it_has_each_word_of_the_question_or_one_near_it(
    matches: Mapping[str, float], passage: str, expected: Certainty
) -> None:
    telling = Telling({"port": 1.0, "2525": 3.0}, lambda words: words, match_words=lambda _: matches)
    answer = Answer((hit(parts=PLAIN, passage=passage),), confidence=0.99)
    (one,) = with_certainty(answer, parse_query("port 2525"), telling, lambda _: True)

    assert one.certainty == expected


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("access logs are kept for fourteen days", LIKELY),
        ("logs are kept for fourteen days", SURE),  # all of them
        ("the logs of access are kept", SURE),
        ("access logs, and those logs are kept", SURE),  # it tells of others too
        ("auditing logs are kept", SURE),
        ("the kept logs are large", SURE),  # the question's own word
        ("access: logs are kept", SURE),
    ],
)
def test_a_topic_that_has_another_word_in_the_place_of_one_asked_for_is_not_sure(
    passage: str, expected: Certainty
) -> None:
    near = {"audit": 0.9, "logs": 1.0, "kept": 1.0}
    question = parse_query("how long are audit logs kept")
    telling = Telling(dict.fromkeys(near, 1.0), lambda words: words, match_words=lambda _: near, text=question.text)
    answer = Answer((hit(parts=PLAIN, passage=passage),), confidence=0.99)
    (one,) = with_certainty(answer, question, telling, lambda _: True)

    assert one.certainty == expected


def test_what_was_said_is_likely_where_it_stands_above_the_rest_in_a_memory_that_answers() -> None:
    said = hit(parts=WELL, standing=Standing.DONE)
    beside = hit(parts=WELL, standing=Standing.DONE, chunk=ChunkId("1"))
    behind = hit(parts=NEAR, standing=Standing.CLAUDE, chunk=ChunkId("1"))

    assert word(said, Search.RECALL, others=[behind]) == LIKELY, "what was said is no authority"
    assert word(said, Search.RECALL, others=[beside], confidence=0.4) == PERHAPS
    assert word(behind, Search.RECALL, others=[said]) == PERHAPS


def test_what_the_model_does_not_read_is_at_most_likely_by_its_words() -> None:
    assert word(hit(parts=PLAIN), Search.RECALL, is_read=False) == LIKELY
    assert word(hit(parts=PLAIN, passage="the port"), Search.RECALL, is_read=False) == PERHAPS
    assert word(hit(parts={"meaning": 9.0}, passage="x"), Search.MEANING, is_read=False) == PERHAPS


@pytest.mark.parametrize(("is_of_tiny", "types"), [(True, ()), (False, ("decision",))])
def test_of_few_passages_half_of_the_telling_words_have_to_stand_there(is_of_tiny: bool, types: Sequence[str]) -> None:
    telling = Telling({"port": 1.0, "2525": 3.0}, lambda words: words, is_of_tiny=is_of_tiny)
    question = parse_query("port 2525", types=types)

    def words(passage: str) -> str:
        one = hit(parts=PLAIN, passage=passage)
        return how_sure(one, Answer((one,)), question, telling, is_read=True)

    assert words("it is 2525") == SURE
    assert words("the port is another") == PERHAPS


def test_a_word_never_rises_down_an_answer_and_a_perhaps_decides_nothing() -> None:
    hits = [hit(), hit(decides=True), hit(decides=True), hit()]

    found = list(falling(hits, [LIKELY, SURE, PERHAPS, SURE]))

    assert [(one.certainty, one.decides) for one in found] == [
        (LIKELY, False),
        (LIKELY, True),
        (PERHAPS, False),
        (PERHAPS, False),
    ]


def test_what_another_project_holds_decides_nothing_and_is_likely_at_most() -> None:
    other, ours, own = (replace(hit(decides=True), project=name, certainty=SURE) for name in ("shop", "App", ""))

    found = limit_to_project(Answer((ours, own, other)), "app").hits

    assert [(one.decides, one.certainty) for one in found] == [(True, SURE), (True, SURE), (False, LIKELY)]
    assert limit_to_project(Answer((other,)), "").hits == (other,), "who asks from nowhere is told of all"


def test_an_answer_to_a_question_with_a_name_that_stands_nowhere_is_perhaps_throughout() -> None:
    answer = Answer((hit(parts=PLAIN, decides=True),), confidence=0.99, is_doubtful=True)

    (one,) = with_certainty(answer, parse_query("port 2525"), Telling({}, lambda words: words), lambda _: True)

    assert (one.certainty, one.decides) == (PERHAPS, False)


def test_behind_a_perhaps_no_passage_is_looked_at() -> None:
    hits = [replace(hit(parts=parts), passage=name) for name, parts in (("a", PLAIN), ("b", NEAR), ("c", PLAIN))]
    read: list[str] = []

    def reads(text: str) -> bool:
        read.append(text)
        return True

    answer = Answer(tuple(hits), confidence=0.99)
    found = with_certainty(answer, parse_query("port 2525"), Telling({}, lambda words: words), reads)

    assert [one.certainty for one in found] == [SURE, PERHAPS, PERHAPS]
    assert read == ["port 2525", "A. a", "A. b"]


def test_every_search_of_a_memory_says_how_sure_it_is(garden: Memory) -> None:
    assert recall(garden, "which port does the relay listen on").hits[0].certainty is SURE
    assert search_exact(garden, "STARTTLS").hits[0].certainty is SURE
    assert search_exact(garden, "rust").hits[0].certainty is LIKELY  # it stands there as Rust
    for search in searches_of(garden):
        words = [list(Certainty).index(one.certainty) for one in search("relay port").hits]
        assert words == sorted(words)


@pytest.mark.parametrize("language", ["de", "ru", "zh"])
def test_in_a_language_that_the_model_does_not_read_nothing_is_sure(
    language: str, tmp_path: Path, make_engine: MakeEngine
) -> None:
    """A wrong topic was sure of every question in German, Russian and Chinese."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        rows = [
            row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["language"] == language
        ]
    with open_memory(new_root(tmp_path), make_engine) as memory:
        for number, row in enumerate(rows):
            write_topic(memory, f"t{number}", f"# {row['title']}\n\n- {row['statement']}\n")
        memory.reindex()

        absent = [recall(memory, row["absent"]) for row in rows]
        answered = [recall(memory, row["question"]) for row in rows]

    assert [one.decides or one.certainty is SURE for answer in absent for one in answer.hits].count(True) == 0
    firsts = [answer.hits[0].path == f"topics/t{number}.md" for number, answer in enumerate(answered) if answer.hits]
    assert firsts.count(True) >= 19, "its words alone find the right one"
    for answer in answered:
        assert "all-MiniLM-L6-v2 does not read this language" in answer.note
        assert "`oneiros model multilingual-e5-small` changes that." in answer.note


def test_an_english_question_beside_a_foreign_topic_says_so_too(memory: Memory) -> None:
    write_topic(memory, "t", "Die Bestellungen liegen in PostgreSQL, die Sitzungen in Redis.")
    memory.reindex()

    answer = recall(memory, "are the orders in PostgreSQL or in Redis?")

    assert [one.certainty for one in answer.hits] == [PERHAPS]
    assert "does not read this language" in answer.note


def test_a_model_that_is_added_while_the_memory_is_open_is_named_as_what_reads_the_language(
    tmp_path: Path, make_engine: MakeEngine
) -> None:
    added = tmp_path / "models"
    with open_memory(new_root(tmp_path / "memory"), make_engine, added=added) as memory:
        write_topic(memory, "t", "Die Bestellungen liegen in PostgreSQL, die Sitzungen in Redis.")
        memory.reindex()
        assert "multilingual-e5-small" in recall(memory, "where are the orders in PostgreSQL?").note

        (added / "small-many").mkdir(parents=True)
        described = (SHIPPED / PACKAGED_MODEL / "model.toml").read_text(encoding="utf-8")
        many = re.sub("(?m)^languages = .*", 'languages = ["many"]', re.sub("(?m)^short_names = .*\n", "", described))
        (added / "small-many" / "model.toml").write_text(many, encoding="utf-8")

        assert "`oneiros model small-many` changes that." in recall(memory, "where are the orders in PostgreSQL?").note


def test_the_descriptions_of_models_are_read_once_for_all_hits_that_the_model_does_not_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, list_cards = list[Catalogue](), Catalogue.cards

    def note_look(catalogue: Catalogue) -> tuple[list[ModelCard], list[UsageError]]:
        looks.append(catalogue)
        return list_cards(catalogue)

    monkeypatch.setattr(Catalogue, "cards", note_look)
    for number in range(3):
        write_topic(memory, f"t{number}", f"Die {number} Bestellungen liegen in PostgreSQL, die Sitzungen in Redis.")
    memory.reindex()

    answers = [recall(memory, question) for question in ("wo liegen die Bestellungen?", "und wo die Sitzungen?")]

    assert all("`oneiros model multilingual-e5-small`" in answer.note for answer in answers) and len(looks) == 1


def test_a_spanish_question_is_not_taken_to_begin_with_a_name(memory: Memory) -> None:
    write_topic(memory, "t", "Los pedidos se guardan en PostgreSQL y las sesiones en Redis.")
    memory.reindex()

    answer = recall(memory, "¿En qué base de datos se guardan los pedidos?")

    assert "Nowhere in this memory: En" not in answer.note
    assert [one.path for one in answer.hits] == ["topics/t.md"]
