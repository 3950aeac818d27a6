"""What is proven of the indices by asking them."""

import pytest

from memory_server.memory import Memory
from memory_server.search.pipeline import Pipeline
from memory_server.search.question import Question
from tests.memories import write_source, write_topic


def test_passages_of_every_layer_are_found_by_their_own_words(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.\n\n## Ports\n\nThe relay listens on port 25 too.")
    write_source(
        memory, ".oneiros/references/shop/README.md", "# Shop\n\nThe catalogue is searched through trigrams.\n"
    )
    memory.reindex()

    assert memory.inspect().counts()["searchable"] == 3
    assert memory.inspect().unfound(50) == 0


def test_a_passage_whose_words_the_index_has_lost_is_counted(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.")
    memory.reindex()
    for table in ("words", "bodies"):
        memory.indices.ledger.connection.execute(f"insert into {table}({table}) values('delete-all')")

    assert memory.inspect().unfound(50) == 1
    assert memory.inspect().damage() != []


def test_a_passage_that_changes_while_it_is_looked_for_is_no_fault(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_topic(memory, "mail", "The relay listens on port 2525.")
    memory.reindex()
    answer, changes = Pipeline.answer, ["The relay was switched off."]

    def after_a_change(pipeline: Pipeline, question: Question) -> object:
        if changes:
            write_topic(memory, "mail", changes.pop())
            memory.reindex()
            return answer(memory.pipeline(), question)
        return answer(pipeline, question)

    monkeypatch.setattr(Pipeline, "answer", after_a_change)

    assert memory.inspect().search_itself() == ""
