"""The table of passages that is made of an earlier one is the table that is read from nothing."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from memory_server.index.ledger import Ledger
from memory_server.index.snapshot import ReadTable, read_passages
from memory_server.memory import Memory
from tests.memories import new_root, open_memory, write_topic
from tests.memory_server.index.test_build import STEPS, take_step
from tests.states import WordEngine


def table_of(memory: Memory, before: ReadTable | None = None) -> ReadTable:
    with closing(Ledger(memory.root.ledger)) as ledger:
        return read_passages(ledger, memory.indices.cache.key_file, before)


def assert_same(one: ReadTable, other: ReadTable) -> None:
    assert (one.sources, one.marks) == (other.sources, other.marks)
    for column, wanted in zip(one.passages.columns, other.passages.columns, strict=True):
        np.testing.assert_array_equal(column, wanted)


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_after_any_change_the_table_made_of_an_earlier_one_is_the_one_read_anew(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    with open_memory(new_root(tmp_path_factory.mktemp("steps") / "memory"), WordEngine) as memory:
        for name in ("mail", "shop", "key"):
            write_topic(memory, name, f"# {name}\n\nThe {name} of the relay.\n")
        memory.reindex()
        table = table_of(memory)
        for step in [*steps, ("reindex", "", "")]:
            take_step(memory, *step)
            table = table_of(memory, table)

            assert_same(table, table_of(memory))


def test_a_file_that_takes_the_numbers_of_another_with_the_same_text_is_read(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay has port 25.")
    write_topic(memory, "shop", "An invoice.")
    memory.reindex()
    before = table_of(memory)

    take_step(memory, "rename", "shop", "store")
    memory.reindex()

    after = table_of(memory, before)
    assert before.marks.keys() == after.marks.keys()
    assert [source.path for source in after.sources.values()] == ["MEMORY.md", "topics/mail.md", "topics/store.md"]


def test_a_passage_that_waited_for_its_vector_has_it_in_the_next_table(memory: Memory) -> None:
    write_topic(memory, "mail", "The relay has port 25.")
    write_topic(memory, "shop", "An invoice.")
    memory.reindex()
    cache = memory.indices.cache
    rows = cache.find(memory.indices.ledger.texts())
    key, lost = next(iter(rows.items()))
    cache._keys.execute("delete from row where text_hash = ?", (key,))  # as an interrupted run leaves it
    before = table_of(memory)
    assert (before.passages.vectors == -1).sum() == 1

    cache._keys.execute("insert into row values(?, ?, ?, ?)", (key, lost.vector, lost.first_token, lost.tokens))

    assert_same(table_of(memory, before), table_of(memory))
    assert (table_of(memory, before).passages.vectors >= 0).all()
