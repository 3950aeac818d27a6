"""What plain systems answer over the texts of a memory: beside them recall is measured."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.systems import words_query
from crawler.archive.store import Archive
from memory_server.document import Layer
from memory_server.memory import Memory

TURN_CHARS = 800  # of a turn
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
    turns = cut_turns(memory)
    paths, texts = [path for path, _ in topics], [passage for _, passage in topics]
    table = np.stack([one.vector for one in memory.engine().embed(texts)])
    of_stretches, passages, vectors = read_stretches(memory)
    by_words = ranked_by_words([passage for _, passage in [*topics, *turns]], [*questions.values()], 1)
    joined = ranked_by_both(memory, [*texts, *passages], np.concatenate([table, vectors]), [*questions.values()])
    found = {}
    for name, words, ranks in zip(questions, by_words, joined, strict=True):
        found[name] = [*topics, *turns][words[0]][0] if words else "", [*paths, *of_stretches][ranks[0]]
    return found


def cut_turns(memory: Memory) -> list[tuple[str, str]]:
    """The turns of what is archived, cut, each with its session."""
    archive = Archive(memory.root.path / "sessions" / "archive")
    return [
        (session_id, turn.text[:TURN_CHARS])
        for session_id in (archive.session_ids() if memory.raw is not None else ())
        for turn in archive.turns(session_id)
        if turn.text.strip()
    ]


def read_stretches(memory: Memory) -> tuple[list[str], list[str], NDArray[np.float32]]:
    """The paths, texts and vectors of what was said, in pieces of at most 800 characters."""
    if memory.stretches is None or memory.stretches.is_empty:
        return [], [], np.zeros((0, memory.engine().dimensions), dtype=np.float32)
    snapshot, stored = memory.stretches.snapshot(), memory.stretches.ledger
    rows = snapshot.passages.rows.tolist()
    chunks = stored.chunks(rows)
    paths = [str(snapshot.sources[number].path) for number in snapshot.passages.sources.tolist()]
    return paths, [chunks[row].passage for row in rows], snapshot.read_vectors(np.arange(len(rows)))


def ranked_by_both(
    memory: Memory, texts: Sequence[str], vectors: NDArray[np.float32], questions: Sequence[str]
) -> list[list[int]]:
    """The places of texts for each question by FTS5 and by cosine, joined by reciprocal ranks."""
    found = []
    for question, words in zip(questions, ranked_by_words(texts, questions, MOST_RANKS), strict=True):
        near = np.argsort(-(vectors @ memory.embed_query(question).vector))[:MOST_RANKS]
        scores: dict[int, float] = defaultdict(float)
        for ranking in (words, near.tolist()):
            for rank, place in enumerate(ranking, start=1):
                scores[place] += 1 / (RRF_RANK + rank)
        found.append(sorted(scores, key=lambda place: -scores[place]))
    return found


def ranked_by_words(texts: Sequence[str], questions: Sequence[str], most: int) -> list[list[int]]:
    """The places of the best texts for each question, by FTS5."""
    select = "select rowid from passage where passage match ? order by rank limit ?"
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table passage using fts5(x, tokenize='unicode61')")
        rows = list(enumerate(texts))
        connection.executemany("insert into passage(rowid, x) values(?, ?)", rows)
        hits = (connection.execute(select, (words_query(text), most)).fetchall() for text in questions)
        return [[row[0] for row in found] for found in hits]
