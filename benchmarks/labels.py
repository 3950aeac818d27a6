"""Labels of real sessions: what a reader of them would keep, sentences that look like it and are not, and findings.

A quote matches a label where session and entry are the same and the quotes overlap: one holds the other, or they share
a run of `RUN` characters that is half of the shorter one. Session and quote are enough for words of the assistant, and
for words from the queue, whose records have no id. A habit is matched at any of its places.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from benchmarks.layouts import read_lines
from crawler.quotes import Quote

RUN = 12
SEED, RESAMPLES = 20261125, 1_000  # of the sessions, for the intervals
Row = Mapping[str, Any]
Place = tuple[str, str | None, str]  # session, entry where it decides, quote


@dataclass(frozen=True, slots=True)
class Labels:
    """What readers said of some sessions."""

    keep: Sequence[Row]
    negatives: Sequence[Row]
    findings: Sequence[Row] = ()
    wrong: Sequence[Row] = ()  # findings that did not hold

    @classmethod
    def read(cls, keep: Iterable[Path], negatives: Iterable[Path], findings: Path, wrong: Path) -> "Labels":
        rows = [row for file in keep for row in read_lines(file)]
        against = [row for file in negatives for row in read_lines(file)]
        return cls(rows, against, read_lines(findings), read_lines(wrong))

    def of(self, sessions: frozenset[str]) -> "Labels":
        """Those that speak of these sessions."""

        def own(rows: Iterable[Row]) -> list[Row]:
            return [row for row in rows if any(place[0] in sessions for place in list_places(row))]

        return Labels(*map(own, (self.keep, self.negatives, self.findings, self.wrong)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What labels say of something offered."""

    durability: int  # the highest of the labels it matches; 0 where there is none
    labels: frozenset[str]  # their ids
    negatives: frozenset[str]  # ids of the hard negatives it takes up

    @property
    def is_kept(self) -> bool:
        return self.durability >= 2

    @property
    def is_counted(self) -> bool:
        return self.durability != 1


def judge_quotes(quotes: Sequence[Quote], labels: Labels) -> Verdict:
    """What labels say of a proposal that rests on these quotes."""
    mine = matching(quotes, labels.keep)
    against = [] if mine else matching(quotes, labels.negatives)
    durability = max((row["durability"] for row in mine), default=0)
    return Verdict(durability, frozenset(row["id"] for row in mine), frozenset(row["id"] for row in against))


def matching(quotes: Sequence[Quote], rows: Iterable[Row]) -> list[Row]:
    """The rows that speak of words which one of the quotes holds."""
    return [row for row in rows if any(_is_at(quote, place) for quote in quotes for place in list_places(row))]


def list_places(label: Row) -> Iterator[Place]:
    """Where a label can be matched. An archive may join a reply's records under one id: there the quote decides."""
    is_agreed = label.get("role", "person") == "agreed"
    yield label["session"], None if is_agreed or "taken_back_entry" in label else label.get("entry"), label["quote"]
    if is_agreed and len(_plain(label["agreed_quote"])) >= RUN:
        yield label["session"], label.get("agreed_entry"), label["agreed_quote"]
    yield from ((other["session"], other.get("entry"), other["quote"]) for other in label.get("entries", ()))


def _is_at(quote: Quote, place: Place) -> bool:
    session, entry, words = place
    return quote.session_id == session and entry in (None, quote.entry) and overlaps(quote.text, words)


def overlaps(one: str, other: str) -> bool:
    """Whether two quotes of one entry share enough characters."""
    one, other = _plain(one), _plain(other)
    if not one or not other or one in other or other in one:
        return bool(one and other)
    found = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    return found.size >= RUN and found.size * 2 >= min(len(one), len(other))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def share(part: float, whole: float) -> float | None:
    """A share of 1, to three places; None of nothing."""
    return round(part / whole, 3) if whole else None


def interval(by_session: Mapping[str, Sequence[tuple[int, int]]]) -> list[float | None]:
    """90 % of a share when the sessions are drawn anew, with returning; of each its parts and wholes."""
    names, dice = sorted(by_session), random.Random(SEED)  # noqa: S311  a bootstrap, not secrecy
    drawn = []
    for _ in range(RESAMPLES if names else 0):
        pairs = [pair for name in dice.choices(names, k=len(names)) for pair in by_session[name]]
        if (found := share(sum(part for part, _ in pairs), sum(whole for _, whole in pairs))) is not None:
            drawn.append(found)
    drawn.sort()
    return [drawn[len(drawn) // 20], drawn[-len(drawn) // 20]] if drawn else [None, None]


def group_by_session(pairs: Iterable[tuple[str, tuple[int, int]]]) -> dict[str, list[tuple[int, int]]]:
    """Parts and wholes by session."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for session, pair in pairs:
        found[session].append(pair)
    return found
