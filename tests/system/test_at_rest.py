"""A daemon that is left alone: a full disk, a clock that jumps, a ceiling of memory, workers that rest."""

import datetime as dt
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.embedding.catalogue import Catalogue
from memory_server.layers.episodes import GivenEpisode, list_episodes
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.light.endpoint import daemon_state
from tests.memories import root_at, search_exact
from tests.system.house import House, wait_until

HEAVY_AT_ANY_AGE = """
import oneiros.daemon.service
ballast = b"x" * 450_000_000
oneiros.daemon.service.LEAST_UPTIME_SECONDS = 0.0
import oneiros.daemon.main
oneiros.daemon.main.run()
"""


def state(house: House) -> dict[str, object]:
    return house.client.ask("GET", "/api/indexing")


def found(house: House, word: str) -> list[str]:
    return [hit["path"] for hit in house.client.ask("POST", "/api/exact", {"query": word})["hits"]]


def limit_files(house: House, size: int) -> None:
    """Lets no file of the daemon grow beyond a size: the next write that would fails, as on a full disk."""
    pid = house.daemon().pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
def test_where_nothing_can_be_written_it_answers_on_and_indexes_once_there_is_room(house: House) -> None:
    house.serve()

    limit_files(house, 1)
    house.write("birds", "# Birds\n\nThe heron waits at the pond named Zwiebelteich.\n")
    wait_until(lambda: state(house)["error"] != "")

    assert found(house, "2525") == ["topics/mail.md"]
    assert "room" in str(state(house)["error"])
    limit_files(house, resource.RLIM_INFINITY)
    wait_until(lambda: found(house, "Zwiebelteich") == ["topics/birds.md"])
    wait_until(lambda: state(house)["error"] == "")


def test_a_daemon_above_its_memory_ceiling_starts_anew_by_itself(house: House) -> None:
    house.settle(memory_ceiling_mb=400)
    with (house.folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", HEAVY_AT_ANY_AGE, str(house.root)], env=dict(house.variables), stderr=log
        )
    starts: set[object] = set()

    def has_started_twice() -> bool:
        starts.update({daemon_state(house.state).get("started")} - {None})
        return len(starts) == 2

    wait_until(has_started_twice)

    assert "starting anew" in (house.folder / "log").read_text(encoding="utf-8")
    house.serve()  # it runs; its first index may take longer than a question waits for it
    assert found(house, "2525") == ["topics/mail.md"]
    assert house.command("stop").returncode == 0
    assert process.wait(60) == 0


def test_embedding_rests_and_goes_on_when_it_is_told_to(house: House) -> None:
    house.serve()
    assert house.command("model", "--pause").returncode == 0

    house.write("birds", "# Birds\n\nThe heron waits at the pond named Zwiebelteich.\n")
    wait_until(lambda: found(house, "Zwiebelteich") == ["topics/birds.md"])
    assert state(house)["paused"] and house.client.ask("GET", "/api/status")["semantic"] < 3

    shown = json.loads(house.command("model", "--resume", "--json").stdout)
    assert not shown["paused"]
    wait_until(lambda: house.client.ask("GET", "/api/status")["semantic"] == 3)


def test_the_share_of_cores_follows_the_command_line_while_the_daemon_runs(house: House) -> None:
    house.serve()

    house.command("config", "embedding_share", "0.01")

    wait_until(lambda: state(house)["share"] == 0.01)
    assert len(state(house)["cores"]) == 1  # type: ignore[arg-type]  # a list


@pytest.fixture
def jumping(tmp_path: Path) -> Iterator[tuple[Memory, list[dt.datetime]]]:
    """A memory, and the clock that it reads: its last entry is the time."""
    clock = [dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)]
    (tmp_path / "topics").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    with Memory(
        root_at(tmp_path), person=PersonSettings(), catalogue=Catalogue(tmp_path), now=lambda: clock[-1]
    ) as memory:
        yield memory, clock


def test_a_clock_that_jumps_loses_no_question_and_no_note(jumping: tuple[Memory, list[dt.datetime]]) -> None:
    memory, clock = jumping
    for year in (2026, 1999, 2087, 2026):
        clock.append(dt.datetime(year, 6, 1, 12, tzinfo=dt.UTC))
        memory.add_episode(GivenEpisode(f"Seen in {year}, note {len(clock)}: the heron."))
        memory.reindex()
        search_exact(memory, f"heron {year}")

    assert list_episodes(memory.root)[1] == 4
    assert len(search_exact(memory, "heron").hits) == 4
    assert [row["query"] for row in memory.list_queries()] == [
        "heron",
        "heron 2026",
        "heron 2087",
        "heron 1999",
        "heron 2026",
    ]


@pytest.mark.parametrize("year", [1980, 2087])
def test_a_save_dated_by_a_clock_that_jumped_is_indexed(jumping: tuple[Memory, list[dt.datetime]], year: int) -> None:
    memory, _ = jumping
    topic = memory.root.topics / "birds.md"
    topic.write_text("# Birds\n\nzwiebelteich\n", encoding="utf-8")
    memory.reindex()
    jumped = dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()

    for word in ("kranichsee12", "reiherbach34"):  # of one length, at one time
        topic.write_text(f"# Birds\n\n{word}\n", encoding="utf-8")
        os.utime(topic, (jumped, jumped))
        memory.reindex()

        assert [hit.path for hit in search_exact(memory, word).hits] == ["topics/birds.md"]
