"""One spelling for the many in which a text can be written: of what is indexed, and of what is asked.

Texts become the same that differ in how Unicode composes them, in width, ligatures, accents, ß and ss, typographic
quotes and dashes, or in marks that nobody sees. Where Chinese, Japanese or Korean touches other letters or digits, a
blank parts them, as no tokenizer does. Case stays, which the index and the patterns compare by themselves, and so does
every ASCII text. What is shown, quoted or embedded keeps its own spelling.
"""

import re
from unicodedata import combining, normalize

# Patterns stand as text, and are compiled where one is first used: each command of the terminal imports this.
CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\uac00-\ud7af\u3100-\u312f"
INVISIBLE = "[\u00ad\u034f\u0640\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
# what Unicode does not take apart; lower-case letters whose capitals are written alike follow by `upper`
LETTERS = {"ß": "ss", "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ς": "σ"}
ALIKE = str.maketrans(
    LETTERS
    | {one.upper(): other.upper() for one, other in LETTERS.items() if one.upper() not in ("SS", "I", "Σ")}
    | {"ẞ": "SS"}
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("‘’‚‛′", "'")
    | dict.fromkeys("“”„‟″", '"')
)
BESIDE_CJK = rf"(?<=[{CJK}])(?=[^\W_{CJK}])|(?<=[^\W_{CJK}])(?=[{CJK}])"
# Signs that the tokenizer of the keyword index reads as `unify` does: accented letters and punctuation.
SAME_WORDS = (
    "[\x00-\x7f\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00bf-\u00c5\u00c7-\u00cf\u00d1-\u00d6\u00d9-\u00dd"
    "\u00e0-\u00e5\u00e7-\u00ef\u00f1-\u00f6\u00f9-\u00fd\u00ff\u2010-\u2027\u2190-\u21ff\u2500-\u257f]*"
)


def compose(text: str) -> str:
    """A text with each letter as one character, and without the marks that nobody sees."""
    return text if text.isascii() else re.sub(INVISIBLE, "", normalize("NFC", text))


def unify(text: str) -> str:
    """A text in the one spelling in which it is indexed, asked for and compared."""
    if text.isascii():
        return text
    apart = normalize("NFKD", re.sub(INVISIBLE, "", text).translate(ALIKE))
    bare = "".join(sign for sign in apart if not _is_accent(sign))
    return re.sub(BESIDE_CJK, " ", normalize("NFC", bare).translate(ALIKE))


def is_spelt_alike(text: str) -> bool:
    """Whether the tokenizer makes the same words of a text as of its one spelling, so that this need not be kept."""
    return re.fullmatch(SAME_WORDS, text) is not None


def _is_accent(sign: str) -> bool:
    """Accents, and the points of Hebrew and Arabic; not the vowels of Indian scripts, nor what makes ガ of カ."""
    return combining(sign) >= 200 or 10 <= combining(sign) <= 35  # classes of Unicode
