"""The review as one file in an editor."""

from pathlib import Path

import pytest

from dream.records import Hunk
from memory_server.root.paths import MemoryRoot
from oneiros.cli.review.editing import batch_text, read_batch
from tests.dream.builders import decisions_on, new_topic, proposed
from tests.memories import new_root


@pytest.fixture
def hunks(tmp_path: Path) -> list[Hunk]:
    root: MemoryRoot = new_root(tmp_path / "memory")
    texts = ["Backups run at 03:00.", "> The relay\n# listens on 2525.", "The key \u202elies in the safe."]
    return proposed(decisions_on(root), *(new_topic(text, number=n) for n, text in enumerate(texts, start=1)))


def test_left_as_it_is_everything_is_taken_up_unchanged(hunks: list[Hunk]) -> None:
    choices = read_batch(batch_text(hunks), hunks)

    assert [(choice.verdict, choice.text) for choice in choices] == [("accept", None)] * 3


def test_a_deleted_block_is_rejected_and_a_changed_one_reworded(hunks: list[Hunk]) -> None:
    text = batch_text(hunks).replace("Backups run at 03:00.\n", "Backups run at 03:00 UTC.\n")
    start, end = text.index(f"## {hunks[1].id}"), text.index(f"## {hunks[2].id}")

    choices = read_batch(text[:start] + text[end:], hunks)

    assert [choice.verdict for choice in choices] == ["accept", "reject", "accept"]
    assert choices[0].text == "Backups run at 03:00 UTC."


def test_a_block_marked_later_or_emptied_stays_open(hunks: list[Hunk]) -> None:
    text = batch_text(hunks).replace(f"## {hunks[0].id}", f"## later {hunks[0].id}")
    text = text.replace("\nThe key \\u202elies in the safe.\n", "\n")

    assert [choice.verdict for choice in read_batch(text, hunks)] == ["later", "accept", "later"]


def test_an_emptied_file_decides_nothing(hunks: list[Hunk]) -> None:
    assert read_batch("", hunks) == []
