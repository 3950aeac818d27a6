"""What a session start tells a person of what waits."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_server.root.paths import MemoryRoot
from oneiros.hooks.session_start import read_review
from tests.dream.builders import PERSON, decisions_on, git, new_topic, proposed
from tests.memories import new_root, write_topic


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    made = new_root(tmp_path / "memory")
    decisions_on(made).find_unexplained()
    return made


def waiting(root: MemoryRoot) -> Sequence[str]:
    return read_review(decisions_on(root)).waiting


def test_what_waits_is_one_clause_with_what_to_do(root: MemoryRoot) -> None:
    told = [waiting(root)]
    proposed(decisions_on(root), new_topic("Backups run.", "backups"))
    told.append(waiting(root))
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    told.append(waiting(root))

    assert told == [
        [],
        ["1 proposal waits: oneiros review"],
        ["1 proposal and 1 file that nobody approved wait: oneiros review"],
    ]


def test_a_title_that_was_mended_by_hand_waits_and_is_not_suspicious(root: MemoryRoot) -> None:
    write_topic(root, "mail", "# Mail\n\nThe relay is old.\n")
    git(root.path, "init", "--quiet")
    decisions_on(root).adopt(["topics/mail.md"], PERSON)
    before = read_review(decisions_on(root)).doubts

    write_topic(root, "mail", "# Post\n\nThe relay is old.\n")

    lines = read_review(decisions_on(root))

    assert lines.waiting == ["1 new title waits: oneiros review"]
    assert [*lines.doubts, *lines.for_model] == before
