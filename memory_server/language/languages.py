"""Which language most of a memory is written in, and whether a model reads a text at all.

A script tells most languages by itself; those in Latin letters are told by their commonest words, which tells nothing
of a text of few words. Whether a model reads a text its own tokenizer tells, of a question too: words of a language
that it was taught are one piece each, those of another fall into pieces, see benchmarks/RESULTS.md.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

MANY = "many"  # in the place of a language: dozens
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
WORDY = ("zh", "ja", "ko")  # a sign of theirs says as much as some three letters
COMMON = {
    "en": "the of and to is that for with this it was are not be from have by as you when which how what where who why"
    " we our does did should can must has these then there or every using its at your they"
    " do an per come met hat son den",
    "de": "der die und das nicht ist ein eine mit den von zu für auf wird sich auch dass wenn sind wie was wo wer wann"
    " warum welche welcher welches welchem im des dem wir an aus bei nach oder kann muss werden hat haben",
    "fr": "le la les des est une dans pour que pas qui sur avec et du ce sont nous mais quel quelle quels quelles où"
    " comment pourquoi quand combien de au aux par ne il elle son sa",
    "es": "el los las que una para con por está del como más se es pero cuando y en qué cómo cuál cuándo dónde quién"
    " cuánto cuánta cuántos cuántas de la su sus puede",
    "it": "il che di non una per con sono della gli è anche si nel quando ma quale come dove perché chi quanto del le",
    "pt": "que não uma para com os são do da em mas quando isso mais também qual como onde quem porque de se as",
    "nl": "het een van niet en dat zijn voor met ook als bij wordt maar de hoe waar wie wat welke is wanneer waarom",
    "pl": "nie się jest na że do to jak ale gdy przez oraz są gdzie kto kiedy dlaczego który która w z",
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
CODE = r"(?s)```.*?(?:```|\Z)|`[^`\n]+`|https?://\S+"
LATIN_WORD = r"(?<![\w./-])[a-zà-öø-ÿąćęłńśźż]+(?![\w./-])"  # no part of a path or an identifier
WORD = r"(?<![\w./-])[^\W\d_]+(?![\w./-])"  # the same of any script
BEYOND_LATIN = r"[^\W\d_\u0000-\u024f]"
FOREIGN_LETTERS = 0.3  # of a text's letters, from which on its words are not of a language in Latin letters
MOST_WORDS = 60  # of a text that are looked at
LEAST_WORDS = 7  # without a common one; keywords and names of programs fall into pieces too
LEAST_READ = 0.5  # share of words that are one piece each, moved by
COMMON_WORTH = 0.2  # for each common word of a language that the model reads, and back for each of another
LEAST_COMMON = 10  # common words of a language, and so many times those of the next, before it is told
KANA_SHARE = 0.1  # of the signs of Chinese beside which kana mean Japanese


def detect_language(texts: Iterable[str]) -> str:
    """The language that most of some texts are in, two letters; empty where it cannot be told."""
    prose = re.sub(CODE, " ", "\n".join(texts))
    letters = {
        language: len(re.findall(f"[{signs}]", prose)) * (3 if language in WORDY else 1)
        for language, signs in SCRIPTS.items()
    }
    if letters["ja"] > KANA_SHARE * letters["zh"]:
        letters["ja"] += letters.pop("zh")
    best = max(letters, key=lambda language: letters[language])
    words = re.findall(LATIN_WORD, prose.lower())
    if letters[best] > sum(map(len, words)):
        return best
    counts = Counter({language: sum(word in common for word in words) for language, common in WORDS_OF.items()})
    (first, most), (_, next_most) = counts.most_common(2)
    return first if most >= LEAST_COMMON and most > next_most else ""


def reads_text(languages: Sequence[str], count_pieces: Callable[[Sequence[str]], Sequence[int]], text: str) -> bool:
    """Whether a model of some languages reads a text. `count_pieces`: how many pieces its tokenizer makes of each."""
    if MANY in languages:
        return True
    prose = re.sub(CODE, " ", text)
    is_foreign = len(re.findall(BEYOND_LATIN, prose)) > FOREIGN_LETTERS * sum(map(str.isalpha, prose))
    if is_foreign and not set(SCRIPTS) & {*languages}:
        return False
    words = [word.lower() for word in re.findall(WORD, prose)][:MOST_WORDS]
    ours, theirs = _common_words(languages), _common_words([one for one in COMMON if one not in languages])
    common = sum((word in ours) - (word in theirs) for word in words)
    if not words or (len(words) < LEAST_WORDS and not common) or COMMON_WORTH * common >= LEAST_READ:
        return True
    empty, *pieces = count_pieces(["", *words])
    return sum(count == empty + 1 for count in pieces) / len(words) + COMMON_WORTH * common >= LEAST_READ


def _common_words(languages: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(WORDS_OF.get(language, frozenset()) for language in languages))
