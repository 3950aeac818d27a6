"""Whether a memory is sure of a topic that tells something else: near misses beside questions that topics answer.

    python -m benchmarks.near [--questions benchmarks/swapped_questions.tsv] [--json FILE]

`near_questions.tsv` has for each of 140 statements a question that it answers, in other words, and one of the same
shape that asks about another thing, which nothing in the memory answers. Both were written by readers who saw the
statements of a set and nothing else. The memories hold topics alone: those of the example, of labels of real sessions
(with the questions that a recorded model said they answer), and of what the pieces of `benchmarks.curation` have to
keep. A hit is right where it holds the statement; `sure` and `likely` count first hits. In `swapped_questions.tsv` both
questions of a pair differ in one word that qualifies another, *weekly reports* and *monthly reports*.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.answers import plain
from benchmarks.curation.pieces import read_pieces
from benchmarks.layouts import read_lines
from benchmarks.metrics import share_with_interval
from benchmarks.runs import build_parser, read_table, write_figures
from benchmarks.strangers import ReadQuestions
from benchmarks.topics import LABELS, copy_memory, make_topics, open_indexed
from dream.proposals.questions import ApprovedQuestions
from memory_server.document import Certainty
from memory_server.index.build import NoQuestions, StatementQuestions
from memory_server.memory import Memory
from memory_server.search.question import parse_query

QUESTIONS = Path(__file__).with_name("near_questions.tsv")
WORDS = (Certainty.SURE, Certainty.LIKELY, Certainty.PERHAPS)
HELD = 60  # characters of a statement by which it is known in a passage


def main() -> None:
    """Asks all three memories and prints how often each word is right."""
    parser = build_parser(__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    options = parser.parse_args()
    questions = read_table(options.questions)
    found: dict[str, Counter[str]] = {}
    for name, opened in open_memories(options.shared.resolve()):
        with opened as memory:
            found[name] = Counter(judge(memory, [row for row in questions if row["of"] == name]))
    found["all"] = sum(found.values(), Counter())
    print(f"{'':<10}{'sure':>12}{'likely':>12}{'right kept sure':>18}{'near sure':>12}{'near likely':>13}")
    for name, counts in found.items():
        of_word = {word: (counts[f"{word} right"], counts[f"{word} right"] + counts[f"{word} wrong"]) for word in WORDS}
        sure, likely = (f"{right} of {of}" for right, of in list(of_word.values())[:2])
        kept = f"{of_word[Certainty.SURE][0]} of {counts['right']}"
        print(f"{name:<10}{sure:>12}{likely:>12}{kept:>18}{counts['near sure']:>12}{counts['near likely']:>13}")
    write_figures(options.json, {"near": {name: count_shares(counts) for name, counts in found.items()}})


def count_shares(counts: Mapping[str, int]) -> dict[str, list[float]]:
    """What the page shows of a set, each share with its interval."""
    right = counts["sure right"]
    return {
        "sure ones that are right": share_with_interval(right, right + counts["sure wrong"]),
        "near misses that are called sure": share_with_interval(counts["near sure"], counts["near"]),
    }


def open_memories(shared: Path) -> Iterator[tuple[str, AbstractContextManager[Memory]]]:
    """The memories by name, each to be opened."""
    labels = list(read_lines(shared / "data" / LABELS))
    projects: dict[str, list[str]] = {}
    for piece in read_pieces():
        projects.setdefault(piece.project, []).extend(f"- {one.statement}\n" for one in piece.keep)
    kept = {f"topics/{name}.md": f"# What holds in {name}\n\n{''.join(lines)}" for name, lines in projects.items()}
    yield "example", open_example()
    yield "labels", open_topics(make_topics(labels), partial(ReadQuestions, labels))
    yield "curation", open_topics(kept)


@contextmanager
def open_example() -> Iterator[Memory]:
    with copy_memory(None) as root, open_indexed(root, partial(ApprovedQuestions, root)) as memory:
        yield memory


@contextmanager
def open_topics(
    topics: Mapping[str, str], questions: Callable[[], StatementQuestions] = NoQuestions
) -> Iterator[Memory]:
    """A memory of some topics and nothing else."""
    with copy_memory(None) as root:
        for file in root.topics.rglob("*.md"):
            file.unlink()
        for path, text in topics.items():
            (root.path / path).write_text(text, encoding="utf-8")
        with open_indexed(root, questions) as memory:
            yield memory


def judge(memory: Memory, questions: Sequence[Mapping[str, str]]) -> Iterable[str]:
    """What is true of the first hits, a word or two for each."""
    for row in questions:
        yield row["kind"]
        for hit in memory.search(parse_query(row["question"])).hits[:1]:
            statement, passage = plain(row["statement"]), plain(hit.passage)
            holds = statement[:HELD] in passage or passage[:HELD] in statement
            yield f"{hit.certainty} {'right' if row['kind'] == 'right' and holds else 'wrong'}"
            yield f"{row['kind']} {hit.certainty}"


if __name__ == "__main__":
    main()
