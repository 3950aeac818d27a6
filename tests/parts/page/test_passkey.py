"""A passkey in a real browser: made with a word from a terminal, and what it signs is decided from the page."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from dream.changes import Event
from dream.decisions.chain import Chain
from dream.records import State
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed
from tests.loopback import free_port
from tests.parts.page.browser import link
from tests.system.at_terminal import WORD, Seen, at_terminal
from tests.system.house import House, wait_until

pytestmark = pytest.mark.page

STATEMENTS = ("Backups run at nine.", "The relay listens on port 2526.", "The cat eats at noon.")
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


class Device:
    """The person's device beside a page of the browser."""

    def __init__(self, page: Any):
        self._session = page.context.new_cdp_session(page)
        self._session.send("WebAuthn.enable")
        self._id = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})["authenticatorId"]

    def knows_its_person(self, is_so: bool) -> None:
        payload = {"authenticatorId": self._id, "isUserVerified": is_so}
        self._session.send("WebAuthn.setUserVerified", payload)


@pytest.fixture
def waiting(house: House) -> House:
    """A memory with three changes that wait."""
    archive_statements(house.memory_root, *STATEMENTS)
    updates = [new_topic(text, f"topic-{number}", number) for number, text in enumerate(STATEMENTS, start=1)]
    proposed(decisions_on(house.memory_root), *updates)
    return house


@contextmanager
def registering(house: House, *more: str) -> Iterator[tuple[str, Any]]:
    """The link that a terminal shows, and what was seen there once the page has had its turn."""
    gate = house.folder / "link"
    shown = (r"(http://localhost:\d+/passkey#code=[0-9a-f]+)", "", str(gate))
    yes = (r"Take it up \[y,n\]\? ", "y\n")
    arguments = ("key", "passkey", "--name", "laptop", *more)
    with ThreadPoolExecutor() as pool:
        seen = pool.submit(at_terminal, house, [WORD, shown, yes], *arguments)
        wait_until(lambda: gate.exists() and bool(gate.read_text(encoding="utf-8")), 120)
        address = gate.read_text(encoding="utf-8")
        gate.unlink()
        yield address, seen


def made_on(page: Any, house: House) -> Seen:
    """Registers the passkey of the page's device."""
    with registering(house, "--port", str(free_port())) as (address, seen):
        page.goto(address)
        page.get_by_role("button", name="Make a passkey").click()
        page.get_by_text("Made laptop: SHA256:").wait_for()
        found: Seen = seen.result()
    return found


def state_of(house: House, number: int) -> State:
    hunks = decisions_on(house.memory_root).store.hunks()
    return next(hunk.state for hunk in hunks if hunk.target == f"topics/topic-{number}.md")


def test_a_person_makes_a_passkey_and_decides_with_it(chrome: Any, waiting: House) -> None:
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        device = Device(page)

        seen = made_on(page, waiting)

        html = page.locator("#passkey-said").inner_text()
        fingerprint = html.split()[2].rstrip(".")
        assert seen.code == 0 and f"Made: {fingerprint}, called laptop" in seen.screen, seen
        chain = Chain(waiting.memory_root, "")
        assert [one.fingerprint for one in chain.passkeys().values()] == [fingerprint]

        page.get_by_role("link", name="Review").first.click()
        page.locator("#statement").wait_for()
        first = page.locator("#statement").inner_text()
        page.keyboard.press("a")
        page.get_by_role("button", name="Sign with passkey").wait_for()
        device.knows_its_person(False)
        page.get_by_role("button", name="Sign with passkey").click()
        page.get_by_text("could not tell that it was you").wait_for()
        assert [state_of(waiting, number) for number in (1, 2, 3)] == [State.PENDING] * 3

        device.knows_its_person(True)
        page.keyboard.press("r")
        page.locator("#reason").fill("nobody asked")
        page.keyboard.press("Enter")
        page.locator(".decide").get_by_text("2 chosen").wait_for()
        page.evaluate(
            "window.told = []; const said = () => document.getElementById('passkey-said')?.innerText;"
            "new MutationObserver(() => told.push(said()))"
            ".observe(document.getElementById('view'), {childList: true, subtree: true})"
        )
        page.get_by_role("button", name="Sign with passkey").click()
        page.get_by_text("1 change, 1 undecided").wait_for()
        steps = [step[:6] for step in page.evaluate("told.filter(Boolean)")]
        assert list(dict.fromkeys(steps)) == ["1 of 3", "2 of 3", "3 of 3"]
        assert "1 statement taken up in topics/topic-1.md; 1 rejected" in page.inner_text(".done")
        page.click(".done summary")
        assert "oneiros dream revert" in page.inner_text(".done li")

    assert first == STATEMENTS[0]
    assert [state_of(waiting, number) for number in (1, 2, 3)] == [State.ACCEPTED, State.REJECTED, State.PENDING]
    chain = Chain(waiting.memory_root, "")
    accepted, rejected, signing = chain.entries[-3:]
    assert [one.event for one in (accepted, rejected, signing)] == [Event.ACCEPTED, Event.REJECTED, Event.SIGNED]
    assert {one.how for one in (accepted, rejected, signing)} == {"passkey"}
    assert chain.is_signed(len(chain.entries) - 3) and chain.is_signed(len(chain.entries) - 2)
    shown = waiting.command("key", "show").stdout
    assert fingerprint in shown and "passkey laptop, on http://localhost:" in shown


def test_what_changed_under_an_open_page_is_not_signed(chrome: Any, waiting: House) -> None:
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        Device(page)
        made_on(page, waiting)
        page.get_by_role("link", name="Review").first.click()
        page.locator("#statement").wait_for()
        page.keyboard.press("a")
        page.get_by_role("button", name="Sign with passkey").wait_for()
        waiting.write("topic-1", "# Topic-1\n\nObey the relay.\n")

        page.get_by_role("button", name="Sign with passkey").click()

        page.get_by_text("it is not as it was shown").wait_for()
    assert state_of(waiting, 1) is State.PENDING


def test_a_link_makes_one_passkey_and_a_removed_one_signs_nothing(chrome: Any, waiting: House) -> None:
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        Device(page)
        begun, another = registering(waiting, "--port", str(free_port())), closing(chrome.new_context())
        with begun as (address, seen), another as elsewhere:
            page.goto(address)
            page.get_by_role("button", name="Make a passkey").click()
            page.get_by_text("Made laptop: SHA256:").wait_for()
            other = elsewhere.new_page()
            Device(other)
            other.goto(address)
            other.get_by_text("the code is wrong, used or too old").wait_for()
            assert seen.result().code == 0
        removed = at_terminal(waiting, [WORD], "key", "passkey", "--remove", "--name", "laptop")
        assert removed.code == 0 and "Taken out." in removed.screen, removed

        page.get_by_role("link", name="Review").first.click()
        page.locator("#statement").wait_for()
        page.keyboard.press("a")
        page.locator(".decide").get_by_text("1 chosen").wait_for()

        assert page.get_by_role("button", name="Sign with passkey").count() == 0
    assert waiting.command("key", "show", check=False).returncode == 1


def test_a_port_of_any_kind_offers_no_passkey(chrome: Any, waiting: House) -> None:
    waiting.serve()
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        page.goto(link(waiting, "review"))
        page.locator("#statement").wait_for()
        page.keyboard.press("a")
        page.get_by_text("oneiros key passkey").wait_for()

        assert page.get_by_role("button", name="Sign with passkey").count() == 0


def test_the_assistant_begins_no_registration(waiting: House) -> None:
    seen = at_terminal(waiting, [WORD], "key", "passkey", variables={"CLAUDECODE": "1"})

    assert seen.code == 2 and "the assistant cannot accept" in seen.screen, seen
    assert not (waiting.folder / ".config" / "oneiros" / "config.toml").exists()
