"""Words that a person mistyped, as a session spells them elsewhere. A suggestion: the quote stays as it is."""

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
SHORT = {
    word.replace("'", ""): word
    for word in "don't can't won't doesn't isn't didn't wasn't aren't shouldn't wouldn't couldn't haven't hasn't"
    " that's i'm i've you're they're there's let's".split()
}  # typed without their apostrophe; `were` and `its` are words of their own
MIN_LETTERS, SEEN_TWICE, ALIKE = 5, 2, 0.86  # a letter more, less, or two swapped in a word of this length


def vocabulary_of(texts: Iterable[str]) -> frozenset[str]:
    """The words that texts spell alike at least twice."""
    counted = Counter(word.casefold() for text in texts for word in WORD.findall(text))
    return frozenset(word for word, count in counted.items() if count >= SEEN_TWICE and len(word) >= MIN_LETTERS)


def respelt(text: str, vocabulary: frozenset[str]) -> str:
    """The text with each word that nobody else writes so as the one word of the vocabulary that it must mean."""
    return WORD.sub(lambda match: _respelt(match[0], vocabulary), text)


def _respelt(word: str, vocabulary: frozenset[str]) -> str:
    plain = word.casefold()
    if plain in SHORT:
        right = SHORT[plain]
    elif len(plain) < MIN_LETTERS or plain in vocabulary or not word.islower():
        return word
    else:
        near = [other for other in get_close_matches(plain, vocabulary, 3, ALIKE) if _is_slip(plain, other)]
        right = near[0] if len(near) == 1 else plain
    return right.capitalize() if word[:1].isupper() else right


def _is_slip(typed: str, meant: str) -> bool:
    """Whether the difference is one of typing, not of grammar: `migratoin`, but not `migrations` for `migration`."""
    return typed[0] == meant[0] and not (typed.startswith(meant[:-1]) or meant.startswith(typed[:-1]))
