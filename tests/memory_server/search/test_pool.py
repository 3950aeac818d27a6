"""What is looked at a second time: the best passages, and of as many other sources the best of each."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_server.embedding.engine import Vectors
from memory_server.index.snapshot import Snapshot
from memory_server.memory import Memory
from memory_server.search.question import parse_query
from memory_server.search.ranking.ranking import POOL
from memory_server.search.ranking.scoring import Places, compute_matches
from tests.memories import recall, write_topic

QUESTION = "relay port of the mail server"


def test_one_long_source_leaves_room_for_the_best_of_others(memory: Memory) -> None:
    sections = (f"## Part {number}\n\nThe relay port of mail server {number} is open." for number in range(3 * POOL))
    write_topic(memory, "loud", "\n\n".join(sections))
    write_topic(memory, "quiet", "A port once stood in the way, said the man who runs it.")
    memory.reindex()
    pipeline = memory.pipeline()

    _, ranking = pipeline.rank(parse_query(QUESTION), pipeline.retriever)

    table = pipeline.retriever.snapshot
    found = [str(table.sources[source].path) for source in table.passages.sources[ranking.places].tolist()]
    assert found.count("topics/loud.md") == POOL
    assert "topics/quiet.md" in found


def test_the_confidence_of_an_answer_is_a_probability(garden: Memory) -> None:
    own, foreign = recall(garden, "which port does the relay use"), recall(garden, "who painted the Sistine Chapel")

    assert 0 < foreign.confidence < 0.03 < 0.5 < own.confidence < 1


def test_a_question_is_compared_with_each_passage_once(garden: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, compare = list[int](), Snapshot.cosines

    def noted(snapshot: Snapshot, question: Vectors, places: Places) -> NDArray[np.float32]:
        compared.extend(places.tolist())
        return compare(snapshot, question, places)

    monkeypatch.setattr(Snapshot, "cosines", noted)

    recall(garden, QUESTION)

    assert len(compared) == len(set(compared)) > 0


def test_what_a_question_says_of_passages_is_the_same_however_it_is_asked(garden: Memory) -> None:
    pipeline = garden.pipeline()
    ranker, _ = pipeline.retriever.make_ranker(parse_query(QUESTION))
    likeness, everywhere = ranker.likeness, np.arange(len(ranker.snapshot.passages))
    few = everywhere[1:4]

    before = likeness.cosines(few), likeness.matches(few)
    whole = likeness.cosines(everywhere), likeness.matches(everywhere)

    assert np.allclose(before[0], whole[0][few], atol=1e-6)
    assert np.allclose(whole[0], ranker.snapshot.cosines(likeness.question.vector, everywhere), atol=1e-6)
    assert np.array_equal(before[1], whole[1][:, few])
    assert np.array_equal(likeness.matches(few), before[1])
    assert np.array_equal(compute_matches(ranker.snapshot, likeness.question.tokens, everywhere), whole[1])
