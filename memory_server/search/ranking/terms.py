"""The words of a question as the keyword index knows them: stems, how rare each is, where they stand, if anywhere."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_server.index.keywords import Keywords
from memory_server.index.snapshot import WordTables
from memory_server.language.spelling import unify
from memory_server.language.words import CJK_RUN, FUNCTION_WORDS, Stemmer, cjk_pairs

NOWHERE = "Nowhere in this memory: %s."
MOST_WORDS = 4  # that are named
LEAST_HELD = 0.5  # of the other words; where fewer are held, the question may be of another language
WORD = re.compile(r"[^\W_]+")  # of a project's name
MAX_TERMS = 12  # the rarest are looked up; the cost of a lookup is the length of its list
MAX_SHARE = 0.25  # of the passages: a stem in more of them says little and costs most
MAX_PLACES = 30_000  # occurrences read for one question, the rarest stems first
MAX_QUESTION_WORDS = 200


@dataclass(frozen=True, slots=True)
class IndexedTerm:
    """One word of a question with what the index has of it."""

    word: str  # as it was asked
    stem: str  # as the index keeps it
    first: int  # place in the question's text
    last: int  # behind its last character
    holders: int  # passages that hold the stem
    is_stop: bool
    is_name: bool = False  # written like one: with a capital inside a sentence, a digit, or a capital inside the word


@dataclass(frozen=True, slots=True)
class Postings:
    """Where one stem occurs: places in the table of passages, rising, and how often in a passage and its context."""

    places: NDArray[np.int64]
    in_passage: NDArray[np.float32]
    in_context: NDArray[np.float32]


def question_terms(
    keywords: Keywords, stemmer: Stemmer, text: str, tables: WordTables | None = None
) -> list[IndexedTerm]:
    """The words of a question in order, with the number of passages that hold each. CJK runs count by their pairs.

    `tables` keeps the numbers, since to count a frequent word takes a millisecond.
    """
    return list_terms(keywords, stemmer, [text], tables)[0]


def list_terms(
    keywords: Keywords, stemmer: Stemmer, texts: Sequence[str], tables: WordTables | None = None
) -> list[list[IndexedTerm]]:
    """The same of some questions at once."""
    # all stems and all numbers in one go: each call of SQLite costs more than the work in it
    cut = [_cut_words(text) for text in texts]
    openings = [_find_opening(text, [word for word, *_ in words]) for text, words in zip(texts, cut, strict=True)]
    stems = iter(stemmer.stems([word for words in cut for word, _, _ in words]))
    stemmed = [[(stem, *word) for word in words if (stem := next(stems))] for words in cut]
    distinct = list({stem for words in stemmed for stem, *_ in words})
    tables = tables or WordTables()
    counts = tables.get_all("count", distinct, lambda missing: np.array(keywords.holders(missing))[:, None])
    holders = {stem: int(count[0]) for stem, count in zip(distinct, counts, strict=True)}
    return [
        [
            IndexedTerm(
                word,
                stem,
                first,
                last,
                holders[stem],
                is_stop=word.casefold() in FUNCTION_WORDS,
                is_name=looks_like_a_name(word, starts=first == opening),
            )
            for stem, word, first, last in words
        ]
        for words, opening in zip(stemmed, openings, strict=True)
    ]


def _cut_words(text: str) -> list[tuple[str, int, int]]:
    """The words of a question, each with its place and the place behind it."""
    spans = [(match[0], match.start(), match.end()) for match in re.finditer(r"[^\W_]+", text)][:MAX_QUESTION_WORDS]
    return [
        (part, first, last)
        for word, first, last in spans
        for piece in unify(word).split()
        for part in (cjk_pairs(piece) if CJK_RUN.search(piece) else (piece,))
    ]


def _find_opening(text: str, words: Sequence[str]) -> int:
    """Where a sentence begins; -1 in a list of words, which are capital because they are names."""
    is_sentence = "?" in text or not text.isascii() or any(word.casefold() in FUNCTION_WORDS for word in words)
    found = re.search(r"\w", text) if is_sentence else None
    return found.start() if found else -1


def looks_like_a_name(word: str, *, starts: bool) -> bool:
    """Whether a word is written as names and identifiers are. `starts`: it is the first of a sentence."""
    return (word[:1].isupper() and not starts) or any(char.isupper() or char.isdigit() for char in word[1:])


def select_terms(terms: Sequence[IndexedTerm], passages: int) -> list[IndexedTerm]:
    """The stems worth reading: content words that occur, rarest first, not in a quarter of all passages.

    The rarest stays in any case. Where a question holds nothing but stop words, these are taken.
    """
    content = [term for term in terms if not term.is_stop] or list(terms)
    distinct = {term.stem: term for term in reversed(content)}
    known = sorted((term for term in distinct.values() if term.holders), key=lambda term: (term.holders, term.stem))
    return [term for place, term in enumerate(known[:MAX_TERMS]) if place == 0 or term.holders <= MAX_SHARE * passages]


def read_postings(
    read: Callable[[str], NDArray[np.int64]], terms: Sequence[IndexedTerm]
) -> list[tuple[IndexedTerm, Postings]]:
    """The postings of some stems, in their order, until MAX_PLACES are read; the first in any case.

    `read` gives for each passage with a stem its place and the two counts, (n, 3).
    """
    found: list[tuple[IndexedTerm, Postings]] = []
    total = 0
    for term in terms:
        total += term.holders
        if found and total > MAX_PLACES:
            break
        table = read(term.stem)
        found.append((term, Postings(table[:, 0], table[:, 1].astype(np.float32), table[:, 2].astype(np.float32))))
    return found


def rarity(holders: float, total: float) -> float:
    """Inverse document frequency, always above 0: ln(1 + (N - n + 0.5) / (n + 0.5)), as in Lucene's BM25."""
    return float(np.log1p((total - holders + 0.5) / (holders + 0.5)))


@dataclass(frozen=True, slots=True)
class Absent:
    """Words of a question, as asked, that no passage of any layer holds."""

    names: tuple[str, ...] = ()  # written like one
    words: tuple[str, ...] = ()  # all others that tell something
    is_elsewhere: bool = False  # all names of the question are absent, and its other words are words of this memory

    def note(self, *, is_unsure: bool) -> str:
        """What is said of them; of other words than names only beside an answer that may be none."""
        words = [*self.names, *(self.words if is_unsure else ())][:MOST_WORDS]
        return NOWHERE % ", ".join(words) if words else ""


def find_absent(indices: Sequence[Sequence[IndexedTerm]], projects: Iterable[str] = ()) -> Absent:
    """The words of one question that every index says it does not hold, given the question's terms in each of them.

    What a project is called, as a whole or in part, is held.
    """
    called = {part.casefold() for name in projects for part in (*WORD.findall(name), "".join(WORD.findall(name)))}
    content = [terms for terms in zip(*indices, strict=True) if not terms[0].is_stop]
    is_held = [any(term.holders or term.word.casefold() in called for term in terms) for terms in content]
    names = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if terms[0].is_name]
    others = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if not terms[0].is_name]
    held_share = sum(held for _, held in others) / len(others) if others else 1.0
    return Absent(
        tuple(dict.fromkeys(word for word, held in names if not held)),
        tuple(dict.fromkeys(word for word, held in others if not held)),
        bool(names) and not any(held for _, held in names) and held_share >= LEAST_HELD,
    )
