"""Measures how well the program tells a supported statement from one that the words do not support.

    python -m benchmarks.proof [--json | --list]

An attack passes where nothing is objected to it, and none should; a true statement, or how a reader worded it who had
not seen the proof, passes likewise, and all should. Rows are halved by the hash of their id: the checks were chosen on
one half, the other was never looked at, and `--list` shows rows of the first alone.
"""

import argparse
import hashlib
import json
import lzma
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_text
from crawler.facts import ASKING_TOOL
from crawler.quotes import Quote, SessionTurns, make_quote
from crawler.reading.proof import Objection, find_objections
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn

TUNED = frozenset("01234567")  # first hex digits of sha256(id) of the half that rules were tuned on
DATA = Path(__file__).with_name("readings")
KINDS = {"person": PartKind.PROMPT, "assistant": PartKind.TEXT, "tool": PartKind.RESULT}
ANSWERED = "User has answered your questions: "  # how the client begins a turn with answers to its question tool
ANSWER = re.compile(r'"([^"]+)"="([^"]*)"')
REFUSED = "The user doesn't want to "


@dataclass(frozen=True, slots=True)
class Case:
    """One statement with its evidence, and whether it should pass."""

    id: str
    kind: str  # of attack; `statement` or `wording` for what is true
    text: str
    quotes: tuple[Quote, ...]
    session: SessionTurns
    is_true: bool

    @property
    def half(self) -> str:
        """`tuned` or `held out`."""
        return "tuned" if hashlib.sha256(self.id.encode()).hexdigest()[0] in TUNED else "held out"


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what was objected to it, and the processor time that took."""

    case: Case
    objections: tuple[Objection, ...]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="show what fails, of the tuning half only")
    options = parser.parse_args()
    cases = [*read_attacks(DATA / "attacks.jsonl.xz"), *read_statements(DATA / "statements.jsonl.xz")]
    judged = [judge(case) for case in cases]
    if options.list:
        print_failures(judged)
    elif options.json:
        print(json.dumps(summary(judged), indent=1))
    else:
        print_rates(judged)


# -- reading the data -----------------------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a packed JSONL file."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def read_attacks(path: Path) -> Iterator[Case]:
    """Statements that their quotes do not support."""
    for row in read_rows(path):
        session = build_session(row["id"], [(turn["role"], turn["text"]) for turn in row["turns"]])
        quotes = find_quotes(session, [(quote["turn"], quote["text"]) for quote in row["quotes"]])
        yield Case(row["id"], row["kind"], row["statement"], quotes, session, is_true=False)


def read_statements(path: Path) -> Iterator[Case]:
    """The statements of labels, and how somebody else worded what was said."""
    for row in read_rows(path):
        spoken = [("assistant", row["before"])] if row["before"] else []
        place = len(spoken)
        spoken.append((row["role"], row["turn"]))
        quoted = [(place, row["quote"])]
        if row["agreed_quote"]:
            quoted.append((len(spoken), row["agreed_quote"]))
            spoken.append(("person", row["agreed_quote"]))
        session = build_session(row["id"], spoken)
        quotes = find_quotes(session, quoted)
        yield Case(row["id"], "statement", row["statement"], quotes, session, is_true=True)
        yield Case(row["id"], "wording", row["wording"], quotes, session, is_true=True)


def build_session(name: str, spoken: Iterable[tuple[str, str]]) -> SessionTurns:
    """A session of these turns, given as role and text."""
    return SessionTurns(name, "", tuple(build_turn(place, role, text) for place, (role, text) in enumerate(spoken)))


def build_turn(place: int, role: str, text: str) -> Turn:
    """A turn as the archive gives it, an answer to the client's question or to its request for leave included."""
    entries = (f"{place:08d}-0000-4000-8000-000000000000",)
    if role == "person" and text.startswith(ANSWERED):
        questions = [{"question": one, "options": [{"label": label}]} for one, label in ANSWER.findall(text)]
        arguments = json.dumps({"questions": questions})
        return Turn(Role.PERSON, PartKind.RESULT, text, entries, tool=ASKING_TOOL, arguments=arguments)
    if role == "person" and text.startswith(REFUSED):
        return Turn(Role.PERSON, PartKind.RESULT, text, entries, tool="Edit", is_error=True)
    return Turn(Role(role), KINDS[role], text, entries)


def find_quotes(session: SessionTurns, quoted: Iterable[tuple[int, str]]) -> tuple[Quote, ...]:
    """The quotes, given as place of the turn and words, each where its turn says it first."""
    found = []
    for place, words in quoted:
        turn = session.turns[place]
        first = max(0, turn.text.find(words))
        found.append(make_quote(session, turn, first, min(len(turn.text), first + len(words))))
    return tuple(found)


# -- judging and showing --------------------------------------------------------------------------------------------


def judge(case: Case) -> Judged:
    """A case with the objections to it."""
    start = time.process_time()
    found = find_objections(case.text, case.quotes, case.session)
    return Judged(case, found, time.process_time() - start)


def rates(judged: Iterable[Judged]) -> dict[str, dict[str, dict[str, float]]]:
    """By half and kind: how many cases, how many pass, and the share of them."""
    passes: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for one in judged:
        passes[one.case.half, one.case.kind].append(not one.objections)
    table: dict[str, dict[str, dict[str, float]]] = {}
    for (half, kind), passed in passes.items():
        row = {"cases": len(passed), "pass": sum(passed), "rate": round(sum(passed) / len(passed), 4)}
        table.setdefault(half, {})[kind] = row
    return table


def summary(judged: Sequence[Judged]) -> Mapping[str, object]:
    """The figures with what they were measured on."""
    seconds = sorted(one.seconds for one in judged)
    median, last = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
    times = {"median": round(median * 1e3, 2), "p99": round(last * 1e3, 2)}
    return {"machine": machine_text(), "milliseconds": times, "rates": rates(judged)}


def print_rates(judged: Sequence[Judged]) -> None:
    """The rates as a table, and which objections meet true cases of the tuning half alone."""
    for half, kinds in rates(judged).items():
        for kind, row in kinds.items():
            print(f"{half:9} {kind:11} {row['pass']:4.0f} of {row['cases']:4.0f} pass  {row['rate']:.3f}")
    for is_true in (True, False):
        tuned = [one for one in judged if one.case.half == "tuned" and one.case.is_true is is_true and one.objections]
        sets = [{found.kind for found in one.objections} for one in tuned]
        met = Counter(kind for kinds in sets for kind in kinds)
        alone = Counter(kind for kinds in sets if len(kinds) == 1 for kind in kinds)
        print("true" if is_true else "attacks", {kind.value: (met[kind], alone[kind]) for kind in met})


def print_failures(judged: Iterable[Judged]) -> None:
    """Cases of the tuning half that go wrong: attacks that pass, true ones that are refused."""
    for one in judged:
        if one.case.half != "tuned" or bool(one.objections) is not one.case.is_true:
            continue
        print(f"-- {one.case.id} {one.case.kind}: {one.case.text}")
        for quote in one.case.quotes:
            print(f"     said: {quote.text[:300]!r}")
        for found in one.objections:
            print(f"     {found.kind}: {found.words}")


if __name__ == "__main__":
    main()
