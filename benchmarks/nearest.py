"""Where `remember` suggests that a statement goes: each of a memory taken out of its topic, and asked for again.

Run as `python -m benchmarks.nearest [ROOT]`. Printed is the share whose own topic is suggested, with an interval over
whole topics drawn anew, beside BM25 over the topics and beside chance.
"""

import random
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from dream.judge.filing import find_nearest_topic
from dream.topics import TopicText, parse_topic, read_topics
from memory_server.root.paths import MemoryRoot

DRAWS = 1_000


def main(root: Path) -> None:
    topics = read_topics(MemoryRoot(root, root))
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for topic in topics.files:
        for statement in topic.statements:
            left = topic.lines[: statement.lines.first - 1] + topic.lines[statement.lines.last :]
            without = parse_topic(topic.path, "".join(left))
            files = tuple(without if other.path == topic.path else other for other in topics.files)
            nearest = find_nearest_topic(statement.text, topic.project, replace(topics, files=files))
            ours = nearest is not None and nearest.path == topic.path
            found[topic.path].append((ours, by_bm25(statement.text, files) == topic.path))
    count = sum(map(len, found.values()))
    print(f"{count} statements of {len(found)} topics; by chance {1 / len(found):.3f}")
    for place, name in enumerate(("nearest_topic", "BM25")):
        rows = {path: [row[place] for row in every] for path, every in found.items()}
        print(f"{name}  {share(rows, list(rows)):.3f}  {interval(rows)}")


def by_bm25(text: str, files: Sequence[TopicText]) -> str:
    """The path of the first topic that SQLite's FTS5 finds for any word of a text; empty for none."""
    wanted = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create virtual table topics using fts5(path unindexed, body, tokenize='porter')")
        database.executemany("insert into topics values (?, ?)", [(one.path, one.text) for one in files])
        query = "select path from topics where topics match ? order by bm25(topics) limit 1"
        row = database.execute(query, (wanted,)).fetchone() if wanted else None
    return str(row[0]) if row else ""


def share(rows: Mapping[str, Sequence[bool]], paths: Sequence[str]) -> float:
    """The share of true ones among the rows of some topics."""
    every = [is_right for path in paths for is_right in rows[path]]
    return sum(every) / len(every)


def interval(rows: Mapping[str, Sequence[bool]]) -> str:
    """Where 95 of 100 draws of whole topics fall."""
    chance, paths = random.Random(1), list(rows)  # noqa: S311  a draw, no secret
    drawn = sorted(share(rows, chance.choices(paths, k=len(paths))) for _ in range(DRAWS))
    return f"{drawn[DRAWS // 40]:.3f} to {drawn[-DRAWS // 40]:.3f}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "memory").resolve())
