"""Groups the statements of a project into topics of a size that a person reads at a glance.

Average linkage over the words that statements share, the section they stand in and how near they stand in their file.
No embedder is asked: its vectors made no group better (benchmarks/RESULTS.md), and without them the same statements
give the same groups on every machine.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil

import numpy as np
from numpy.typing import NDArray

from memory_server.language.words import content_words

PER_TOPIC = 7  # statements of a topic, on average, before the smallest are joined; at 10 subjects are mixed
LEAST = 2  # statements that make a topic of their own, where another has something in common with them
MOST = 24  # statements that a topic grows to
SAME_SECTION, NEAR = 0.5, 0.2  # beside the words' cosine, 0 to 1
NEAR_LINES = 4  # statements apart, at which nearness is down to half
HEADING_WORD = 0.7  # of what a word of the statement itself weighs
IN_COMMON = 0.05  # likeness below which two groups have nothing in common, and stay apart
SIZE_COST = 0.003  # a statement: of two groups as near, the smaller one grows
MOST_ALONE = 800  # statements that are compared one by one; of more, sections are compared
BARRED = -9.0
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Item:
    """One statement to be grouped."""

    text: str
    headings: tuple[str, ...] = ()  # above it, without the title of its file
    source: str = ""  # the file or session it is from; items of one source come in its order
    topic: str = ""  # that it stands in already, approved or waiting


def grouped(items: Sequence[Item]) -> list[list[int]]:
    """The items' places, group by group, both in the order of the items. Items of one topic stay together."""
    groups = _beginnings(items)
    if len(groups) < 2:
        return groups
    fixed = np.array([bool(items[group[0]].topic) for group in groups])
    new = sum(not item.topic for item in items)
    wanted = max(1, int(fixed.sum()) + ceil(new / PER_TOPIC))
    member = np.zeros((len(groups), len(items)))
    for number, group in enumerate(groups):
        member[number, group] = 1 / len(group)
    near = member @ _likeness(items) @ member.T
    return _joined(groups, fixed, near, wanted)


def _beginnings(items: Sequence[Item]) -> list[list[int]]:
    """Each statement by itself, those of a topic together; of very many, those of a section together."""
    many = len(items) > MOST_ALONE
    held: dict[object, list[int]] = {}
    for place, item in enumerate(items):
        alone = (item.source, item.headings) if many else place
        held.setdefault(item.topic or alone, []).append(place)
    return list(held.values())


def _joined(groups: list[list[int]], fixed: NDArray[np.bool_], near: Matrix, wanted: int) -> list[list[int]]:
    """Joins the two groups that are nearest to each other until as few are left as wanted, and none is too small that
    has anything in common with another."""
    size = np.array([len(group) for group in groups], dtype=float)
    alive = list(range(len(groups)))
    while len(alive) > 1:
        small, stays = (size[alive] < LEAST) & ~fixed[alive], fixed[alive]
        together = np.add.outer(size[alive], size[alive])
        alike = near[np.ix_(alive, alive)]
        gain = np.where(alike < IN_COMMON, BARRED, alike - SIZE_COST * together)
        gain[np.logical_and.outer(stays, stays)] = BARRED
        gain[(together > MOST) & ~np.logical_or.outer(stays, stays)] = BARRED
        if len(alive) <= wanted:
            gain[~np.logical_or.outer(small, small)] = BARRED
        np.fill_diagonal(gain, BARRED)
        if gain.max() <= BARRED:
            break
        one, other = (alive[place] for place in divmod(int(gain.argmax()), len(alive)))
        both = size[one] + size[other]
        near[one] = (near[one] * size[one] + near[other] * size[other]) / both
        near[:, one] = near[one]
        size[one], fixed[one] = both, fixed[one] or fixed[other]
        groups[one] = sorted(groups[one] + groups[other])
        alive.remove(other)
    return sorted(groups[place] for place in alive)


def _likeness(items: Sequence[Item]) -> Matrix:
    """How much each two items are about the same (n, n)."""
    words = _word_rows(items)
    return words @ words.T + SAME_SECTION * _shared_sections(items) + NEAR * _nearness(items)


def _word_rows(items: Sequence[Item]) -> Matrix:
    """One row an item, of unit length: its words and those of its headings, by how rare they are among the items."""
    own = [set(content_words(item.text)) for item in items]
    above = [set(content_words(" ".join(item.headings))) for item in items]
    holders = Counter(word for words in own for word in words)
    column = {word: place for place, word in enumerate(sorted(set().union(*own, *above)))}
    rows = np.zeros((len(items), max(1, len(column))))
    for row, words, heading in zip(rows, own, above, strict=True):
        for word in words | heading:
            weight = np.log1p(len(items) / max(1, holders[word]))
            row[column[word]] = weight if word in words else HEADING_WORD * weight
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Matrix = rows / np.maximum(lengths, 1e-9)
    return unit


def _shared_sections(items: Sequence[Item]) -> Matrix:
    """The share of headings, from the top, that two items of one file have in common."""
    paths = sorted({(item.source, item.headings) for item in items})
    of_path = {path: place for place, path in enumerate(paths)}
    shared = np.array([[_share(one, other) for other in paths] for one in paths])
    places = [of_path[item.source, item.headings] for item in items]
    chosen: Matrix = shared[np.ix_(places, places)]
    return chosen


def _share(one: tuple[str, tuple[str, ...]], other: tuple[str, tuple[str, ...]]) -> float:
    longest = max(len(one[1]), len(other[1]))
    if one[0] != other[0] or not longest:
        return 0.0
    pairs = zip(one[1], other[1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) / longest


def _nearness(items: Sequence[Item]) -> Matrix:
    """1 for the same place of a file, less the more statements stand between; 0 for other files."""
    sources = sorted({item.source for item in items})
    source = np.array([sources.index(item.source) for item in items])
    order = np.arange(len(items))
    apart = np.abs(order[:, None] - order[None, :])
    return np.where(source[:, None] == source[None, :], 1 / (1 + apart / NEAR_LINES), 0.0)
