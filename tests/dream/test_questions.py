"""The questions that an accepted statement answers lead recall to it, and are shown nowhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dream.proposals.questions import ApprovedQuestions
from dream.proposals.store import ProposalStore
from memory_server.document import SourcePath
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from tests.conftest import MakeEngine
from tests.crawler.builders import SESSION
from tests.dream.builders import PERSON, decisions_on, new_topic, proposed
from tests.memories import new_root, open_memory, recall, search_exact, write_topic

CATS = SourcePath("topics/cats.md")
STATEMENT, QUESTION = "Cats are fed at seven.", "When does Whiskers get breakfast?"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    found = new_root(tmp_path / "memory")
    decisions = decisions_on(found)
    [hunk] = proposed(decisions, new_topic(STATEMENT, "cats", questions=(QUESTION,)))
    decisions.accept(hunk.id, PERSON)
    return found


@pytest.fixture
def memory(root: MemoryRoot, make_engine: MakeEngine) -> Iterator[Memory]:
    with open_memory(root, make_engine, questions=ApprovedQuestions(root)) as opened:
        opened.reindex()
        yield opened


def keys_in(memory: Memory) -> list[str]:
    """The keys that the index holds."""
    return [row[0] for row in memory.indices.ledger.connection.execute("select keys from chunk where keys != ''")]


def test_a_statement_is_known_by_its_words_wherever_it_stands(root: MemoryRoot) -> None:
    questions = ApprovedQuestions(root)

    assert questions.of(CATS, f"**{STATEMENT}**[^3]") == (QUESTION,)
    assert questions.of(SourcePath("topics/pets.md"), "cats are fed at seven") == (QUESTION,)
    assert questions.of(CATS, "Cats are fed at eight.") == ()


def test_a_question_is_kept_for_the_index_and_is_no_part_of_what_is_shown(memory: Memory) -> None:
    assert keys_in(memory) == [QUESTION]
    assert [hit.passage for hit in recall(memory, "breakfast for Whiskers").hits][:1] == [STATEMENT]
    assert QUESTION not in (memory.root.path / CATS).read_text(encoding="utf-8")
    assert search_exact(memory, "breakfast").hits == ()


def test_a_statement_that_lost_its_words_to_an_edit_has_no_question(memory: Memory) -> None:
    write_topic(memory, "cats", "# Cats\n\n- Cats are fed at eight.\n")

    memory.reindex()

    assert keys_in(memory) == []


def test_approvals_that_come_back_are_seen_without_a_change_of_the_topic(memory: Memory) -> None:
    approvals = memory.root.approvals
    kept = approvals.read_bytes()

    approvals.unlink()
    memory.reindex()
    without = keys_in(memory)
    approvals.write_bytes(kept)
    memory.reindex()

    assert without == []
    assert keys_in(memory) == [QUESTION]


def test_an_approval_of_before_has_none(root: MemoryRoot) -> None:
    lines = root.approvals.read_text(encoding="utf-8")
    root.approvals.write_text(lines.replace(f'"questions":["{QUESTION}"]', '"nonce":""'), encoding="utf-8")

    assert ApprovedQuestions(root).of(CATS, STATEMENT) == ()
    assert ApprovedQuestions(root).mark(CATS) == ""


def test_a_session_that_is_forgotten_takes_its_questions_along(root: MemoryRoot) -> None:
    ProposalStore(root).forget([SESSION])

    assert ApprovedQuestions(root).of(CATS, STATEMENT) == ()


def test_the_vector_with_a_question_is_kept_by_a_rebuild_and_goes_with_the_question(memory: Memory) -> None:
    [key] = [key for key, text in memory.indices.ledger.texts().items() if QUESTION in text]
    again = memory.reindex(rebuild=True)
    kept = memory.indices.cache.find([key])

    memory.root.approvals.unlink()
    memory.reindex()
    memory.indices.forget_vectors()

    assert again.embedded == 0 and key in kept
    assert memory.indices.cache.find([key]) == {}
