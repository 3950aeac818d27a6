"""How a quote reads as a statement of a topic: without what belonged to the conversation, with absolute dates."""

import datetime as dt
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Mapping

from dream.statements.acts import LEAD, NOTE_LABEL, STANDS_APART
from dream.statements.values import DAYS
from memory_server.language.cues import folded
from memory_server.language.sentences import sentence_spans

OPENER = folded(
    rf"^(?:(?:{NOTE_LABEL}|ok(?:ay)?|yes|yeah|yep|nope|hmm+|um+|oh|ah+|hey|hi|claude|thanks|thank you|please|pls|plz"
    rf"|and|but|also|actually|btw|by the way|now that|especially since|considering|fyi|ps|remember(?: that)?"
    rf"|note(?: that)?|keep in mind(?: that)?|for the record|just so you know|don't forget(?: that)?|that's (?:wrong"
    rf"|incorrect|not (?:right|correct))|so(?! (?:far|long|much|many|that|called)\b)|(?:no|well|right|sure|great|wrong"
    rf"|incorrect){STANDS_APART})(?![\w-])[\s,.:;!-]*)+"
)  # `no`, `right` and their like only where they answer: `no secrets in the repo` is no opener with a statement behind
CLOSER = folded(
    r"[,;]\s*(?:please\s+)?(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|ok(?:ay)?|thanks|thank you"
    r"|please|fyi|btw)\W*$"
)  # speaks to the assistant behind what was said
REJECTS = folded(
    rf"^{LEAD}(?:(?:that|this|it)(?:'s| is| was)|you(?:'re| are)|thats|(?:the|that|this) (?:first|second|last"
    rf"|other) (?:part|one|point|line|sentence) is|`?[\w-]+`?(?: `?[\w-]+`?)? is)\s+(?:again |still |completely "
    rf"|just )*(?:wrong|incorrect|mistaken|not (?:quite )?(?:right|correct|true|accurate|what i (?:said|meant"
    rf"|asked)))\b|^\W*wrong\b{STANDS_APART}"
)  # says that something was wrong, and not yet what is right
SIGNS = re.compile(r"^(?:[ ,;:>*]+|[-@#_]+(?=\s))+")  # of a list or quotation; `--force` and `@scope/name` keep theirs
FILLER = folded(r"(?:,?\s+|\A)(?:u+h+m*|u+m+|e+rm+|hm+)\b,?(?=\s|[.!?]|\Z)|,\s+you know,(?=\s)")  # of who dictates
DOUBLED = folded(r"\b(the|a|an|i|we|it|to|in|of|on|and|is|are|should)(?:,?\s+\1\b)+")
IDENTIFIER = re.compile(r"\S*[\w`][/._:@#=$~`(\d]\w|\S*[/`_\d](?=\s)|[-@#_~/.]|[a-z]+[A-Z]")  # whose case is its own
CHOICE = re.compile(
    r'"(?P<question>.+)"="(?P<answer>.*)"\Z', re.DOTALL
)  # as the client writes an answer of its options
REMARK = re.compile(r"\s*\([^()]*\)\s*\Z")  # of the client on an option: `(Recommended)`
DASH = re.compile(r"\s+[-–—]+\s+|;\s+")
COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
SHIFTS = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "the day after tomorrow": 2, "the day before yesterday": -2,
}  # fmt: skip
COUNT = rf"\d{{1,3}}|{'|'.join(COUNTS)}"
RELATIVE_DATE = folded(
    r"\b(?P<lead>(?:since|by|until|till|before|after|from|for|on|of|to|through)\s+)?"
    rf"(?:(?P<word>{'|'.join(SHIFTS)})|(?P<which>next|last|this|coming)\s+(?P<day>{DAYS})"
    rf"|(?P<side>next|last|this)\s+(?P<unit>week|month|year)|in\s+(?P<ahead>{COUNT})\s+(?P<ahead_unit>day|week|month)s?"
    rf"|(?P<ago>{COUNT})\s+(?P<ago_unit>day|week|month)s?\s+ago)\b(?!['’]s\b)"
)


def statement_of(quote: str, when: dt.datetime | None) -> str:
    """The quote as a sentence that stands by itself. Every telling word of it is the quote's own."""
    choice = CHOICE.match(quote)
    spoken = DOUBLED.sub(r"\1", FILLER.sub("", quote.replace("**", "")))
    text = " ".join(absolute(_of_choice(choice) if choice else spoken, when).split())
    bare = SIGNS.sub("", REJECTS.sub("", OPENER.sub("", CLOSER.sub("", text)))).rstrip(" ,;:-")
    if bare.startswith("(") and bare.rstrip(".").endswith(")"):
        bare = bare[1:].rstrip(".").removesuffix(")")
    text = bare if len(bare) >= 3 else text
    if not IDENTIFIER.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."


def _of_choice(choice: re.Match[str]) -> str:
    """What was asked, and what was answered, as one sentence."""
    sentences = [choice["question"][first:end] for first, end in sentence_spans(choice["question"])]
    asked = next((one for one in reversed(sentences) if one.endswith("?")), choice["question"])
    return DASH.sub(", ", f"{asked.rstrip('?')}: {REMARK.sub('', choice['answer'])}")


# -- dates: relative ones made absolute, counted from the day on which they were said ----------------------------------


def absolute(text: str, when: dt.datetime | None) -> str:
    """The text with `tomorrow` and `next Friday` as dates; as it is where nobody knows when it was said."""
    if when is None:
        return text
    return RELATIVE_DATE.sub(lambda match: _as_date(match, when.date()), text)


def _as_date(match: re.Match[str], today: dt.date) -> str:
    """The date with its preposition, which is the text's own where it has one: `since yesterday`."""
    date = _date_of({name: text.casefold() for name, text in match.groupdict().items() if text}, today)
    return f"{match['lead']}{date.removeprefix('on ').removeprefix('in ')}" if match["lead"] else date


def _date_of(told: Mapping[str, str], today: dt.date) -> str:
    if "word" in told:
        return f"on {today + dt.timedelta(days=SHIFTS[told['word']])}"
    if "day" in told:
        ahead = (DAYS.split("|").index(told["day"]) - today.weekday()) % 7  # 0 to 6; `this Monday` may be today
        return f"on {today + dt.timedelta(days={'last': ahead - 7, 'this': ahead}.get(told['which'], ahead or 7))}"
    if "unit" in told:
        return _period({"next": 1, "last": -1, "this": 0}[told["side"]], told["unit"], today)
    if "ahead" in told:
        return f"around {_moved(today, _count(told['ahead']), told['ahead_unit'])}"
    return f"around {_moved(today, -_count(told['ago']), told['ago_unit'])}"


def _period(step: int, unit: str, today: dt.date) -> str:
    if unit == "year":
        return f"in {today.year + step}"
    if unit == "month":
        return f"in {_moved(today.replace(day=1), step, 'month'):%Y-%m}"
    return f"in the week of {today + dt.timedelta(days=7 * step - today.weekday())}"


def _count(text: str) -> int:
    return COUNTS.get(text) or int(text)


def _moved(day: dt.date, count: int, unit: str) -> dt.date:
    if unit != "month":
        return day + dt.timedelta(days=count * (7 if unit == "week" else 1))
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


# -- spelling: words that a person mistyped, as their session spells them elsewhere; a suggestion, the quote stays ----

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
SHORT = {
    word.replace("'", ""): word
    for word in "don't can't won't doesn't isn't didn't wasn't aren't shouldn't wouldn't couldn't haven't hasn't"
    " that's i'm i've you're they're there's let's".split()
}  # typed without their apostrophe; `were` and `its` are words of their own
MIN_LETTERS, SEEN_TWICE = 5, 2  # a shorter word with two letters swapped is often another one: `form`, `from`


def vocabulary_of(texts: Iterable[str]) -> frozenset[str]:
    """The words that texts spell alike at least twice."""
    counted = Counter(word.casefold() for text in texts for word in WORD.findall(text))
    return frozenset(word for word, count in counted.items() if count >= SEEN_TWICE and len(word) >= MIN_LETTERS)


def respelt(text: str, vocabulary: frozenset[str]) -> str:
    """The text with each word whose letters are swapped, or whose apostrophe lacks, as the vocabulary writes it."""
    return WORD.sub(lambda match: _respelt(match[0], vocabulary), text)


def _respelt(word: str, vocabulary: frozenset[str]) -> str:
    plain = word.casefold()
    if plain in SHORT:
        right = SHORT[plain]
        return right.capitalize() if word[:1].isupper() else right
    swaps = {plain[:at] + plain[at + 1] + plain[at] + plain[at + 2 :] for at in range(1, len(plain) - 1)}
    meant = swaps & vocabulary if plain not in vocabulary and word.islower() else set()
    return meant.pop() if len(meant) == 1 else word
