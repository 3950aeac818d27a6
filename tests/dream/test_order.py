"""The order in which a review asks."""

from pathlib import Path

import pytest

from dream.proposals.rendering import in_review_order, rest_of_topic, waiting_for_person
from dream.records import Hunk, Kind, Relation, State
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import TODAY, decisions_on, extending, new_topic, proposed, replacing
from tests.memories import new_root, write_topic


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    return root


def hunk(update: object, state: State = State.PENDING) -> Hunk:
    return Hunk("0", update, update.candidate.text, TODAY, state=state)  # type: ignore[arg-type, attr-defined]  # a builder


def test_what_its_reader_was_sure_of_comes_first_then_kinds_topic_by_topic(root: MemoryRoot) -> None:
    told = [
        hunk(new_topic("A guess.", "beta", kind=Kind.RULE, confidence=0.7)),
        hunk(new_topic("A fact.", "alpha", kind=Kind.FACT, confidence=0.85)),
        hunk(new_topic("A finding.", "beta", kind=Kind.FINDING, confidence=0.75)),
        hunk(new_topic("A decision.", "beta", kind=Kind.DECISION, confidence=0.85)),
        hunk(new_topic("A rule.", "gamma", kind=Kind.RULE, confidence=0.85)),
    ]

    found = [one.text for one in in_review_order(told)]

    assert found == ["A rule.", "A decision.", "A finding.", "A fact.", "A guess."]


def test_a_replacement_comes_behind_all_that_only_adds_and_a_question_last(root: MemoryRoot) -> None:
    drift = new_topic("The old port holds.", "mail", kind=Kind.RULE, confidence=0.99)
    told = [
        hunk(replacing(root, "The relay listens on port 2526.", "2525", kind=Kind.RULE, confidence=0.99)),
        hunk(new_topic("It hums.", "mail", confidence=0.6)),
        hunk(type(drift)(drift.candidate, Relation.DRIFT, drift.place, "long ago"), State.FLAGGED),
        hunk(new_topic("Decided.", "mail"), State.ACCEPTED),
    ]

    found = [one.text for one in waiting_for_person(told)]

    assert found == ["It hums.", "The relay listens on port 2526.", "The old port holds."]


def test_the_rest_of_a_topic_leaves_out_what_replaces_a_line(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    hunks = proposed(
        decisions,
        extending(root, "It needs TLS.", "2525", number=1),
        extending(root, "It needs a key.", "2525", number=2),
        replacing(root, "The relay listens on port 2526.", "2525", number=3),
        new_topic("Backups run at 03:00.", "backups", number=4),
    )

    assert [one.text for one in rest_of_topic(hunks[0], hunks)] == ["It needs a key."]
