"""A real browser at a real daemon: Debian's Chromium, driven by playwright, at a link from a terminal."""

import json
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from oneiros.light.endpoint import daemon_state
from tests.system.at_terminal import at_terminal
from tests.system.house import CHECKOUT, House

AXE = CHECKOUT / ".venv" / "page" / "node_modules" / "axe-core" / "axe.min.js"
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def chromium() -> str:
    """The browser of this machine. Fails where there is none: what needs it must not pass without."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "there is no Chromium: `make setup-page` says how to get one"
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """The browser without a window. Its profile lies in a temporary folder that is removed."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  installed by `make setup-page` alone

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=SWITCHES)
        try:
            yield opened
        finally:
            opened.close()


def link(house: House, view: str = "today") -> str:
    """What `oneiros open` prints at a terminal."""
    seen = at_terminal(house, [], "open", view)
    found = [line for line in seen.screen.splitlines() if line.startswith("http://localhost:")]
    assert found, seen
    return found[0].strip()


@dataclass(frozen=True)
class PageSecret:
    """What a page keeps for its origin."""

    text: str

    @property
    def script(self) -> str:
        """Keeps it in a window before the page begins."""
        return f"sessionStorage.setItem('oneiros', {json.dumps(self.text)})"


def secret_of(house: House, address: str) -> PageSecret:
    """What the code of a link is exchanged for."""
    body = json.dumps({"code": address.partition("#code=")[2]}).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{daemon_state(house.state)['port']}/page/open",
        body,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return PageSecret(json.loads(answer.read())["secret"])
