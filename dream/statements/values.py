"""The values that a sentence gives: numbers with their unit, dates, versions, addresses, paths, names.

Two sentences contradict each other where they say the same of the same subject with another value. So each value keeps
its kind, what it counts or is paid in, and the words around it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from memory_server.language.cues import ignore_case
from memory_server.language.times import MONTH_NAMES
from memory_server.language.words import content_words

CLOSE_BEFORE, CLOSE_AFTER = 3, 2  # telling words that a value's own noun or verb is among


class ValueKind(StrEnum):
    """What sort of value it is."""

    ADDRESS = "address"  # host, IP, URL, mail address, port
    VERSION = "version"
    PATH = "path"
    DATE = "date"
    TIME = "time"
    QUANTITY = "quantity"  # a number with or without a unit
    NAME = "name"  # an identifier or a proper name


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a sentence."""

    kind: ValueKind
    value: str  # normalised: equal for the same value written differently
    unit: str  # of a quantity: %, $, ms, or the stem of the noun that is counted; empty where nothing says
    close: frozenset[str]  # stems of the few words right beside it
    first: int
    end: int
    is_former: bool = False  # what it was before: `from 70 % to 90 %`


MONTHS = {name: number for number, whole in enumerate(MONTH_NAMES, start=1) for name in (whole, whole[:3])} | {
    "sept": 9
}
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
SMALL_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(SMALL_NUMBERS.split())} | {
    "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "dozen": "12"
}  # fmt: skip
UNITS = (
    r"%|percent|per cent|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|kb"
    r"|mb|gb|tb|kib|mib|gib|bytes?|k|px|usd|eur|dollars?|euros?|pounds?|km|cm|mm|miles?|m|kg|g"
)
UNIT_NAMES = {
    "percent": "%", "per cent": "%", "milliseconds": "ms", "millisecond": "ms", "sec": "s", "secs": "s", "second": "s",
    "seconds": "s", "min": "minute", "mins": "minute", "minutes": "minute", "h": "hour", "hr": "hour", "hrs": "hour",
    "hours": "hour", "days": "day", "weeks": "week", "months": "month", "years": "year", "dollar": "$", "dollars": "$",
    "usd": "$", "euro": "€", "euros": "€", "eur": "€", "pounds": "£", "pound": "£", "miles": "mile", "bytes": "byte",
}  # fmt: skip
MEASURES = frozenset({*UNIT_NAMES.values(), "ms", "s", "kb", "mb", "gb", "tb", "£", "€", "$", "%"})  # count no thing
SCALES = (
    {"ms": 0.001, "s": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800},
    {"byte": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
)  # units of one measure; months and years have no fixed length
HOST_NAME = (
    r"\b(?:[a-z0-9-]+\.){1,5}(?:com|org|net|io|dev|local|internal|lan|example|test|app|cloud|eu|de|uk|fr|ai|co|me|info"
    r"|corp|intra|home)\b(?!\w|\()"
)
DAY_OF_MONTH = (
    rf"\b(?:{MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+\d{{4}})?\b|\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s+of)?\s+"
    rf"(?:{MONTH})\b(?:,?\s+\d{{4}})?"
)
NAMED_VERSION = (
    r"(?<=\bversion )\d+(?:\.\d+)*\b|(?<=\brelease )\d+(?:\.\d+)*\b|\b(?<=[A-Za-z#+] )\d+\.\d+\b(?!\s?(?:%|x\b|ms|sec"
    r"|min|hour|gb|mb|kb|percent|times|million|k\b))|(?<=\bpython )\d+(?:\.\d+)*\b|(?<=\bnode )\d+(?:\.\d+)*\b"
    r"|(?<=\bjava )\d+\b|(?<=\bpostgres )\d+\b|(?<=\bubuntu )\d+(?:\.\d+)?\b|(?<=\bpostgresql )\d+\b"
    r"|(?<=\breact )\d+\b|(?<=\bgo )\d+\.\d+\b"
)
FILE_OR_FOLDER = (
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.@~+-]+(?:/[\w.@~+*-]+)*/?|(?<![\w/.])[\w.@-]+(?:/[\w.@*-]+)*/[\w@-]+\.[a-z]{1,5}\b"
    r"|(?<![\w/.])[\w.@-]+(?:/[\w.@*-]+)*/(?=\s|$|[,.;`])|(?:(?<=\bin )|(?<=\bto )|(?<=\bunder )|(?<=\bfrom )"
    r"|(?<=\binto )|(?<=\bof )|(?<=\bbelow ))[\w.@-]+(?:/[\w.@-]+)+|(?<![\w/.-])[\w-]+\.(?:py|ts|tsx|js|jsx|go|rs|md"
    r"|json|jsonl|ya?ml|toml|sh|sql|txt|ini|cfg|conf|env|lock|html|css|java|rb|c|h|cpp|xml|csv)\b"
    r"|(?<![\w/])\.[a-z][\w.-]{2,}\b"
)
PATTERNS = tuple(
    (kind, ignore_case(pattern))
    for kind, pattern in (
        (ValueKind.ADDRESS, r"\b[a-z][a-z0-9+.-]*://[^\s<>\"'`)\]]+"),
        (ValueKind.ADDRESS, r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
        (ValueKind.ADDRESS, r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?(?:/\d{1,2})?\b"),
        (ValueKind.ADDRESS, r"\b(?:localhost|(?:[a-z0-9-]+\.){1,5}[a-z]{2,})(?::\d{2,5})\b"),
        (ValueKind.ADDRESS, HOST_NAME),
        (ValueKind.ADDRESS, r"(?<=\bport )\d{2,5}\b|(?<=\bports )\d{2,5}\b|(?<![\w:]):\d{4,5}\b"),
        (ValueKind.DATE, r"\b\d{4}-\d{2}(?:-\d{2})?\b(?!-)|\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b\d{1,2}\.\d{1,2}\.\d{4}\b"),
        (ValueKind.DATE, DAY_OF_MONTH),
        (ValueKind.DATE, rf"\b(?:{DAYS})s?\b"),
        (ValueKind.DATE, r"(?<![\w.,$€£/-])(?:19|20)\d{2}\b(?![\w,.%]\d|\s?(?:%|ms|calls|lines))"),
        (ValueKind.TIME, r"\b\d{1,2}(?::\d{2})?\s?(?:am|pm|a\.m\.|p\.m\.)(?!\w)|\b[0-2]?\d:[0-5]\d\b"),
        (ValueKind.VERSION, r"\bv\d+(?:\.\d+)*(?:-?(?:alpha|beta|rc)[.\d]*)?\b|\b\d+\.\d+\.\d+[\w.-]*\b"),
        (ValueKind.VERSION, NAMED_VERSION),
        (ValueKind.PATH, FILE_OR_FOLDER),
    )
)  # in this order: what one has taken is not looked at by the next
QUANTITY = ignore_case(
    rf"(?P<currency>[$€£])?\s?(?P<number>(?<![\w.])\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|(?<![\w.])\d+(?:\.\d+)?(?:(?:st|nd"
    rf"|rd|th)\b)?|\b(?:{'|'.join(NUMBER_WORDS)})\b)(?P<scale>k\b|\s?million\b|\s?thousand\b)?(?:(?:\s"
    rf"|-)?(?P<unit>{UNITS})(?![\w/]))?(?P<rest>(?:[\s-]+[A-Za-z][A-Za-z'-]*){{0,3}})"
)
NAME = re.compile(
    r"(?<!\w)(?P<flag>--[a-z][\w-]+)|`(?P<code>[^`\n]{1,60})`|\b(?P<ident>[a-z]+(?:[A-Z][a-z0-9]+)+"
    r"|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|\w+_\w+|[a-z0-9]+(?:-[a-z0-9]+){1,4}(?=\W|$)|[A-Z]{2,}[A-Z0-9_-]*)\b"
    r"|(?<=[a-z,;:] )(?P<proper>[A-Z][\w'’+#-]*(?:\.\w+)*(?:\s+[A-Z][\w'’+#-]*)*)"
)
NOT_NAMES = frozenset("i ok ci pr prs api url ui id i'm i'd i've i'll todo".split())
FORMER = ignore_case(
    r"\b(?:from|instead of|rather than|not|was|were|used to be|previously|formerly|old|than|over|replacing|replaces"
    r"|no longer|isn't|aren't)\s+(?:at |on |in |the |a |an |my |our |about |around |port |version |v)*$"
)  # what stands before a value that does not hold (any more)
TO_FOLLOWS = ignore_case(r"\s*(?:%|ms|\w+)?\s*(?:to|->|→|into)\s")


def find_values(sentence: str) -> tuple[Value, ...]:
    """Every value of a sentence, in order. No two of them overlap."""
    found: list[Value] = []
    for kind, value, unit, first, end in _match_values(sentence):
        if all(end <= other.first or first >= other.end for other in found):
            found.append(_value(sentence, kind, value, unit, first, end))
    return tuple(sorted(found, key=lambda value: value.first))


def _match_values(sentence: str) -> Iterator[tuple[ValueKind, str, str, int, int]]:
    """What may be a value, the surest first: its kind, value and unit, and where it begins and ends."""
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(sentence):
            text = match[0].rstrip(".,;:!?")  # those end the sentence
            yield kind, _normalise(kind, text), "", match.start(), match.start() + len(text)
    for match in QUANTITY.finditer(sentence):
        if match["unit"] or match["number"].casefold() != "one":  # else `a certain` rather than the number
            first = match.start("currency" if match["currency"] else "number")
            yield ValueKind.QUANTITY, _number(match), _unit(match), first, match.end("number")
    for match in NAME.finditer(sentence):
        text = next(group for group in match.groups() if group).casefold()
        if text not in NOT_NAMES:
            yield ValueKind.NAME, text.removesuffix("'s"), "", *match.span()


def _value(sentence: str, kind: ValueKind, value: str, unit: str, first: int, end: int) -> Value:
    lead = FORMER.search(sentence[:first])
    is_former = lead is not None and (
        not lead[0].casefold().startswith("from") or TO_FOLLOWS.match(sentence, end) is not None
    )
    beside = content_words(sentence[:first])[-CLOSE_BEFORE:] + content_words(sentence[end:])[:CLOSE_AFTER]
    close = frozenset(word for word in beside if not word.isdigit())
    return Value(kind, value, unit, close, first, end, is_former)


def _normalise(kind: ValueKind, text: str) -> str:
    text = text.casefold().strip().rstrip(".,")
    if kind is ValueKind.VERSION:
        return text.removeprefix("v")
    if kind is ValueKind.ADDRESS:
        return text.rstrip("/").lstrip(":")
    if kind is ValueKind.TIME:
        return _time(text)
    if kind is ValueKind.DATE:
        return _date(text)
    return text.rstrip("/") if kind is ValueKind.PATH else text


def _time(text: str) -> str:
    digits = re.findall(r"\d+", text)
    hour, minute = int(digits[0]), int(digits[1]) if len(digits) > 1 else 0
    if "p" in text and hour < 12:
        hour += 12
    return f"{hour:02d}:{minute:02d}"


def _date(text: str) -> str:
    month = re.search(MONTH, text)
    numbers = re.findall(r"\d+", text)
    if month and numbers:
        day = next((number for number in numbers if len(number) <= 2), "")
        return f"{MONTHS[month[0]]:02d}-{int(day):02d}" if day else text
    if iso := re.fullmatch(r"\d{4}-(\d\d)-(\d\d)", text):
        return f"{iso[1]}-{iso[2]}"
    return text.rstrip("s") if text.endswith("days") else text


def _number(match: re.Match[str]) -> str:
    text = NUMBER_WORDS.get(match["number"].casefold(), match["number"].replace(",", ""))
    scale = (match["scale"] or "").strip().casefold()
    text = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", text, flags=re.IGNORECASE)
    factor = {"k": 1_000, "thousand": 1_000, "million": 1_000_000}.get(scale, 1)
    number = float(text) * factor
    return f"{number:g}" if number < 1e15 else text


def _unit(match: re.Match[str]) -> str:
    """What a number counts: its unit, else the noun at the end of the few words behind it."""
    if match["currency"]:
        return str(match["currency"])
    if match["unit"]:
        unit = match["unit"].casefold()
        return UNIT_NAMES.get(unit, unit)
    words = content_words(match["rest"] or "")
    return words[0] if words else ""


def share_a_scale(one: Value, other: Value) -> bool:
    """Whether two quantities have different units of the same measure, such as seconds and minutes."""
    return one.unit != other.unit and any(one.unit in scale and other.unit in scale for scale in SCALES)


def are_equal(one: Value, other: Value) -> bool:
    """Whether two quantities on one scale are the same amount: `60 s` and `1 minute`."""
    scale = next(scale for scale in SCALES if one.unit in scale)
    return float(one.value) * scale[one.unit] == float(other.value) * scale[other.unit]
