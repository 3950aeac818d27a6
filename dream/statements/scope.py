"""What a clause limits its values to: a month, a quarter, a rate, a numbered thing, plan or outcome, deadline or day.

What was spent in February says nothing of what was spent in January, nor of a budget; the stories of sprint 2 are none
of sprint 1.
Where two clauses name such a limit of the same sort and no common one, their values fill different slots. A clause that
names none may mean any, so silence decides nothing.
"""

import re
from collections.abc import Iterator

from dream.statements.values import MONTHS

Scope = frozenset[tuple[str, str]]  # each limit as its sort and its value

MONTH_NAMES = "|".join(name.capitalize() for name in sorted(MONTHS, key=len, reverse=True) if name != "may")
MONTH = re.compile(
    r"(?P<begins>\b(?:from|since|starting|beginning|as of|effective|until|till|by|through)\s+(?:in |with |early |mid "
    rf"|late )?)?\b(?P<month>{MONTH_NAMES}|(?<=\bin )May|(?<=\bfor )May|(?<=\bduring )May|May(?='s\b))\b"
    r"(?!\.?\s+\d{1,2}(?!\d))"
)  # a month as a period: with a day it is a date, behind `from` the time from which something holds
BEFORE_MONTH = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+$")
QUARTER = re.compile(r"\bQ([1-4])\b")
NUMBERED = re.compile(
    r"\b(?P<thing>sprint|phase|stage|step|chapter|milestone|iteration|round|lesson|part|volume|episode|season|draft)"
    r"\s+(?:no\.?\s*|#)?(?P<number>\d+)\b",
    re.IGNORECASE,
)
RATE = re.compile(
    r"\b(?P<word>hourly|daily|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b"
    r"|\b(?:per|a|an|each|every)\s+(?P<unit>second|minute|hour|day|week|month|quarter|year)\b",
    re.IGNORECASE,
)
RATES = {"hourly": "hour", "daily": "day", "annual": "year", "annually": "year"}
PLANNED = re.compile(
    r"\b(?:goals?|targets?|aim(?:s|ed|ing)?|plan(?:s|ned|ning)?|budgets?|quotas?|estimat(?:e|es|ed)|hop(?:e|ing) to)\b",
    re.IGNORECASE,
)
ACTUAL = re.compile(r"\b(?:spent|finish(?:ed|ing)|complet(?:ed|ing)|achieved|actual(?= )|logged)\b", re.IGNORECASE)
DEADLINE = re.compile(r"\b(?:by|until|till|before|deadline|due)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
ON_A_DAY = re.compile(r"\bon\s+(?:the\s+|\w+day,?\s+)?$", re.IGNORECASE)
NAMES_DEADLINE = re.compile(r"\b(?:deadlines?|due)\b", re.IGNORECASE)


def scope_of(clause: str) -> Scope:
    """The limits that a clause names: its periods, the numbered things, the rate, and whether it tells of a plan."""
    return frozenset([*_periods(clause), *_numbered(clause), *_rates(clause), *_stages(clause)])


def are_apart(ours: Scope, theirs: Scope) -> bool:
    """Whether two scopes name limits of the same sort, and none in common."""
    for sort in {sort for sort, _ in ours} & {sort for sort, _ in theirs}:
        if not {limit for limit in ours if limit[0] == sort} & {limit for limit in theirs if limit[0] == sort}:
            return True
    return False


def role_of_date(clause: str, first: int) -> str:
    """What the date that begins at a character of a clause is: `deadline`, `day`, or empty where it does not show."""
    before = clause[:first]
    if DEADLINE.search(before) or NAMES_DEADLINE.search(clause):
        return "deadline"
    return "day" if ON_A_DAY.search(before) else ""


def _periods(clause: str) -> Iterator[tuple[str, str]]:
    for match in MONTH.finditer(clause):
        if not match["begins"] and not BEFORE_MONTH.search(clause[: match.start("month")]):
            yield "month", str(MONTHS[match["month"].casefold()])
    for match in QUARTER.finditer(clause):
        yield "quarter", match[1]


def _numbered(clause: str) -> Iterator[tuple[str, str]]:
    for match in NUMBERED.finditer(clause):
        yield match["thing"].casefold(), match["number"]


def _rates(clause: str) -> Iterator[tuple[str, str]]:
    for match in RATE.finditer(clause):
        word = (match["unit"] or match["word"]).casefold()
        yield "rate", RATES.get(word, word.removesuffix("ly"))


def _stages(clause: str) -> Iterator[tuple[str, str]]:
    if PLANNED.search(clause):
        yield "stage", "planned"
    if ACTUAL.search(clause):
        yield "stage", "actual"
