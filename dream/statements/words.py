"""The telling words of a sentence, stemmed, and how much each tells."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from crawler.compress.selection import STOP_WORDS as CHAT_WORDS
from memory_server.index.words import CJK_RUN, STOP_WORDS, cjk_pairs

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "edly", "ied", "ed", "ies", "es", "ly", "e", "s", "y")
FILLERS = frozenset(
    """
    actually already always anymore anything around away back bit certain considering ensure everything far feel figure
    finally find focus forward from future give given going gonna got guess help hey hi instead keep kind kinda know
    lately later least let long longer lot maybe mean might moment never next okay part particular per please point
    prefer probably quite rather really recently remember right said say seem seems sense simply since someone something
    sort specific start started still stop stuff sure tell thank thanks thing think though today together tried try
    trying usual using wait want wanted way wonder wondering yeah yes yet
    """.split()
)
STOP = STOP_WORDS | CHAT_WORDS | FILLERS
UNSEEN_TEXTS = 200  # texts of elsewhere that are counted in, so that a word of a tiny memory is not common at once
NEGATIONS = frozenset({"not", "no", "never", "cannot", "nobody", "nothing", "none", "without"})


def content_words(text: str) -> list[str]:
    """The stems of the words that tell something, in order, with repeats; parts of camelCase count each."""
    found: list[str] = []
    for word in WORD.findall(HUMP.sub(" ", text)):
        if CJK_RUN.search(word):
            found += cjk_pairs(word)
            continue
        plain = word.replace("’", "'").casefold().removesuffix("'s")
        if plain not in STOP and "'" not in plain and (len(plain) > 1 or plain.isdigit()):
            found.append(stem(plain))
    return found


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its commonest English endings, so that `deploy`, `deployed` and `deployments` nearly meet."""
    word = word.removesuffix("ments").removesuffix("ment") if len(word) > 8 else word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


@dataclass(frozen=True, slots=True)
class Rarity:
    """How much a word tells, by how few of some texts hold it; a word of none of them tells most."""

    texts: int = 0
    holders: Mapping[str, int] = field(default_factory=dict)

    def of(self, word: str) -> float:
        """Inverse document frequency, above 0."""
        held = self.holders.get(word, 0) + 1
        return math.log1p((self.texts + UNSEEN_TEXTS - held + 0.5) / (held + 0.5))


def rarity_in(texts: Iterable[str]) -> Rarity:
    """What the words of these texts tell."""
    holders: Counter[str] = Counter()
    count = 0
    for text in texts:
        holders.update(set(content_words(text)))
        count += 1
    return Rarity(count, dict(holders))
