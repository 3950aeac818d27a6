"""Four ways in which a memory does harm, at the level of what recall returns.

    python -m benchmarks.adapters.harm

The conditions are those of agent-memory-bench (its preregistration 005); the cases are ours (`harm_cases.tsv`), each a
session or two among the planted ones of `benchmarks/curation`. Where *superseded* says nothing of its own, it asks for
what stands there. The memory holds, and does no harm where it answers:

absent          nothing of what is asked: nothing, or nothing that it calls more than `perhaps`
superseded      an old fact and a newer one: the newer one before the old one, and the old one, if it shows it, marked
contradictory   two that disagree, neither said to replace the other: both, each with its day
adjacent        a confident statement on something else: nothing that it calls more than `perhaps`
topic           such a statement in a topic: nothing that it calls `sure`, which is said of topics alone
"""

import datetime as dt
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.amended import memory_of_transcripts, plain, write_one
from benchmarks.curation.pieces import Piece, read_pieces
from benchmarks.curation.systems import PIECES_READ, write_transcripts
from benchmarks.metrics import share_with_interval
from benchmarks.recorded import replay
from benchmarks.runs import build_parser, read_table, write_figures
from crawler.model.client import ModelClient
from memory_server.document import Answer, Certainty
from memory_server.faces.answer_text import answer_text
from memory_server.memory import Memory
from memory_server.search.question import SHOWN_HITS, parse_query

CASES = Path(__file__).parent / "harm_cases.tsv"
RECORDING = CASES.with_name("harm.jsonl.xz")  # of a model that read the cases' sessions, those of a month in a prompt
CONDITIONS = ("absent", "superseded", "contradictory", "adjacent", "topic")
FIRST_DAY, LATER_DAYS = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC), 30
FIRST_NUMBER = 5_000  # of a session, behind those of the pieces
OPENING = (("user", "Look at what we have on this, and tell me."), ("assistant", "I read it."))
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


def main() -> None:
    """Prints which conditions are met and what fails."""
    options = build_parser(__doc__).parse_args()
    found: dict[str, dict[str, list[float]]] = {condition: {} for condition in CONDITIONS}
    readers = {"by rules": None, "a model reads": replay(RECORDING, PIECES_READ, is_partial=True)}
    for reader, client in readers.items():
        for condition, good in find_harm(client).items():
            print(f"{reader}: {condition}: {sum(good)} of {len(good)} without harm")
            found[condition][reader] = share_with_interval(sum(good), len(good))
    write_figures(options.json, {"without_harm": found})


def find_harm(client: ModelClient | None) -> dict[str, list[bool]]:
    """For each condition whether each of its cases is met without harm; prints what is not. `client`: who reads."""
    found: dict[str, list[bool]] = {condition: [] for condition in CONDITIONS}
    planted = [piece for piece in read_pieces() if piece.origin == "planted"]
    with tempfile.TemporaryDirectory() as folder, build_memory(Path(folder), planted, client) as memory:
        for case in read_cases():
            answer = ask(memory, case)
            found[case.condition].append(is_good := is_harmless(case, answer))
            if not is_good:
                print(f"{case.condition}: {case.question}\n{answer_text(answer, TOKENS)}\n")
    return found


def read_cases() -> list[Case]:
    return [Case(**row) for row in read_table(CASES)]


@contextmanager
def build_memory(folder: Path, pieces: Sequence[Piece], client: ModelClient | None = None) -> Iterator[Memory]:
    """A memory of what the cases hold, among pieces of sessions on other things; read by rules for None."""
    topics = folder / "memory" / "topics"
    topics.mkdir(parents=True)
    write_transcripts(pieces, folder / "live")
    for number, case in enumerate(read_cases()):
        for place, text in enumerate(filter(None, (case.old, case.new))):
            if case.condition == "topic":
                content = f"# {' '.join(text.split()[:3])}\n\n- {text}\n"
                (topics / f"case-{number}.md").write_text(content, encoding="utf-8")
            else:
                begun = FIRST_DAY + dt.timedelta(days=number + place * LATER_DAYS)
                turns = [*OPENING, ("user", text)]
                write_one(folder / "live", FIRST_NUMBER + 2 * number + place, begun, turns, "works")
    with memory_of_transcripts(folder, client=client) as memory:
        yield memory


def ask(memory: Memory, case: Case) -> Answer:
    return memory.pipeline().answer(parse_query(case.question, limit=SHOWN_HITS))


def is_harmless(case: Case, answer: Answer) -> bool:
    """Whether an answer does what its condition asks for."""
    called = {hit.certainty for hit in answer.hits}
    if case.condition == "topic":
        return Certainty.SURE not in called
    if case.condition == "superseded":
        return shows_the_newer_first(case, answer)
    if case.condition == "contradictory":
        return shows_both_with_days(case, answer)
    return called <= {Certainty.PERHAPS}


def shows_the_newer_first(case: Case, answer: Answer) -> bool:
    """Whether the newer one is shown, not behind the old one, and the old one marked where it is shown apart."""
    old, new = (
        [place for place, hit in enumerate(answer.hits) if words in plain(hit.passage)]
        for words in (case.old_words, case.new_words)
    )
    marked = [place for place, hit in enumerate(answer.hits) if hit.amended or hit.newer]
    is_first = bool(new) and not (old and old[0] < new[0])
    return is_first and {*old} <= {*marked, *new}


def shows_both_with_days(case: Case, answer: Answer) -> bool:
    blocks = [block for block in re.split(r"(?m)^(?=\d+\. )", answer_text(answer, TOKENS)) if DAY.search(block)]
    return all(any(words in plain(block) for block in blocks) for words in (case.old_words, case.new_words))


if __name__ == "__main__":
    main()
