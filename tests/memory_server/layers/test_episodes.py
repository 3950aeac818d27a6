"""Notes taken in: what is masked, what is kept, and how they are listed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.errors import ContentError, UsageError
from memory_server.layers.episodes import delete_episode, list_episodes, read_episode
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from tests.conftest import MakeEngine
from tests.memories import new_root, open_memory, search_exact

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory(tmp_path: Path, make_engine: MakeEngine) -> Iterator[Memory]:
    person = PersonSettings(deny_words=("Kranich", r"re:\bK-\d+\b"))
    with open_memory(new_root(tmp_path / "memory"), make_engine, person=person) as opened:
        yield opened


def test_secrets_and_denied_words_are_masked_in_every_field_before_the_note_is_written(memory: Memory) -> None:
    episode = memory.add_episode(
        f"The key of kranich is {SECRET}, ticket K-77.",
        title="Kranich moves",
        tags=["KRANICH", "ops"],
        project="the Kranich house",
    )

    written = (memory.root.path / episode.path).read_text(encoding="utf-8")
    assert SECRET not in written and "K-77" not in written
    assert "kranich" not in written.casefold() and "kranich" not in episode.path
    assert written.count("[redacted:") >= 5


def test_a_denied_word_is_masked_in_the_query_log_too(memory: Memory) -> None:
    memory.reindex()

    search_exact(memory, "where is the Kranich server")

    assert [row["query"] for row in memory.logged_queries()] == ["where is the [redacted:denied] server"]


def test_a_note_without_a_title_takes_its_first_line(memory: Memory) -> None:
    episode = memory.add_episode("# Heron seen\n\nAt the pond.\n", tags=["birds", "Birds"])

    read = read_episode(memory.root, episode.id)
    assert (read.title, read.tags, read.text) == ("Heron seen", ("episode", "birds"), "# Heron seen\n\nAt the pond.")


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x07", "x" * 200_001])
def test_a_note_that_is_empty_or_too_long_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError):
        memory.add_episode(text)

    assert list_episodes(memory.root) == ([], 0)


def test_notes_are_listed_by_page_and_gone_when_deleted(memory: Memory) -> None:
    made = [memory.add_episode(f"Note {number}.") for number in range(5)]

    pages = [list_episodes(memory.root, page=page, per_page=2) for page in (1, 2, 3, 4)]
    assert [len(found) for found, _ in pages] == [2, 2, 1, 0]
    assert {one.id for found, _ in pages for one in found} == {one.id for one in made}
    assert {total for _, total in pages} == {5}

    delete_episode(memory.root, made[0].id)

    with pytest.raises(ContentError):
        read_episode(memory.root, made[0].id)
    assert list_episodes(memory.root)[1] == 4
