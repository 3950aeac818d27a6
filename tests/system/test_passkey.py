"""Passkeys over HTTP: what neither the token nor a page alone can do, and what the person's key has to say."""

import datetime as dt
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from dream.changes import Event
from dream.decisions.accept import Decisions
from dream.decisions.chain import Chain
from dream.records import State
from memory_server.settings import PersonSettings
from oneiros.light.endpoint import daemon_state, read_token
from parts.page.passkeys.signing import hash_shown
from tests.dream.authenticator import SoftAuthenticator
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed
from tests.loopback import free_port
from tests.system.at_terminal import WORD, Seen, Step, at_terminal
from tests.system.house import House, wait_until
from tests.system.test_consent import PASSPHRASE_TWICE, SIGN, public_key

STATEMENTS = ("Backups run at nine.", "The cat eats at noon.")
ROUTES = ("options", "register", "ask", "sign", "begin", "made")
BODIES: dict[str, Any] = {
    "options": {"word": "guessed"},
    "register": {"word": "guessed", "answer": {}},
    "ask": {"choices": [{"hunk": "0" * 12, "verdict": "accept", "shown": "0" * 64}]},
    "sign": {"answer": {}},
    "begin": {"name": "mine"},
    "made": {"word": "guessed"},
}
SHOWN = r"http://localhost:\d+/passkey#code=([0-9a-f]+)"
TAKE_UP = r"Take it up \[y,n\]\? "


@pytest.fixture
def waiting(house: House) -> House:
    """A memory with two changes that wait."""
    archive_statements(house.memory_root, *STATEMENTS)
    updates = [new_topic(text, f"topic-{number}", number) for number, text in enumerate(STATEMENTS, start=1)]
    proposed(decisions_on(house.memory_root), *updates)
    return house


class Page:
    """What a page sends, made by a program that has got hold of its secret."""

    def __init__(self, house: House, code: str = ""):
        self.house = house
        self.secret = self.asks("/page/open", {"code": code})["secret"] if code else ""
        self.device = SoftAuthenticator(self.origin)

    @property
    def origin(self) -> str:
        return f"http://localhost:{daemon_state(self.house.state)['port']}"

    def asks(self, path: str, body: object, **headers: str) -> dict[str, Any]:
        """The answer of a route; with its status under `status` where it refuses."""
        known = {"Content-Type": "application/json", "Oneiros-Page": getattr(self, "secret", "")} | headers
        request = urllib.request.Request(self.origin + path, json.dumps(body).encode(), known)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            found = json.load(error) | {"status": error.code}
        return found

    def registers(self, word: str) -> dict[str, Any]:
        options = self.asks("/page/passkey/options", {"word": word})
        answer = self.device.make(options)
        return self.asks("/page/passkey/register", {"word": word, "answer": answer})

    def challenge(self) -> dict[str, Any]:
        """What the browser is asked, so that all that waits is accepted."""
        person = PersonSettings(signing_key=public_key(self.house))
        decisions = Decisions(self.house.memory_root, person, lambda: dt.datetime.now(dt.UTC), is_true=lambda _: True)
        choices = [
            {"hunk": one.id, "verdict": "accept", "shown": hash_shown(decisions, one)}
            for one in decisions.store.hunks()
            if one.state is State.PENDING
        ]
        return self.asks("/page/passkey/ask", {"choices": choices})


@contextmanager
def registering(house: House, *steps: Step) -> Iterator[tuple[str, Any]]:
    """The word that a terminal shows, and what is seen there in the end; `steps`: what is typed before and behind."""
    gate = house.folder / "word"
    before = [step for step in steps if step is WORD]
    behind = [step for step in steps if step is not WORD]
    with ThreadPoolExecutor() as pool:
        arguments = ("key", "passkey", "--name", "laptop", "--port", str(free_port()))
        seen = pool.submit(at_terminal, house, [*before, (SHOWN, "", str(gate)), *behind], *arguments)
        wait_until(lambda: gate.exists() and bool(gate.read_text(encoding="utf-8")), 120)
        word = gate.read_text(encoding="utf-8")
        gate.unlink()
        yield word, seen


def states(house: House) -> set[State]:
    return {hunk.state for hunk in decisions_on(house.memory_root).store.hunks()}


def test_neither_the_token_nor_a_made_up_page_registers_or_signs(waiting: House) -> None:
    waiting.serve()
    page, bearer = Page(waiting), f"Bearer {read_token(waiting.state)}"

    for route in ROUTES:
        assert page.asks(f"/page/passkey/{route}", BODIES[route])["status"] == 401
        refused = page.asks(f"/page/passkey/{route}", BODIES[route], Authorization=bearer)
        assert refused["status"] == 403, (route, refused)
    page.secret = "guessed"
    assert page.asks("/page/passkey/ask", BODIES["ask"], Authorization=bearer)["status"] == 403
    assert states(waiting) == {State.PENDING}


def test_no_process_without_a_terminal_and_no_assistant_begins_a_registration(waiting: House) -> None:
    waiting.serve()
    text = f"Client(os.environ, {str(waiting.root)!r}).ask('POST', '/page/passkey/begin', {{'name': 'mine'}})"
    program = [sys.executable, "-c", f"import os; from oneiros.client import Client; print({text})"]
    for variables in ({}, {"CLAUDECODE": "1"}):
        environment = {**waiting.variables, **variables}
        done = subprocess.run(program, env=environment, start_new_session=True, capture_output=True, text=True)
        assert "UsageError" in done.stderr and not done.stdout

    seen = at_terminal(waiting, [], command=program, variables={"CLAUDECODE": "1"})

    assert "the assistant cannot accept" in seen.screen


def test_a_page_on_any_free_port_asks_for_no_passkey(waiting: House) -> None:
    waiting.settle(http_port=0)
    waiting.serve()
    seen = at_terminal(waiting, [], "open", "review")
    found = re.search(r"#code=([0-9a-f]+)", seen.screen)
    assert found, seen

    refused = Page(waiting, found[1]).challenge()

    assert refused["status"] == 400 and "fixed port" in refused["error"]["what"]


@pytest.mark.parametrize("answer", ["n", "y"])
def test_the_terminal_has_the_last_word(waiting: House, answer: str) -> None:
    with registering(waiting, WORD, (TAKE_UP, f"{answer}\n")) as (word, terminal):
        page = Page(waiting, word)
        other = Page(waiting)
        other.secret = page.secret
        wrong = other.asks("/page/passkey/options", {"word": "another"})
        assert "wrong, used or too old" in wrong["error"]["what"]
        made = page.registers(word)
        again = page.asks("/page/passkey/options", {"word": word})
        seen: Seen = terminal.result()

    assert made["name"] == "laptop" and made["fingerprint"] in seen.screen and again["status"] == 400
    known = Chain(waiting.memory_root, "").passkeys().values()
    assert [one.fingerprint for one in known] == ([made["fingerprint"]] if answer == "y" else [])
    if answer == "y":
        signed = page.asks("/page/passkey/sign", {"answer": page.device.sign(page.challenge())})
        assert [one["state"] for one in signed["decided"]] == ["accepted", "accepted"] and seen.code == 0
    else:
        assert "no passkey is registered" in page.challenge()["error"]["what"] and seen.code == 2


def test_with_a_key_a_passkey_is_signed_by_it(waiting: House) -> None:
    made = at_terminal(waiting, [WORD, *PASSPHRASE_TWICE, SIGN], "key", "new")
    assert made.code == 0, made
    with registering(waiting, (TAKE_UP, "y\n"), ("Enter passphrase", "guess\n")) as (word, terminal):
        unsigned = Page(waiting, word)
        unsigned.registers(word)
        assert terminal.result().code == 3
    assert "no passkey is registered" in unsigned.challenge()["error"]["what"]

    with registering(waiting, (TAKE_UP, "y\n"), SIGN) as (word, terminal):
        page = Page(waiting, word)
        page.registers(word)
        seen: Seen = terminal.result()
    assert seen.code == 0 and not seen.left, seen
    challenge = page.challenge()
    assert "status" in page.asks("/page/passkey/sign", {"answer": unsigned.device.sign(challenge)})
    page.asks("/page/passkey/sign", {"answer": page.device.sign(page.challenge())})

    chain = Chain(waiting.memory_root, public_key(waiting))
    accepted = [place for place, entry in enumerate(chain.entries) if entry.event is Event.ACCEPTED]
    assert len(accepted) == 2 and all(map(chain.is_signed, accepted)) and states(waiting) == {State.ACCEPTED}
    message = waiting.answer_of_hook("SessionStart", {"session_id": "1"})["systemMessage"]
    assert "topic-" not in message and "accepted" not in message


def test_a_second_passkey_of_the_same_name_is_refused(waiting: House) -> None:
    with registering(waiting, WORD, (TAKE_UP, "y\n")) as (word, terminal):
        Page(waiting, word).registers(word)
        assert terminal.result().code == 0

    seen = at_terminal(waiting, [WORD], "key", "passkey", "--name", "laptop")

    assert seen.code == 2 and "is called 'laptop' already" in seen.screen, seen
