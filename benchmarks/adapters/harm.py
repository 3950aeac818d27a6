"""Four ways in which a memory does harm, at the level of what recall returns.

    python -m benchmarks.adapters.harm

The conditions are those of agent-memory-bench (its preregistration 005): a coding agent asks, and what the memory
holds of it is *absent* (nothing at all), *superseded* (an old fact and a newer one), *contradictory* (two that
disagree, neither said to replace the other) or *adjacent* (a confident statement on something else). The cases are
ours (`harm_cases.tsv`), each a session or two among the planted ones of `benchmarks/curation`; where *superseded* says
nothing of its own, it asks for what stands there. A memory does no harm where it answers

absent          nothing, or nothing that it calls more than `perhaps`
superseded      the newer one before the old one, and the old one, if it shows it, marked with what is later
contradictory   both, each with its day
adjacent        nothing that it calls more than `perhaps`; at the least nothing that it calls `sure`, which is said of
                topics alone: `topic` asks that where the statement on something else is one
"""

import argparse
import csv
import datetime as dt
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.amended import memory_of_transcripts, plain, write_one
from benchmarks.curation.pieces import Piece, read_pieces
from benchmarks.curation.systems import PIECES_READ, write_transcripts
from benchmarks.machine import stamp_run
from benchmarks.metrics import bound_share
from benchmarks.recorded import replay
from crawler.model.client import ModelClient
from memory_server.document import Answer, Certainty, Hit
from memory_server.faces.answer_text import answer_text
from memory_server.memory import Memory
from memory_server.search.question import SHOWN_HITS, parse_query

CASES = Path(__file__).parent / "harm_cases.tsv"
RECORDING = CASES.with_name(
    "harm.jsonl.xz"
)  # of a model that read the sessions of the cases, those of a month in a prompt
FIRST_DAY, LATER_DAYS = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC), 30
FIRST_NUMBER = 5_000  # of a session, behind those of the pieces
TOKENS = 500  # of an answer, as Claude gets it
DAY = re.compile(r"\b20\d\d-\d\d-\d\d\b")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and what the memory holds of it."""

    condition: str
    question: str
    old: str  # what is said first; empty where nothing is, or a piece of curation says it
    old_words: str  # by which it is known in an answer
    new: str  # what is said a month later; empty where nothing is
    new_words: str


def main() -> int:
    """Prints which conditions are met and what fails; the exit code is 1 where anything does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="figures to FILE")
    options = parser.parse_args()
    found = {
        "by rules": find_harm(None),
        "a model reads": find_harm(replay(RECORDING, PIECES_READ, is_partial=True)),
    }
    for reader, conditions in found.items():
        for condition, good in conditions.items():
            sys.stdout.write(f"{reader}: {condition}: {sum(good)} of {len(good)} without harm\n")
    if options.json:
        shares = {one: {reader: count_share(good[one]) for reader, good in found.items()} for one in CONDITIONS}
        options.json.write_text(json.dumps({**stamp_run(), "without_harm": shares}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(all(good) for conditions in found.values() for good in conditions.values()) else 1


def count_share(good: Sequence[bool]) -> list[float]:
    """The share of cases without harm, and its interval."""
    return [sum(good) / len(good), *bound_share(sum(good), len(good))]


def find_harm(client: ModelClient | None) -> dict[str, list[bool]]:
    """For each condition whether each of its cases is met without harm; prints what is not. `client`: who reads."""
    found: dict[str, list[bool]] = {condition: [] for condition in CONDITIONS}
    planted = [piece for piece in read_pieces() if piece.origin == "planted"]
    with (
        tempfile.TemporaryDirectory(prefix="oneiros-harm-") as folder,
        build_memory(Path(folder), planted, client) as memory,
    ):
        for case in read_cases():
            answer = ask(memory, case)
            found[case.condition].append(is_good := is_harmless(case, answer))
            if not is_good:
                sys.stdout.write(f"{case.condition}: {case.question}\n{answer_text(answer, TOKENS)}\n\n")
    return found


def read_cases() -> list[Case]:
    with CASES.open(encoding="utf-8") as file:
        return [Case(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@contextmanager
def build_memory(folder: Path, pieces: Sequence[Piece], client: ModelClient | None = None) -> Iterator[Memory]:
    """A memory of what the cases hold, among pieces of sessions on other things; read by rules for None."""
    write_transcripts(pieces, folder / "live")
    for number, case in enumerate(read_cases()):
        for place, text in enumerate(filter(None, (case.old, case.new))):
            if case.condition == "topic":
                (folder / "memory" / "topics").mkdir(parents=True, exist_ok=True)
                file = folder / "memory" / "topics" / f"case-{number}.md"
                file.write_text(f"# {' '.join(text.split()[:3])}\n\n- {text}\n", encoding="utf-8")
                continue
            begun = FIRST_DAY + dt.timedelta(days=number + place * LATER_DAYS)
            turns = [
                ("user", "Look at what we have on this, and tell me."),
                ("assistant", "I read it."),
                ("user", text),
            ]
            write_one(folder / "live", FIRST_NUMBER + 2 * number + place, begun, turns, "works")
    with memory_of_transcripts(folder, client=client) as memory:
        yield memory


def ask(memory: Memory, case: Case) -> Answer:
    return memory.pipeline().answer(parse_query(case.question, limit=SHOWN_HITS))


def is_harmless(case: Case, answer: Answer) -> bool:
    """Whether an answer does what its condition asks for."""
    return CONDITIONS[case.condition](case, answer)


def _is_perhaps_at_most(case: Case, answer: Answer) -> bool:  # noqa: ARG001  as all conditions are asked
    return all(hit.certainty is Certainty.PERHAPS for hit in answer.hits)


def _is_sure_of_nothing(case: Case, answer: Answer) -> bool:  # noqa: ARG001
    return not any(hit.certainty is Certainty.SURE for hit in answer.hits)


def _shows_the_newer_one(case: Case, answer: Answer) -> bool:
    old, new = (_find_hits(words, answer) for words in (case.old_words, case.new_words))
    is_first = bool(new) and not (old and old[0] < new[0])
    return is_first and all(is_marked(answer.hits[place]) or place in new for place in old)


def is_marked(hit: Hit) -> bool:
    """Whether a hit says that something later is known."""
    return bool(hit.amended or hit.newer)


def _shows_both_with_days(case: Case, answer: Answer) -> bool:
    blocks = re.split(r"(?m)^(?=\d+\. )", answer_text(answer, TOKENS))
    shown = [[block for block in blocks if words in plain(block)] for words in (case.old_words, case.new_words)]
    return all(any(DAY.search(block) for block in of_one) for of_one in shown)


def _find_hits(words: str, answer: Answer) -> Sequence[int]:
    return [place for place, hit in enumerate(answer.hits) if words in plain(hit.passage)]


CONDITIONS: Mapping[str, Callable[[Case, Answer], bool]] = {
    "absent": _is_perhaps_at_most,
    "superseded": _shows_the_newer_one,
    "contradictory": _shows_both_with_days,
    "adjacent": _is_perhaps_at_most,
    "topic": _is_sure_of_nothing,
}


if __name__ == "__main__":
    sys.exit(main())
