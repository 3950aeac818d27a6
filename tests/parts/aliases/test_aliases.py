"""The addresses of earlier systems, asked as their scripts ask them, over HTTP of a daemon."""

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import requests

from oneiros.environment import Environment
from oneiros.light.endpoint import daemon_state, read_token
from oneiros.served import ServedMemory
from parts.aliases.table import list_aliases
from parts.chat.chatting import open_conversations
from parts.chat.conversations import ChatConversation, ChatTurn
from tests.parts.page.browser import PageSecret, link, secret_of
from tests.parts.page.filled import SESSION, fill
from tests.system.house import House, wait_until

pytestmark = pytest.mark.system

Ask = Callable[..., requests.Response]


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """A served house with topics, a session and changes that wait."""
    with contextlib.closing(House()) as opened:
        fill(opened)
        opened.warm_up()
        yield opened


@pytest.fixture(scope="module")
def secret(house: House) -> PageSecret:
    return secret_of(house, link(house))


@pytest.fixture
def ask(house: House) -> Ask:
    """Asks with the token."""
    base = f"http://127.0.0.1:{daemon_state(house.state)['port']}"
    token = {"Authorization": f"Bearer {read_token(house.state)}"}

    def request(method: str, path: str, headers: dict[str, str] | None = None, **more: Any) -> requests.Response:
        sent = token | (headers or {})
        return requests.request(method, base + path, headers=sent, timeout=60, allow_redirects=False, **more)

    return request


@pytest.fixture
def talk(house: House) -> ChatConversation:
    """A conversation that lies there."""
    kept = open_conversations(Environment(house.variables, house.folder, house.folder), house.memory_root)
    name = kept.begin("Which port has the relay?")
    at = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC).isoformat()
    kept.add(name, ChatTurn(at, "Which port has the relay?", "Port 2525."))
    return kept.load(name)


def test_every_alias_is_described_and_wants_the_token(ask: Ask) -> None:
    described = ask("GET", "/openapi.json").json()["paths"]
    rows = list_aliases(cast("ServedMemory", None))

    assert len(rows) == 25
    for row in rows:
        path = row.path.replace("{mid:path}", "{mid}")
        assert described[path][row.method.lower()]["description"]
        assert ask(row.method, path.replace("{", "").replace("}", ""), {"Authorization": ""}).status_code == 401


def test_an_alias_of_a_route_answers_as_the_route_does(ask: Ask) -> None:
    wanted = {"name": SESSION, "depth": "line"}

    assert ask("GET", "/api/embedding/config").json() == ask("GET", "/api/indexing").json()
    assert ask("GET", "/api/config/trainers").json() == ask("GET", "/api/anamnesis-gpt/status").json()
    assert ask("GET", "/drill", params=wanted).json() == ask("GET", "/api/session", params=wanted).json()
    answers = [
        ask("POST", path, json={"messages": [{"role": "user", "content": "Which port?"}]})
        for path in ("/api/generate", "/api/anamnesis-gpt/generate")
    ]
    assert [answer.status_code for answer in answers] == [503, 503] and answers[0].json() == answers[1].json()


def test_the_share_of_the_cores_is_set_and_an_unknown_model_is_refused(ask: Ask) -> None:
    changed = ask("PUT", "/api/embedding/cpu", json={"share": 0.25})
    refused = ask("PUT", "/api/embedding/model", json={"name": "no-such-model"})

    assert changed.json()["share"] == 0.25 == ask("GET", "/api/embedding/config").json()["share"]
    assert refused.status_code in (400, 503) and "no-such-model" in refused.json()["error"]["what"]


def test_all_is_embedded_anew_rests_and_goes_on(ask: Ask) -> None:
    runs = ask("GET", "/api/episodes/reembed/status").json()["runs"]

    rests = ask("POST", "/api/episodes/reembed/pause").json()["paused"]
    goes_on = not ask("POST", "/api/episodes/reembed/resume").json()["paused"]
    started = ask("POST", "/api/episodes/reembed")

    assert rests and goes_on and started.status_code == 200
    wait_until(lambda: ask("GET", "/api/episodes/reembed/status").json()["runs"] > runs)
    assert ask("GET", "/api/episodes/reembed/status").json()["last_report"]["removed"] == 0


def test_conversations_of_the_chat_are_listed_and_loaded_by_their_id(ask: Ask, talk: ChatConversation) -> None:
    listed = ask("GET", "/api/chat/sessions").json()["sessions"]
    loaded = ask("GET", f"/api/chat/sessions/{talk.id}").json()

    assert talk.id in [one["session_id"] for one in listed]
    assert [(one["role"], one["content"]) for one in loaded["messages"]] == [
        ("user", "Which port has the relay?"),
        ("assistant", "Port 2525."),
    ]
    assert loaded["message_count"] == 2


def test_a_conversation_is_renamed_and_deleted_by_a_page_that_a_terminal_opened(
    ask: Ask, talk: ChatConversation, secret: PageSecret
) -> None:
    path, page = f"/api/chat/sessions/{talk.id}", {"Oneiros-Page": secret.text}

    renamed = ask("PATCH", path, page, json={"title": "Relay"}).json()
    deleted = ask("DELETE", path, page)

    assert (renamed["title"], renamed["previous_titles"]) == ("Relay", ["Which port has the relay?"])
    assert deleted.status_code == 200 and ask("GET", path).status_code == 404


@pytest.mark.parametrize("header", ["", "guessed"])
def test_the_token_alone_neither_renames_nor_deletes_a_conversation(
    ask: Ask, talk: ChatConversation, header: str
) -> None:
    path, page = f"/api/chat/sessions/{talk.id}", {"Oneiros-Page": header}

    renamed, deleted = ask("PUT", path, page, json={"title": "Mine"}), ask("DELETE", path, page)

    assert (renamed.status_code, deleted.status_code) == (403, 403)
    assert f"oneiros chat --rename {talk.id}" in renamed.json()["error"]["remedy"]
    assert f"oneiros chat --delete {talk.id}" in deleted.json()["error"]["remedy"]
    assert ask("GET", path).json()["title"] == "Which port has the relay?"


def test_what_is_crawled_is_read_and_changed_by_the_person_alone(ask: Ask) -> None:
    read = ask("GET", "/api/crawler/config/machine-roots").json()
    refused = ask("PUT", "/api/crawler/config/sources", json={"roots": ["~/docs"]})

    assert (read["setting"], read["value"]) == ("crawl_roots", [])
    assert refused.status_code == 403 and "oneiros config references" in refused.json()["error"]["remedy"]
    assert ask("GET", "/api/crawler/config/signing_key").status_code == 404


def test_a_tree_leads_from_a_session_to_turns_that_can_be_read(ask: Ask) -> None:
    listed = ask("GET", "/conversations", params={"per_page": 200}).json()["conversations"]
    [conversation] = [one for one in listed if one["conversation_id"] == SESSION]
    tree = ask("GET", "/tree", params={"name": conversation["conversation_id"]}).json()
    [goal] = [branch for branch in tree["children"] if branch["text"] == "Goal"]
    leaf = goal["children"][0]["children"][0]["id"]

    assert ask("GET", f"/conversations/{SESSION}").json()["title"] == conversation["title"] == tree["text"]
    assert leaf == "5f0c2a9e:1"
    read = ask("GET", f"/memory/{leaf}").json()
    assert read["id"] == leaf and "Mails leave late since Monday" in read["text"]


def test_an_episode_keeps_the_id_it_was_given_and_tells_how_often_it_was_found(ask: Ask) -> None:
    note, first_day = {"summary": "The quokka kiosk closes at seven.", "episode_id": "zoo-17"}, today()
    made = ask("POST", "/api/episodes", json=note).json()

    def find() -> list[dict[str, Any]]:
        return list(ask("POST", "/api/episodes/search", json={"query": "quokka kiosk"}).json()["hits"])

    wait_until(lambda: find() != [])
    [hit] = find()
    answers = [ask("GET", f"/{path}/zoo-17").json() for path in ("api/episodes", "memory")]

    assert (made["episode_id"], made["retrieval_count"], made["last_retrieved"]) == ("zoo-17", 0, None)
    assert answers[0]["episode_id"] == "zoo-17" and answers[0]["retrieval_count"] == hit["retrieval_count"] == 1
    assert answers[0]["last_retrieved"] == hit["last_retrieved"] in {first_day, today()}
    assert "closes at seven" in answers[1]["text"] and answers[1]["retrieval_count"] == 2  # that it was read counts too


def today() -> str:
    return dt.datetime.now().astimezone().date().isoformat()


def test_a_run_of_decay_is_dry(ask: Ask, house: House) -> None:
    before = sorted(str(file) for file in house.root.rglob("*.md"))
    answer = ask("POST", "/decay/run", params={"threshold": 1.0}).json()

    assert answer["steps"] and answer["done"] is False and answer["command"] == "oneiros gc --below 1.0"
    assert sorted(str(file) for file in house.root.rglob("*.md")) == before
    assert not house.memory_root.marks.exists()


def test_the_address_of_the_dashboard_leads_to_today(ask: Ask) -> None:
    moved = ask("GET", "/dashboard", {"Authorization": ""})

    assert moved.status_code == 308 and moved.headers["Location"] == "/today"
    assert ask("GET", "/chat", {"Authorization": ""}).status_code == 200
