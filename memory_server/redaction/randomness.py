"""Whether characters were drawn by a machine: what tells a token from words, names of code and identifiers."""

import math
from collections import Counter
from itertools import pairwise

from memory_server.redaction.values import pattern

# Words, abbreviations, small numbers: `sk-learn-contrib`, `md:text-gray-500`, `getToken2`.
PART = r"(?:[A-Z]?[a-z]{0,18}\d{0,4}(?:[A-Z][a-z]{1,15}\d{0,4}){0,5}|(?:[A-Z]{1,12}\d{0,4}){1,2})"
WORDED = pattern(rf"{PART}(?:[-_.:/]+{PART})*")
HEX = pattern(r"(?:0x)?(?:[0-9a-f]|[0-9A-F]|[-_:])+")
# Twice in whatever is random, seldom in names of code: a digit beside a letter, or cases that change as in no word.
TURN = "(?:[A-Za-z][0-9]|[0-9][A-Za-z]|[A-Z][a-z][A-Z]|[a-z][A-Z]{2,}[a-z])"
TURNS = pattern(TURN)
TURNS_OF_DRAWN = 0.15  # share of neighbours of another kind: drawn characters have .25 to .65, words less
TURNS_OF_LETTERS = 0.4  # the same where no digit stands among them: names of code have .3
VOWELS_OF_WORDS = 0.25  # share of letters; of drawn ones .19, which tells one case with few digits


def is_random(text: str, *, least: int) -> bool:
    """Whether a run of at least `least` letters and digits was drawn, rather than written."""
    if len(text) < least or not TURNS.search(text):
        return False
    drawn = "".join(part for part in plain_parts(text) if not is_worded(part) or (len(part) < 3 and not part.islower()))
    if len(drawn) < 0.6 * len(text) or is_hex(drawn):
        return False
    if not any(map(str.isdigit, drawn)):
        return share_of_turns(drawn) >= TURNS_OF_LETTERS
    vowels = sum(c in "aeiouAEIOU" for c in drawn) / max(1, sum(map(str.isalpha, drawn)))
    return share_of_turns(drawn) >= TURNS_OF_DRAWN or vowels <= VOWELS_OF_WORDS


def share_of_turns(text: str) -> float:
    """How often a character is of another kind than the one before it."""
    kinds = [classify_character(c) for c in text]
    return sum(a != b for a, b in pairwise(kinds)) / len(kinds)


def classify_character(character: str) -> str:
    return "digit" if character.isdigit() else "upper" if character.isupper() else "lower"


def plain_parts(text: str) -> list[str]:
    """The runs of letters and digits."""
    return "".join(c if c.isalnum() else " " for c in text).split()


def is_worded(text: str) -> bool:
    """Whether a text is made of words of up to 15 letters, with short numbers behind them."""
    return WORDED.fullmatch(text) is not None


def is_hex(text: str) -> bool:
    """Whether a text may be a hash or a UUID."""
    return HEX.fullmatch(text) is not None


def mixes_kinds(value: str) -> bool:
    """Whether letters and digits stand together, as they seldom do in words."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def entropy(value: str) -> float:
    """Bits a character."""
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
