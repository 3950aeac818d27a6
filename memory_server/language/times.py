"""Days, months and years that an English sentence names. What counts from today ("last week") is not read."""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class NamedTime:
    """A day, a month or a year. What is not named may be any."""

    year: int = 0
    month: int = 0  # from 1
    day: int = 0  # from 1

    def holds(self, date: dt.date) -> bool:
        """Whether a date lies in this time, or on the day behind it."""
        return self._is(date) or (date > dt.date.min and self._is(date - LATE))

    def _is(self, date: dt.date) -> bool:
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


def _number(text: str | None) -> int:
    return int(re.sub(r"\D", "", text or "") or 0)
