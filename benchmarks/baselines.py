"""What plain systems answer first over a memory of topics and sessions: beside them recall is measured."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.answers import TURN_CHARS
from benchmarks.systems import words_query
from crawler.archive.store import Archive
from memory_server.document import Layer
from memory_server.memory import Memory

MOST_RANKS, RRF_RANK = 100, 60  # of either arm; the constant of reciprocal ranks


def ask_plain(memory: Memory, questions: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """For each question, by its name, the first path of two systems.

    FTS5 (unicode61, bm25, OR of the words) over passages of topics and turns; and that and the cosines of the memory's
    model joined by reciprocal ranks, over passages of topics and stretches.
    """
    topics = [
        (str(path), str(passage))
        for path, passage in memory.indices.ledger.connection.execute(
            "select source.path, chunk.passage from chunk join source on source.id = chunk.source"
            " where source.layer = ? and chunk.passage != ''",
            (Layer.TOPIC,),
        )
    ]
    archive = Archive(memory.root.path / "sessions" / "archive")
    turns = [
        (session_id, turn.text[:TURN_CHARS])
        for session_id in (archive.session_ids() if memory.raw is not None else ())
        for turn in archive.turns(session_id)
        if turn.text.strip()
    ]
    paths, texts = [path for path, _ in topics], [passage for _, passage in topics]
    vectors = [one.vector for one in memory.engine().embed(texts)]
    if memory.stretches is not None and not memory.stretches.is_empty:
        snapshot, stored = memory.stretches.snapshot(), memory.stretches.ledger
        chunks = stored.chunks(snapshot.passages.rows.tolist())
        texts += [chunks[row].passage for row in snapshot.passages.rows.tolist()]
        paths += [snapshot.sources[number].path for number in snapshot.passages.sources.tolist()]
        vectors += list(snapshot.vectors_at(np.arange(len(snapshot.passages))))
    table = np.stack(vectors)
    by_words = ranked_by_words([passage for _, passage in [*topics, *turns]], [*questions.values()], 1)
    among = ranked_by_words(texts, [*questions.values()], MOST_RANKS)
    found = {}
    for (name, question), words, ranks in zip(questions.items(), by_words, among, strict=True):
        near = np.argsort(-(table @ memory.embed_query(question).vector))[:MOST_RANKS]
        scores: dict[int, float] = defaultdict(float)
        for ranking in (ranks, near.tolist()):
            for rank, place in enumerate(ranking, start=1):
                scores[place] += 1 / (RRF_RANK + rank)
        first = [*topics, *turns][words[0]][0] if words else ""
        found[name] = first, paths[max(scores, key=lambda place: scores[place])]
    return found


def ranked_by_words(texts: Sequence[str], questions: Sequence[str], most: int) -> list[list[int]]:
    """The places of the best texts for each question, by FTS5."""
    select = "select rowid from passage where passage match ? order by rank limit ?"
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table passage using fts5(x, tokenize='unicode61')")
        rows = list(enumerate(texts))
        connection.executemany("insert into passage(rowid, x) values(?, ?)", rows)
        asked = (connection.execute(select, (words_query(text), most)).fetchall() for text in questions)
        return [[row[0] for row in found] for found in asked]
