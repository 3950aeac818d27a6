"""A statement read once: its clauses with values, telling words and limits, whether it denies, and who holds what.

Comparing one statement with all those of the topics asks for the same things again and again; reading is the dear part.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dream.statements.values import MEASURES, MONTHS, Value, ValueKind, find_values
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import Span, clause_spans
from memory_server.language.words import content_words

RELATIVE = ignore_case(r"(?:which|who)\b")  # such a clause says nothing without the one before
NEGATED = ignore_case(
    r"\b(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must|need)(?:n't|nt| not)\b"
    r"(?! only\b)|\b(?:cannot|can't|won't|ain't|never|nobody|no one|none of|neither|no longer|nowhere|without|far from"
    r"|no need|not)\b"
    r"|\b(?:there(?:'s| is| are)|has|have|had|with|got) no\b"
)
INSIDE = r"(?:[^,;.!?\n]|[.,](?=\w))"  # a character within a clause; the point of an address or a number is one
CORRECTED = ignore_case(
    rf"\b[\w/:.@-]+,\s+(?:and\s+|but\s+)?not\s+(?!only\b|sure\b|yet\b|just\b)\S|\bnot\s+{INSIDE}{{1,50}}?,?\s+but\s+\S"
    r"|\binstead of\b|\brather than\b|\w,\s+never\s+(?!mind\b)[\w'-]+\W*$"
)  # `X, not Y` and `not Y but X` state X
ALTERNATIVES = ignore_case(r",?\s+(?:or|nor|and)\s+(?:any\s+)?|,\s+|\s+(?:because|since|so that|due to)\s+")
LIST = 3  # numbers of one unit in a clause that make it a list
MOVES_FROM = ignore_case(r"\bfrom\s+(?:the |an? |our )?$")
LABELLED = ignore_case(
    r"(?:^|\b(?:in|on|at|of|for|from|to|with|by)\s+)(?:the |our |my )?([a-z]{3,}) (?:no\. ?|number |#)?$"
)  # what stands before a number that names a thing, as a subject or behind a preposition
Scope = frozenset[tuple[str, str]]  # each limit of a clause as its sort and its value: a month, a rate, sprint 2

AS_WRITTEN = "|".join(name.capitalize() for name in sorted(MONTHS, key=len, reverse=True) if name != "may")
MONTH = re.compile(
    rf"(?P<begins>\b(?:from|since|starting|beginning|as of|effective|until|till|by|through)\s+(?:in |with |early |mid "
    rf"|late )?)?\b(?P<month>{AS_WRITTEN}|(?<=\bin )May|(?<=\bfor )May|(?<=\bduring )May|May(?='s\b))\b"
    r"(?!\.?\s+\d{1,2}(?!\d))"
)  # a month as a period: with a day it is a date, behind `from` the time from which something holds
BEFORE_MONTH = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+$")
QUARTER = re.compile(r"\bQ([1-4])\b")
NUMBERED = ignore_case(
    r"\b(?P<thing>sprint|phase|stage|step|chapter|milestone|iteration|round|lesson|part|volume|episode|season"
    r"|draft)\s+(?:no\.?\s*|#)?(?P<number>\d+)\b"
)
RATE = ignore_case(
    r"\b(?P<word>hourly|daily|weekly|monthly|quarterly|yearly|annual(?:ly)?)\b|\b(?:per|a|an|each"
    r"|every)\s+(?P<unit>second|minute|hour|day|week|month|quarter|year)\b"
)
RATES = {"hourly": "hour", "daily": "day", "annual": "year", "annually": "year"}
PLANNED = ignore_case(
    r"\b(?:goals?|targets?|aim(?:s|ed|ing)?|plan(?:s|ned|ning)?|budgets?|quotas?|estimat(?:e|es|ed)|hop(?:e|ing) to)\b"
)
ACTUAL = ignore_case(r"\b(?:spent|finish(?:ed|ing)|complet(?:ed|ing)|achieved|actual(?= )|logged)\b")
DEADLINE = ignore_case(r"\b(?:by|until|till|before|deadline|due)\s+(?:\w+\s+){0,2}$")
ON_A_DAY = ignore_case(r"\bon\s+(?:the\s+|\w+day,?\s+)?$")
NAMES_DEADLINE = ignore_case(r"\b(?:deadlines?|due)\b")
ROLE = "owner|maintainer|lead|manager|contact"
HOLDS = ignore_case(
    r"^(?:now\s+|currently\s+)?(?P<who>(?:[\w.'-]+\s+){1,3}?)(?:now\s+|currently\s+)?(?:owns?|maintains?|leads?"
    r"|manages?|(?:has\s+)?(?:took|taken|takes)\s+over"
    rf"|(?:is|are)\s+(?:now\s+)?(?:responsible\s+for|in\s+charge\s+of|the\s+(?:{ROLE})\s+(?:of"
    rf"|for)))\s+(?P<what>[^,;.]+)"
)
HELD_BY = ignore_case(
    r"^(?P<what>[^,;.]+?)\s+(?:is|are)\s+(?:now\s+)?(?:owned|maintained|led|managed)\s+by\s+(?P<who>(?:[\w.'-]+\s*){1,3})"
)
WHEN_OR_WHY = ignore_case(r"\s+(?:since|because|from|now|as|until|while|these days|any ?more)\b.*")
NOBODY_NAMED = ignore_case(r"\b(?:i|we|you|he|she|it|they|who|which|that|this|nobody|also)\b")


@dataclass(frozen=True, slots=True)
class Holder:
    """One who holds something. Both are told by their telling words."""

    name: str
    who: frozenset[str]
    what: frozenset[str]


@dataclass(frozen=True, slots=True)
class ClauseReading:
    """One clause of a statement."""

    text: str
    values: tuple[Value, ...]  # those that hold: what the clause calls former is left out
    words: frozenset[str]
    denies: bool
    denied: tuple[frozenset[str], ...]  # of a denial: the words of each thing that is denied, and of all together
    scope: Scope  # the periods, rates and numbered things that it limits itself to
    labels: frozenset[tuple[str, str, int]]  # a noun, the number right behind it, and where that begins: `kitchen 2`

    def cut_value(self, value: Value) -> str:
        """A value as the clause writes it."""
        return self.text[value.first : value.end].strip()


@dataclass(frozen=True, slots=True)
class StatementReading:
    """A statement with its clauses. `context` are the telling words of the sentence that it stands in."""

    text: str
    clauses: tuple[ClauseReading, ...]
    words: frozenset[str]
    values: frozenset[str]  # every value that it holds to be true
    former: tuple[tuple[str, frozenset[str]], ...]  # each thing that it says was so before, as written and in words
    holders: tuple[Holder, ...]
    context: frozenset[str]

    @property
    def denies(self) -> bool:
        return any(clause.denies for clause in self.clauses)


def read_statement(text: str, context: str = "") -> StatementReading:
    """Reads a statement that stands in the sentence `context`."""
    clauses = tuple(_clause(text[first:end]) for first, end in _whole_clauses(text))
    words = frozenset(content_words(text))
    values = frozenset(value.value for clause in clauses for value in clause.values)
    former = tuple(_find_former_names(text))
    holders = tuple(find_holders(text))
    return StatementReading(text, clauses, words, values, former, holders, words | frozenset(content_words(context)))


def _find_former_names(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The names that a text says something moved away from: `from Jenkins to Buildkite`."""
    for value in find_values(text):
        if value.is_former and value.kind is ValueKind.NAME and MOVES_FROM.search(text[: value.first]):
            written = text[value.first : value.end]
            yield written, frozenset(content_words(written))


def _whole_clauses(text: str) -> list[Span]:
    """The clauses of a text; one that begins with `which` belongs to the one it explains."""
    spans: list[Span] = []
    for first, end in clause_spans(text, 0, len(text)):
        if spans and RELATIVE.match(text, first, end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((first, end))
    return spans


def _clause(text: str) -> ClauseReading:
    denies = bool(NEGATED.search(text)) and not CORRECTED.search(text)
    words = frozenset(content_words(text))
    things = [frozenset(content_words(part)) for part in ALTERNATIVES.split(text)] if denies else []
    denied = (*filter(None, things), words) if denies else ()
    values = tuple(_slots(text))
    return ClauseReading(text, values, words, denies, denied, find_scope(text), frozenset(_labels(text, values)))


def _slots(text: str) -> Iterator[Value]:
    """The values of a clause that fill a slot: not what it calls former, nor a list of numbers such as three sides."""
    values = [value for value in find_values(text) if not value.is_former]
    alike = Counter((value.kind, value.unit) for value in values if value.kind is ValueKind.QUANTITY)
    bare = sum(count for (_, unit), count in alike.items() if not unit)
    for value in values:
        listed = value.kind is ValueKind.QUANTITY and alike[value.kind, value.unit] + bare * bool(value.unit) >= LIST
        if not listed:
            yield value


def _labels(text: str, values: Iterable[Value]) -> Iterator[tuple[str, str, int]]:
    """The numbers that may tell one thing from another of its kind, with the noun ahead of each."""
    for value in values:
        noun = LABELLED.search(text[: value.first])
        if noun and value.kind is ValueKind.QUANTITY and value.unit not in MEASURES:
            yield from ((word, value.value, value.first) for word in content_words(noun[1]))


# -- limits: what was spent in February says nothing of January; the stories of sprint 2 are none of sprint 1 ----------


def find_scope(clause: str) -> Scope:
    """The limits that a clause names: its periods, the numbered things, the rate, and whether it tells of a plan."""
    limits = [(match["thing"].casefold(), match["number"]) for match in NUMBERED.finditer(clause)]
    limits += [("quarter", match[1]) for match in QUARTER.finditer(clause)]
    limits += [("stage", name) for name, sign in (("planned", PLANNED), ("actual", ACTUAL)) if sign.search(clause)]
    for match in MONTH.finditer(clause):
        if not match["begins"] and not BEFORE_MONTH.search(clause[: match.start("month")]):
            limits.append(("month", str(MONTHS[match["month"].casefold()])))
    for match in RATE.finditer(clause):
        word = (match["unit"] or match["word"]).casefold()
        limits.append(("rate", RATES.get(word, word.removesuffix("ly"))))
    return frozenset(limits)


def are_apart(ours: Scope, theirs: Scope) -> bool:
    """Whether two scopes name limits of the same sort, and none in common. Silence about a limit decides nothing."""
    common = {sort for sort, _ in ours & theirs}
    return any(sort not in common for sort in {sort for sort, _ in ours} & {sort for sort, _ in theirs})


def role_of_date(clause: str, first: int) -> str:
    """What the date that begins at a character of a clause is: `deadline`, `day`, or empty where it does not show."""
    before = clause[:first]
    if DEADLINE.search(before) or NAMES_DEADLINE.search(clause):
        return "deadline"
    return "day" if ON_A_DAY.search(before) else ""


# -- holders: `Tom owns billing` and `Ines took over billing` fill one slot, though such a name is no value ------------


def find_holders(text: str) -> Iterator[Holder]:
    """The holders that a statement names at its start."""
    for pattern in (HOLDS, HELD_BY):
        found = pattern.match(text)
        if found and not NOBODY_NAMED.search(found["who"]):
            who = WHEN_OR_WHY.sub("", found["who"]).strip()
            what = frozenset(content_words(WHEN_OR_WHY.sub("", found["what"])))
            if what:
                yield Holder(who, frozenset(content_words(who)), what)
