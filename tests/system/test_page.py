"""Deciding over HTTP: the bearer token reads and proposes only; a page session comes from a person's terminal."""

import json
import re
import subprocess
from typing import Any

import pytest

from dream.hunk import State
from memory_server.root import MemoryRoot
from oneiros.runtime import daemon_state, read_token
from tests.dream.builders import archive_said, decisions_on, proposed, replacing
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House
from tests.system.test_http import ask


@pytest.fixture
def hunk(house: House) -> str:
    """A hunk that waits for a decision in a served memory; its id."""
    root = MemoryRoot(house.root)
    archive_said(root, "The relay listens on port 2526.")
    [made] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))
    house.serve()
    return made.id


def state_of(house: House, hunk: str) -> State:
    return decisions_on(MemoryRoot(house.root)).store.hunk(hunk).state


def address(house: House) -> str:
    return f"http://127.0.0.1:{daemon_state(str(house.root))['port']}"


def curl(house: House, path: str, *arguments: str, body: object = None) -> tuple[int, Any]:
    """Status and answer of a request made by curl, with no token unless it is among the arguments."""
    sent = ["-d", json.dumps(body)] if body is not None else []
    command = ["curl", "-s", "-w", "\n%{http_code}", "-H", "Content-Type: application/json", *sent, *arguments]
    said = subprocess.run([*command, address(house) + path], capture_output=True, text=True, timeout=60, check=True)
    text, _, status = said.stdout.rpartition("\n")
    return int(status), json.loads(text) if text.startswith("{") else text


def bearer(house: House) -> tuple[str, str]:
    return "-H", f"Authorization: Bearer {read_token(str(house.root))}"


@pytest.mark.parametrize("route", ["accept", "reject", "revert"])
def test_the_bearer_token_reads_but_does_not_decide(house: House, hunk: str, route: str) -> None:
    status, found = curl(house, "/api/hunks", *bearer(house))
    assert status == 200 and [one["id"] for one in found["hunks"]] == [hunk]

    status, answer = curl(house, f"/api/hunks/{hunk}/{route}", *bearer(house), body={})

    assert status == 403 and "oneiros review --page" in answer["error"]["what"]
    assert state_of(house, hunk) is State.PENDING


@pytest.mark.parametrize("cookie", ["oneiros_page=guessed", "oneiros_page=", "oneiros_page=a; oneiros_page=b"])
def test_a_made_up_page_session_opens_nothing(house: House, hunk: str, cookie: str) -> None:
    assert curl(house, "/api/hunks", "-b", cookie)[0] == 401
    origin = f"Origin: {address(house)}"

    status, _ = curl(house, f"/api/hunks/{hunk}/accept", *bearer(house), "-b", cookie, "-H", origin, body={})

    assert status == 403 and state_of(house, hunk) is State.PENDING


def test_a_code_from_a_terminal_opens_one_session_that_decides(house: House, hunk: str) -> None:
    seen = at_terminal(house, [WORD], "review", "--page")
    found = re.search(r"/page#([0-9a-f]+)", seen.screen)
    assert seen.code == 0 and found, seen
    jar, origin = str(house.folder / "cookies"), f"Origin: {address(house)}"

    assert curl(house, "/page/open", "-c", jar, body={"code": found[1]})[0] == 200
    assert curl(house, "/page/open", body={"code": found[1]})[0] == 400  # it works once
    assert curl(house, "/api/hunks", "-b", jar)[0] == 200
    assert curl(house, f"/api/hunks/{hunk}/accept", "-b", jar, body={})[0] == 401  # no page of ours sends no origin
    status, answer = curl(house, f"/api/hunks/{hunk}/accept", "-b", jar, "-H", origin, body={})

    assert status == 200 and answer["hunk"]["state"] == "accepted"
    assert curl(house, "/api/exact?query=2526", "-b", jar)[1]["hits"][0]["path"] == "topics/mail.md"


def test_the_page_itself_is_served_without_a_session(house: House, hunk: str) -> None:
    status, text = curl(house, "/page")

    assert status == 200 and "<main>" in text and hunk not in text


def test_the_start_of_a_session_names_a_change_that_nobody_answered_for(house: House, hunk: str) -> None:
    told = json.dumps({"event": "SessionStart", "input": {}}).encode()
    before = ask(house, "POST", "/api/hook", told)[1]["output"]
    house.write("mail", "# Mail\n\nThe relay was sold.\n")

    first, second = (ask(house, "POST", "/api/hook", told)[1]["output"] for _ in range(2))

    context = json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert "(changed)" not in before and "Sessions wait to be read" in json.loads(before)["systemMessage"]
    assert "Sessions wait" not in context
    assert "- topics/mail.md (changed)" in context.splitlines()
    assert json.loads(second)["hookSpecificOutput"]["additionalContext"] == context
    assert "topics/mail.md (changed)" in json.loads(first)["systemMessage"]
