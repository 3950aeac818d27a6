"""Weights are chosen where they are surely better than equal ones, and are equal otherwise."""

import numpy as np

from benchmarks.choose import choose_best

EQUAL, OTHER = 0, 1


def test_what_cannot_be_told_from_equal_weights_is_equal_weights() -> None:
    chance = np.random.default_rng(3)
    better = np.column_stack([np.full(100, 0.5), np.full(100, 0.6)])
    by_chance = np.column_stack([np.full(100, 0.5), 0.5 + chance.permutation(np.r_[np.ones(51), -np.ones(49)])])

    assert choose_best([better, better]) == OTHER
    assert choose_best([by_chance, by_chance]) == EQUAL


def test_a_set_of_which_nothing_is_left_has_no_say() -> None:
    better = np.column_stack([np.full(100, 0.5), np.full(100, 0.6)])

    assert choose_best([better, np.empty((0, 2))]) == OTHER
