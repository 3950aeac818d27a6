"""What was taken back, beside what took its place: is the older state ever read first?

    python -m benchmarks.amended

Planted cases (`amended_cases.tsv`, written with the rule): a statement and one of a later session, or of the same one,
that takes it back in so many words, or a proposal and the person's no. Each is a session or two of one project, all in
one memory. A case is wrong where the text of recall shows the old statement and not the new one before it.
"""

import datetime as dt
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.recorded import load_unread, read_all
from benchmarks.runs import read_table
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from crawler.model.client import ModelClient
from crawler.reading.record import FOLDER, Readings
from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.faces.answer_text import answer_text
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import SHOWN_HITS, parse_query
from memory_server.settings import PersonSettings

CASES = Path(__file__).parent / "amended_cases.tsv"
FIRST_DAY, LATER_DAYS = dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC), 30
NOW = dt.datetime(2026, 3, 5, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Case:
    """A question, what was said first, and what took it back."""

    kind: str  # later: in a later session; session: in the same one; no: a proposal that the person turned down
    question: str
    old: str
    new: str


PLANTED = [Case(**row) for row in read_table(CASES)]


def shows_old_first(memory: Memory, case: Case) -> bool:
    """Whether recall shows the old statement, and the new one nowhere before it."""
    text = answer_text(memory.pipeline().answer(parse_query(case.question, limit=SHOWN_HITS)), 500)
    old, new = (plain(text).find(plain(statement)[:40]) for statement in (case.old, case.new))
    if case.kind == "no":
        return old >= 0 and new < 0
    return old >= 0 and not 0 <= new < old


def plain(text: str) -> str:
    return " ".join(text.split())


@contextmanager
def planted_memory(folder: Path, make_engine: Callable[[ModelFiles], Engine] = OnnxEngine) -> Iterator[Memory]:
    """A memory of all cases, indexed."""
    for number, case in enumerate(PLANTED):
        write_sessions(folder / "live", number, case)
    with memory_of_transcripts(folder, make_engine) as memory:
        yield memory


@contextmanager
def memory_of_transcripts(
    folder: Path,
    make_engine: Callable[[ModelFiles], Engine] = OnnxEngine,
    client: ModelClient | None = None,
) -> Iterator[Memory]:
    """A memory of the transcripts in `folder/live`, indexed; read by a model's client, or by rules for None."""
    root = MemoryRoot(folder / "memory", folder / "state")
    root.derived_folder.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    archive = root.path / "sessions" / "archive"
    with Ingester(IngestSettings(archive, root.derived_folder / "sessions.db")) as ingester:
        ingester.ingest([folder / "live"])
    if client:
        for reading in read_all(client, load_unread(Archive(archive)), folder).values():
            Readings(root.sessions.parent / FOLDER).save(reading)
    store = ArchivedSessions(archive, root.sessions)
    person = PersonSettings(query_log=False)
    models = Catalogue(folder)
    with Memory(
        root, person=person, catalogue=models, now=lambda: NOW, sessions=lambda: store, make_engine=make_engine
    ) as memory:
        memory.own()
        memory.reindex()
        yield memory


def write_sessions(folder: Path, number: int, case: Case) -> None:
    """The session or the two of a case, as a client writes them."""
    begun = FIRST_DAY + dt.timedelta(days=number)
    first = [("user", case.question), ("assistant", case.old)]
    if case.kind == "later":
        second = [("user", f"Something about this changed. {case.question}"), ("assistant", case.new)]
        write_one(folder, 2 * number, begun, first)
        write_one(folder, 2 * number + 1, begun + dt.timedelta(days=LATER_DAYS), second)
    else:
        between = [] if case.kind == "no" else [("user", "Look again, please."), ("assistant", "I look at it.")]
        last = ("user" if case.kind == "no" else "assistant", case.new)
        write_one(folder, 2 * number, begun, [*first, *between, last, ("assistant", "Noted.")])


def write_one(
    folder: Path, number: int, begun: dt.datetime, turns: Sequence[tuple[str, str]], project: str = "shop"
) -> str:
    """Writes the transcript of one session, of turns of `user` and `assistant` a minute apart. Returns its id."""
    session, rows, parent = str(UUID(int=(number + 1) << 96 | 4 << 76 | 8 << 60)), [], None
    for place, (role, text) in enumerate(turns):
        name = str(UUID(int=((number + 1) << 8 | place) << 96 | 4 << 76 | 8 << 60))  # they differ where they are cut
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        rows.append(
            {
                "type": role,
                "uuid": name,
                "parentUuid": parent,
                "sessionId": session,
                "timestamp": (begun + dt.timedelta(minutes=place)).isoformat().replace("+00:00", "Z"),
                "cwd": f"/srv/{project}",
                "version": "2.1.40",
                "isSidechain": False,
                "message": {"role": role, "content": content, "id": f"msg_{name}"},
            }
        )
        parent = name
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"{session}.jsonl").write_text(text, encoding="utf-8")
    return session


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="oneiros-amended-") as folder, planted_memory(Path(folder)) as memory:
        wrong = [case for case in PLANTED if shows_old_first(memory, case)]
    print(f"{len(wrong)} of {len(PLANTED)} cases show the old statement first")
    for case in wrong:
        print(f"  {case.kind}: {case.question}")


if __name__ == "__main__":
    main()
