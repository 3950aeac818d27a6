"""How a quote reads as a statement of a topic: without what belonged to the conversation, with absolute dates."""

import datetime as dt
import re
from calendar import monthrange

from dream.statements.acts import NOTE_LABEL, STANDS_APART
from dream.statements.marks import REJECTS

OPENER = re.compile(
    rf"^(?:(?:{NOTE_LABEL}|ok(?:ay)?|yes|yeah|yep|nope|hmm+|um+|oh|ah+|hey|hi|claude|thanks|thank you|please|pls|plz"
    rf"|and|but|also|actually|btw|by the way|now that|especially since|considering|fyi|ps|remember(?: that)?"
    rf"|note(?: that)?|keep in mind(?: that)?|for the record|just so you know|don't forget(?: that)?|that's (?:wrong"
    rf"|incorrect|not (?:right|correct))|so(?! (?:far|long|much|many|that|called)\b)|(?:no|well|right|sure|great|wrong"
    rf"|incorrect){STANDS_APART})(?![\w-])[\s,.:;!-]*)+",
    re.IGNORECASE,
)  # `no`, `right` and their like only where they answer: `no secrets in the repo` is no opener with a statement behind


CLOSER = re.compile(
    r"[,;]\s*(?:please\s+)?(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|ok(?:ay)?|thanks|thank you"
    r"|please|fyi|btw)\W*$",
    re.IGNORECASE,
)  # speaks to the assistant behind what was said
SIGNS = re.compile(r"^(?:[ ,;:>*]+|[-@#_]+(?=\s))+")  # of a list or quotation; `--force` and `@scope/name` keep theirs
IDENTIFIER = re.compile(r"\S*[\w`][/._:@#=$~`(\d]\w|\S*[/`_\d](?=\s)|[-@#_~/.]|[a-z]+[A-Z]")  # whose case is its own


def statement_of(quote: str, said: dt.datetime | None) -> str:
    """The quote as a sentence that stands by itself. Every telling word of it is the quote's own."""
    text = " ".join(absolute(quote, said).split())
    bare = SIGNS.sub("", REJECTS.sub("", OPENER.sub("", CLOSER.sub("", text)))).rstrip(" ,;:-")
    if bare.startswith("(") and bare.rstrip(".").endswith(")"):
        bare = bare[1:].rstrip(".").removesuffix(")")
    text = bare if len(bare) >= 3 else text
    if not IDENTIFIER.match(text):
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."


DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
RELATIVE = re.compile(
    rf"\b(?P<lead>(?:since|by|until|till|before|after|from|for|on|of|to|through)\s+)?(?:(?P<word>today|tonight"
    rf"|tomorrow|yesterday|the day after tomorrow|the day before yesterday)|(?P<which>next|last|this"
    rf"|coming)\s+(?P<day>{'|'.join(DAYS)})"
    r"|(?P<side>next|last|this)\s+(?P<unit>week|month|year)|in\s+(?P<ahead>\d{1,3}|a|an|one|two|three|four|five"
    r"|six)\s+(?P<ahead_unit>day|week|month)s?|(?P<ago>\d{1,3}|a|an|one|two|three|four|five|six)\s+(?P<ago_unit>day"
    r"|week|month)s?\s+ago)\b(?!['’]s\b)",
    re.IGNORECASE,
)
WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
SHIFTS = {
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "the day after tomorrow": 2,
    "the day before yesterday": -2,
}


def absolute(text: str, said: dt.datetime | None) -> str:
    """The text with `tomorrow` and `next Friday` as dates; as it is where nobody knows when it was said."""
    if said is None:
        return text
    return RELATIVE.sub(lambda match: _as_date(match, said.date()), text)


def _as_date(match: re.Match[str], today: dt.date) -> str:
    """The date with its preposition, which is the text's own where it has one: `since yesterday`."""
    date = _date_of(match, today)
    return f"{match['lead']}{date.removeprefix('on ').removeprefix('in ')}" if match["lead"] else date


def _date_of(match: re.Match[str], today: dt.date) -> str:
    if match["word"]:
        return f"on {today + dt.timedelta(days=SHIFTS[match['word'].casefold()])}"
    if match["day"]:
        return f"on {_weekday(match['which'].casefold(), DAYS.index(match['day'].casefold()), today)}"
    if match["unit"]:
        return _period(match["side"].casefold(), match["unit"].casefold(), today)
    if match["ahead"]:
        return f"around {_moved(today, _count(match['ahead']), match['ahead_unit'])}"
    return f"around {_moved(today, -_count(match['ago']), match['ago_unit'])}"


def _weekday(which: str, day: int, today: dt.date) -> dt.date:
    if which == "last":
        return today - dt.timedelta(days=(today.weekday() - day - 1) % 7 + 1)
    ahead = (day - today.weekday() - 1) % 7 + 1
    if which == "this":
        return today + dt.timedelta(days=(day - today.weekday()) % 7)
    return today + dt.timedelta(days=ahead)


def _period(side: str, unit: str, today: dt.date) -> str:
    step = {"next": 1, "last": -1, "this": 0}[side]
    if unit == "year":
        return f"in {today.year + step}"
    if unit == "month":
        return f"in {_moved(today.replace(day=1), step, 'month'):%Y-%m}"
    monday = today - dt.timedelta(days=today.weekday()) + dt.timedelta(weeks=step)
    return f"in the week of {monday}"


def _count(text: str) -> int:
    return WORDS.get(text.casefold()) or int(text)


def _moved(day: dt.date, count: int, unit: str) -> dt.date:
    if unit.casefold() == "day":
        return day + dt.timedelta(days=count)
    if unit.casefold() == "week":
        return day + dt.timedelta(weeks=count)
    months = day.year * 12 + day.month - 1 + count
    year, month = divmod(months, 12)
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
