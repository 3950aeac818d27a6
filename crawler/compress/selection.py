"""Chooses the lines of a digest: as many different telling words as fit.

A line is worth the words that no chosen line has yet, each by how much the session speaks of it and how little
everybody does; chosen is what is worth most for its length. Greedy choice by density is within a constant of the best
for such sums (Lin and Bilmes 2011).
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crawler.compress.candidates import DigestCandidate

WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d{2,}|[^\W\d_A-Za-z]{1,}")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
REPEATED = 0.25  # what a word is still worth once a chosen line has it
LINE_COST = 16  # characters of list sign, reference and line end

STOP_WORDS = frozenset(
    (
        "a about above after again all also am an and any are as at be because been before being both but by can "
        "could did do does doing done down each else even few first for from get gets got had has have having he her "
        "here him his how i if in into is it its just let like ll lets made make makes many may me might more most "
        "much must my need needs new no nor not now of off on once one only or other our out over own please really s "
        "same see she should so some still such sure t take than that the their them then there these they thing "
        "things this those through to too two under until up us use used uses using ve very want was way we well were "
        "what when where which while who why will with would yes you your re don doesn didn isn aren won code file "
        "files person line lines current currently check good great perfect ok okay look looks looking now run "
        "running work works working "
    ).split()
)


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
    seen = Counter(word for text in covered for word in set(words_of(text)))
    words = [frozenset(words_of(candidate.text)) for candidate in candidates]
    heap = [(-_density(candidate, words[i], weights, seen), i) for i, candidate in enumerate(candidates)]
    heapq.heapify(heap)
    chosen: list[int] = []
    texts: set[str] = set()
    left = max_chars
    while heap and left > LINE_COST:
        _, i = heapq.heappop(heap)
        candidate = candidates[i]
        if cost_of(candidate) > left or candidate.text in texts:
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
        left -= cost_of(candidate)
    return Selection(tuple(candidates[i] for i in sorted(chosen)), max_chars - left)


def word_weights(speech: Iterable[str]) -> dict[str, float]:
    """What each word is worth: more the more often it is said, more for one that looks like a name."""
    counts = Counter(word for text in speech for word in words_of(text))
    return {word: math.log1p(count) for word, count in counts.items()}


def words_of(text: str) -> list[str]:
    """The telling words of a text, stemmed a little; parts of camelCase count each."""
    found = WORD.findall(CAMEL.sub(" ", text))
    return [stem(word) for word in map(str.lower, found) if word not in STOP_WORDS and len(word) > 1]


def stem(word: str) -> str:
    """A word without its commonest English endings, enough to count `fixes`, `fixed` and `fixing` as one."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _density(candidate: DigestCandidate, words: frozenset[str], weights: dict[str, float], seen: Counter[str]) -> float:
    worth = sum(weights.get(word, 0.35) * REPEATED ** min(seen[word], 3) for word in words)
    return candidate.weight * worth / cost_of(candidate)


def cost_of(candidate: DigestCandidate) -> int:
    """How many characters a line takes in a digest."""
    return len(candidate.text) + LINE_COST + 10 * (len(candidate.entries) - 1)
