"""What a model gets in its hands: one answer of a fixed shape, places to be read, layers that mean what they say."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.amended import PLANTED, planted_memory, shows_old_first
from crawler.archive.append import Ingester
from crawler.archived import ArchivedSessions
from memory_server.document import Hit, Layer
from memory_server.embedding.catalogue import Catalogue
from memory_server.index.typed_lines import TypedLine
from memory_server.memory import Memory
from memory_server.search import pipeline
from memory_server.search.question import SHOWN_HITS
from memory_server.settings import PersonSettings
from tests.conftest import MakeEngine
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    Record,
    assistant,
    call,
    person,
    result,
    settings_in,
    write_transcript,
)
from tests.memories import recall, root_at, search_exact, search_memory, write_session, write_topic
from tests.memory_server.test_mcp_server import call as called
from tests.memory_server.test_mcp_server import text_of
from tests.memory_server.test_spoken_answers import NOW

PORT = "which port does the payment relay take"


def records() -> list[Record]:
    """A session about a relay, with a reply that was turned down and what a tool returned."""
    return [
        person(1, "Which port shall the payment relay take?"),
        assistant(2, "The payment relay could take port 2525, as the mail relay does."),
        person(3, "No, not 2525 for the payment relay, that is taken."),
        assistant(4, call("Bash", "c1", command="ss -lntp")),
        result(5, "c1", "ERROR quux-4711 in relay: peer closed the socket"),
        assistant(6, "The payment relay takes port 4040 now. " + "The relay was restarted. " * 160 + "The end."),
    ]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Two sessions, one with its compressed file, and a topic about something else."""
    folder = tmp_path_factory.mktemp("hands")
    root = root_at(folder / "mem")
    root.derived_folder.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    write_transcript(folder / "live", *records())
    other = {"session": OTHER_SESSION, "cwd": "/srv/bakery", "timestamp": "2026-04-02T10:00:00.000Z"}
    messages = [
        person(21, "How hot is the oven?", **other),
        assistant(22, "The payment for the oven is open.", **other),
    ]
    write_transcript(folder / "live", *messages, session=OTHER_SESSION)
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([folder / "live"])
    write_session(root, "2026-03-01-relay-11111111", "The payment relay takes port 4040.", title="Relay")
    write_topic(root, "colours", "# Colours\n\nThe shop is painted green.")
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    with Memory(
        root, person=PersonSettings(), catalogue=Catalogue(folder), now=lambda: NOW, sessions=lambda: store
    ) as opened:
        opened.reindex()
        yield opened


# -- the answer -----------------------------------------------------------------------------------------------------


def test_a_hit_says_project_day_place_how_sure_and_who_and_no_hit_is_empty(memory: Memory) -> None:
    text = text_of(called(memory, "recall", query=PORT))

    head, *lines = text.split("\n")
    assert head.startswith("1. raw (rank 3) | app | 2026-03-01 | 11111111:")
    assert lines[0].startswith(" | ")
    assert len(text) <= 2_000
    assert all(hit.passage for hit in recall(memory, PORT).hits)


def test_one_file_has_one_hit_unless_more_are_asked_for(memory: Memory) -> None:
    paths = [hit.path for hit in recall(memory, PORT, limit=SHOWN_HITS).hits]

    assert len(paths) == len(set(paths))
    assert len([hit for hit in recall(memory, PORT, per_source=3).hits if hit.path == paths[0]]) > 1


def test_a_proposal_is_shown_with_the_no_that_turned_it_down(memory: Memory) -> None:
    passages = [hit.passage for hit in recall(memory, "take port 2525 as the mail relay does", per_source=9).hits]

    assert all("you: No, not 2525" in passage for passage in passages if "could take port 2525" in passage)
    assert any("could take port 2525" in passage for passage in passages)


def test_what_was_taken_back_never_stands_before_what_took_its_place(tmp_path: Path, make_engine: MakeEngine) -> None:
    with planted_memory(tmp_path, make_engine) as planted:
        wrong = [case.question for case in PLANTED if shows_old_first(planted, case)]

    assert wrong == []


# -- silence --------------------------------------------------------------------------------------------------------


def test_a_name_that_stands_nowhere_is_all_that_is_said(memory: Memory) -> None:
    answer = recall(memory, "which port does the payment relay of Kafka take")

    assert (answer.hits, answer.note) == ((), "Nowhere in this memory: Kafka.")


@pytest.mark.parametrize(
    ("query", "is_absent"),
    [("Kafka payment relay port", True), ("Kafka", True), ("Telling the payment relay its port", False)],
)
def test_a_capital_at_the_beginning_makes_a_name_among_key_words_and_none_in_a_sentence(
    memory: Memory, query: str, is_absent: bool
) -> None:
    assert (recall(memory, query).note == "Nowhere in this memory: Kafka.") == is_absent


def test_an_answer_without_a_name_of_the_question_is_short_and_says_so(memory: Memory) -> None:
    text = text_of(called(memory, "recall", query="did the relay of the Bakery and of Kafka take port QUUX-4711"))

    assert len(text) <= 700
    assert "Nowhere in this memory: Kafka." in text and text.startswith("1. ")


def test_an_unsure_answer_is_likely_to_be_none_where_no_passage_fits_well(
    garden: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "does the resolver know the customers of the bakery"
    found = [recall(garden, question).is_doubtful]

    monkeypatch.setattr(pipeline, "UNLIKELY_SCORE", 3.2)
    found += [recall(garden, answer).is_doubtful for answer in (question, "which port does the relay listen on")]

    assert found == [False, True, False]


def test_a_rare_word_that_only_a_tool_returned_is_shown_as_perhaps(memory: Memory) -> None:
    answer = recall(memory, "quux")

    assert any("quux-4711" in hit.passage for hit in answer.hits)


# -- layers, filters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "options", "layers"),
    [
        (PORT, {}, {Layer.RAW}),
        (f"{PORT} layer:session", {}, {Layer.SESSION}),
        (f"{PORT} layer:raw", {}, {Layer.RAW}),
        (f"{PORT} layer:topic", {}, {Layer.TOPIC}),
        (f"{PORT} layer:session layer:raw", {}, {Layer.RAW}),
        (PORT, {"include_raw": True}, {Layer.RAW}),
    ],
)
def test_the_layers_that_are_named_answer_and_no_others(
    memory: Memory, query: str, options: dict[str, Any], layers: set[Layer]
) -> None:
    first = [hit.layer for hit in recall(memory, query, **options).hits][:1]

    assert set(first) <= layers
    assert first or layers == {Layer.TOPIC}


def passages(hits: tuple[Hit, ...]) -> str:
    return "\n".join(hit.passage for hit in hits)


def test_raw_turns_add_what_tools_returned_and_lose_nothing_of_what_was_said(memory: Memory) -> None:
    question = "did the peer close the socket of the relay"

    without, beside = (passages(recall(memory, question, include_raw=raw).hits) for raw in (False, True))

    assert "quux-4711" not in without
    assert "quux-4711" in beside
    assert "port 4040" in passages(recall(memory, PORT, include_raw=True).hits)


def test_a_project_is_known_by_its_nearest_name_where_only_one_is_near(memory: Memory) -> None:
    by_name, nearly, unknown = (recall(memory, f"payment project:{name}") for name in ("bakery", "bakry", "zoo"))

    assert {hit.project for hit in by_name.hits} == {"bakery"}
    assert nearly.hits == by_name.hits
    assert "taken as bakery" in nearly.note
    assert unknown.hits == ()


def test_days_bound_what_was_said(memory: Memory) -> None:
    assert {hit.project for hit in recall(memory, "payment after:2026-04-01").hits} == {"bakery"}
    assert {hit.project for hit in recall(memory, "payment before:2026-04-01").hits} == {"app"}


def test_days_may_be_told_beside_the_query(memory: Memory) -> None:
    for tool in ("recall", "search_exact"):
        text = text_of(called(memory, tool, query="payment", after="2026-04-01"))
        assert "bakery" in text and "| app |" not in text
        assert "is no date" in text_of(called(memory, tool, query="payment", before="yesterday"))


def test_a_search_by_meaning_reads_what_was_said_too(memory: Memory) -> None:
    assert "port 4040" in passages(search_memory(memory, "the port on which payments arrive").hits)


def test_an_exact_search_shows_a_few_lines_of_what_a_tool_returned(memory: Memory) -> None:
    text = text_of(called(memory, "search_exact", query="quux-4711"))

    assert "quux-4711" in text and "11111111:4" in text
    assert len(text) < 700
    assert search_exact(memory, "quux-4712").hits == ()


def test_an_exact_search_shows_the_words_in_their_order_before_words_that_are_apart(memory: Memory) -> None:
    in_order = search_exact(memory, "mail relay does").hits[0]
    apart = search_exact(memory, "does relay mail").hits[0]

    assert "as the mail relay does" in in_order.passage
    assert [reason.detail for reason in in_order.why] == ["as written"]
    assert apart.path == in_order.path


def test_a_line_of_a_type_names_the_turn_that_it_stands_in(memory: Memory) -> None:
    line = TypedLine(SESSION, 0, "decision", "No, not 2525 for the payment relay", "said", "app", ("00000003",))
    memory.typed_lines.replace(SESSION, "1", "app", [line])

    [hit] = [hit for hit in recall(memory, "payment relay 2525", types=["decision"]).hits if hit.layer is Layer.RAW]

    assert (hit.lines.first, hit.project) == (3, "app")


# -- reading --------------------------------------------------------------------------------------------------------


def read(memory: Memory, name: str, **more: Any) -> str:
    return text_of(called(memory, "read_memory", name=name, **more))


def test_a_place_is_read_as_a_hit_shows_it(memory: Memory) -> None:
    hit = recall(memory, PORT).hits[0]
    text = read(memory, f"{SESSION[:8]}:{hit.lines.first}")

    assert text.startswith("raw (rank 3) | ")
    assert f"[{hit.lines.first}] " in text


def test_persons_and_assistants_words_are_read_and_tools_by_request(memory: Memory) -> None:
    said, all_turns = read(memory, "11111111:1-6"), read(memory, "11111111:1-6", with_tools=True)

    assert "[3] you: No, not 2525" in said and "quux-4711" not in said
    assert "of tools left out: with_tools" in said
    assert "quux-4711" in all_turns


def test_a_window_begins_with_the_end_of_what_was_said_before_and_names_the_next(memory: Memory) -> None:
    text = read(memory, "11111111:2")

    assert "[1] you: Which port" in text and "[3] you: No" in text
    assert len(text) <= 2_100
    assert text.splitlines()[-1].startswith(("Next: ", "1 turn"))


def test_a_turn_that_is_longer_than_an_answer_is_read_on_by_its_offset(memory: Memory) -> None:
    text = read(memory, "11111111:5-5")
    assert "The end." in text

    window = read(memory, "11111111:5")
    offset = int(window.rpartition("offset=")[2].partition(")")[0])
    following = read(memory, "11111111:5", offset=offset)
    assert "[3] you: No" in window and "port 4040" in window and "The end." not in window
    assert following.count("restarted") > 50
    further = int(following.rpartition("offset=")[2].partition(")")[0])
    assert "The end.\n1 turn of tools" in read(memory, "11111111:5", offset=further)


def test_null_stands_for_what_is_optional_and_path_for_name(memory: Memory) -> None:
    result_ = called(memory, "read_memory", path="colours", name=None, offset=None, with_tools=None)

    assert "painted green" in text_of(result_)
    assert not called(memory, "recall", query=PORT, limit=None, project=None, type=None).is_error


# -- what a model reads before it asks --------------------------------------------------------------------------------


def test_cases_are_planted_in_three_ways() -> None:
    with (Path("benchmarks") / "amended_cases.tsv").open(encoding="utf-8") as file:
        kinds = [row["kind"] for row in csv.DictReader(file, delimiter="\t")]

    assert {kind: kinds.count(kind) for kind in kinds} == {"later": 10, "session": 10, "no": 4}
