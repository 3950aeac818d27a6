"""Which statements say what an earlier one says: in the same words, nearly so, or in others with the same meaning.

What cannot be put in other words, a command, a path, a number, must be the same in both, and both deny or neither does.
Where no embedder is at hand words alone tell, and a rewording stays in more often; benchmarks/RESULTS.md has both.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memory_server.embedding.engine import Vectors
from memory_server.language.cues import NEGATION, folded
from memory_server.language.words import Rarity, content_words, rarity_in

Embed = Callable[[Sequence[str]], Vectors]  # texts as unit rows (n, d)
SAME_WORDS = 0.7  # share of each one's telling words that both hold
SAME_MEANING = 0.8  # cosine
MEANING_WORDS = 0.55  # share of the shorter one's telling words that both hold: about one thing, not only alike
COMMON = 60  # statements that hold a word, above which it brings no two together
CODE = re.compile(r"`([^`]+)`")
INSTEAD = folded(r"\b(?:instead of|rather than|avoid(?:s|ed|ing)?)\b")  # denies too: `x instead of y`, `x, never y`
FIRM = re.compile(r"[\w./:@*-]*[\d./:@_][\w./:@*-]*\w")
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Reading:
    plain: tuple[str, ...]  # its words in order
    words: frozenset[str]  # the stems that tell something
    firm: frozenset[str]
    denies: bool


def same_as_earlier(texts: Sequence[str], embed: Embed | None = None) -> list[int | None]:
    """For each text the place of the first one that says the same; None where none before it does."""
    readings, rarity = [_read(text) for text in texts], rarity_in(texts)
    vectors = embed(texts) if embed and texts else None
    first: dict[tuple[str, ...], int] = {}
    holding: dict[str, list[int]] = defaultdict(list)
    found: list[int | None] = []
    for place, reading in enumerate(readings):
        same = first.get(reading.plain)
        if same is None:
            near = {other for word in reading.words if len(holding[word]) <= COMMON for other in holding[word]}
            alike = (other for other in sorted(near) if _says_same(reading, readings[other], rarity))
            same = next(alike, None)
        if same is None and vectors is not None and place:
            cosines = vectors[:place] @ vectors[place]
            places = np.flatnonzero(cosines >= SAME_MEANING)
            alike = (int(at) for at in places if found[at] is None and _means_same(reading, readings[at], rarity))
            same = next(alike, None)
        if same is None:
            for word in reading.words:
                holding[word].append(place)
        first.setdefault(reading.plain, place if same is None else same)
        found.append(same)
    return found


def _read(text: str) -> _Reading:
    bare = CODE.sub(" ", text)
    firm = {*CODE.findall(text), *FIRM.findall(bare)}
    return _Reading(
        tuple(word.casefold() for word in WORD.findall(text)),
        frozenset(content_words(text)),
        frozenset(one.casefold().strip(" .") for one in firm),
        bool(NEGATION.search(text) or INSTEAD.search(text)),
    )


def _says_same(one: _Reading, other: _Reading, rarity: Rarity) -> bool:
    return _may_be_same(one, other) and min(_shares(one, other, rarity)) >= SAME_WORDS


def _means_same(one: _Reading, other: _Reading, rarity: Rarity) -> bool:
    return _may_be_same(one, other) and max(_shares(one, other, rarity)) >= MEANING_WORDS


def _may_be_same(one: _Reading, other: _Reading) -> bool:
    return one.firm == other.firm and one.denies == other.denies


def _shares(one: _Reading, other: _Reading, rarity: Rarity) -> tuple[float, float]:
    """The share of each one's telling words that both hold."""
    both = sum(map(rarity.of, one.words & other.words))
    ours, theirs = (sum(map(rarity.of, words)) for words in (one.words, other.words))
    return both / ours if ours else 0.0, both / theirs if theirs else 0.0
