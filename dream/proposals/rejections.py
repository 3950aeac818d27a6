"""What a person turned down does not come back, in other words either, unless it was said anew after the no.

Meaning is compared by stems and by what cannot be put in other words: numbers, names, paths, negations. No model is
asked, so the answer is the same on every machine.
"""

import re
from collections.abc import Sequence

from dream.proposals.store import Rejection
from dream.records import Candidate, Quote
from memory_server.index.words import STOP_WORDS
from memory_server.search.ranking.terms import Stemmer

SAME_SHARE = 0.7  # of the stems of both statements that they share: two wordings of one statement of 5 to 12 words
WORD = re.compile(r"[^\W_]+")
TOKEN = re.compile(r"[\w./:@-]*\w")
FIRM = re.compile(r"[\d./:@_]")  # what cannot be said in other words holds one of these: 2525, 10.0.0.7, src/a.py
NEGATIONS = frozenset({"no", "not", "never", "don", "without", "cannot", "isn", "won", "doesn", "shouldn", "mustn"})


class RememberedRejections:
    """The rejections of one memory root, asked by the gate."""

    def __init__(self, rejections: Sequence[Rejection], stemmer: Stemmer):
        self._rejections = tuple(rejections)
        self._stemmer = stemmer

    def knows(self, candidate: Candidate) -> bool:
        """Whether this was turned down: the same words of a session, or the same meaning with nothing newer said."""
        return any(self._covers(rejection, candidate) for rejection in self._rejections)

    def _covers(self, rejection: Rejection, candidate: Candidate) -> bool:
        if any(quote.time is not None and quote.time > rejection.at for quote in candidate.quotes):
            return False  # said again after the no: the person may have changed their mind
        if any(overlap(quote, other) for quote in candidate.quotes for other in rejection.quotes):
            return True
        return self._same_meaning(rejection.text, candidate.text)

    def _same_meaning(self, one: str, other: str) -> bool:
        if firm_words(one) != firm_words(other) or negations(one) != negations(other):
            return False
        mine, theirs = self._stems(one), self._stems(other)
        return bool(mine) and len(mine & theirs) >= SAME_SHARE * len(mine | theirs)

    def _stems(self, text: str) -> frozenset[str]:
        words = [word for word in WORD.findall(text.casefold()) if word not in STOP_WORDS]
        return frozenset(self._stemmer.stems(words)) if words else frozenset()


def overlap(one: Quote, other: Quote) -> bool:
    """Whether two quotes share characters of one entry."""
    return one.entry == other.entry and one.first < other.end and other.first < one.end


def firm_words(text: str) -> frozenset[str]:
    """What two wordings of one statement must have in common: numbers, addresses, paths."""
    words = (word.strip("./:@-") for word in TOKEN.findall(text.casefold()))
    return frozenset(word for word in words if FIRM.search(word))


def negations(text: str) -> int:
    """Whether a statement says no an odd number of times."""
    return sum(word in NEGATIONS for word in WORD.findall(text.casefold())) % 2
