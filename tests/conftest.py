"""Settings of the whole test run, and the memories and houses that many tests ask."""

import contextlib
import functools
import gc
import importlib.metadata
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings

from memory_server.embedding.catalogue import find_packaged_model
from memory_server.embedding.engine import Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.workers import WorkerPool
from memory_server.index.build import Report
from memory_server.index.indices import Indices
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory
from tests.garden import write_garden
from tests.memories import load_engine, new_root, open_memory
from tests.system.house import House, is_living, outliving

settings.register_profile("oneiros", deadline=None)  # a busy machine is no failure
settings.load_profile("oneiros")
prepare_process()  # from the start, as the processes do that open a memory
gc.set_threshold(20_000)  # a test leaves little garbage; to look for it thirty times less often saves a twentieth
# A job in the background was started with SIGINT ignored, which all that the tests start would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

REAL_HOME = Path.home()
MakeEngine = Callable[[ModelFiles], Engine]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Passes over a file that lacks the marker which is asked for first: to import all of them takes half a minute."""
    marker, *more = str(config.option.markexpr).split() or ["not"]
    is_plain = marker != "not" and marker.isidentifier() and "or" not in more
    if not is_plain or not collection_path.match("test_*.py"):
        return None  # pytest and others decide
    if marker == collection_path.parent.name or f"mark.{marker}" in collection_path.read_text(encoding="utf-8"):
        return None
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what stands in tests/system: whole processes, which take longest."""
    for item in items:
        if item.path.parent.name == "system":
            item.add_marker("system")


def pytest_collection_finish() -> None:
    """Leaves what was imported and collected out of garbage collections: millions of objects that stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_real_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of the test run's own; whatever oneiros keeps in the real one must be as it was."""
    own = [REAL_HOME / ".oneiros", *(REAL_HOME / folder / "oneiros" for folder in (".config", ".local/state"))]
    before = [_stamps(folder) for folder in own]
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("ONEIROS_ROOT", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HF_HOME", "HF_HUB_CACHE"):
            patch.delenv(name, raising=False)
        yield home
    assert [_stamps(folder) for folder in own] == before, "a test touched the real home"


@pytest.fixture(scope="session", autouse=True)
def entry_points_read_once() -> Iterator[None]:
    """What is installed stays the same for one `sys.path`: to look through it is a fifth of what a command costs."""
    read = importlib.metadata.entry_points
    known = functools.cache(lambda _, **wanted: read(**wanted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "entry_points", lambda **wanted: known(tuple(sys.path), **wanted))
        yield


@pytest.fixture(scope="session", autouse=True)
def free_workers() -> Iterator[None]:
    """Threads that embed run as all others do: pinned to one core and nice, they would wait there for other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerPool, "_pin_thread", lambda *_: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_orphan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process that a test has started in its own folder outlives the run."""
    yield
    folder = tmp_path_factory.getbasetemp()
    left = outliving(lambda: [process for process in psutil.process_iter() if _lives_below(process, folder)])
    orphans = []
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            orphans.append(" ".join(process.cmdline()))
            process.kill()
    assert orphans == [], "tests left processes behind"


def _lives_below(process: psutil.Process, folder: Path) -> bool:
    """Whether a process other than this one has its home or its memory there."""
    try:
        places = [process.environ().get(name, "") for name in ("HOME", "ONEIROS_ROOT")]
        ends_with_us = process.ppid() == os.getpid() and "from multiprocessing." in " ".join(process.cmdline())
    except psutil.Error:
        return False
    is_below = any(place and Path(place).is_relative_to(folder) for place in places)
    return is_below and not ends_with_us and process.pid != os.getpid() and is_living(process)


def _stamps(folder: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="session")
def real_model() -> ModelFiles:
    """The packaged model."""
    files = find_packaged_model()
    assert files is not None, "the tests need `pip install 'oneiros[offline]'`"
    return files


@pytest.fixture(scope="session")
def make_engine(real_model: ModelFiles) -> MakeEngine:
    """Gives the packaged model, loaded once."""
    engine = load_engine(real_model)
    return lambda _: engine


@pytest.fixture(scope="session", autouse=True)
def packaged_model_loaded_once() -> Iterator[None]:
    """Who opens a memory and names no engine has it too: each would load it and embed the probe questions anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oneiros.opening.OnnxEngine", load_engine)
        patch.setitem(vars(Memory)["__init__"].__kwdefaults__, "make_engine", load_engine)
        yield


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns a root brings its graph level behind each run, as the daemon does."""
    reindex = Indices.reindex

    def reindex_and_learn(indices: Indices, *arguments: Any, **named: Any) -> Report:
        was_owner, is_owner = indices.is_owner, indices.own()
        try:
            report = reindex(indices, *arguments, **named)
            indices.bring_graph_level(lambda _: None)
            return report
        finally:
            if is_owner and not was_owner:
                indices.disown()

    monkeypatch.setattr(Indices, "reindex", reindex_and_learn)


@pytest.fixture
def memory(tmp_path: Path, make_engine: MakeEngine) -> Iterator[Memory]:
    """An empty memory of one test."""
    with open_memory(new_root(tmp_path / "memory"), make_engine) as opened:
        yield opened


@pytest.fixture(scope="session")
def garden_root(tmp_path_factory: pytest.TempPathFactory, make_engine: MakeEngine) -> Path:
    """The folder of the shared memory, indexed. Tests only read it."""
    folder = tmp_path_factory.mktemp("garden") / "memory"
    write_garden(new_root(folder))
    with open_memory(folder, make_engine) as opened:
        opened.reindex()
    return folder


@pytest.fixture(scope="session")
def garden(garden_root: Path, make_engine: MakeEngine) -> Iterator[Memory]:
    """The shared memory, open for reading: some forty passages about a small company's machines."""
    with open_memory(garden_root, make_engine) as opened:
        opened.indices.own()  # so that its graph is asked, as in a server
        yield opened


@pytest.fixture
def house() -> Iterator[House]:
    """A home with a memory and the processes around it; none of them is left afterwards."""
    with contextlib.closing(House()) as built:
        yield built


@pytest.fixture(scope="module")
def served() -> Iterator[House]:
    """A house whose daemon runs for all tests of a module."""
    with contextlib.closing(House()) as built:
        built.serve()
        yield built
