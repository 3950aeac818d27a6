"""The genuine client, in a house of its own."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.plugin.genuine_client import GenuineClient, require_client
from tests.plugin.messages_api import MessagesApi
from tests.system.house import House


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with closing(MessagesApi()) as served:
        yield served


@pytest.fixture
def client(house: House, api: MessagesApi) -> GenuineClient:
    """The genuine client with the plugin installed from this checkout."""
    require_client()
    found = GenuineClient(house, api)
    found.install_plugin()
    return found
