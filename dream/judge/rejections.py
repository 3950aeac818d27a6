"""What a person turned down does not come back, in other words either, unless it was said anew after the no.

Meaning is compared by stems and by what cannot be put in other words: numbers, names, paths, negations. No model is
asked, so the answer is the same on every machine.
"""

import re
from collections.abc import Sequence

from dream.records import Candidate, Rejection, are_apart
from memory_server.language.cues import NEGATION
from memory_server.language.words import FUNCTION_WORDS, Stemmer

SAME_SHARE = 0.7  # of the stems of both statements that they share: two wordings of one statement of 5 to 12 words
WORD = re.compile(r"[^\W_]+")
TOKEN = re.compile(r"[\w./:@-]*\w")
FIRM = re.compile(r"[\d./:@_]")  # what cannot be said in other words holds one of these: 2525, 10.0.0.7, src/a.py


class Rejections:
    """What was turned down in one memory root, asked by the gate. `with closing(...)` frees the stemmer."""

    def __init__(self, rejections: Sequence[Rejection] = ()):
        self._rejections = tuple(rejections)
        self._stemmer = Stemmer()

    def knows(self, candidate: Candidate) -> bool:
        """Whether this was turned down: the same words, or the same meaning with nothing newer said."""
        return any(self._covers(rejection, candidate) for rejection in self._rejections)

    def close(self) -> None:
        self._stemmer.close()

    def _covers(self, rejection: Rejection, candidate: Candidate) -> bool:
        if any(words.time is not None and words.time > rejection.at for words in candidate.evidence):
            return False  # said again after the no: the person may have changed their mind
        if any(words.overlaps(other) for words in candidate.evidence for other in rejection.evidence):
            return True
        is_elsewhere = are_apart(rejection.project, candidate.project)
        return not is_elsewhere and self._same_meaning(rejection.text, candidate.text)

    def _same_meaning(self, one: str, other: str) -> bool:
        if firm_words(one) != firm_words(other) or is_negative(one) != is_negative(other):
            return False
        mine, theirs = self._stems(one), self._stems(other)
        return bool(mine) and len(mine & theirs) >= SAME_SHARE * len(mine | theirs)

    def _stems(self, text: str) -> frozenset[str]:
        words = [word for word in WORD.findall(text.casefold()) if word not in FUNCTION_WORDS]
        return frozenset(self._stemmer.stems(words)) if words else frozenset()


def firm_words(text: str) -> frozenset[str]:
    """What two wordings of one statement must have in common: numbers, addresses, paths."""
    words = (word.strip("./:@-") for word in TOKEN.findall(text.casefold()))
    return frozenset(word for word in words if FIRM.search(word))


def is_negative(text: str) -> bool:
    """Whether a statement says no an odd number of times."""
    return len(NEGATION.findall(text)) % 2 == 1
