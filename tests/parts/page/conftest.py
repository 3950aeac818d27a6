"""A served memory and a browser for all tests of a process."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oneiros.light.endpoint import daemon_state
from tests.parts.page.browser import PageSecret, browser, link, secret_of
from tests.parts.page.filled import fill
from tests.system.house import House

OpenView = Callable[..., Any]


@pytest.fixture(scope="session")
def chrome() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def filled() -> Iterator[House]:
    """A served house with topics, a session and two changes that wait."""
    with contextlib.closing(House()) as house:
        fill(house)
        house.warm_up()
        yield house


@pytest.fixture(scope="session")
def secret(filled: House) -> PageSecret:
    """The secret of a page that was opened by a link."""
    return secret_of(filled, link(filled))


@pytest.fixture
def at(chrome: Any, filled: House, secret: PageSecret) -> Iterator[OpenView]:
    """Opens a view in a window of its own, of the width and the colours that are named."""
    opened = []

    def opening(address: str, **window: Any) -> Any:
        context = chrome.new_context(**{"viewport": {"width": 1280, "height": 900}, **window})
        opened.append(context)
        context.set_default_timeout(15_000)
        context.add_init_script(secret.script)
        page = context.new_page()
        page.goto(f"http://localhost:{daemon_state(filled.state)['port']}{address}")
        page.wait_for_selector("#view h1")
        return page

    yield opening
    for context in opened:
        context.close()
