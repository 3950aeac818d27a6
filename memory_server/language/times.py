"""Days, months and years that an English sentence names, and questions that ask for nothing but a time.

What counts from today ("last week") is read of the latter alone.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memory_server.language.words import STATEMENT_STOP_WORDS, WORD

MONTH_NAMES = "january february march april may june july august september october november december".split()
LATE = dt.timedelta(days=1)  # what happened is often told on the next day

_CAPITAL = "March|May"  # words too: in small letters they are none
_MONTH = rf"(?P<month>(?i:{'|'.join(set(MONTH_NAMES) - {'march', 'may'})})|{_CAPITAL})"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NAMED = re.compile(
    rf"\b(?:(?P<day>{_DAY})\s+(?:of\s+)?)?{_MONTH}\b(?:\s+(?P<day_behind>{_DAY})\b(?!:))?(?:,?\s+(?P<year>{_YEAR})\b)?"
    rf"|(?<![\w.:-])(?P<iso_year>{_YEAR})(?:-(?P<iso_month>[01]\d)(?:-(?P<iso_day>[0-3]\d))?)?(?![\w:-]|\.\d)"
)
_UNITS = {"day": 1, "week": 7}
_NUMBERS = "one two three four five six seven eight nine ten".split()
_COUNTED = re.compile(
    r"\b(?:(?P<one>today|yesterday)|(?P<which>this|last|past)\s+(?P<part>week|month|year)"
    rf"|(?:last|past)\s+(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})\s+(?P<unit>day|week)s?)\b",
    re.IGNORECASE,
)
ASKING = STATEMENT_STOP_WORDS | {
    *"happen happened happening worked session sessions list show summary summarize".split()
}


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A day, a month or a year. What is not named may be any."""

    year: int = 0
    month: int = 0  # from 1
    day: int = 0  # from 1

    def holds(self, date: dt.date) -> bool:
        """Whether a date lies in this time, or on the day behind it."""
        return self.is_of(date) or (date > dt.date.min and self.is_of(date - LATE))

    def is_of(self, date: dt.date) -> bool:
        """Whether a date lies in this time."""
        named = ((self.year, date.year), (self.month, date.month), (self.day, date.day))
        return all(wanted in (0, part) for wanted, part in named)


def named_times(text: str) -> Iterator[NamedTime]:
    """The times that a text names, in order. A month at its beginning needs a day or a year: `May I ask`."""
    for match in _NAMED.finditer(text):
        if match["iso_year"]:
            yield NamedTime(*(int(match[part] or 0) for part in ("iso_year", "iso_month", "iso_day")))
            continue
        year, day = int(match["year"] or 0), _number(match["day"] or match["day_behind"])
        if year or day or match.start():
            yield NamedTime(year, MONTH_NAMES.index(match["month"].casefold()) + 1, day)


def time_alone(text: str, today: dt.date) -> Callable[[dt.date], bool] | None:
    """Tells the dates that a text asks for if it asks for nothing else ("what did I do last week"); else None."""
    counted, named = [_counted_days(match, today) for match in _COUNTED.finditer(text)], list(named_times(text))
    rest = WORD.findall(_NAMED.sub(" ", _COUNTED.sub(" ", text)).casefold())
    if not (counted or named) or not {part for word in rest for part in re.split("['’]", word)} <= ASKING:
        return None
    return lambda date: any(first <= date <= last for first, last in counted) or any(one.is_of(date) for one in named)


def _counted_days(match: re.Match[str], today: dt.date) -> tuple[dt.date, dt.date]:
    """The first and the last day of a time that counts from today. Weeks begin on Monday."""
    if match["one"]:
        day = today - dt.timedelta(days=match["one"].casefold() == "yesterday")
        return day, day
    if match["count"]:
        word = match["count"].casefold()
        count = int(word) if word.isdecimal() else _NUMBERS.index(word) + 1
        return today - dt.timedelta(days=count * _UNITS[match["unit"].casefold()]), today
    part, is_this = match["part"].casefold(), match["which"].casefold() == "this"
    if part == "week":
        first = today - dt.timedelta(days=today.weekday())
    else:
        first = today.replace(day=1) if part == "month" else today.replace(month=1, day=1)
    if is_this:
        return first, today
    last = first - dt.timedelta(days=1)
    begins = {"week": first - dt.timedelta(days=7), "month": last.replace(day=1), "year": last.replace(month=1, day=1)}
    return begins[part], last


def _number(text: str | None) -> int:
    return int(re.sub(r"\D", "", text or "") or 0)
