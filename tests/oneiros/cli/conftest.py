"""Commands in the test's own process."""

from pathlib import Path

import pytest

from dream.decisions.presence import Consent, How
from oneiros.cli.main import main
from oneiros.environment import Environment


@pytest.fixture(autouse=True)
def person_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who types the word back; `tests/system/test_consent.py` has them do so on a terminal."""
    monkeypatch.setattr("oneiros.cli.consent.person_at_terminal", lambda _: Consent(How.WORD))


@pytest.fixture(scope="package")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory as `oneiros init` makes it, to be copied."""
    home = tmp_path_factory.mktemp("founded")
    assert main(["init"], Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home)) == 0
    return home / "mem"
