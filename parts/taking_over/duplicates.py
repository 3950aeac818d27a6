"""Which statements say what an earlier one says: in the same words, nearly so, or in others with the same meaning.

What cannot be put in other words, a command, a path, a number, must be the same in both, both deny or neither does, and
neither says the other way round what the other says.
Where no embedder is at hand words alone tell, and a rewording stays in more often; benchmarks/RESULTS.md has both.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dream.judge.order import are_turned_round
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.workers import MAX_BATCH
from memory_server.language.cues import NEGATION, ignore_case
from memory_server.language.words import Rarity, content_words, measure_rarity

Embed = Callable[[Sequence[str]], Vectors]  # texts as unit rows (n, d)
SAME_WORDS = 0.7  # share of each one's telling words that both hold
SAME_MEANING = 0.8  # cosine
MEANING_WORDS = 0.55  # share of the shorter one's telling words that both hold: about one thing, not only alike
COMMON = 60  # statements that hold a word, above which it brings no two together
CODE = re.compile(r"`([^`]+)`")
INSTEAD = ignore_case(
    r"\b(?:instead of|rather than|avoid(?:s|ed|ing)?)\b"
)  # denies too: `x instead of y`, `x, never y`
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
    readings, rarity = [_read(text) for text in texts], measure_rarity(texts)
    rivals = [*_rivals(readings, rarity)]
    cosine = _cosines(texts, rivals, embed) if embed else lambda *_: 0.0
    first: dict[tuple[str, ...], int] = {}
    found: list[int | None] = []
    for place, reading in enumerate(readings):
        same = first.get(reading.plain)
        if same is None:
            alike = (
                rival.earlier
                for rival in rivals[place]
                if (rival.words >= SAME_WORDS or cosine(place, rival.earlier) >= SAME_MEANING)
                and not are_turned_round(texts[place], texts[rival.earlier])
            )
            same = next((found[earlier] if found[earlier] is not None else earlier for earlier in alike), None)
        first.setdefault(reading.plain, place if same is None else same)
        found.append(same)
    return found


@dataclass(frozen=True, slots=True)
class _Rival:
    """An earlier text about the same."""

    earlier: int
    words: float  # the share of telling words that both hold, of the text that has more of its own


def _rivals(readings: Sequence[_Reading], rarity: Rarity) -> Iterator[list[_Rival]]:
    """For each text the earlier ones that may say the same, in their order."""
    holding: dict[str, list[int]] = defaultdict(list)
    for place, reading in enumerate(readings):
        near = {other for word in reading.words if len(holding[word]) <= COMMON for other in holding[word]}
        there = [other for other in sorted(near) if _may_be_same(reading, readings[other])]
        shares = [(other, _shares(reading, readings[other], rarity)) for other in there]
        yield [_Rival(other, min(both)) for other, both in shares if max(both) >= MEANING_WORDS]
        for word in reading.words:
            holding[word].append(place)


def _cosines(texts: Sequence[str], rivals: Sequence[Sequence[_Rival]], embed: Embed) -> Callable[[int, int], float]:
    """How alike two of the texts are in meaning; only those are embedded that words alone leave open."""
    pairs = {
        (place, rival.earlier) for place, found in enumerate(rivals) for rival in found if rival.words < SAME_WORDS
    }
    places = sorted({place for pair in pairs for place in pair})
    vectors = embed([texts[place] for place in places]) if places else np.zeros((0, 1), dtype=np.float32)
    row = {place: number for number, place in enumerate(places)}
    return lambda one, other: float(vectors[row[one]] @ vectors[row[other]]) if (one, other) in pairs else 0.0


def _read(text: str) -> _Reading:
    bare = CODE.sub(" ", text)
    firm = {*CODE.findall(text), *FIRM.findall(bare)}
    return _Reading(
        tuple(word.casefold() for word in WORD.findall(text)),
        frozenset(content_words(text)),
        frozenset(one.casefold().strip(" .") for one in firm),
        bool(NEGATION.search(text) or INSTEAD.search(text)),
    )


def _may_be_same(one: _Reading, other: _Reading) -> bool:
    return one.firm == other.firm and one.denies == other.denies


def _shares(one: _Reading, other: _Reading, rarity: Rarity) -> tuple[float, float]:
    """The share of each one's telling words that both hold."""
    both = sum(map(rarity.measure, one.words & other.words))
    ours, theirs = (sum(map(rarity.measure, words)) for words in (one.words, other.words))
    return both / ours if ours else 0.0, both / theirs if theirs else 0.0


def make_embedder(load: Callable[[], Engine]) -> Embed:
    """The vectors of an engine, loaded at the first text; texts of a length together, since one pads the others."""
    loaded = functools.cache(load)

    def embed(texts: Sequence[str]) -> Vectors:
        engine, order = loaded(), sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), engine.dimensions), dtype=np.float32)
        for first in range(0, len(order), MAX_BATCH):
            batch = order[first : first + MAX_BATCH]
            rows[batch] = [found.vector for found in engine.embed([texts[place] for place in batch])]
        return rows

    return embed
