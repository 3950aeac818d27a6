"""What is masked, what stands where a secret would and is none, and what tells a token from words.

A place to mask is a `Span`. Placeholders, code, paths, versions and dates are harmless. Characters that were drawn by a
machine are told from words, names of code and identifiers.
"""

import math
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import re2


class Span(NamedTuple):
    """One place to mask. The parts count bytes of UTF-8, the door characters; of the text before redaction."""

    start: int
    end: int
    kind: str  # what it was taken for, such as `github-token`


def pattern(text: str, *, max_mem: int = 8 << 20) -> Any:  # RE2 has no types
    """A pattern of RE2, which takes time in proportion to the text whatever the pattern is; quiet where it is wrong."""
    options = re2.Options()
    options.max_mem = max_mem
    options.log_errors = False
    return re2.compile(text, options)


PLACEHOLDER = pattern(
    r"(?i)^(?:x{3,}|\*+|\.{2,}|-+|_+|\d{1,3}|true|false|null|none|nil|undefined|string|number|boolean|bytes?|str|int|any"
    r"|object|optional\w*|required|secret|password|passwd|pass|pwd?|token|key|api[_-]?key|change[_-]?me|example|sample"
    r"|test(?:ing)?|demo|dummy|fake|redacted|removed|hidden|masked|placeholder|todo|here|value|yourself|process|self"
    r"|this|os|env|config|settings|request|args|options)$"
    r"|^(?:\d{2,5}/|\$|%[A-Z{(]|#\{|\{\{|<|@|&|your|my[-_]|some[-_]|insert|enter|replace|example|placeholder|env[.:(\[]"
    r"|process\.|os\.|import\.|self\.|this\.|config\.|settings\.|options\.|args\.|req\.|request\.|ctx\.|c\.|e\.|new "
    r"|await|get[A-Z(]|fetch|read|load|make|create|generate|parse|crypto\.|secrets?\.|vault:|urn:|op://|ref\+|arn:|https?:|file:"
    r"|\./|~/|\[redacted:)"
    r"|example|placeholder|redacted|xxxx|\.\.\.|…|\*\*\*\*|<[a-z_-]+>|your[-_]|change[-_]?me"
)
CODE = pattern(
    r"[()\[\]{}]|<[A-Za-z]|=>|->|::|\.(?:get|set|env|data|value|length|map|trim|encode|toString)\b|^[A-Z][A-Z_]{3,}\d{0,2}$|^[A-Z]+(?:_[A-Z0-9]+)+$"
    r"|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|\.(?:py|js|ts|go|md|json|ya?ml|toml|txt|sh|env|pem|key|crt|html|rs|java)\b"
)
# Versions, addresses, dates and plain numbers, paths, names of types, and names that say `token` once more.
HARMLESS = pattern(
    r"(?i)^(?:v?\d{1,4}(?:\.\d{1,5})+(?:[-+.]\w[\w.-]{0,20})?|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\d{4}-\d\d-\d\d\S*|\d{1,11}|\d+[a-z%]{1,3}|[0-9,:_-]*[.,:_-][0-9.,:_-]*[a-z%]{0,3}"
    r"|[a-z_.-]*(?:passw|secret|token|key|auth)[a-z_.-]*)$"
    r"|^/(?:[\w.@-]+/)+[\w.@-]*$|^/[a-z_.@-]+$"
)
BASE64 = pattern(r"^[\w+/-]{16,}={1,2}$")
TYPE_NAME = pattern(r"^[A-Z]?[a-z]+(?:\d{1,2}|[A-Z][a-z]{2,})+$")  # harmless without quotes
JOINED = pattern(r"[a-z]{2}[-_/.:][A-Za-z]{2}|^[A-Za-z]+\d{1,3}$")
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


def is_placeholder(value: str) -> bool:
    return PLACEHOLDER.search(value) is not None


def is_code(value: str) -> bool:
    return CODE.search(value) is not None


def is_harmless(value: str, *, is_quoted: bool) -> bool:
    """Whether a value beside a secret's name is code, a placeholder or an identifier."""
    if is_placeholder(value) or HARMLESS.search(value) or (is_code(value) and not BASE64.search(value)):
        return True
    return not is_quoted and TYPE_NAME.search(value) is not None


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
