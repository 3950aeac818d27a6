"""Which language most of a memory is written in, so that a model can be named that reads it.

A script tells most languages by itself; those in Latin letters are told by their commonest words. It is a few lines for
one piece of advice: it tells nothing of a text of few words, and of languages that it does not know.
"""

import re
from collections import Counter
from collections.abc import Iterable

SCRIPTS = {
    "zh": "\u4e00-\u9fff\u3400-\u4dbf",
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
}  # Cyrillic counts as Russian, Devanagari as Hindi: a model that reads one of its languages reads the others better
IN_SCRIPT = {language: re.compile(f"[{signs}]") for language, signs in SCRIPTS.items()}
WORDY = ("zh", "ja", "ko")  # a sign of theirs says as much as some three letters
COMMON = {
    "en": "the of and to is that for with this it was are not be from have by as you when",
    "de": "der die und das nicht ist ein eine mit den von zu für auf wird sich auch dass wenn sind",
    "fr": "le la les des est une dans pour que pas qui sur avec et du ce sont nous mais",
    "es": "el los las que una para con por está del como más se es pero cuando y en",
    "it": "il che di non una per con sono della gli è anche si nel quando ma",
    "pt": "que não uma para com os são do da em mas quando isso mais também",
    "nl": "het een van niet en dat zijn voor met ook als bij wordt maar",
    "pl": "nie się jest na że do to jak ale gdy przez oraz są",
}
WORDS_OF = {language: frozenset(words.split()) for language, words in COMMON.items()}
NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "el": "Greek",
    "he": "Hebrew",
    "ar": "Arabic",
    "hi": "Hindi",
    "th": "Thai",
}
CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`|https?://\S+", re.DOTALL)
LATIN_WORD = re.compile(r"(?<![\w./-])[a-zà-öø-ÿąćęłńśźż]+(?![\w./-])")  # no part of a path or an identifier
LEAST_COMMON = 10  # common words of a language, and so many times those of the next, before it is told
KANA_SHARE = 0.1  # of the signs of Chinese beside which kana mean Japanese


def language_of(texts: Iterable[str]) -> str:
    """The language that most of some texts are in, two letters; empty where it cannot be told."""
    prose = CODE.sub(" ", "\n".join(texts))
    letters = {
        language: len(signs.findall(prose)) * (3 if language in WORDY else 1) for language, signs in IN_SCRIPT.items()
    }
    if letters["ja"] > KANA_SHARE * letters["zh"]:
        letters["ja"] += letters.pop("zh")
    best = max(letters, key=lambda language: letters[language])
    words = LATIN_WORD.findall(prose.lower())
    if letters[best] > sum(map(len, words)):
        return best
    counts = Counter({language: sum(word in common for word in words) for language, common in WORDS_OF.items()})
    (first, most), (_, next_most) = counts.most_common(2)
    return first if most >= LEAST_COMMON and most > next_most else ""
