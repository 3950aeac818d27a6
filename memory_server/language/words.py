"""Words: which tell something, their stems, how much each tells, and what the keyword index is given beside a passage.

The index stems by FTS5's Porter, which `Stemmer` asks for what it would do. Digests and dream cut endings by lists of
their own, which stand here with the lists of stop words: each was chosen by figures, another changes what is found.
"""

import math
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memory_server.language.spelling import CJK, unify

STEMS = "porter unicode61 remove_diacritics 2"  # how the keyword index cuts a text, into stems
WORDS = "unicode61 remove_diacritics 2"  # and as it is written

CJK_RUN = re.compile(f"[{CJK}]+")
HUMPED = re.compile(  # a name of more than one part, up to an underscore, where the tokenizer splits by itself
    r"(?<![A-Za-z0-9])(?!(?:[A-Z]?[a-z]+|[A-Z]+)(?![A-Za-z0-9]))[A-Za-z][A-Za-z0-9]*"
)
HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
BETWEEN_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
DIGEST_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d{2,}|[^\W\d_A-Za-z]{1,}")

FUNCTION_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can could d did didn do does doesn doing don down during each few for from further get got had has have
    having he her here hers herself him himself his how i if in into is isn it its itself just let ll m me more most my
    myself no nor not now of off on once only or other our ours ourselves out over own re s same she should so some such
    t than that the their theirs them themselves then there these they this those through to too under until up us ve
    very was wasn we were what when where which while who whom whose why will with won would you your yours yourself
    yourselves
    """.split()
)
CHAT_WORDS = frozenset(
    """
    check code current currently done else even file files first gets good great lets like line lines look looking
    looks made make makes many may might much must need needs new ok okay one perfect person please really run running
    see still sure take thing things two use used uses using want way well work working works yes
    """.split()
)  # said in every coding session, whatever it is about
FILLERS = frozenset(
    """
    actually already always anymore anything around away back bit certain considering ensure everything far feel figure
    finally find focus forward future give given going gonna guess help hey hi instead keep kind kinda know later lately
    least long longer lot maybe mean moment never next part particular per point prefer probably quite rather recently
    remember right said say seem seems sense simply since someone something sort specific start started stop stuff tell
    thank thanks think though today together tried try trying usual wait wanted wonder wondering yeah yet
    """.split()
)  # beside what a statement tells: `we always keep ...` and `let us try to keep ...` are about the same
COUNTED_IN_DIGESTS = frozenset(
    """
    against below between d during further hers herself himself itself m myself ours ourselves theirs themselves wasn
    whom whose yours yourself yourselves
    """.split()
)  # function words too, but digests were measured without them in the list
DIGEST_STOP_WORDS = FUNCTION_WORDS - COUNTED_IN_DIGESTS | CHAT_WORDS
STATEMENT_STOP_WORDS = FUNCTION_WORDS | CHAT_WORDS | FILLERS

DIGEST_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s")  # enough to count `fixes` and `fixing` as one
ENDINGS = (
    *("ying", "yed", "ys"),  # as the y goes: `deploying` is of `deploy`
    *("ations", "ation", "ings", "ing", "ions", "ion", "edly", "ied", "ed", "ies", "es", "ly", "e", "s", "y"),
)
UNSEEN_TEXTS = 200  # texts of elsewhere that are counted in, so that a word of a tiny memory is not common at once
KEPT_TEXTS = 8  # whose stems are kept: each index is asked for those of the same question


def content_words(text: str) -> list[str]:
    """The stems of the words that tell something, in order, with repeats; parts of camelCase count each."""
    found: list[str] = []
    for word in WORD.findall(BETWEEN_HUMPS.sub(" ", text)):
        if CJK_RUN.search(word):
            found += cjk_pairs(word)
            continue
        plain = word.replace("’", "'").casefold().removesuffix("'s")
        if plain not in STATEMENT_STOP_WORDS and "'" not in plain and (len(plain) > 1 or plain.isdigit()):
            found.append(stem(plain))
    return found


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its commonest English endings, so that `deploy`, `deployed` and `deployments` nearly meet.

    Porter's stems find one changed pair more among 36 and flag one more wrongly; see benchmarks/RESULTS.md.
    """
    word = word.removesuffix("ments").removesuffix("ment") if len(word) > 8 else word
    word = _without_ending(word, ENDINGS)
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


def find_digest_words(text: str) -> list[str]:
    """The telling words of a text as digests weigh them, stemmed a little; parts of camelCase count each."""
    found = map(str.lower, DIGEST_WORD.findall(BETWEEN_HUMPS.sub(" ", text)))
    return [_without_ending(word, DIGEST_ENDINGS) for word in found if word not in DIGEST_STOP_WORDS and len(word) > 1]


def _without_ending(word: str, endings: Iterable[str]) -> str:
    ending = next((one for one in endings if word.endswith(one) and len(word) - len(one) >= 3), "")
    return word.removesuffix(ending)


class Stemmer:
    """Cuts text into words exactly as the keyword index does, by letting an index of its own do it."""

    def __init__(self, tokenizer: str = STEMS) -> None:
        """`tokenizer`: WORDS for words as they are written."""
        self._guard = threading.Lock()
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.executescript(
            f"create virtual table text using fts5(x, tokenize='{tokenizer}');"
            "create virtual table place using fts5vocab('text', 'instance');"
        )
        self._kept = lru_cache(maxsize=KEPT_TEXTS)(self._stem)

    def stems(self, words: Sequence[str]) -> Sequence[str]:
        """The stem of each word; a word that the index would cut in several gives them joined by a blank."""
        return self._kept(tuple(words))

    def _stem(self, words: Sequence[str]) -> Sequence[str]:
        with self._guard:
            self._connection.execute("begin")
            try:
                self._connection.executemany(
                    "insert into text(rowid, x) values(?, ?)", list(enumerate(map(unify, words), start=1))
                )
                found: dict[int, list[str]] = {}
                for stem, row in self._connection.execute("select term, doc from place order by doc, offset"):
                    found.setdefault(row, []).append(stem)
            finally:
                self._connection.execute("rollback")
        return tuple(" ".join(found.get(place, ())) for place in range(1, len(words) + 1))

    def close(self) -> None:
        self._connection.close()


@dataclass(frozen=True, slots=True)
class Rarity:
    """How much a word tells, by how few of some texts hold it; a word of none of them tells most."""

    texts: int = 0
    holders: Mapping[str, int] = field(default_factory=dict)

    def measure(self, word: str) -> float:
        """Inverse document frequency, above 0."""
        held = self.holders.get(word, 0) + 1
        return math.log1p((self.texts + UNSEEN_TEXTS - held + 0.5) / (held + 0.5))


def measure_rarity(texts: Iterable[str]) -> Rarity:
    """What the words of these texts tell."""
    holders: Counter[str] = Counter()
    count = 0
    for text in texts:
        holders.update(set(content_words(text)))
        count += 1
    return Rarity(count, dict(holders))


# -- what the tokenizer of the keyword index does not split off by itself ----------------------------------------------


def extra_words(text: str) -> str:
    """Parts of identifiers and pairs of CJK characters in a text in its one spelling, each once, joined by blanks.

    The tokenizer keeps `fooBar` and a run of Chinese characters as one word each; beside the passage their parts are
    written once more, so that they are found too.
    """
    text = unify(text)
    return " ".join(dict.fromkeys([*identifier_parts(text), *cjk_pairs(text)]))


def identifier_parts(text: str) -> Iterator[str]:
    """`wledQuickControl` -> wled, Quick, Control; words without humps give nothing."""
    for match in HUMPED.finditer(text):
        yield from (part for part in HUMPS.findall(match[0]) if len(part) > 1)


def cjk_pairs(text: str) -> Iterator[str]:
    """`東京都` -> 東京, 京都; a single character gives itself."""
    for match in CJK_RUN.finditer(text):
        run = match[0]
        yield from (run[start : start + 2] for start in range(max(1, len(run) - 1)))
