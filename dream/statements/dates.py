"""Relative dates made absolute, counted from the day on which they were said."""

import datetime as dt
import re
from calendar import monthrange
from collections.abc import Mapping

from dream.statements.values import DAYS
from memory_server.language.cues import ignore_case
from memory_server.machine.clock import local_day

COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
SHIFTS = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "the day after tomorrow": 2, "the day before yesterday": -2,
}  # fmt: skip
COUNT = rf"\d{{1,3}}|{'|'.join(COUNTS)}"
RELATIVE_DATE = ignore_case(
    r"\b(?P<lead>(?:since|by|until|till|before|after|from|for|on|of|to|through)\s+)?"
    rf"(?:(?P<word>{'|'.join(SHIFTS)})|(?P<which>next|last|this|coming)\s+(?P<day>{DAYS})"
    rf"|(?P<side>next|last|this)\s+(?P<unit>week|month|year)|in\s+(?P<ahead>{COUNT})\s+(?P<ahead_unit>day|week|month)s?"
    rf"|(?P<ago>{COUNT})\s+(?P<ago_unit>day|week|month)s?\s+ago)\b(?!['’]s\b)"
)


def absolute(text: str, when: dt.datetime | None) -> str:
    """The text with `tomorrow` and `next Friday` as dates; as it is where nobody knows when it was said."""
    if when is None:
        return text
    return RELATIVE_DATE.sub(lambda match: _as_date(match, local_day(when)), text)


def _as_date(match: re.Match[str], today: dt.date) -> str:
    """The date with its preposition, which is the text's own where it has one: `since yesterday`."""
    date = _format_date({name: text.casefold() for name, text in match.groupdict().items() if text}, today)
    return f"{match['lead']}{date.removeprefix('on ').removeprefix('in ')}" if match["lead"] else date


def _format_date(groups: Mapping[str, str], today: dt.date) -> str:
    if "word" in groups:
        return f"on {today + dt.timedelta(days=SHIFTS[groups['word']])}"
    if "day" in groups:
        ahead = (DAYS.split("|").index(groups["day"]) - today.weekday()) % 7  # 0 to 6; `this Monday` may be today
        return f"on {today + dt.timedelta(days={'last': ahead - 7, 'this': ahead}.get(groups['which'], ahead or 7))}"
    if "unit" in groups:
        return _period({"next": 1, "last": -1, "this": 0}[groups["side"]], groups["unit"], today)
    if "ahead" in groups:
        return f"around {_move_day(today, _count(groups['ahead']), groups['ahead_unit'])}"
    return f"around {_move_day(today, -_count(groups['ago']), groups['ago_unit'])}"


def _period(step: int, unit: str, today: dt.date) -> str:
    if unit == "year":
        return f"in {today.year + step}"
    if unit == "month":
        return f"in {_move_day(today.replace(day=1), step, 'month'):%Y-%m}"
    return f"in the week of {today + dt.timedelta(days=7 * step - today.weekday())}"


def _count(text: str) -> int:
    return COUNTS.get(text) or int(text)


def _move_day(day: dt.date, count: int, unit: str) -> dt.date:
    if unit != "month":
        return day + dt.timedelta(days=count * (7 if unit == "week" else 1))
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
