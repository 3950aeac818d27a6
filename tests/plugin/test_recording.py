"""The recording of the README shows what the programs do today, and a reply to what the memory gives today."""

from pathlib import Path

import pytest

from benchmarks import recording
from tests.plugin.genuine_client import require_client

pytestmark = pytest.mark.client


def test_the_reply_in_the_recording_was_written_to_what_the_memory_gives(tmp_path: Path) -> None:
    require_client()

    recording.record(tmp_path / "minutes.svg")

    drawn = (tmp_path / "minutes.svg").read_text(encoding="utf-8")
    assert "The staging relay listens on port **2526**" in drawn
    assert not (tmp_path / "minutes.request.json").exists()
