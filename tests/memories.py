"""Builds memory roots, topics and sessions, and opens them, with the real packaged model read once a test run."""

import datetime as dt
import os
import shutil
import sqlite3
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from memory_server.document import Answer
from memory_server.embedding.catalogue import PACKAGED_MODEL, Catalogue
from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.index.build import NoQuestions, StatementQuestions
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot, state_home
from memory_server.root.state import write_mark
from memory_server.search.question import Search, build_filter, parse_query
from memory_server.settings import PersonSettings
from parts.models.further import choose_models

NOON = dt.datetime(2026, 3, 1, 12, 0, tzinfo=dt.UTC)
NOWHERE = Path("/nonexistent/hub")  # a hub cache without models, so that the packaged one is taken
Place = Memory | MemoryRoot | Path


def write_topic(place: Place, name: str, body: str, **frontmatter: object) -> Path:
    """Writes `topics/NAME.md`. `place`: a memory, its root or its folder."""
    return write_source(place, f"topics/{name}.md", body, **frontmatter)


def write_session(place: Place, name: str, *lines: str, **frontmatter: object) -> Path:
    """Writes a compressed session whose statements are the lines; `name` starts with its date."""
    body = "# Session\n\n## Outcome\n\n" + "".join(f"- {line}\n" for line in lines)
    return write_source(place, f"sessions/compressed/{name[:4]}/{name}.md", body, **frontmatter)


def write_source(place: Place, path: str, body: str, **frontmatter: object) -> Path:
    """Writes one Markdown file below a memory root."""
    file = folder_of(place) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    head = f"---\n{yaml.safe_dump(frontmatter, allow_unicode=True, sort_keys=False)}---\n\n" if frontmatter else ""
    file.write_text(head + textwrap.dedent(body), encoding="utf-8", newline="")
    return file


def folder_of(place: Place) -> Path:
    """The folder that is meant by a memory, a root or a folder."""
    if isinstance(place, Memory):
        return place.root.path
    return place.path if isinstance(place, MemoryRoot) else place


def root_at(folder: Path) -> MemoryRoot:
    """A memory root whose state lies where the processes of this test run keep it."""
    return MemoryRoot(folder, state_home(os.environ, Path.home()))


def new_root(folder: Path) -> MemoryRoot:
    """A root that holds nothing but an empty index page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    (folder / "topics").mkdir(exist_ok=True)
    return root_at(folder)


def copy_root(root: MemoryRoot, folder: Path) -> MemoryRoot:
    """A copy of a root with the person's state, as if both had been made there."""
    shutil.copytree(root.path, folder, symlinks=True)
    copied = MemoryRoot(folder, root.states)
    if root.state.exists():
        shutil.copytree(root.state, copied.state)
        write_mark(copied.state, copied.path)
    return copied


def open_memory(
    place: Place,
    make_engine: Callable[[ModelFiles], Engine],
    *,
    person: PersonSettings | None = None,
    hub_cache: Path = NOWHERE,
    added: Path | None = None,
    questions: Callable[[], StatementQuestions] = NoQuestions,
) -> Memory:
    """A memory with a clock that stands still. `added`: where models lie that the person added."""
    root, person, catalogue = root_at(folder_of(place)), person or PersonSettings(), Catalogue(hub_cache, added)
    return Memory(
        root,
        person=person,
        catalogue=catalogue,
        now=lambda: NOON,
        make_engine=make_engine,
        questions=questions,
        further=choose_models(person, catalogue, root.derived_folder),
    )


class RememberingEngine:
    """The real engine, which does not read the same text twice in one test run: most fixtures share their texts."""

    def __init__(self, files: ModelFiles):
        self._engine = OnnxEngine(files)
        self._known: dict[tuple[str, bool], Embedded] = {}
        self._guard = threading.Lock()

    @property
    def dimensions(self) -> int:
        return self._engine.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        missing = [text for text in dict.fromkeys(texts) if (text, as_query) not in self._known]
        made = self._engine.embed(missing, as_query=as_query)
        with self._guard:
            self._known |= {(text, as_query): one for text, one in zip(missing, made, strict=True)}
        return [self._known[text, as_query] for text in texts]

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._engine.count_tokens(texts)

    def close(self) -> None:
        """Stays open for the next memory."""


_loaded: dict[str, RememberingEngine] = {}  # by the fingerprint of the model


def load_engine(files: ModelFiles) -> Engine:
    """The packaged model, loaded once a test run; any other model as the program loads it."""
    if files.card.name != PACKAGED_MODEL:
        return OnnxEngine(files)
    if files.fingerprint not in _loaded:
        _loaded[files.fingerprint] = RememberingEngine(files)
    return _loaded[files.fingerprint]


def recall(memory: Memory, text: str, *, project: str = "", **options: Any) -> Answer:
    """What a memory answers by words and meaning. `options`: those of `parse_query`."""
    beside = build_filter({"project": [project] if project else ()})
    return memory.search(parse_query(text, Search.RECALL, beside=beside, **options))


def search_memory(memory: Memory, text: str, **options: Any) -> Answer:
    """What a memory answers by meaning."""
    return memory.search(parse_query(text, Search.MEANING, **options))


def search_exact(memory: Memory, text: str, **options: Any) -> Answer:
    """What a memory answers by words as written."""
    return memory.search(parse_query(text, Search.EXACT, **options))


def searches_of(memory: Memory) -> list[Callable[..., Answer]]:
    """The three searches of a memory."""
    return [partial(search, memory) for search in (recall, search_memory, search_exact)]


def without_daemon(arguments: Sequence[str]) -> list[str]:
    """A command line that asks this process where it would start a daemon."""
    here = ["--no-daemon"] if arguments and arguments[0] in ("recall", "search", "exact") else []
    return [*arguments[:1], *here, *arguments[1:]]


def names(answer: Answer) -> list[str]:
    """The names of the files that an answer names, best first, without their endings."""
    return [Path(hit.path).stem for hit in answer.hits]


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Waits until a condition holds; false where it does not within the time."""
    moment = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return True
        moment.wait(0.02)
    return condition()


@contextmanager
def kept_reading(file: Path, table: str) -> Iterator[None]:
    """Another reader of a file that does not end meanwhile, for whom SQLite keeps what is deleted."""
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute(f"select count(*) from {table}").fetchone()
        yield
