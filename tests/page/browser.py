"""A real browser at a real daemon: Debian's Chromium, driven by playwright, at a link from a terminal."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.system.at_terminal import at_terminal
from tests.system.house import House

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


def link(house: House, view: str = "overview") -> str:
    """What `oneiros open` prints at a terminal."""
    seen = at_terminal(house, [], "open", view)
    found = [line for line in seen.screen.splitlines() if line.startswith("http://localhost:")]
    assert found, seen
    return found[0].strip()


def screenshot(page: Any, file: Path) -> None:
    """What stands in the window."""
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(file))
