"""Chooses the lines of a digest: as many different telling words as fit.

A line is worth the words that no chosen line has yet, each by how much the session speaks of it and how little
everybody does; chosen is what is worth most for its length. Greedy choice by density is within a constant of the best
for such sums (Lin and Bilmes 2011).
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crawler.compress.candidates import DigestCandidate
from memory_server.language.words import find_digest_words

REPEATED = 0.25  # what a word is still worth once a chosen line has it
LINE_COST = 16  # characters of list sign, reference and line end


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen candidates, in the order of the session, and how many characters they take."""

    chosen: tuple[DigestCandidate, ...]
    chars: int


def choose(
    candidates: Sequence[DigestCandidate], speech: Iterable[str], *, max_chars: int, covered: Iterable[str] = ()
) -> Selection:
    """The candidates worth most together within a number of characters.

    `speech` is what the session says, whose words are weighed; `covered` is text that stands in the digest already.
    """
    weights = word_weights(speech)
    seen = Counter(word for text in covered for word in set(find_digest_words(text)))
    words = [frozenset(find_digest_words(candidate.text)) for candidate in candidates]
    heap = [(-_density(candidate, words[i], weights, seen), i) for i, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    chosen: list[int] = []
    texts: set[str] = set()
    left = max_chars
    while heap and left > LINE_COST:
        _, i = heapq.heappop(heap)
        candidate = candidates[i]
        if count_chars(candidate) > left or candidate.text in texts:
            continue
        worth = _density(candidate, words[i], weights, seen)
        if worth <= 0:
            break
        if heap and worth < -heap[0][0] - 1e-12:
            heapq.heappush(heap, (-worth, i))
            continue
        chosen.append(i)
        texts.add(candidate.text)
        seen.update(words[i])
        left -= count_chars(candidate)
    return Selection(tuple(candidates[i] for i in sorted(chosen)), max_chars - left)


def word_weights(speech: Iterable[str]) -> dict[str, float]:
    """What each word is worth: more the more often it is said, more for one that looks like a name."""
    counts = Counter(word for text in speech for word in find_digest_words(text))
    return {word: math.log1p(count) for word, count in counts.items()}


def _density(candidate: DigestCandidate, words: frozenset[str], weights: dict[str, float], seen: Counter[str]) -> float:
    worth = sum(weights.get(word, 0.35) * REPEATED ** min(seen[word], 3) for word in words)
    return candidate.weight * worth / count_chars(candidate)


def count_chars(candidate: DigestCandidate) -> int:
    """How many characters a line takes in a digest."""
    return len(candidate.text) + LINE_COST + 10 * (len(candidate.entries) - 1)
