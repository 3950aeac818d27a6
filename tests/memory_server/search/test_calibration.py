"""An index's scales are a function of what it holds: the order in which that came in changes no bit of them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.memory import Memory
from memory_server.search.ranking.calibration import learn_scale
from memory_server.search.ranking.scoring import CALIBRATION_NOTE, NEUTRAL, read_calibration
from tests.memories import new_root, open_memory, write_topic
from tests.states import WordEngine

WORDS = "relay port server queue ledger vector cache lock token archive panel invoice robot valve wheel copper".split()


def texts(count: int) -> dict[str, str]:
    chance = np.random.default_rng(5)
    return {f"t{number}": " ".join(chance.choice(WORDS, 40)) + f" {number}." for number in range(count)}


@pytest.mark.parametrize("count", [5, 600])  # fewer and more than the passages that stand for all
def test_the_scales_are_the_same_whichever_topic_came_first(tmp_path: Path, count: int) -> None:
    topics = texts(count)
    with (
        open_memory(new_root(tmp_path / "one"), WordEngine) as one,
        open_memory(new_root(tmp_path / "other"), WordEngine) as other,
    ):
        for name in ("gone", *topics):
            write_topic(one, name, topics.get(name, "A topic that goes again."))
        one.reindex()
        one.root.topics.joinpath("gone.md").unlink()
        one.reindex()
        for half in (list(topics)[count // 2 :], list(topics)[: count // 2]):
            for name in half:
                write_topic(other, name, topics[name])
            other.reindex()

        assert (
            read_calibration(one.indices.ledger.note(CALIBRATION_NOTE))
            == read_calibration(other.indices.ledger.note(CALIBRATION_NOTE))
            != NEUTRAL
        )


def test_an_empty_memory_has_no_scales(memory: Memory) -> None:
    memory.reindex()

    assert memory.indices.ledger.note(CALIBRATION_NOTE) == ""
    assert read_calibration(memory.indices.ledger.note(CALIBRATION_NOTE)) == NEUTRAL


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_passages_changes_no_bit_of_a_scale(seed: int) -> None:
    chance = np.random.default_rng(seed)
    typical = chance.standard_normal((8, 301)).astype(np.float32)
    best = typical.max(axis=1)

    assert learn_scale(typical[:, chance.permutation(301)], best) == learn_scale(typical, best)


def test_a_linear_map_of_all_cosines_changes_no_scaled_score() -> None:
    cosines = np.random.default_rng(1).standard_normal((8, 300))
    squeezed = 0.15 * cosines + 0.85

    scaled = learn_scale(cosines, cosines.max(axis=1))(cosines)

    assert learn_scale(squeezed, squeezed.max(axis=1))(squeezed) == pytest.approx(scaled)


def test_cosines_that_are_all_the_same_have_a_scale() -> None:
    same = np.full((8, 30), 0.7)

    assert np.isfinite(learn_scale(same, same.max(axis=1))(same)).all()
