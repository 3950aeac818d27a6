"""Notes taken in: what is masked, what is kept, and how they are listed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.errors import ContentError, UsageError
from memory_server.layers.episodes import EpisodeTaken, GivenEpisode, delete_episode, list_episodes, read_episode
from memory_server.layers.validate import validate_root
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
        GivenEpisode(
            f"The key of kranich is {SECRET}, ticket K-77.",
            title="Kranich moves",
            tags=["KRANICH", "ops"],
            project="the Kranich house",
        )
    )

    written = (memory.root.path / episode.path).read_text(encoding="utf-8")
    assert SECRET not in written and "K-77" not in written
    assert "kranich" not in written.casefold() and "kranich" not in episode.path
    assert written.count("[redacted:") >= 5


def test_a_denied_word_is_masked_in_the_query_log_too(memory: Memory) -> None:
    memory.reindex()

    search_exact(memory, "where is the Kranich server")

    assert [row["query"] for row in memory.list_queries()] == ["where is the [redacted:denied] server"]


def test_a_note_without_a_title_takes_its_first_line(memory: Memory) -> None:
    episode = memory.add_episode(GivenEpisode("# Heron seen\n\nAt the pond.\n", tags=["birds", "Birds"]))

    read = read_episode(memory.root, episode.id)
    assert (read.title, read.tags, read.text) == ("Heron seen", ("episode", "birds"), "# Heron seen\n\nAt the pond.")


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x07", "x" * 200_001])
def test_a_note_that_is_empty_or_too_long_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError):
        memory.add_episode(GivenEpisode(text))

    assert list_episodes(memory.root) == ([], 0)


def test_notes_are_listed_by_page_and_gone_when_deleted(memory: Memory) -> None:
    made = [memory.add_episode(GivenEpisode(f"Note {number}.")) for number in range(5)]

    pages = [list_episodes(memory.root, page=page, per_page=2) for page in (1, 2, 3, 4)]
    assert [len(found) for found, _ in pages] == [2, 2, 1, 0]
    assert {one.id for found, _ in pages for one in found} == {one.id for one in made}
    assert {total for _, total in pages} == {5}

    delete_episode(memory.root, made[0].id)

    with pytest.raises(ContentError):
        read_episode(memory.root, made[0].id)
    assert list_episodes(memory.root)[1] == 4


def test_the_same_note_under_the_same_id_is_the_one_that_is_there_and_another_is_refused(memory: Memory) -> None:
    first = memory.add_episode(
        GivenEpisode("The relay moved.", episode_id="ep_relay", raw_exchange=f"Why? The key is {SECRET}.")
    )
    again = memory.add_episode(
        GivenEpisode("The relay moved.", episode_id="ep_relay", raw_exchange=f"Why? The key is {SECRET}.")
    )

    assert again.id == first.id and list_episodes(memory.root)[1] == 1
    for other in ({"text": "The relay stayed."}, {"text": "The relay moved.", "raw_exchange": "Else."}):
        with pytest.raises(EpisodeTaken, match="ep_relay"):
            memory.add_episode(GivenEpisode(episode_id="ep_relay", **other))
    assert read_episode(memory.root, "ep_relay").id == first.id


def test_the_exchange_of_a_note_is_masked_read_when_asked_for_found_by_nobody_and_deleted_with_it(
    memory: Memory,
) -> None:
    made = memory.add_episode(
        GivenEpisode("The relay moved.", raw_exchange=f"Zeppelin, with {SECRET}", instance="desk", project="p")
    )
    memory.reindex()

    assert read_episode(memory.root, made.id).raw_exchange == ""
    raw = read_episode(memory.root, made.id, with_exchange=True).raw_exchange
    assert raw.startswith("Zeppelin, with [redacted:")
    assert search_exact(memory, "Zeppelin").hits == ()
    assert len(search_exact(memory, "relay machine:desk project:p").hits) == 1
    assert validate_root(memory.root, memory.settings) == []
    delete_episode(memory.root, made.id)
    assert [file for file in memory.root.episodes.rglob("*") if file.is_file()] == []


def test_what_an_assistant_observed_says_so_and_a_session_has_room_for_ten(memory: Memory) -> None:
    session = "11111111-1111-4111-8111-111111111111"
    seen = [
        memory.add_episode(GivenEpisode(f"Build {n} is slow, key {SECRET}", observed_in=session)) for n in range(10)
    ]

    written = (memory.root.path / seen[0].path).read_text(encoding="utf-8")
    assert seen[0].title.startswith("The assistant observed: Build 0 is slow")
    assert "observation" in seen[0].tags and "sourceType: agent_inferred" in written
    assert f"observed_in: {session}" in written and SECRET not in written
    with pytest.raises(UsageError, match="noted 10 observations"):
        memory.add_episode(GivenEpisode("one more", observed_in=session))
    assert memory.add_episode(GivenEpisode("one more", observed_in="22222222-2222-4222-8222-222222222222"))
    assert "observation" not in memory.add_episode(GivenEpisode("a person's")).tags
    assert validate_root(memory.root, memory.settings) == []
