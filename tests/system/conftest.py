"""A house for every test, and no process of it left afterwards."""

from collections.abc import Iterator

import pytest

from tests.system.house import House


@pytest.fixture
def house() -> Iterator[House]:
    built = House()
    try:
        yield built
    finally:
        built.close()


@pytest.fixture(scope="module")
def served() -> Iterator[House]:
    """A house whose daemon runs for all tests of a module."""
    built = House()
    try:
        built.serve()
        yield built
    finally:
        built.close()
