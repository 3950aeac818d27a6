"""A house with the genuine client in it."""

from collections.abc import Iterator

import pytest

from tests.plugin.genuine_client import CLIENT, MISSING, GenuineClient
from tests.plugin.messages_api import MessagesApi
from tests.system.house import House


@pytest.fixture
def house() -> Iterator[House]:
    built = House()
    try:
        yield built
    finally:
        built.close()


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    served = MessagesApi()
    try:
        yield served
    finally:
        served.close()


@pytest.fixture
def client(house: House, api: MessagesApi) -> GenuineClient:
    """The genuine client with the plugin installed from this checkout."""
    if not CLIENT.exists():
        pytest.skip(MISSING)
    found = GenuineClient(house, api)
    found.install_plugin()
    return found
