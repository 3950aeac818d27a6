"""The HTTP side: what it answers, and who gets no further than the door."""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from memory_server.errors import ContentError, UsageError
from memory_server.faces.indexing import FRESH_SECONDS
from oneiros.light.endpoint import daemon_state, read_token
from tests.system.house import House, wait_until


def ask(
    house: House, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """One request over TCP, with the token unless `headers` say otherwise."""
    port = daemon_state(house.state)["port"]
    assert isinstance(port, int)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        sent = {"Authorization": f"Bearer {read_token(house.state)}", "Content-Type": "application/json"}
        sent |= dict(headers or {})
        connection.request(method, path, body, {name: value for name, value in sent.items() if value})
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    answer = json.loads(text) if text else {}
    assert isinstance(answer, dict)
    return response.status, answer


def of_the_next_question(house: House, began: float, holds: Callable[[], bool]) -> bool:
    """Whether something holds for the very next question behind a write, which began at a moment. Where it does not,
    and the question has waited for all of the time that is promised, the machine is late: then once all is indexed.
    """
    if holds():
        return True
    if time.monotonic() - began < FRESH_SECONDS:
        return False
    assert house.client.ask("POST", "/api/reindex", {"wait_seconds": 60})["done"]
    return holds()


def test_nobody_passes_without_the_token_from_another_host_or_origin(served: House) -> None:
    port = daemon_state(served.state)["port"]
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {read_token(served.state)}"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Host": f"evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": f"localhost:{port}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": f"http://127.0.0.1:{port}"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),  # another port of this machine
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ]
    for path in ("/api/status", "/health", "/openapi.json"):
        for headers, status in cases:
            assert ask(served, "GET", path, headers=headers)[0] == status, (path, headers)
    for method, path in (("GET", "/page"), ("POST", "/page/open")):  # which ask for no token
        assert ask(served, method, path, b"{}", {"Sec-Fetch-Site": "same-site"})[0] == 403
    for path in ("/mcp", "/nothing/here", "/api/stop"):
        assert ask(served, "POST", path, b"{}", {"Authorization": "Bearer x"})[0] == 401


def test_a_body_that_is_too_long_or_malformed_is_a_clear_error(served: House) -> None:
    assert ask(served, "POST", "/api/recall", b"x" * (2 << 20))[0] == 413
    assert ask(served, "POST", "/api/recall", b"{nonsense")[0] == 422
    status, answer = ask(served, "POST", "/api/recall", json.dumps({"query": "x", "bogus": 1}).encode())

    assert status == 422 and "bogus" in answer["error"]["what"]


def test_the_token_is_readable_for_its_owner_alone(served: House) -> None:
    assert (served.state / "token").stat().st_mode & 0o777 == 0o600
    folder = served.folder / "run" / "oneiros"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_health_runs_a_real_search(served: House) -> None:
    assert ask(served, "GET", "/health")[1]["status"] == "ok"


def test_an_episode_is_masked_found_listed_read_and_deleted(served: House) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    note = {"text": f"The deploy key is {secret} for the Kranich server.", "tags": ["ops"]}

    began = time.monotonic()
    made = ask(served, "POST", "/api/episodes", json.dumps(note).encode())[1]

    def layers(path: str) -> list[str]:
        return [hit["layer"] for hit in ask(served, "GET", path)[1]["hits"]]

    assert secret not in (served.root / made["path"]).read_text(encoding="utf-8")
    search = "/api/episodes/search?query=Kranich"
    assert of_the_next_question(served, began, lambda: layers(search)[:1] == ["session"])
    assert ask(served, "GET", "/api/episodes?page=1&per_page=5")[1]["total"] == 1
    assert "Kranich" in ask(served, "GET", f"/api/episodes/{made['id']}")[1]["text"]
    began = time.monotonic()
    assert ask(served, "DELETE", f"/api/episodes/{made['id']}")[0] == 200
    assert ask(served, "GET", f"/api/episodes/{made['id']}")[0] == 404

    def is_gone() -> bool:
        answer = ask(served, "GET", "/api/exact?query=Kranich")[1]
        return (answer["hits"], answer["behind"]) == ([], 0)

    assert of_the_next_question(served, began, is_gone)


def test_what_one_door_takes_in_the_next_question_finds_at_any_other(served: House) -> None:
    client = served.relay().initialize()
    doors: dict[str, Callable[[str], str]] = {
        "MCP": lambda word: client.text("search_exact", query=word),
        "REST": lambda word: json.dumps(ask(served, "GET", f"/api/exact?query={word}&fresh=false")[1]),
        "the command line": lambda word: served.command("exact", word, check=False).stdout,
    }

    def is_found_at(door: str, word: str, path: str) -> bool:
        return path in doors[door](word)

    for door, word in zip(doors, ("Quagga", "Okapi", "Tapir"), strict=True):
        began, text = time.monotonic(), f"The {word} is an animal."
        made = ask(served, "POST", "/api/episodes", json.dumps({"text": text}).encode())[1]
        assert of_the_next_question(served, began, partial(is_found_at, door, word, made["path"])), door


def test_the_first_seeds_notes_are_taken_as_they_were_sent(served: House) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    note = {"episode_id": "ep_1", "instance": "office", "project": "birds", "tags": ["heron"]}
    note |= {"summary": "The heron eats at the pond.", "raw_exchange": f"Why? {secret}"}
    sent = json.dumps(note).encode()

    made, again = ask(served, "POST", "/api/episodes", sent), ask(served, "POST", "/api/episodes", sent)
    other = ask(served, "POST", "/api/episodes", json.dumps(note | {"summary": "It flew."}).encode())

    assert (made[0], again[1]["id"]) == (201, made[1]["id"])
    assert other[0] == 409 and "ep_1" in other[1]["error"]["what"] and other[1]["error"]["remedy"]
    assert ask(served, "GET", "/api/episodes/ep_1")[1]["raw_exchange"] == ""
    raw = ask(served, "GET", f"/api/episodes/{made[1]['id']}?depth=raw")[1]["raw_exchange"]
    assert raw.startswith("Why? [redacted:")
    payload = {"query_text": "heron", "top_k": 3, "project_filter": "birds", "instance_filter": "office"}

    def found(**more: object) -> list[str]:
        answer = ask(served, "POST", "/api/episodes/search", json.dumps(payload | more).encode())[1]
        return [hit["path"] for hit in answer["hits"]]

    wait_until(lambda: found() == [made[1]["path"]])
    assert (found(tag_filter=["heron"]), found(tag_filter=["x"])) == ([made[1]["path"]], [])
    assert ask(served, "DELETE", "/api/episodes/ep_1")[0] == 200


def test_a_pair_by_hearsay_is_found_in_layer_3(served: House) -> None:
    pair = {"user": "Where does the bittern hide?", "assistant": "In the reeds.", "project": "birds"}

    status, taken = ask(served, "POST", "/api/ingest", json.dumps(pair).encode())

    assert (status, taken["entries"]) == (200, 2)
    search = "/api/exact?query=bittern&include_raw=true"
    wait_until(lambda: ask(served, "GET", search)[1]["hits"] != [])
    hit = ask(served, "GET", search)[1]["hits"][0]
    assert (hit["layer"], hit["path"]) == ("raw", f"sessions/archive/{taken['session_id']}")


def test_the_first_seeds_routes_say_what_is_read_and_that_a_person_changes_it(served: House) -> None:
    config = ask(served, "GET", "/api/crawler/config")[1]
    status, refused = ask(served, "PUT", "/api/crawler/config", b"{}")

    assert config["roots"][0]["folder"].endswith(".claude/projects") and config["settings"]["crawl_roots"] == []
    assert status == 403 and "oneiros config" in refused["error"]["remedy"] == config["change"]
    assert ask(served, "POST", "/api/jsonl/ingest")[0] == 202
    wait_until(lambda: ask(served, "GET", "/api/jsonl/status")[1]["running"] is False)
    payload = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
    status, nobody = ask(served, "POST", "/api/generate", payload)
    assert status == 503 and "no trainer answered" in nobody["error"]["what"]


def test_share_and_cores_change_while_the_daemon_runs(served: House) -> None:
    state = ask(served, "PUT", "/api/embedding", b'{"share": 1.0}')[1]
    assert state["share"] == 1.0

    served.settle(embedding_share=0.25)
    wait_until(lambda: bool(ask(served, "GET", "/api/indexing")[1]["share"] == 0.25))

    assert ask(served, "PUT", "/api/embedding", b'{"cores": [4000]}')[0] == 400


def test_mcp_is_served_over_http_too(served: House) -> None:
    line = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    line["params"] = {"name": "search_exact", "arguments": {"query": "2525"}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}

    status, answer = ask(served, "POST", "/mcp", json.dumps(line).encode(), headers)

    assert status == 200 and "2525" in answer["result"]["content"][0]["text"]


def test_sessions_and_the_handoff_are_read_as_the_tool_reads_them(served: House) -> None:
    assert ask(served, "GET", "/api/handoff") == (200, {"text": "No session has left a handoff yet."})

    status, missing = ask(served, "GET", "/api/session?name=00000000")
    assert (status, missing["error"]["kind"]) == (404, "ContentError")
    status, wrong = ask(served, "GET", "/api/session?name=00000000&depth=deep")
    assert (status, wrong["error"]["remedy"]) == (400, "Choose one of: line, digest, file, raw")


def test_errors_of_the_memory_reach_the_client_as_what_they_are(served: House) -> None:
    with pytest.raises(ContentError):
        served.client.ask("GET", "/api/read?name=nothing-like-it")
    with pytest.raises(UsageError):
        served.client.ask("POST", "/api/recall", {"query": "   "})


def test_the_log_of_queries_shows_what_another_search_would_have_found(served: House) -> None:
    served.client.ask("POST", "/api/exact", {"query": "grey feline sleeping"})
    served.client.ask("POST", "/api/exact", {"query": "oven"})

    rows = json.loads(served.command("queries", "--without-hits", "--json").stdout)["queries"]

    assert rows[0]["query"] == "grey feline sleeping"
    assert "oven" not in [row["query"] for row in rows]
    assert set(rows[0]["others"]) == {"recall", "search_memory"}
