"""What changes in the folder is found without anybody asking for it."""

import dataclasses
import datetime as dt
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from memory_server.document import SourcePath
from memory_server.embedding.catalogue import Catalogue
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.watching import Watcher
from tests.memories import root_at, search_exact
from tests.observers import Exhausted
from tests.system.house import wait_until


@contextmanager
def watched(folder: Path, make_observer: type[BaseObserver] | None = None) -> Iterator[tuple[Memory, Watcher]]:
    (folder / "topics").mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    memory = Memory(
        root_at(folder),
        person=PersonSettings(),
        catalogue=Catalogue(folder / "no"),
        now=lambda: dt.datetime.now(dt.UTC),
    )
    indexer = IndexRuns(memory)
    watcher = Watcher(memory, indexer.poke, make_observer or Observer)
    with memory:
        indexer.worker.start()
        watcher.worker.start()
        try:
            wait_until(lambda: watcher.manner != "starting" and indexer.state().runs > 0)
            yield memory, watcher
        finally:
            watcher.close()
            indexer.close()


def found(memory: Memory, word: str) -> list[str]:
    return sorted(hit.path for hit in search_exact(memory, word, limit=100).hits)


def test_saved_renamed_and_deleted_topics_are_followed(tmp_path: Path) -> None:
    with watched(tmp_path / "m") as (memory, watcher):
        assert watcher.manner == "events"
        topics = memory.root.topics
        temporary = topics / ".heron.md.swp"
        temporary.write_text("# Heron\n\nzwiebelteich\n", encoding="utf-8")

        temporary.replace(topics / "heron.md")  # as editors save
        wait_until(lambda: found(memory, "zwiebelteich") == ["topics/heron.md"])

        (topics / "birds").mkdir()
        (topics / "heron.md").rename(topics / "birds" / "heron.md")
        wait_until(lambda: found(memory, "zwiebelteich") == ["topics/birds/heron.md"])

        (topics / "birds" / "heron.md").write_text("# Heron\n\nkranichsee\n", encoding="utf-8")
        wait_until(lambda: found(memory, "kranichsee") == ["topics/birds/heron.md"])

        (topics / "birds" / "heron.md").unlink()
        wait_until(lambda: memory.upkeep.changes().is_empty)
        assert found(memory, "kranichsee") == []


def test_a_commit_alone_is_looked_at(tmp_path: Path) -> None:
    def commit() -> None:
        person = ("-c", "user.name=t", "-c", "user.email=t@t")
        command = ["git", "-C", str(folder), *person, "commit", "-q", "--allow-empty", "-m", "x"]
        subprocess.run(command, check=True, capture_output=True)

    folder = tmp_path / "m"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    commit()
    (folder / "topics").mkdir()
    (folder / "topics" / "heron.md").write_text("# Heron\n", encoding="utf-8")
    with watched(folder) as (memory, _):
        pointed: list[str] = []

        def note(paths: Collection[SourcePath]) -> dict[SourcePath, str]:
            pointed.extend(paths)
            return {}

        memory.upkeep = dataclasses.replace(memory.upkeep, unapproved=note)

        commit()

        wait_until(lambda: pointed != [])
        assert set(pointed) == {"topics/heron.md"}  # a commit writes several files of git's, and may be looked at twice


def test_a_checkout_of_many_files_is_followed(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    folder = tmp_path / "m"
    with watched(folder) as (memory, _):
        (folder / ".gitignore").write_text(".oneiros/\n", encoding="utf-8")
        git("init", "-q")
        git("add", "-A")
        git("commit", "-qm", "empty")
        git("checkout", "-qb", "many")
        for number in range(40):
            (memory.root.topics / f"t{number}.md").write_text(f"# T\n\nkranichsee {number}\n", encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "many")
        wait_until(lambda: len(found(memory, "kranichsee")) == 40)

        git("checkout", "-q", "-")
        wait_until(lambda: found(memory, "kranichsee") == [])

        git("checkout", "-q", "many")
        wait_until(lambda: memory.upkeep.changes().is_empty)
        assert len(found(memory, "kranichsee")) == 40


def test_without_file_events_it_looks_regularly_and_says_so(tmp_path: Path) -> None:
    with watched(tmp_path / "m", Exhausted) as (memory, watcher):
        assert watcher.manner == "polling every 2 s (no space left on device)"

        (memory.root.topics / "heron.md").write_text("# Heron\n\nzwiebelteich\n", encoding="utf-8")

        wait_until(lambda: found(memory, "zwiebelteich") == ["topics/heron.md"])
