"""Relative dates made absolute, counted from the day on which they were said."""

import datetime as dt
import re
from calendar import monthrange

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
RELATIVE = re.compile(
    r"\b(?P<lead>(?:since|by|until|till|before|after|from|for|on|of|to|through)\s+)?"
    r"(?:(?P<word>today|tonight|tomorrow|yesterday|the day after tomorrow|the day before yesterday)"
    rf"|(?P<which>next|last|this|coming)\s+(?P<day>{'|'.join(DAYS)})"
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
