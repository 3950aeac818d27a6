"""What decisions teach: counts by kind and source, how they move what is proposed first, and how they are forgotten."""

import datetime as dt
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from crawler.transcripts.turns import Role
from dream.decisions.accept import Decisions
from dream.judge.learned import MOST_SHIFT, Learned, forget_learned, read_learning_start
from dream.records import Hunk, Kind, State
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import NOW, PERSON, TODAY, candidate, decisions_on, new_topic, proposed, quote
from tests.memories import new_root

READ = "deterministic"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return new_root(tmp_path / "memory")


def decided(state: State, kind: Kind = Kind.FACT, reason: str = "", at: dt.datetime = NOW) -> Hunk:
    update = new_topic("The relay listens on port 2525.", kind=kind)
    return Hunk("0" * 12, update, update.candidate.text, TODAY, state=state, decided=at, reason=reason)


def test_a_memory_without_decisions_moves_nothing() -> None:
    learned = Learned([decided(State.PENDING), decided(State.EXPIRED), decided(State.REVERTED)])

    assert all(learned.shift(kind, source) == 0.0 for kind, source in product(Kind, (READ, "claude")))
    assert learned.gain("fact", READ, 0.7) == pytest.approx(0.0)


def test_what_is_turned_down_sinks_and_what_is_taken_up_rises() -> None:
    facts = [decided(State.REJECTED, reason="a task, not knowledge") for _ in range(4)]
    rules = [decided(State.ACCEPTED, Kind.PREFERENCE) for _ in range(4)]

    learned = Learned([*facts, *rules])

    assert learned.shift("fact", READ) == -learned.shift("preference", READ) < -0.5
    assert learned.shift("decision", READ) == 0.0
    assert learned.gain("fact", READ, 0.7) < 0


def test_a_reason_about_the_wording_or_the_place_says_nothing_of_the_kind() -> None:
    reasons = ("badly worded", "known already", "wrong topic", "typo", "said twice")

    assert Learned([decided(State.REJECTED, reason=reason) for reason in reasons]).shift("fact", READ) == 0.0


def test_no_number_of_decisions_moves_more_than_the_most() -> None:
    assert Learned([decided(State.REJECTED)] * 500).shift("fact", READ) == -MOST_SHIFT


def test_words_of_the_assistant_that_the_person_agreed_to_are_counted_apart() -> None:
    words = quote("The relay is old.", role=Role.ASSISTANT)

    assert candidate("The relay is old.", 1, words).source == "deterministic, agreed"


def test_a_kind_that_was_turned_down_is_offered_behind_one_that_was_not(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_hunks_a_day=6)
    facts = [new_topic(f"The relay number {n} is old.", f"relay{n}", n) for n in range(1, 5)]
    for hunk in proposed(decisions, *facts):
        decisions.reject(hunk.id, PERSON, "only for the moment")

    fact = new_topic("The printer is on the third floor.", "printer", 6)
    rule = new_topic("Run the linter before each push.", "linter", 7, kind=Kind.PREFERENCE, confidence=0.7)
    last = new_topic("The mast was painted in spring.", "mast", 8)
    offered = [hunk.text for hunk in proposed(decisions, fact, rule, last) if hunk.state is State.PENDING]

    assert offered[0] != fact.candidate.text and rule.candidate.text in offered and len(offered) == 2


def test_forgetting_leaves_the_decisions_and_lets_them_move_nothing(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("The relay is old."))
    decisions.reject(hunk.id, PERSON, "")
    assert learned_on(decisions).shift("fact", READ) < 0

    forget_learned(root, NOW)

    assert learned_on(decisions).shift("fact", READ) == 0.0
    assert len(decisions.store.rejections()) == 1
    later = replace(decisions.store.hunk(hunk.id), decided=NOW + dt.timedelta(minutes=1))
    assert Learned([later], read_learning_start(root)).shift("fact", READ) < 0


def learned_on(decisions: Decisions) -> Learned:
    return Learned(decisions.store.hunks(), read_learning_start(decisions.root))
