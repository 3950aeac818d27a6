"""The three searches, asked through `Memory`."""

import dataclasses
import math
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from memory_server.document import Answer, Hit, Layer, LineRange
from memory_server.embedding.vector_cache import text_hash
from memory_server.errors import UsageError
from memory_server.index import indices as indices_module
from memory_server.index.ledger import build_embedded_text
from memory_server.layers.validate import validate_root
from memory_server.memory import Memory
from memory_server.search.pipeline import PERHAPS
from memory_server.search.question import parse_query
from memory_server.search.ranking.arms import SemanticArm, make_scope
from memory_server.search.ranking.scoring import Likeness
from tests.conftest import MakeEngine
from tests.garden import write_garden
from tests.memories import (
    folder_of,
    names,
    new_root,
    open_memory,
    recall,
    search_exact,
    search_memory,
    searches_of,
    wait_for,
    write_session,
    write_topic,
)
from tests.states import alike

QUESTIONS = (
    "which port does the relay use",
    "relay 2525",
    "coffee machine",
    "東京都のサーバー",
    "fooBar",
    "how do we roll back a release",
    "panel layer:session",
    "what is the boiling point of ethanol",
)


def answers(memory: Memory) -> list[object]:
    """What all searches say to all questions."""
    searches = searches_of(memory)
    return [dataclasses.asdict(search(question)) for question in QUESTIONS for search in searches]


def titled(answer: Answer, stem: str) -> Hit:
    """The hit of one file."""
    (hit,) = [hit for hit in answer.hits if Path(hit.path).stem == stem]
    return hit


# -- finding ----------------------------------------------------------------------------------------------------


def test_a_saved_topic_is_found_by_its_new_words(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on port 25.")
    memory.reindex()
    write_topic(memory, "mail", "The relay listens on port 2525.")
    memory.reindex()

    assert names(search_exact(memory, "2525")) == ["mail"]
    assert names(search_exact(memory, '"port 25"')) == []


def test_a_search_indexes_what_changed_before_it_answers_where_it_is_asked_to(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.")

    behind = memory.upkeep.refresh()

    assert behind.is_empty
    assert names(search_exact(memory, "2525")) == ["mail"]


def test_a_byte_order_mark_is_neither_found_nor_read(memory: Memory) -> None:
    write_topic(memory, "rules", "\ufeff# Cache rules\r\n\r\nThe cache holds ten entries of foxglove.\r\n")
    memory.reindex()

    [hit, *_] = recall(memory, "foxglove").hits
    assert (hit.title, hit.lines.first) == ("Cache rules", 3)
    assert "\ufeff" not in hit.passage + memory.read("rules").text
    with pytest.raises(UsageError, match="has 3 lines, 99 was asked for"):
        memory.read("rules", 99)


@pytest.mark.parametrize(
    ("question", "stem"),
    [
        ("a machine that makes hot drinks", "kitchen"),
        ("the heater in the basement", "heating"),
        ("wages of the employees", "payroll"),
        ("where can guests leave their car", "parking"),
    ],
)
def test_meaning_is_found_without_shared_words(garden: Memory, question: str, stem: str) -> None:
    answer = search_memory(garden, question)

    assert names(answer)[0] == stem


def test_recall_finds_by_words_and_by_meaning_and_says_so(garden: Memory) -> None:
    answer = recall(garden, "which port does the relay listen on")

    assert names(answer)[0] == "mail"
    assert {reason.arm for reason in answer.hits[0].why} == {"keyword", "semantic", "rerank"}


@pytest.mark.parametrize("question", ["what is the boiling point of ethanol", "who won the world cup in 1974"])
def test_when_nothing_is_relevant_the_answer_is_nothing(garden: Memory, question: str) -> None:
    for search in searches_of(garden):
        answer = search(question)

        assert answer.hits == ()
        assert answer.note


@pytest.mark.parametrize(
    ("question", "stem"),
    [
        ("who owns starttls", "mail"),  # held, with a verb that nobody said
        ("which colleague descales zpl", "printing"),
    ],
)
def test_an_unknown_verb_does_not_silence_a_name_that_stands_in_the_memory(
    garden: Memory, question: str, stem: str
) -> None:
    answer = recall(garden, question)

    assert names(answer)[0] == stem
    assert answer.note.startswith(PERHAPS)


@pytest.mark.parametrize(("name", "word"), [("Quintara", "quintara"), ("zx81", "zaxon"), ("quinTara", "quintara")])
def test_an_unknown_name_makes_recall_less_sure_than_an_unknown_word(garden: Memory, name: str, word: str) -> None:
    by_name, by_word = (recall(garden, f"which relay port of {unknown} is open") for unknown in (name, word))

    assert by_name.confidence < by_word.confidence


def test_an_empty_memory_says_that_it_is_empty(memory: Memory) -> None:
    (memory.root.path / "MEMORY.md").write_text("", encoding="utf-8")
    memory.reindex()

    for search in searches_of(memory):
        assert (
            search("relay").note
            == "This memory is empty: it holds no topic and no session yet. `oneiros remember` keeps what you tell it."
        )


def test_a_hit_carries_layer_rank_title_date_path_lines_score_and_reason(garden: Memory) -> None:
    hit = search_exact(garden, "2525").hits[0]

    assert (hit.layer, hit.layer.rank) == (Layer.TOPIC, 1)
    assert hit.title == "The mail relay"
    assert str(hit.date) == "2026-02-10"
    assert (hit.path, hit.lines) == ("topics/mail.md", LineRange(13, 13))
    assert hit.score == 1.0
    assert [(reason.arm, reason.detail) for reason in hit.why] == [("literal", "as written")]


def test_lines_of_a_hit_hold_its_passage(garden: Memory) -> None:
    for question in ("revert", "2525", "東京", "percentile", "firewall provider"):
        hit = search_exact(garden, question).hits[0]

        lines = garden.read(hit.path, hit.lines.first, hit.lines.last).text

        assert hit.passage.strip() in lines


# -- exact ------------------------------------------------------------------------------------------------------


def test_of_very_many_that_hold_a_word_the_shortest_that_may_answer_come_first(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.index.keywords.WEIGHED", 3)
    for number, name in enumerate(("elm", "fir", "oak", "ash")):
        write_topic(memory, name, f"The gateway {'hums and ' * number}is open.")
    write_session(memory, "2025-01-05-gateway-0000000a", "- The gateway.")
    memory.reindex()

    answer = search_exact(memory, "gateway layer:topic")

    assert names(answer) == ["elm", "fir", "oak", "ash"]
    assert names(search_exact(memory, "GATEWAY NOT gateway layer:topic")) == []


@pytest.mark.parametrize(
    ("query", "stems"),
    [
        ("10.0.0.7", {"mail", "2026-01-20-relay-port-aaaaaaaa"}),
        ("0.0.7", {"mail", "2026-01-20-relay-port-aaaaaaaa"}),
        ("10.0.0.70", set()),
        ("/etc/app/config.d/10-main.toml", {"code"}),
        ("config.d/10-main", {"code"}),
        ("src/net/http_server.cc", {"code"}),
        ("4f9c2e1b", {"deploy"}),
        ("4f9c2e1c", set()),
        ("foo-bar", {"code"}),
        ("foo-baz", set()),
        ("--dry-run", {"deploy"}),
        ("--wet-run", set()),
        ("C++", {"code"}),
        ("C#", set()),
        ("app.py:12", {"deploy"}),
        ("app.py:13", set()),
        ("fooBar", {"code"}),
        ("foobar", {"code"}),
        ("HTTP", {"code"}),
        ("parseHTTPRequest", {"code"}),
        ("v1.2.3", {"code"}),
        ("2525", {"mail"}),
        ("252", set()),
    ],
)
def test_an_identifier_is_found_letter_by_letter(garden: Memory, query: str, stems: set[str]) -> None:
    assert set(names(search_exact(garden, query))) == stems


@pytest.mark.parametrize("part", ["foo", "Bar", "parse", "Request"])
def test_a_part_of_a_name_with_humps_is_found_by_recall(garden: Memory, part: str) -> None:
    assert names(recall(garden, part))[0] == "code"


@pytest.mark.parametrize(
    ("query", "stems"),
    [
        ("relay STARTTLS", {"mail", "2026-01-20-relay-port-aaaaaaaa"}),
        ("relay coffee", set()),
        ("relay OR coffee", {"mail", "kitchen", "2026-01-20-relay-port-aaaaaaaa"}),
        ("relay AND 2525", {"mail"}),
        ("relay NOT 2525", {"2026-01-20-relay-port-aaaaaaaa"}),
        ("(coffee OR parcel) NOT descaling", {"returns"}),
        ('"port 2525"', {"mail"}),
        ('"2525 port"', set()),
        ("percentil*", {"metrics"}),
        ("percentil", set()),
        ("server", {"code"}),  # a part of `memory_server`
        ("servers", {"clock"}),
        ("東京", {"japan"}),
        ("サーバー 大阪", {"japan"}),
        ("京東", set()),
    ],
)
def test_every_word_or_phrase_must_occur(garden: Memory, query: str, stems: set[str]) -> None:
    assert set(names(search_exact(garden, query))) == stems


def test_words_that_do_not_meet_are_never_joined_by_a_silent_or(garden: Memory) -> None:
    answer = search_exact(garden, "relay descaling")

    assert answer.hits == ()
    assert "recall" in answer.note


@pytest.mark.parametrize(
    "query", ["relay -2525", "OR relay", "NOT", "((relay", "relay)", "NEAR(a b)", "*", "a:b", "^x", "{x}"]
)
def test_what_looks_like_the_grammar_of_the_index_is_only_text(garden: Memory, query: str) -> None:
    for search in searches_of(garden):
        answer = search(query)

        assert answer.hits or answer.note


# -- filters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "stems"),
    [
        ("relay layer:topic", ["mail"]),
        ("relay layer:session", ["2026-01-20-relay-port-aaaaaaaa"]),
        ("relay topic:mail", ["mail"]),
        ("relay topic:kitchen", []),
        ("relay project:POST layer:topic", ["mail"]),
        ("relay machine:workbench", ["2026-01-20-relay-port-aaaaaaaa"]),
        ("relay tag:relay", ["mail"]),
        ("relay tag:smtp tag:dns layer:topic", ["mail"]),
        ("relay type:episodic", ["2026-01-20-relay-port-aaaaaaaa"]),
        ("relay after:2026-02", ["mail"]),
        ("relay before:2026-02", ["2026-01-20-relay-port-aaaaaaaa"]),
        ("relay after:2026-02-10 before:2026-02-11", ["mail"]),
        ("relay after:2026-02-11", []),
        ("script project:übersee", ["deploy"]),
        ("script project:ÜBERSEE", ["deploy"]),
    ],
)
def test_a_filter_lets_only_its_sources_answer(garden: Memory, query: str, stems: list[str]) -> None:
    assert names(search_exact(garden, query)) == stems
    assert set(names(recall(garden, query))) <= allowed_names(garden, query)
    assert set(names(search_memory(garden, query))) <= allowed_names(garden, query)


def allowed_names(memory: Memory, query: str) -> set[str]:
    sources = memory.indices.ledger.read_sources()
    return {Path(sources[number].path).stem for number in parse_query(query).filter.find_allowed(sources)}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('gasket entity:"Mail Relay"', ["one", "several"]),
        ("gasket entity:postgres", ["several"]),
        ("gasket entity:mail", []),
        ("gasket entity:POSTGRES topic:one", []),
    ],
)
def test_an_entity_filters_by_the_things_that_a_topic_names(memory: Memory, query: str, names: list[str]) -> None:
    write_topic(memory, "one", "A gasket.", entity={"name": "Mail relay", "entity_type": "service"})
    listed = [{"entityType": "Technology", "name": "Postgres"}, {"name": "mail relay"}, {"entityType": "Concept"}]
    write_topic(memory, "several", "Another gasket.", entities=listed)
    write_topic(memory, "none", "A gasket of the mail relay.", entities="postgres", entity="postgres")
    memory.reindex()

    assert sorted(hit.path for hit in search_exact(memory, query).hits) == [f"topics/{name}.md" for name in names]


@pytest.mark.parametrize(
    ("query", "stems"),
    [
        ("gasket namespace:decisions", ["flat", "deep"]),
        ("gasket namespace:Decisions/Storage", ["deep"]),
        ("gasket namespace:decisions/", ["flat", "deep"]),
        ("gasket namespace:decision", []),
        ("gasket namespace:a_b", ["said"]),
        ("gasket namespace:axb", []),
    ],
)
def test_a_namespace_holds_what_lies_below_it(memory: Memory, query: str, stems: list[str]) -> None:
    write_topic(memory, "decisions/flat", "Each gasket is flat.")
    write_topic(memory, "decisions/storage/deep", "Each gasket is kept in a drawer, deep.")
    write_topic(memory, "decisions/said", "One gasket says where it belongs.", namespace="a_b/c")
    write_topic(memory, "top", "A gasket of no namespace.")
    memory.reindex()

    assert sorted(names(search_exact(memory, query))) == sorted(stems)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("relay project:invoices", "There is no project invoices; there are post, Übersee."),
        ("relay tag:nosuch", "There is no tag nosuch; there are "),
        ("relay topic:maill project:post", "There is no topic maill; there are mail, "),
        ("relay topic:topics/mail.md project:übersee", "No source passes these filters together. Loosen them."),
        ("relay type:lession", "There is no type lession; there are lesson, decision, "),
        ("relay machine:desk", "There is no machine desk; there are workbench, laptop."),
    ],
)
def test_a_filter_that_nothing_passes_names_what_there_is(garden: Memory, query: str, note: str) -> None:
    for search in (recall, search_exact, search_memory):
        answer = search(garden, query)

        assert answer.hits == ()
        assert answer.note.startswith(note)


def test_a_word_that_is_nearly_called_as_a_filter_is_named(garden: Memory) -> None:
    for search in (recall, search_exact):
        assert "There is no filter autor:; there are layer, topic, " in search(garden, "autor:jan commit").note
        for query in ("relay:2525", "zeppelin:jan commit", "http://typo:80", "type:lesson commit"):
            assert "There is no filter" not in search(garden, query).note


def test_a_filtered_search_answers_as_an_exact_scan_does(garden: Memory) -> None:
    for question in ("which machines resolve names", "wages", "東京", "a tag for every release"):
        answer = search_memory(garden, f"{question} layer:topic", limit=8, per_source=50)

        assert [hit.chunk for hit in answer.hits] == nearest_by_hand(garden, question, Layer.TOPIC)[:8]


@pytest.mark.usefixtures("graph")
def test_the_graph_finds_what_an_exact_scan_finds(memory: Memory) -> None:
    write_garden(memory.root)
    memory.indices.own()
    memory.reindex()
    for question in ("who answers names", "wages", "東京", "release tag", "coffee"):
        vector = memory.embed_query(question).vector

        rows = memory.indices.nearest_rows([Layer.TOPIC], None, vector, 8)
        chunks = memory.indices.ledger.chunks(rows or [])

        assert {chunk.id for chunk in chunks.values()} == {*nearest_by_hand(memory, question, Layer.TOPIC)[:8]}


def test_what_has_no_vector_yet_is_left_to_the_words_whether_a_graph_or_the_scan_is_asked(garden: Memory) -> None:
    snapshot = garden.indices.snapshot()
    vectors = np.where(np.arange(len(snapshot.passages)) % 2, -1, snapshot.passages.vectors)
    half = dataclasses.replace(snapshot, passages=dataclasses.replace(snapshot.passages, vectors=vectors))
    rows, scope = half.passages.rows.tolist(), make_scope(half, (Layer.TOPIC, Layer.SESSION), None)

    def find(rows: list[int] | None) -> list[int]:
        likeness = Likeness(half, garden.embed_query("wages"))
        return [*map(int, SemanticArm(lambda *_: rows).find(likeness, scope, len(vectors)).places)]

    assert find(rows) == find(None)
    assert all(place % 2 == 0 for place in find(None))


def test_without_a_daemon_there_is_no_graph(garden: Memory) -> None:
    assert garden.indices.nearest_rows([Layer.TOPIC], None, garden.embed_query("wages").vector, 8) is None
    assert not garden.root.semantic_index.exists()


def nearest_by_hand(memory: Memory, question: str, layer: Layer) -> list[str]:
    """The ids of a layer by cosine, from vectors made of the stored text and from nothing else."""
    rows = memory.indices.ledger.connection.execute(
        "select chunk_id, context, passage from chunk join source on source.id = chunk.source"
        " where text_hash is not null and layer = ? order by chunk.id",
        (layer,),
    ).fetchall()
    vectors = np.stack(
        [one.vector for one in memory.engine().embed([build_embedded_text(row[1], row[2]) for row in rows])]
    )
    cosines = vectors @ memory.embed_query(question).vector
    return [rows[place][0] for place in np.argsort(-cosines, kind="stable")]


# -- strange queries --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "   ", "\0", "layer:topic", '""', "NOT relay", "AND", '"', "("])
def test_a_query_without_a_word_to_look_for_is_an_error_that_says_what_to_do(garden: Memory, query: str) -> None:
    for search in searches_of(garden):
        with pytest.raises(UsageError) as raised:
            search(query)

        assert raised.value.remedy


@pytest.mark.parametrize(
    "query",
    [
        "x",
        "?",
        "é",
        "🚀",
        "👩‍👩‍👧‍👦 relay",
        "שלום עולם",
        "مرحبا relay",
        "relay\0port",
        "relay \ud800",
        "relay\r\nport",
        "\u202erelay",
        "%s %d {0} \\",
        "'; drop table chunk; --",
        "a" * 5_000,
    ],
)
def test_a_strange_query_gets_an_answer(garden: Memory, query: str) -> None:
    for search in searches_of(garden):
        answer = search(query)

        assert answer.hits or answer.note


@pytest.mark.parametrize("query", ["relay " * 16_667, "relay (" * 14_300, "wort" * 25_000, '"relay" OR ' * 9_100])
def test_a_query_of_a_hundred_thousand_characters_is_cut_and_says_so(garden: Memory, query: str) -> None:
    for search in searches_of(garden):
        try:
            answer = search(query)
        except UsageError as error:
            assert "nests brackets" in error.what
        else:
            assert "The query was cut to its first 10,000 characters." in answer.note


def test_a_thousand_different_words_are_searched_like_few(garden: Memory) -> None:
    query = " ".join(f"w{number}" for number in range(1_000))

    assert search_exact(garden, query).hits == ()
    assert search_exact(garden, query.replace(" ", " OR ") + " OR descaling").hits[0].path == "topics/kitchen.md"


@pytest.mark.parametrize(("limit", "per_source"), [(0, 1), (-1, 1), (101, 1), (1, 0)])
def test_a_limit_out_of_range_is_an_error(garden: Memory, limit: int, per_source: int) -> None:
    with pytest.raises(UsageError, match=r"Give a number from 1"):
        recall(garden, "relay", limit=limit, per_source=per_source)


# -- the form of an answer --------------------------------------------------------------------------------------


def test_a_limit_is_kept(garden: Memory) -> None:
    assert len(search_exact(garden, "the", limit=3).hits) == 3


def test_each_source_answers_once_and_names_its_other_lines(garden: Memory) -> None:
    answer = search_exact(garden, "relay layer:session")

    assert [(str(hit.lines), [str(lines) for lines in hit.more_lines]) for hit in answer.hits] == [("16", ["15"])]


def test_per_source_lets_a_source_answer_more_often(garden: Memory) -> None:
    answer = search_exact(garden, "relay layer:session", per_source=2)

    assert [str(hit.lines) for hit in answer.hits] == ["16", "15"]


def test_explaining_shows_the_score_of_every_part_and_the_words_looked_up(garden: Memory) -> None:
    answer = recall(garden, "which port does the relay use")

    assert set(answer.terms) == {"port", "relay"}  # the words that the memory holds
    assert set(answer.hits[0].parts) == {
        "words_near",
        "words_source",
        "meaning",
        "meaning_near",
        "tokens",
        "tokens_near",
        "tokens_source",
        "each_word",
    }


def test_the_same_question_gets_the_same_answer(garden: Memory) -> None:
    assert answers(garden) == answers(garden)


# -- precedence -------------------------------------------------------------------------------------------------


def test_a_topic_precedes_a_session_that_says_the_same_and_is_marked(garden: Memory) -> None:
    answer = recall(garden, "the relay of 10.0.0.7 wants STARTTLS on which port")

    topic, session = titled(answer, "mail"), titled(answer, "2026-01-20-relay-port-aaaaaaaa")
    assert answer.hits.index(topic) < answer.hits.index(session)
    assert (topic.decides, topic.replaced_by) == (True, None)
    assert (session.decides, session.replaced_by) == (False, "topics/mail.md")


def test_a_session_that_nothing_contradicts_is_not_marked(garden: Memory) -> None:
    hit = titled(recall(garden, "why was the dashboard slow"), "2026-02-20-slow-dashboard-bbbbbbbb")

    assert (hit.decides, hit.replaced_by) == (False, None)


OLD_ID = "0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d"


@pytest.mark.parametrize(
    "target", ["topics/old.md", "./topics/old.md", "topics/Old", "old", OLD_ID, OLD_ID.upper(), f"urn:mif:{OLD_ID}"]
)
def test_a_source_that_an_approved_one_supersedes_says_so(memory: Memory, target: str) -> None:
    write_topic(memory, "old", "The gateway answers on port 80.", id=OLD_ID)
    write_topic(
        memory,
        "new",
        "The gateway answers on port 8080.",
        relationships=[{"type": "supersedes", "target": target}],
    )
    memory.reindex()
    assert "supersedes-unknown" not in {problem.rule for problem in validate_root(memory.root, memory.settings)}

    answer = search_exact(memory, "gateway")

    assert {hit.path: hit.replaced_by for hit in answer.hits} == {
        "topics/old.md": "topics/new.md",
        "topics/new.md": None,
    }


def test_a_session_cannot_declare_a_topic_superseded(memory: Memory) -> None:
    write_topic(memory, "mail", "The gateway answers on port 8080.")
    target = [{"type": "supersedes", "target": "topics/mail.md"}]
    write_session(memory, "2026-03-01-x-aaaaaaaa", "The gateway is gone.", relationships=target)
    memory.reindex()

    answer = search_exact(memory, "gateway")

    assert titled(answer, "mail").replaced_by is None


# -- derived means derived --------------------------------------------------------------------------------------


def test_after_deleting_what_is_derived_a_rebuild_gives_the_same_answers(
    garden: Memory, tmp_path: Path, make_engine: MakeEngine
) -> None:
    root = tmp_path / "memory"
    shutil.copytree(folder_of(garden), root, ignore=shutil.ignore_patterns(".oneiros"))

    with open_memory(root, make_engine) as rebuilt:
        rebuilt.reindex()

        assert alike(answers(rebuilt), answers(garden))


def test_a_rebuild_in_place_gives_the_same_answers(tmp_path: Path, make_engine: MakeEngine) -> None:
    write_garden(new_root(tmp_path / "memory"))
    with open_memory(tmp_path / "memory", make_engine) as memory:
        memory.reindex()
        assert memory.indices.own()
        before = answers(memory)

        memory.reindex(rebuild=True)

        assert alike(answers(memory), before)


def test_the_owner_of_a_root_and_a_reader_give_the_same_answers(garden: Memory, make_engine: MakeEngine) -> None:
    with open_memory(folder_of(garden), make_engine) as reader:
        assert reader.indices.nearest_rows([Layer.TOPIC], None, garden.embed_query("relay").vector, 3) is None
        assert alike(answers(reader), answers(garden))


def test_a_reader_sees_what_the_owner_rebuilt(memory: Memory, make_engine: MakeEngine) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.")
    memory.reindex()
    with open_memory(memory, make_engine) as reader:
        assert names(search_exact(reader, "relay")) == ["mail"]
        write_topic(memory, "web", "The server listens on port 8080.")

        memory.reindex(rebuild=True)

        assert wait_for(lambda: names(search_exact(reader, "8080")) == ["web"])
        assert wait_for(lambda: names(recall(reader, "server 8080"))[0] == "web")


def test_a_reader_with_an_old_view_answers_while_the_owner_adds_a_source(
    memory: Memory, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.")
    memory.reindex()
    with open_memory(memory, make_engine) as reader:
        search_exact(reader, "relay")
        monkeypatch.setattr(indices_module, "SNAPSHOT_SHARE", 1e-12)  # the reader keeps its view for ever
        write_topic(memory, "web", "The server listens on port 8080.")
        write_topic(memory, "mail", "The relay listens on port 25.")
        memory.reindex()

        for question in ("listens", "listens layer:topic"):
            for search in searches_of(reader):
                assert search(question)


def test_threads_may_ask_while_the_memory_is_indexed(tmp_path: Path, make_engine: MakeEngine) -> None:
    write_garden(new_root(tmp_path / "memory"))
    with open_memory(tmp_path / "memory", make_engine) as memory:
        memory.reindex()
        errors: list[BaseException] = []

        def ask() -> None:
            try:
                for _ in range(12):
                    assert search_exact(memory, "coffee").hits
                    assert recall(memory, "coffee machine").hits
                    assert search_memory(memory, "coffee machine").hits
            except BaseException as error:  # noqa: BLE001  told by the test's own thread
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(8):
            write_topic(memory, f"new{number}", f"Item {number} is stored in rack {number}.")
            memory.reindex()
        for thread in threads:
            thread.join()

    assert errors == []


def test_the_vectors_of_a_memory_are_those_of_its_passages(garden: Memory) -> None:
    row = garden.indices.ledger.connection.execute(
        "select context, passage from chunk where passage like '%2525%'"
    ).fetchone()
    text = build_embedded_text(*row)

    kept = garden.indices.cache.find([text_hash(text)])[text_hash(text)]

    made = garden.engine().embed([text])[0].vector
    assert np.allclose(garden.indices.cache.vectors()[kept.vector], made, atol=1e-6)


def test_recall_answers_an_identifier_first_by_the_passage_that_holds_it_letter_by_letter(memory: Memory) -> None:
    write_topic(memory, "raw", "Raw output, no colours, no raw escapes: nothing else is written.")
    write_topic(memory, "flags", "Start it with --no-raw where the output goes to a file.")
    memory.reindex()

    answer = recall(memory, "--no-raw")

    assert names(answer)[0] == "flags"
    assert answer.hits[0].why[0].arm == "literal"


def test_a_question_that_sees_the_indices_before_a_change_has_a_score_for_every_hit(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topic(memory, "first", "The gasket leaks.")
    memory.reindex()
    before = memory.indices.snapshot()
    for number in range(5):
        write_topic(memory, f"more{number}", "Another gasket leaks.")
    memory.reindex()
    monkeypatch.setattr(memory.indices, "snapshot", lambda: before)

    hits = recall(memory, "which gasket leaks").hits

    assert hits and all(math.isfinite(hit.score) for hit in hits)


def test_a_phrase_in_another_case_stands_before_its_words_apart(tmp_path: Path, make_engine: MakeEngine) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "apart", "# Apart\n\nThe port of the relay; a relay has a port.\n")
    write_topic(root, "phrase", "# Phrase\n\nMind the Relay Port.\n")
    with open_memory(tmp_path / "memory", make_engine) as memory:
        memory.reindex()

        assert names(search_exact(memory, "relay port")) == ["phrase", "apart"]
