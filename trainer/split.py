"""`split`: pairs in, training and validation pairs out, with as little in common as the sources allow.

Where there are enough sources, whole ones are shuffled with the seed and taken for validation, so that no fact stated
twice in one document stands on both sides. Where they are too few or too large for the share that was asked for, each
source gives one run of neighbouring chunks instead, whose place the seed chooses: what is near in a document speaks of
the same. A question that both sides ask is dropped from the validation side. How far the sides are related is said.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer.errors import DataError
from trainer.pairs import Pair

FARTHEST = 2.0  # times the share, or a part of it, that whole sources may miss it by
COMPARED = 400  # held-out answers whose likest is looked for; each is held against every trained answer


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a split, each in its given order."""

    training: tuple[Pair, ...]
    validation: tuple[Pair, ...]

    @property
    def shared_sources(self) -> int:
        """How many sources stand on both sides."""
        return len({pair.source for pair in self.training} & {pair.source for pair in self.validation})

    @property
    def likeness(self) -> float:
        """The mean share of a held-out answer's words that the likest trained answer holds; 0 to 1.

        Of more than COMPARED held-out answers, evenly spaced ones are compared.
        """
        places: dict[str, list[int]] = {}
        for place, pair in enumerate(self.training):
            for word in split_words(pair.answer):
                places.setdefault(word, []).append(place)
        compared = self.validation[:: -(-len(self.validation) // COMPARED)]
        return sum(_best_share(split_words(pair.answer), places) for pair in compared) / len(compared)


def split(pairs: Sequence[Pair], *, share: float, seed: int, where: Path) -> Sides:
    """Training and validation pairs; `share`, 0 to 1, is what validation aims at.

    Raises DataError with file and line for a pair without a source, and where nothing can be held out.
    """
    for line, pair in enumerate(pairs, start=1):
        if not pair.source:
            raise DataError("this pair names no source", where=where, line=line, remedy="Add `source` to split by it")
    chance = random.Random(seed)  # noqa: S311  (a split has to repeat, not to be secret)
    held = _whole_sources(pairs, share, chance)
    if not share / FARTHEST <= len(held) / max(len(pairs), 1) <= share * FARTHEST:
        held = set(_runs(pairs, share, chance)) or held
    trained_questions = {normal(pair.question) for place, pair in enumerate(pairs) if place not in held}
    training = tuple(pair for place, pair in enumerate(pairs) if place not in held)
    validation = tuple(pairs[place] for place in sorted(held) if normal(pairs[place].question) not in trained_questions)
    if not training or not validation:
        what = "every held-out question is also asked in training" if held and training else "too few pairs to split"
        raise DataError(what, where=where, remedy="Use another seed, or add pairs")
    return Sides(training, validation)


def _whole_sources(pairs: Sequence[Pair], share: float, chance: random.Random) -> set[int]:
    """The places of the pairs of the sources that are held out."""
    sizes = Counter(pair.source for pair in pairs)
    sources = sorted(sizes)
    chance.shuffle(sources)
    wanted, taken, held = share * len(pairs), 0, set[str]()
    sources.sort(key=lambda source: sizes[source] > FARTHEST * wanted)  # those that fit alone come first
    for source in sources[:-1]:
        if taken >= wanted:
            break
        if not held or taken + sizes[source] <= FARTHEST * wanted:
            held.add(source)
            taken += sizes[source]
    return {place for place, pair in enumerate(pairs) if pair.source in held}


def _runs(pairs: Sequence[Pair], share: float, chance: random.Random) -> Iterator[int]:
    """The places of the pairs of one run of chunks of each source, of `share` of its pairs or a chunk more."""
    for source in sorted({pair.source for pair in pairs}):
        own = [place for place, pair in enumerate(pairs) if pair.source == source]
        chunks: dict[str, list[int]] = {}
        for place in own:
            chunks.setdefault(pairs[place].chunk or f"pair {place}", []).append(place)
        blocks = list(chunks.values())
        start, taken = chance.randrange(len(blocks)), 0
        for block in (blocks[start:] + blocks[:start])[:-1]:  # past the end from the beginning; one chunk stays
            if taken >= share * len(own):
                break
            taken += len(block)
            yield from block


def _best_share(words: frozenset[str], places: dict[str, list[int]]) -> float:
    shared = Counter(place for word in words for place in places.get(word, ()))
    return max(shared.values(), default=0) / len(words) if words else 0.0


def split_words(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(normal(text).split())


def normal(question: str) -> str:
    """A question's words in small letters, so that spacing and end marks do not make two of one."""
    return " ".join("".join(sign if sign.isalnum() else " " for sign in question.casefold()).split())
