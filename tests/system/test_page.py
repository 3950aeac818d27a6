"""Choosing over HTTP: the bearer token reads and proposes only; a page prepares what the terminal decides."""

import datetime as dt
import hashlib
import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dream.decisions.chain import Chain
from dream.decisions.page import PageSessions
from dream.records import State
from memory_server.errors import UsageError
from memory_server.settings import PersonSettings
from oneiros.light.endpoint import daemon_state, read_token
from tests.dream.builders import archive_statements, decisions_on, proposed, replacing
from tests.loopback import free_port
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House, wait_until

YES = {"verdict": "accept"}


@pytest.fixture
def hunk(house: House) -> str:
    """A hunk that waits for a decision in a served memory; its id."""
    root = house.memory_root
    archive_statements(root, "The relay listens on port 2526.")
    [made] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))
    house.serve()
    return made.id


def state_of(house: House, hunk: str) -> State:
    return decisions_on(house.memory_root).store.hunk(hunk).state


def address(house: House) -> str:
    return f"http://127.0.0.1:{daemon_state(house.state)['port']}"


def curl(house: House, path: str, *arguments: str, body: object = None) -> tuple[int, Any]:
    """Status and answer of a request made by curl, with no token unless it is among the arguments."""
    sent = ["-d", json.dumps(body)] if body is not None else []
    command = ["curl", "-s", "-w", "\n%{http_code}", "-H", "Content-Type: application/json", *sent, *arguments]
    output = subprocess.run([*command, address(house) + path], capture_output=True, text=True, timeout=60, check=True)
    text, _, status = output.stdout.rpartition("\n")
    return int(status), json.loads(text) if text.startswith("{") else text


def bearer(house: House) -> tuple[str, str]:
    return "-H", f"Authorization: Bearer {read_token(house.state)}"


def asking_for_a_code(house: House) -> list[str]:
    """A program that asks the daemon for a code without asking anybody for a word."""
    text = f"Client(os.environ, {str(house.root)!r}).ask('POST', '/page/code')"
    return [sys.executable, "-c", f"import os; from oneiros.client import Client; print({text})"]


def test_the_bearer_token_reads_but_does_not_choose(house: House, hunk: str) -> None:
    status, found = curl(house, "/api/hunks", *bearer(house))
    assert status == 200 and [one["id"] for one in found["hunks"]] == [hunk]

    status, answer = curl(house, f"/api/hunks/{hunk}/choose", *bearer(house), body={"verdict": "accept"})

    assert status == 403 and "oneiros open review" in answer["error"]["what"]
    for route in ("accept", "reject", "revert"):  # nothing over HTTP decides
        assert curl(house, f"/api/hunks/{hunk}/{route}", *bearer(house), body={})[0] in (404, 405)
    assert state_of(house, hunk) is State.PENDING


@pytest.mark.parametrize("header", ["Oneiros-Page: guessed", "Oneiros-Page;", "Cookie: oneiros_page=guessed"])
def test_a_made_up_page_session_opens_nothing(house: House, hunk: str, header: str) -> None:
    assert curl(house, "/api/hunks", "-H", header)[0] == 401

    status, _ = curl(house, f"/api/hunks/{hunk}/choose", *bearer(house), "-H", header, body=YES)

    assert status == 403 and state_of(house, hunk) is State.PENDING


def test_what_a_page_prepares_is_decided_at_the_terminal(house: House, hunk: str) -> None:
    """curl chooses in the place of a browser, while the review waits at its terminal."""
    jar, gate = house.folder / "cookies", house.folder / "code"
    enter = (r"/review#code=([0-9a-f]+)[\s\S]*press Enter here\.", "\n", str(gate))
    with ThreadPoolExecutor(1) as pool:
        steps = [enter, (r"Decide these 1 as shown \[y,n,\?\]\? ", "y\n"), WORD]
        review = pool.submit(at_terminal, house, steps, "review", "--page")
        wait_until(lambda: gate.exists() and bool(gate.read_text(encoding="utf-8")), 120)
        code = {"code": gate.read_text(encoding="utf-8")}
        status, opened = curl(house, "/page/open", "-c", str(jar), body=code)
        assert status == 200 and "oneiros" not in jar.read_text(encoding="utf-8")
        assert curl(house, "/page/open", body=code)[0] == 400  # it works once
        secret = ("-H", f"Oneiros-Page: {opened['secret']}")
        assert curl(house, "/api/hunks", *secret)[0] == 200
        for foreign in ("Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site"):
            assert curl(house, f"/api/hunks/{hunk}/choose", *secret, "-H", foreign, body=YES)[0] == 403
        assert curl(house, f"/api/hunks/{hunk}/choose", "-b", f"oneiros_page={opened['secret']}", body=YES)[0] == 401
        assert curl(house, f"/api/hunks/{hunk}/choose", *secret, body=YES) == (200, {"hunk": hunk, "chosen": "accept"})
        assert state_of(house, hunk) is State.PENDING
        assert curl(house, "/page/chosen", *bearer(house), body={})[0] == 403  # for the private socket alone
        gate.unlink()
        seen = review.result()

    assert seen.code == 0 and "1 accepted, 0 rejected" in seen.screen, seen
    assert state_of(house, hunk) is State.ACCEPTED
    assert Chain(house.memory_root, "").entries[-1].how == "page"


def test_no_file_and_no_process_without_a_terminal_makes_a_code(house: House, hunk: str) -> None:
    end = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
    forged = {hashlib.sha256(b"forged").hexdigest(): end.isoformat()}
    (house.root / ".oneiros" / "page-codes.json").write_text(json.dumps(forged), encoding="utf-8")

    assert curl(house, "/page/open", body={"code": "forged"})[0] == 400
    assert curl(house, "/page/code", *bearer(house), body={})[0] == 403  # not over loopback, whoever asks
    for variables in ({}, {"CLAUDECODE": "1"}):
        done = subprocess.run(
            asking_for_a_code(house),
            env={**house.variables, **variables},
            start_new_session=True,
            capture_output=True,
            text=True,
        )
        assert "UsageError" in done.stderr and not done.stdout


def test_the_assistant_gets_no_code_at_a_terminal_either(house: House, hunk: str) -> None:
    seen = at_terminal(house, [], command=asking_for_a_code(house), variables={"CLAUDECODE": "1"})

    assert "the assistant cannot accept" in seen.screen


def test_what_was_chosen_stays_when_the_terminal_says_no_and_when_the_daemon_is_started_anew(
    house: House, hunk: str
) -> None:
    code = at_terminal(house, [], "open", "review").screen.partition("/review#code=")[2].split()[0]
    secret = curl(house, "/page/open", body={"code": code})[1]["secret"]
    assert curl(house, f"/api/hunks/{hunk}/choose", "-H", f"Oneiros-Page: {secret}", body=YES)[0] == 200

    at_terminal(house, [(r"Decide these 1 as shown \[y,n,\?\]\? ", "n\n")], "review", "--page")
    house.command("stop")
    seen = at_terminal(house, [(r"Decide these 1 as shown \[y,n,\?\]\? ", "y\n"), WORD], "review", "--page")

    assert "1 accepted, 0 rejected" in seen.screen, seen
    assert state_of(house, hunk) is State.ACCEPTED


def test_wrong_codes_do_not_void_the_one_that_waits(tmp_path: Path) -> None:
    pages = PageSessions(lambda: dt.datetime.now(dt.UTC), tmp_path / "chosen.json")
    code = pages.new_code()
    for _ in range(100):
        with pytest.raises(UsageError):
            pages.open("guessed")

    assert pages.holds(pages.open(code))


def test_the_shell_of_the_page_tells_nothing_and_its_fragments_need_the_secret(house: House, hunk: str) -> None:
    status, text = curl(house, "/review")
    assert status == 200 and '<main id="view"' in text and hunk not in text

    for path in ("/page/review", f"/page/review/{hunk}", "/page/pulse", "/page/none"):
        assert curl(house, path)[0] == 401
    assert curl(house, "/review", "-H", "Sec-Fetch-Site: same-site")[0] == 403
    assert curl(house, "/review", "-H", "Host: attacker.test")[0] == 421


def test_a_link_opens_the_page_at_a_view(house: House, hunk: str) -> None:
    seen = at_terminal(house, [], "open", "review")
    code = seen.screen.partition("/review#code=")[2].split()[0]

    secret = curl(house, "/page/open", body={"code": code})[1]["secret"]
    status, text = curl(house, f"/page/review/{hunk}", "-H", f"Oneiros-Page: {secret}")

    assert status == 200 and "The relay listens on port 2526." in text


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_page_goes_to_the_next_port_that_is_free_in_both_families_and_says_so(
    house: House, family: socket.AddressFamily, address: str
) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as taken:
        taken.bind((address, 0))
        taken.listen()
        port = taken.getsockname()[1]
        house.settle(http_port=port)
        house.serve()
        output = house.command("serve").stdout
        seen = at_terminal(house, [], "open")

        own = daemon_state(house.state)["port"]
        assert isinstance(own, int) and port < own and f"http://127.0.0.1:{own} ({port} is taken)" in output
        assert f"({port} is taken)" in house.command("status").stdout
        assert f"http://localhost:{own}/" in seen.screen and seen.code == 0
        assert curl(house, "/review")[0] == 200


def test_the_port_of_a_daemon_is_the_same_after_it_was_started_anew(house: House) -> None:
    house.settle(http_port=free_port())
    house.serve()
    before = daemon_state(house.state)["port"]
    house.command("stop")
    house.serve()

    assert daemon_state(house.state)["port"] == before
    assert PersonSettings().http_port == 8377


def test_the_start_of_a_session_names_a_change_that_nobody_answered_for(house: House, hunk: str) -> None:
    before = house.answer_of_hook("SessionStart", {"session_id": "1"})["systemMessage"]
    house.write("mail", "# Mail\n\nThe relay was sold.\n")

    first, second = (house.answer_of_hook("SessionStart", {"session_id": "1"}) for _ in range(2))

    context = first["hookSpecificOutput"]["additionalContext"]
    assert "(changed)" not in before and "1 proposal waits: oneiros review" in before
    assert "proposal" not in context and "topics/mail.md" not in context
    assert "stand as nobody approved them" in context
    assert second["hookSpecificOutput"]["additionalContext"] == context
    assert "topics/mail.md (changed)" in first["systemMessage"]
