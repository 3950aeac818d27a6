"""The scorer: its table of marks, its weights, and what it makes of clauses."""

import numpy as np
import pytest

from dream.extract.features import EXPLICIT, MARKS, MOMENTARY, NAMES, WITH_VALUE, Mark
from dream.extract.scorer import OFFERED, WEIGHTS, ClauseModel, Scorer, _confidence, embedder_of, weights
from dream.statements.wording import respelt, vocabulary_of
from memory_server.embedding.catalogue import PACKAGED_MODEL, packaged_model
from memory_server.embedding.onnx_engine import OnnxEngine


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.id)
def test_a_mark_is_borne_by_its_example_and_not_by_its_counter_example(mark: Mark) -> None:
    assert mark.pattern.search(mark.example)
    assert not mark.pattern.search(mark.counter)


def test_marks_have_names_of_their_own_and_rules_name_marks() -> None:
    ids = [mark.id for mark in MARKS]

    assert len({*NAMES}) == len(NAMES)
    assert {*ids} >= EXPLICIT | WITH_VALUE | MOMENTARY


def test_the_weights_are_small_and_say_what_they_were_made_of() -> None:
    read = weights()

    assert WEIGHTS.stat().st_size < 10_000
    assert (read.model, {*read.made_of}) == (
        PACKAGED_MODEL,
        {"command", "projects", "clauses", "examples", "rules", "date"},
    )
    assert {*read.full.plain} == {*read.features_alone.plain} == {*NAMES}
    assert (len(read.full.vector), read.features_alone.vector) == (384, [])


@pytest.mark.parametrize("threshold", [0.2, 0.5])
def test_confidence_rises_with_chance_and_meets_what_is_offered_at_the_threshold(threshold: float) -> None:
    chances = np.linspace(0, 1, 101)

    found = [_confidence(float(chance), threshold) for chance in chances]

    assert found == sorted(found) and found[0] == 0 and found[-1] == pytest.approx(1)
    assert _confidence(threshold, threshold) == pytest.approx(OFFERED)


def test_a_model_is_the_sum_of_its_parts() -> None:
    model = ClauseModel(bias=-1.0, plain={NAMES[0]: 2.0}, vector=[3.0, 0.0], threshold=0.5)
    features = np.zeros((1, len(NAMES)))
    features[0, 0] = 1

    alone, full = model.probabilities(features), model.probabilities(features, np.array([[1.0, 0.0]]))

    assert (alone[0], full[0]) == (pytest.approx(1 / (1 + np.exp(-1))), pytest.approx(1 / (1 + np.exp(-4))))


def test_nothing_is_scored_and_no_model_is_loaded_for_nothing() -> None:
    def load() -> OnnxEngine:
        raise AssertionError("loaded")

    assert Scorer(embedder_of(load)).confidences([]) == []


def test_vectors_come_in_the_order_of_their_texts() -> None:
    files = packaged_model()
    assert files is not None, "the packaged model is part of the default install"
    embed = embedder_of(lambda: OnnxEngine(files))
    texts = ["a long sentence about the relay and its port number", "relay", "use pnpm"]

    together, each = embed(texts), [embed([text])[0] for text in texts]

    assert np.allclose(together, np.array(each), atol=0.05)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("the migratoin dont run", "the migration don't run"),
        ("creation and choose", "creation and choose"),  # words of their own, near others
        ("every migrations", "every migrations"),  # grammar, not typing
        ("Migratoin first", "Migratoin first"),  # a name may be spelt as it likes
        ("the relay", "the relay"),
    ],
)
def test_a_slip_is_put_right_by_the_words_of_the_session(typed: str, meant: str) -> None:
    vocabulary = vocabulary_of(["the migration ran, creating what they chose", "this migration is creating; chose"])

    assert respelt(typed, vocabulary) == meant
