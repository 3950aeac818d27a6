"""The systems that are compared: the three shipped MCP tools, and plain FTS5.

The tools are asked through the SDK's own client, and their text is what is scored: a hit counts as the unit that its
`path:lines` names. A call that fails counts as a miss.
"""

import datetime as dt
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcp import Client

from benchmarks.layouts import Case
from memory_server.embedding.catalogue import Catalogue
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.environment import Environment
from parts.models.further import choose_models

TOOLS = ("recall", "search_memory", "search_exact")
SYSTEMS = (*TOOLS, "fts5")
HIT_LINE = re.compile(
    r"^\d+\. \w+ \(rank \d\) \| .* \| (?P<path>[^|]+):(?P<first>\d+)(?:-(?P<last>\d+))? \| (?:sure|likely|perhaps)"
)
LIMIT = 10


@dataclass(slots=True)
class Run:
    """What one system answered to the questions of a case: rankings by question id."""

    units: dict[str, list[str]] = field(default_factory=dict)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    failures: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """Which models a measurement uses; the best dense one at hand, alone, where none is named."""

    added: Path | None = None  # a folder of models, one folder each, as a person's own
    dense: str = ""
    sparse: str = ""
    late: str = ""
    rerank: str = ""

    def catalogue(self) -> Catalogue:
        found = catalogue()
        return replace(found, added=self.added) if self.added else found


@contextmanager
def built_memory(case: Case, vectors: Path, models: Measured = Measured()) -> Iterator[Memory]:
    """A memory root with the files of a case, indexed. `vectors`: a folder that keeps vectors between runs."""
    with tempfile.TemporaryDirectory(prefix="oneiros-bench-") as folder:
        root = MemoryRoot(Path(folder) / "memory", Path(folder) / "state")
        for name, text in {"MEMORY.md": "# Memory\n", **case.files}.items():
            file = root.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")
        if models.dense:
            root.settings.write_text(f'model = "{models.dense}"\n', encoding="utf-8")
        root.derived_folder.mkdir()
        person = PersonSettings(
            embedding_share=1.0,
            query_log=False,
            sparse_model=models.sparse,
            late_model=models.late,
            rerank_model=models.rerank,
        )
        further = choose_models(person, models.catalogue(), root.derived_folder)
        with (
            cache_vectors(root, vectors),
            Memory(
                root,
                person=person,
                catalogue=models.catalogue(),
                now=lambda: dt.datetime.now(dt.UTC),
                further=further,
            ) as memory,
        ):
            memory.indices.own()
            memory.reindex()
            yield memory


@contextmanager
def cache_vectors(root: MemoryRoot, folder: Path) -> Iterator[None]:
    """Brings vectors of earlier runs into a memory that is about to be opened, and keeps all that it has when closed.

    Copies, since a memory opens no link.
    """
    cached = folder / "vectors"
    if cached.is_dir():
        shutil.copytree(cached, root.vector_cache, dirs_exist_ok=True)
    yield
    if root.vector_cache.is_dir():
        shutil.copytree(root.vector_cache, cached, dirs_exist_ok=True)


def catalogue() -> Catalogue:
    """The models that a person has by default."""
    return Environment.of_process().catalogue


def model_text(models: Measured = Measured()) -> str:
    """The models that are used, and where the dense one comes from."""
    files = models.catalogue().find(models.dense)
    further = "".join(f", with {name}" for name in (models.sparse, models.late, models.rerank) if name)
    return f"{files.card.name}, {files.reason}, weights {files.weight_hash[:12]}{further}"


async def ask_tools(case: Case, memory: Memory) -> Mapping[str, Run]:
    """Every question to every tool, by passages and, where there are sessions, by files too."""
    runs = {name: Run() for name in TOOLS}
    async with Client(create_server(memory, "benchmark")) as client:
        await client.call_tool("recall", {"query": "warm up"})
        for tool, run in runs.items():
            for question in case.questions:
                started = time.perf_counter()
                per_source = LIMIT if case.has_sessions else 1
                places = await _ask(client, tool, question.text, per_source, run)
                run.milliseconds.append((time.perf_counter() - started) * 1_000)
                run.units[question.id] = _distinct(
                    case.find_unit(path, line) or f"{path}:{line}" for path, line in places
                )
                if case.has_sessions:
                    files = await _ask(client, tool, question.text, 1, run)
                    run.sessions[question.id] = _distinct(case.session_of_file.get(path, path) for path, _ in files)
    return runs


async def _ask(client: Client, tool: str, query: str, per_source: int, run: Run) -> list[tuple[str, int]]:
    """The places, path and first line, that a tool names; none where the call fails, which is counted."""
    answer = await client.call_tool(tool, {"query": query, "limit": LIMIT, "per_source": per_source})
    text = "\n".join(block.text for block in answer.content if block.type == "text")
    if answer.is_error:
        run.failures += 1
        return []
    found = (HIT_LINE.match(line) for line in text.splitlines())
    return [(match["path"], int(match["first"])) for match in found if match]


def _distinct(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def ask_fts5(case: Case) -> Run:
    """The plain baseline: unicode61, bm25, OR of the words; sessions as whole texts."""
    run = Run()
    with sqlite3.connect(":memory:") as connection:
        units = _plain_index(connection, "unit", case.units)
        joined: dict[str, str] = {}
        for unit, session in case.session_of.items():
            joined[session] = f"{joined.get(session, '')}\n{case.units[unit]}"
        sessions = _plain_index(connection, "session", joined)
        for question in case.questions:
            words = words_query(question.text)
            started = time.perf_counter()
            run.units[question.id] = _plain_search(connection, "unit", units, words)
            run.milliseconds.append((time.perf_counter() - started) * 1_000)
            if case.has_sessions:
                run.sessions[question.id] = _plain_search(connection, "session", sessions, words)
    return run


def words_query(text: str) -> str:
    """Any of the words of a question, as FTS5 is asked; empty where there is none."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))


def _plain_index(connection: sqlite3.Connection, table: str, texts: Mapping[str, str]) -> list[str]:
    connection.execute(f"create virtual table {table} using fts5(x, tokenize='unicode61')")
    connection.executemany(
        f"insert into {table}(rowid, x) values(?, ?)",
        list(enumerate(texts.values())),
    )
    return list(texts)


def _plain_search(connection: sqlite3.Connection, table: str, names: list[str], words: str) -> list[str]:
    if not words:
        return []
    select = f"select rowid from {table} where {table} match ? order by rank limit {LIMIT}"  # noqa: S608  names of our own
    return [names[row[0]] for row in connection.execute(select, (words,))]
