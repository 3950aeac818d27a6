"""The daemon is killed at random moments; the next one repairs by itself and answers like a fresh build."""

import contextlib
import datetime as dt
import random
import shutil
import threading
from pathlib import Path

import psutil
import pytest

from memory_server.embedding.catalogue import Catalogue
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.light.endpoint import is_running
from tests.memories import root_at, searches_of
from tests.states import alike
from tests.system.house import House, wait_until

WORDS = "heron crane stork ibis egret spoonbill bittern flamingo pelican gannet".split()


def change_something(house: House, chance: random.Random) -> None:
    """Writes, changes or removes topics, as a person would."""
    for _ in range(chance.randint(1, 4)):
        name = f"bird{chance.randrange(12)}"
        if chance.random() < 0.2:
            (house.root / "topics" / f"{name}.md").unlink(missing_ok=True)
        else:
            lines = [
                f"The {chance.choice(WORDS)} met a {chance.choice(WORDS)} on day {chance.randrange(99)}." for _ in "abc"
            ]
            house.write(name, f"# {name}\n\n" + "\n\n".join(lines) + "\n")


def answers(memory: Memory) -> list[object]:
    texts = [f"the {word} met" for word in WORDS]
    return [
        [(hit.path, hit.lines, hit.score) for hit in method(text, limit=20, per_source=5).hits]
        for text in texts
        for method in searches_of(memory)
    ]


def opened(folder: Path) -> Memory:
    return Memory(
        root_at(folder),
        person=PersonSettings(query_log=False),
        catalogue=Catalogue(folder / "no"),
        now=lambda: dt.datetime.now(dt.UTC),
    )


def kill_daemon(house: House) -> None:
    """Kills what runs as a daemon, also one that has not said yet which process it is."""
    for process in house.running("oneiros.daemon.main"):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def kill_often(house: House, times: int, seed: int) -> int:
    """Changes topics, asks, and kills the daemon meanwhile; how often the answer was an error."""
    chance = random.Random(seed)
    client = house.relay().initialize()
    errors = 0
    for _ in range(times):
        change_something(house, chance)
        client.send({"id": "x", "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "crane"}}})
        killer = threading.Timer(chance.random() * 0.8, kill_daemon, [house])
        killer.start()
        reply = client.receive()
        killer.join()
        errors += "error" in reply
        assert reply["id"] == "x"
        if "error" not in reply and "error" in client.call("search_exact", query="crane"):
            assert "result" in client.call("search_exact", query="crane")  # one error a kill, never two
    return errors


def repaired_and_fresh(house: House) -> tuple[list[object], list[object]]:
    """What the memory answers once the next daemon has repaired it, and what a build from nothing answers."""
    house.serve()
    assert house.client.ask("POST", "/api/reindex", {"wait_seconds": 60})["done"]
    assert house.client.ask("GET", "/health")["status"] == "ok"
    house.client.ask("POST", "/api/stop")
    wait_until(lambda: not is_running(str(house.root)))
    fresh = house.folder / "fresh"
    shutil.copytree(house.root, fresh, ignore=shutil.ignore_patterns(".oneiros"))
    with opened(house.root) as repaired, opened(fresh) as built:
        assert repaired.indices.own() and built.indices.own()
        assert repaired.upkeep.changes().is_empty
        built.reindex()
        return answers(repaired), answers(built)


def test_killed_at_random_moments_it_repairs_itself(house: House) -> None:
    errors = kill_often(house, 4, seed=1)
    repaired, fresh = repaired_and_fresh(house)

    assert errors <= 4
    assert alike(repaired, fresh)


@pytest.mark.stress
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("seed", range(8))
def test_killed_two_hundred_times_it_repairs_itself(house: House, seed: int) -> None:
    errors = kill_often(house, 25, seed=100 + seed)
    repaired, fresh = repaired_and_fresh(house)

    assert errors <= 25
    assert alike(repaired, fresh)
