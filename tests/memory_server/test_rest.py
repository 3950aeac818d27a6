"""The REST face in the test's own process: the same question from JSON, from data, and from the query syntax."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal
from unicodedata import normalize

import anyio
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memory_server.errors import NeedsRepair
from memory_server.faces.indexing import FRESH_SECONDS
from memory_server.faces.rest import QuestionBody, create_api, make_fresh
from memory_server.fields import FIELDS, FilterKind
from memory_server.index.build import UNFINISHED
from memory_server.memory import Memory
from memory_server.search.question import Search, build_filter, parse_logged, parse_query, question_json
from oneiros.daemon.index_runs import IndexRuns
from tests.memories import write_topic

NAMES = st.lists(st.text("ab\" :\\-\n'é", min_size=1, max_size=8).filter(str.strip), max_size=2)


@pytest.fixture
def api(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The routes of a memory that nobody indexes, so that no answer waits for a run."""
    monkeypatch.setattr("memory_server.faces.rest.FRESH_SECONDS", 0.0)
    monkeypatch.setattr("oneiros.daemon.index_runs.FRESH_SECONDS", 0.0)
    with closing(IndexRuns(memory)) as indexer, client_of(memory, indexer) as client:
        yield client


def client_of(memory: Memory, indexer: IndexRuns) -> TestClient:
    return TestClient(create_api(memory, indexer, "1.0", on_stop=lambda: None, on_restart=lambda: None))


def paths(answer: dict[str, Any]) -> list[str]:
    return sorted(hit["path"] for hit in answer["hits"])


@given(
    st.fixed_dictionaries(
        {field.name: NAMES for field in FIELDS if not field.is_day and field.kind is not FilterKind.LAYER}
    ),
    st.lists(st.sampled_from(["topic", "session", "raw"]), max_size=2),
    st.sampled_from(["", "relay project:b", 'relay "a phrase', "after:2026 relay"]),
)
def test_a_question_is_the_same_as_json_and_as_it_is_logged(
    fields: dict[str, list[str]], layers: list[str], text: str
) -> None:
    beside = build_filter({**fields, "layer": layers, "before": ["2027"]})
    question = parse_query(f"{text} x", Search.EXACT, beside=beside, types=["fact"], limit=3, include_raw=True)

    assert QuestionBody.model_validate(question_json(question)).question(Search.EXACT) == question
    logged = parse_query(question.full_query)
    assert (logged.text, logged.filter) == (question.text, question.filter)
    logged = parse_logged(question.logged_query, Search.EXACT)
    assert (logged.text, logged.filter, logged.types) == (question.text, question.filter, question.types)


@pytest.mark.parametrize("route", ["recall", "search", "exact"])
def test_projects_are_asked_for_one_or_several_by_body_and_by_address(
    api: TestClient, memory: Memory, route: str
) -> None:
    for name, project in (("mail", "post"), ("shop", 'a"b'), ("web", "a")):
        write_topic(memory, name, f"The relay of {name} listens on a port.", project=project)
    memory.reindex()

    def asked(*projects: str) -> list[str]:
        body = {"query": "relay port", "project": list(projects)}
        found = paths(api.post(f"/api/{route}", json=body).json())
        assert paths(api.get(f"/api/{route}", params=body).json()) == found
        return found

    assert asked('a"b') == ["topics/shop.md"]
    assert asked("POST", "a") == ["topics/mail.md", "topics/web.md"]
    assert paths(api.post(f"/api/{route}", json={"query": "relay port", "project": "a"}).json()) == ["topics/web.md"]


def test_every_filter_has_a_key_and_a_key_that_nobody_knows_is_an_error(api: TestClient, memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens.", type="semantic", tags=["smtp"], modified="2026-02-10")
    memory.reindex()

    for key, right, wrong in (
        ("layer", "topic", "session"),
        ("topic", "mail", "post"),
        ("kind", "semantic", "episodic"),
        ("tag", "smtp", "dns"),
        ("after", "2026-02", "2026-03"),
        ("before", "2026-03", "2026-02"),
    ):
        assert paths(api.post("/api/exact", json={"query": "relay", key: right}).json()) == ["topics/mail.md"], key
        assert paths(api.post("/api/exact", json={"query": "relay", key: wrong}).json()) == [], key
    assert api.post("/api/exact", json={"query": "relay", "layer": "attic"}).status_code == 400
    assert api.post("/api/exact", json={"query": "relay", "type": "opinion"}).status_code == 400
    for answer in (api.post("/api/exact", json={"query": "x", "projct": "a"}), api.get("/api/exact?query=x&projct=a")):
        assert answer.status_code == 422
        assert "projct" in answer.json()["error"]["what"]


def test_nobody_says_how_far_the_indices_are_who_has_not_looked(api: TestClient, memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on a port.")
    memory.reindex()
    write_topic(memory, "shop", "The shop opens at nine.")

    assert api.post("/api/exact", json={"query": "relay", "fresh": False}).json()["behind"] is None


def test_health_says_what_no_search_can_find(api: TestClient, memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on a port.")
    (memory.root.topics / "old.md").write_bytes(b"\xff")
    memory.reindex()

    health = api.get("/health")

    assert health.status_code == 200
    assert (health.json()["status"], health.json()["problem"]) == ("incomplete", "")
    assert health.json()["lacks"] == "1 file cannot be read: `oneiros validate`."


def test_a_question_waits_for_a_run_that_is_under_way(memory: Memory) -> None:
    write_topic(memory.root, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.own()
    memory.reindex()
    memory.indices.ledger.set_note(UNFINISHED, "a run")  # as between ledger and vectors
    tickets = []

    async def waited(ticket: int, seconds: float) -> bool:
        tickets.append((ticket, seconds))
        return True

    with closing(IndexRuns(memory)) as indexer:
        behind = anyio.run(make_fresh, memory, indexer, waited)

    assert behind == 0  # of files; the run's passages are not
    assert tickets == [(2, FRESH_SECONDS)]


def test_an_error_is_described_without_a_validator_for_each_of_its_statuses(api: TestClient) -> None:
    described = api.get("/openapi.json").json()["paths"]["/api/status"]["get"]["responses"]["503"]
    assert isinstance(api.app, FastAPI)
    routes = [route for route in api.app.routes if isinstance(route, APIRoute)]

    assert described["content"] == {"application/json": {"schema": {"type": "object", "additionalProperties": True}}}
    assert routes and not any(route.response_fields for route in routes)


def body_of(api: TestClient, model: str) -> dict[str, Any]:
    """A body in which every key that need not be there is null."""
    schema = api.get("/openapi.json").json()["components"]["schemas"][model]
    wanted = {"query": "relay", "text": "The relay is blue.", "name": "all-MiniLM-L6-v2"}
    return {key: wanted[key] if key in schema.get("required", ()) else None for key in schema["properties"]}


@pytest.mark.parametrize(
    ("method", "address", "model"),
    [
        *(("POST", f"/api/{search}", "QuestionBody") for search in ("recall", "search", "exact")),
        ("POST", "/api/episodes", "NewEpisode"),
        ("POST", "/api/episodes/search", "EpisodeQuestion"),
        ("POST", "/api/reindex", "Reindex"),
        ("PUT", "/api/embedding", "Workers"),
    ],
)
def test_null_is_the_default_of_its_key(api: TestClient, method: str, address: str, model: str) -> None:
    answer = api.request(method, address, json=body_of(api, model))

    assert answer.status_code in (200, 201), answer.json()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"query": "x", "project": 5}, "body.project: "),
        ({"query": "x", "project": ["a", {}]}, "body.project.1: "),
        ({"query": "x", "after": {}}, "body.after: "),
        ({"query": "x", "limit": "many"}, "body.limit: "),
        ({"query": None}, "body.query: "),
        ({"limit": 3}, "body.query: "),
        ([], "body: "),
    ],
)
def test_an_error_names_the_field_as_it_was_given(api: TestClient, body: object, words: str) -> None:
    answer = api.post("/api/recall", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["what"].startswith(words)


def test_a_note_is_found_among_notes_by_the_next_request_and_a_deleted_one_is_not(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("memory_server.faces.rest", "oneiros.daemon.index_runs"):
        monkeypatch.setattr(f"{module}.FRESH_SECONDS", 120.0)
    memory.own()
    with closing(IndexRuns(memory)) as indexer, client_of(memory, indexer) as api:
        indexer.worker.start()
        assert indexer.wait(indexer.poke(), 60)
        posted = api.post("/api/episodes", json={"text": "The heron stands at the lock."}).json()
        found = [api.post("/api/episodes/search", json={"query": "heron"}), api.get("/api/episodes/search?query=heron")]
        assert [len(told.json()["hits"]) for told in found] == [1, 1]

        api.delete(f"/api/episodes/{posted['id']}")
        assert api.get("/api/episodes/search?query=heron").json()["hits"] == []


def test_a_share_of_the_cores_says_how_long_it_holds(api: TestClient) -> None:
    assert "the daemon ends" in api.put("/api/embedding", json={"share": 0.25}).json()["until"]


def test_what_is_kept_of_the_workers_is_what_was_named_and_written_first(memory: Memory) -> None:
    kept = dict[str, object]()
    memory.person = replace(memory.person, embedding_cores=(0,))
    with closing(IndexRuns(memory)) as indexer:
        served = create_api(memory, indexer, "1.0", on_stop=print, on_restart=print, keep_setting=kept.__setitem__)
        api = TestClient(served, raise_server_exceptions=False)

        refused = api.put("/api/embedding", json={"share": 0.25, "keep": True})
        only_kept = api.put("/api/embedding", json={"keep": True}).json()
        rests = api.put("/api/embedding", json={"paused": False, "keep": True}).json()

        assert (refused.status_code, kept, memory.person.embedding_cores) == (400, {}, (0,))
        assert "the daemon ends" in only_kept["until"] and "the daemon ends" in rests["until"]

        answer = api.put("/api/embedding", json={"share": 0.25, "cores": [], "keep": True}).json()

        assert (kept, answer["until"]) == (
            {"embedding_share": 0.25, "embedding_cores": ()},
            "you change your settings",
        )

    def refuse(key: str, value: object) -> None:
        raise NeedsRepair(f"{key} cannot be {value}")

    with closing(IndexRuns(memory)) as indexer:
        served = create_api(memory, indexer, "1.0", on_stop=print, on_restart=print, keep_setting=refuse)

        assert TestClient(served).put("/api/embedding", json={"share": 0.75, "keep": True}).status_code >= 400
        assert memory.person.embedding_share == 0.25


@pytest.mark.parametrize("typed", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_topic_and_project_are_found_in_both_spellings_of_their_accents(
    api: TestClient, memory: Memory, written: Literal["NFC", "NFD"], typed: Literal["NFC", "NFD"]
) -> None:
    write_topic(memory, normalize(written, "müller"), "The keeper is tall.", project=normalize(written, "größe"))
    memory.reindex()

    for key, name in (("topic", "müller"), ("project", "größe")):
        answer = api.post("/api/exact", json={"query": "keeper", key: normalize(typed, name)}).json()
        assert len(answer["hits"]) == 1 and "There is no" not in str(answer), answer
    assert "tall" in api.get("/api/read", params={"name": normalize(typed, "müller")}).json()["text"]
