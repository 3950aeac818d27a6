"""Commands in the test's own process, with the packaged model read once for all of them."""

import pytest

from tests.conftest import MakeEngine


@pytest.fixture(autouse=True)
def one_engine(monkeypatch: pytest.MonkeyPatch, make_engine: MakeEngine) -> None:
    """Each command opens the memory anew, and would load the model and read the probe questions each time."""
    monkeypatch.setattr("oneiros.opening.OnnxEngine", make_engine)
