"""Which passages stand in one batch: the more alike they are, the more a step teaches.

A batch comes from one set. It is put together of groups: a passage whose turn it is, a neighbour of it in its source,
a passage that the base model takes for it by its questions, and one that shares their rare words. The questions of all
of them are asked, so each is a wrong answer for the others.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.embedding.encoder import Encoder
from trainer.embedding.losses import Answers
from trainer.embedding.questions import Passage

MISTAKEN = 8  # of the passages most like what a question asks one is drawn
WORDINGS = 2  # of each question, one behind the other
PART = 256
NEAREST = 3  # places away in a source at most
SAME_TEXT = 0.8  # of the word pieces of two passages together are in both: neither is wrong for the other


@dataclass(frozen=True, slots=True)
class Batch:
    """Passages, and of each question one wording."""

    passages: Sequence[int]  # places among all
    questions: Sequence[tuple[int, int]]  # of which passage, by its place, and the which of its questions
    answers: Answers


class Teacher:
    """Knows what is like what, and draws batches from it."""

    def __init__(self, passages: Sequence[Passage], encoder: Encoder):
        """Reads everything once, and embeds it with the model as it is before it is taught."""
        self.passages = encoder.read_passages([one.embedded for one in passages])
        self.questions = [encoder.read_questions(one.questions) if one.questions else [] for one in passages]
        self._all = passages
        self._by_set: dict[str, list[int]] = defaultdict(list)
        self._by_source: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for place, passage in enumerate(passages):
            self._by_set[passage.set].append(place)
            self._by_source[passage.set, passage.source][passage.place] = place
        self._pieces = [frozenset(one.ids[one.words].tolist()) for one in self.passages]
        self.rarity = rarity_of(self._pieces, encoder.vocabulary)
        with torch.no_grad():
            self._mistaken = self._find_mistaken(encoder)

    def _find_mistaken(self, encoder: Encoder) -> dict[int, tuple[list[int], list[int]]]:
        """For each passage with questions those of its set that its questions find instead: by meaning, by words."""
        found = {}
        for places in self._by_set.values():
            vectors = torch.cat(
                [encoder.encode([self.passages[place] for place in part]).vectors for part in parts(places)]
            )
            held = torch.zeros(len(places), encoder.vocabulary)  # (p, vocabulary), 1 where a piece stands
            for row, place in enumerate(places):
                held[row, list(self._pieces[place])] = 1.0
            for place in places:
                if not self.questions[place]:
                    continue
                asked = encoder.encode(self.questions[place])
                meant = vectors @ asked.vectors.mean(dim=0)
                pieces = torch.bincount(asked.ids[asked.words].cpu(), minlength=encoder.vocabulary)
                said = held @ (self.rarity * pieces)
                same = torch.tensor([self._say_the_same(place, other) for other in places])
                ranked = [scores.cpu().masked_fill(same, -1.0).argsort(descending=True) for scores in (meant, said)]
                first, second = ([places[row] for row in order[:MISTAKEN].tolist()] for order in ranked)
                found[place] = (first, second)
        return found

    def batches(self, count: int, *, size: int, seed: int) -> Iterator[Batch]:
        """As many batches of some passages, every one with questions in its turn before any comes again."""
        dice = random.Random(seed)  # noqa: S311  order, not secrecy
        waiting: dict[str, list[int]] = {}
        of_set = [self._all[place].set for place in self._mistaken]
        for _ in range(count):
            name = dice.choice(of_set)  # a set as often as it has passages
            drawn: dict[int, None] = {}
            for _ in range(2 * size):  # where so few have questions that a batch stays small
                if len(drawn) >= size:
                    break
                if not waiting.get(name):
                    waiting[name] = [place for place in self._by_set[name] if place in self._mistaken]
                    dice.shuffle(waiting[name])
                drawn |= dict.fromkeys(self._group(waiting[name].pop(), dice))
                if len(drawn) >= len(self._by_set[name]) - 1:
                    name = dice.choice(of_set)  # a small set is filled up from another one
            yield self._batch(list(drawn)[:size], dice)

    def _group(self, place: int, dice: random.Random) -> Iterator[int]:
        yield place
        passage = self._all[place]
        beside = self._by_source[passage.set, passage.source]
        steps = [step for step in range(-NEAREST, NEAREST + 1) if step]
        near = [beside[passage.place + step] for step in steps if passage.place + step in beside]
        for candidates in (near, *self._mistaken[place]):
            if candidates:
                yield dice.choice(candidates)

    def _batch(self, places: Sequence[int], dice: random.Random) -> Batch:
        asked = [
            (place, first + dice.randrange(min(WORDINGS, len(self.questions[place]) - first)))
            for place in places
            for first in range(0, len(self.questions[place]), WORDINGS)
        ]
        right = [places.index(place) for place, _ in asked]
        same = [[one != other and self._say_the_same(one, other) for other in places] for one in places]
        return Batch(places, asked, Answers(torch.tensor(right), torch.tensor(same)[right]))

    def _say_the_same(self, one: int, other: int) -> bool:
        """Whether two passages are nearly the same text; a passage is the same as itself."""
        ours, theirs = self._pieces[one], self._pieces[other]
        return len(ours & theirs) >= SAME_TEXT * len(ours | theirs)


def rarity_of(texts: Sequence[Set[int]], vocabulary: int) -> Tensor:
    """How much a word piece tells, (vocabulary,): the inverse document frequency of BM25, over the passages taught."""
    holders = Counter(piece for text in texts for piece in text)
    counts = torch.zeros(vocabulary)
    counts[list(holders)] = torch.tensor(list(holders.values()), dtype=torch.float32)
    return torch.log1p((len(texts) - counts + 0.5) / (counts + 0.5))


def parts(places: Sequence[int]) -> Iterator[Sequence[int]]:
    """Some places at a time, which bounds the memory that their vectors take."""
    yield from (places[start : start + PART] for start in range(0, len(places), PART))
