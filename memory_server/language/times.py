"""Days, months and years that an English sentence names or counts from today, and what asks for nothing but a time."""

import datetime as dt
import re
from calendar import monthrange
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
_NUMBERS = "one two three four five six seven eight nine ten".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_COUNT = rf"\d{{1,3}}|an?|{'|'.join(_NUMBERS)}"
_COUNTED = re.compile(
    r"\b(?:(?P<one>today|tonight|(?:the )?day before yesterday|yesterday(?: (?:morning|afternoon|evening|night))?"
    r"|this (?:morning|afternoon|evening)|last night)"
    r"|(?P<which>this|last|past)\s+(?P<part>week|weekend|month|year)|(?:on |over |at )?the (?P<end>weekend)"
    rf"|(?:last|past)\s+(?P<count>{_COUNT})\s+(?P<unit>day|week|month|year)s?"
    rf"|(?P<ago>{_COUNT})\s+(?P<ago_unit>day|week|month|year)s?\s+ago"
    rf"|(?:(?P<side>this|last|past)\s+)?(?P<weekday>{'|'.join(_WEEKDAYS)})"
    rf"|(?:(?P<iso>{_YEAR})-?w|(?:calendar )?week |cw ?|kw ?)(?P<week>0?[1-9]|[1-4]\d|5[0-3]))\b",
    re.IGNORECASE,
)
_FROM_ON = re.compile(r"\b(since|after|before|until|till)\s+(?:the\s+)?\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from)\s+(?:the\s+)?\Z", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class Days:
    """Some days, one behind the other."""

    first: dt.date
    last: dt.date

    def holds(self, date: dt.date) -> bool:
        """Whether a date is one of them, or the day behind them."""
        return self.first <= date and (date <= self.last or date - LATE <= self.last)

    def is_of(self, date: dt.date) -> bool:
        """Whether a date is one of them."""
        return self.first <= date <= self.last


Time = NamedTime | Days


def find_named_times(text: str) -> Iterator[NamedTime]:
    """The times that a text names, in order. A month at its beginning needs a day or a year: `May I ask`."""
    return (time for _, time in _match_times(text))


def find_times(text: str, today: dt.date) -> list[Time]:
    """The times that a text asks for, those that count from today too: `last week`, `on Monday`, `since March`."""
    counted = [(match, _parse_counted_days(match, today)) for match in _COUNTED.finditer(text)]
    found: list[tuple[re.Match[str], Time]] = sorted([*_match_times(text), *counted], key=lambda one: one[0].start())
    times: list[Time] = []
    for place, (match, time) in enumerate(found):
        before = text[found[place - 1][0].end() if place else 0 : match.start()]
        opened = _BETWEEN.search(text[: found[place - 1][0].start()]) if place else None
        if opened and times and before.split() in (["and"], ["to"], ["until"], ["till"]):
            times[-1] = Days(_as_days(found[place - 1][1], today).first, _as_days(time, today).last)
        elif bound := _FROM_ON.search(before):
            times.append(_bound_days(bound[1].casefold(), _as_days(time, today), today))
        else:
            times.append(time)
    return times


def time_alone(text: str, today: dt.date) -> Callable[[dt.date], bool] | None:
    """Tells the dates that a text asks for if it asks for nothing else ("what did I do last week"); else None."""
    times, rest = find_times(text, today), WORD.findall(_NAMED.sub(" ", _COUNTED.sub(" ", text)).casefold())
    if not times or not {part for word in rest for part in re.split("['’]", word)} <= ASKING:
        return None
    return lambda date: any(time.is_of(date) for time in times)


def _match_times(text: str) -> Iterator[tuple[re.Match[str], NamedTime]]:
    for match in _NAMED.finditer(text):
        if match["iso_year"]:
            yield match, NamedTime(*(int(match[part] or 0) for part in ("iso_year", "iso_month", "iso_day")))
            continue
        year, day = int(match["year"] or 0), _number(match["day"] or match["day_behind"])
        if year or day or match.start():
            yield match, NamedTime(year, MONTH_NAMES.index(match["month"].casefold()) + 1, day)


def _bound_days(word: str, days: Days, today: dt.date) -> Days:
    """The days since, after, before or until some others."""
    match word:
        case "since":
            return Days(days.first, max(days.first, today))
        case "after":
            return Days(days.last + LATE, max(days.last + LATE, today))
        case "before":
            return Days(dt.date.min, days.first - LATE)
    return Days(dt.date.min, days.last)


def _as_days(time: Time, today: dt.date) -> Days:
    """The days of a time; of one without a year the last that has begun."""
    if isinstance(time, Days):
        return time
    for year in (time.year,) if time.year else (today.year, today.year - 1):
        month, last_month = min(time.month or 1, 12), min(time.month or 12, 12)
        last = time.day or monthrange(year, last_month)[1]
        first = dt.date(year, month, min(time.day or 1, monthrange(year, month)[1]))
        if time.year or first <= today:
            break
    return Days(first, dt.date(year, last_month, min(last, monthrange(year, last_month)[1])))


def _parse_counted_days(match: re.Match[str], today: dt.date) -> Days:
    """The days of a time that counts from today. Weeks begin on Monday."""
    groups = {name: " ".join(text.casefold().split()) for name, text in match.groupdict().items() if text}
    if "one" in groups:
        back = 2 if "before" in groups["one"] else int("yesterday" in groups["one"])
        if groups["one"] == "last night":
            return Days(today - LATE, today)
        return Days(today - back * LATE, today - back * LATE)
    if "count" in groups:
        return Days(_back(today, _count(groups["count"]), groups["unit"]), today)
    if "ago" in groups:
        day = _back(today, _count(groups["ago"]), groups["ago_unit"])
        return _period(day, groups["ago_unit"])
    if "weekday" in groups:
        back = (today.weekday() - _WEEKDAYS.index(groups["weekday"])) % 7
        is_before = groups.get("side", "this") != "this" and not back
        day = today - (back + 7 * is_before) * LATE
        return Days(day, day)
    if "week" in groups:
        return _iso_week(int(groups["iso"]) if "iso" in groups else 0, int(groups["week"]), today)
    part, is_this = groups.get("part", "weekend"), groups.get("which", "this") == "this"
    if part == "weekend":
        day = today - (today.weekday() - 5) % 7 * LATE
        day -= 7 * LATE * (not is_this and today.weekday() >= 5)
        return Days(day, day + LATE)
    this = _period(today, part)
    return Days(this.first, today) if is_this else _period(this.first - LATE, part)


def _period(day: dt.date, unit: str) -> Days:
    """The week, month or year in which a day lies; the day itself for `day`."""
    if unit == "week":
        first = day - day.weekday() * LATE
        return Days(first, first + 6 * LATE)
    if unit == "month":
        return Days(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))
    return Days(dt.date(day.year, 1, 1), dt.date(day.year, 12, 31)) if unit == "year" else Days(day, day)


def _back(day: dt.date, count: int, unit: str) -> dt.date:
    """The day so many units before another one."""
    if unit in ("day", "week"):
        return day - count * (7 if unit == "week" else 1) * LATE
    year, month = divmod(day.year * 12 + day.month - 1 - count * (12 if unit == "year" else 1), 12)
    return dt.date(max(year, 1), month + 1, min(day.day, monthrange(max(year, 1), month + 1)[1]))


def _iso_week(year: int, week: int, today: dt.date) -> Days:
    """A week by its number as ISO 8601 counts; without a year the last that has begun."""
    for wanted in (year,) if year else (today.year, today.year - 1):
        try:
            first = dt.date.fromisocalendar(wanted, week, 1)
        except ValueError:  # the 53rd of a year that has none
            continue
        if year or first <= today:
            return Days(first, first + 6 * LATE)
    return Days(today + LATE, today)  # no day at all


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS.index(text) + 1 if text in _NUMBERS else 1


def _number(text: str | None) -> int:
    return int(re.sub(r"\D", "", text or "") or 0)
