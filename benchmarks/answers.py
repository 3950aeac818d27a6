"""Whether recall shows the answer: questions that a person would ask of real sessions, weeks later.

    python -m benchmarks.answers --data TRANSCRIPTS... --queries FILE --json [FILE]

Every folder of `--data`, plain or `.xz` transcripts at any depth, is taken into one memory and asked through the
pipeline that answers `oneiros recall --json`. What counts is what is shown: an answer is found where one passage holds,
in lower case with white space collapsed, a member of every group in `must`, within the first SHOWN_CHARS characters of
all passages together, and of ten hits TEN_CHARS. Asked in the same run: the digests without what was said, plain FTS5
over the bare turns, cut to TURN_CHARS characters, and FTS5 and the memory's model joined by reciprocal ranks (`rrf`)
over pieces of as many. `equal`: what these two hold anywhere in as many characters as recall's first hits have.

The memory is kept below `--cache` under a hash of transcripts and of the code that makes archive, digests and indices,
so that a change of the search is measured at once; its vectors under a hash of the transcripts alone. `--chosen-on`
names the projects (the `corpus` of a question) that constants were chosen on; the others are printed as left out.
`--choose` leaves each project out in turn: the weights of the stretches are chosen out of GRID on the others, and the
questions of all projects left out are the row "chosen". `--copies` has the archive hold every session that many times,
for the time that a question takes. `--rewordings` asks some of the questions in other words too: of those whose
question shows the answer, `kept` shows it as well; the first hit of `same` is of the same session as the question's.
`--recorded` has the sessions read by a recorded model, whose questions and lines are searched beside the turns that
they rest on.
"""

import argparse
import datetime as dt
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.baselines import cut_turns, ranked_by_both, ranked_by_words, read_stretches
from benchmarks.layouts import read_lines
from benchmarks.machine import stamp_run
from benchmarks.metrics import confidence, percentile
from benchmarks.recorded import build_reader, load_unread, read_all
from benchmarks.sessions import copy_transcripts
from benchmarks.systems import Measured, cache_vectors, model_text
from crawler.archive.append import IngestSettings
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from crawler.closed import ClosedWhen
from crawler.compress.run import compress_closed
from crawler.ingest import ingest
from crawler.reading.record import FOLDER, Readings
from crawler.transcripts.turns import Role
from memory_server.document import raw_path, session_of_path
from memory_server.faces.answer_text import answer_json
from memory_server.index.raw import ArchivedSession, SessionStore
from memory_server.layers.notes import SessionNote
from memory_server.layers.sessions import newest_files
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.precedence import SPOKEN
from memory_server.search.question import parse_query
from memory_server.settings import PersonSettings

SHOWN_CHARS = 2_600  # of all passages of an answer together; what stands behind them does not count
TEN_CHARS = 8_700  # where ten are read
FIRST, MOST = 3, 10  # passages that a person reads, and most of them
OWN_WORDS = 0.5  # of a passage from which on it is the person's own turn
COPY = "~"  # before the name of a session, once for each copy
LEAST_OWN = 20  # characters of a turn that is told apart from chance
PACKAGES = Path(__file__).parents[1]
MAKERS = ("crawler", "memory_server/embedding", "memory_server/index", "memory_server/layers")  # of what is kept
GRID = [
    {"tokens": 1.0, "meaning": meaning, "words_near": near, "words_source": of_source, "tokens_source": tokens}
    for meaning, near, of_source, tokens in product((0.0, 0.3, 0.6), (0.0, 0.5, 1.0, 2.0), (0.0, 1.0), (0.0, 0.4))
]
AIMS = ("answer_at_3", "answer_at_1", "session_at_1")  # whose sum chooses
AT = ("answer_at_1", "answer_at_3", "answer_at_10")
SHARES = ("session_at_1", *AT, "question_first", "trap_first", "silent")


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question of the file."""

    id: str
    project: str
    text: str
    session: str
    must: tuple[tuple[str, ...], ...]
    trap: str

    def is_answered_by(self, passage: str) -> bool:
        text = plain(passage)
        return all(any(word in text for word in group) for group in self.must)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a system showed to one question: passages best first, each with its session."""

    passages: Sequence[str]
    sessions: Sequence[str]
    milliseconds: float


def main() -> None:
    """Reads the command line, builds or opens the memory, asks everything, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of transcripts, plain or .xz")
    parser.add_argument("--queries", type=Path, required=True, help="questions in the shape of answers.jsonl")
    parser.add_argument("--json", nargs="?", const="-", help="figures to FILE; to stdout where none is named")
    parser.add_argument("--chosen-on", nargs="*", default=[], help="projects that constants were chosen on")
    parser.add_argument("--recorded", type=Path, help="readings by a recorded model, as benchmarks.reading takes them")
    parser.add_argument("--copies", type=int, default=1, help="how often the archive holds every session")
    parser.add_argument("--rewordings", type=Path, help="the same questions in other words: id, rewordings")
    parser.add_argument("--choose", action="store_true", help="choose the weights anew, each project left out once")
    parser.add_argument("--models", type=Path, help="folder of models, one folder each")
    parser.add_argument("--dense", default="", help="the dense model, by name")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="keeps memories and vectors")
    options = parser.parse_args()
    questions = [parse_question(row) for row in read_lines(options.queries)]
    folders = [folder.resolve() for folder in options.data]
    models = Measured(added=options.models and options.models.resolve(), dense=options.dense)
    with open_cached_memory(folders, options.cache.resolve(), options.copies, options.recorded, models) as memory:
        found = measure_answers(memory, questions, options) | {"queries": options.queries.name}
    found["model"] = model_text(models)
    print_tables(found, stream=sys.stderr if options.json == "-" else sys.stdout)
    text = json.dumps(found, indent=1)
    if options.json == "-":
        print(text)
    elif options.json:
        Path(options.json).write_text(text, encoding="utf-8")


def measure_answers(
    memory: Memory, questions: Sequence[LabelledQuestion], options: argparse.Namespace
) -> dict[str, Any]:
    """All figures of one run."""
    archive = Archive(memory.root.path / "sessions" / "archive")
    own = own_words(archive)
    runs = {"recall": ask_recall(memory, questions), "digests": ask_recall(memory, questions, None)}
    runs |= ask_baselines(memory, questions)
    rows = {name: judged_all(questions, run, own) for name, run in runs.items()}
    equal = {f"{name}, equal": judge_as_long(questions, runs[name], own, runs["recall"]) for name in ("fts5", "rrf")}
    tables = {**rows, **equal}
    if options.choose:
        tried = [judged_all(questions, ask_recall(memory, questions, weights), own) for weights in GRID]
        tables["chosen"] = left_out(questions, tried)
    found = figures(questions, tables, frozenset(options.chosen_on))
    if options.rewordings:
        texts = {row["id"]: row["rewordings"] for row in read_lines(options.rewordings)}
        reworded = [replace(one, text=text) for one in questions for text in texts.get(one.id, ())]
        again = {"recall": ask_recall(memory, reworded), "fts5": ask_fts5(memory, reworded)}
        found["rewordings"] = {
            name: agreement(rows[name], runs[name], judged_all(reworded, run, own), run) for name, run in again.items()
        }
    return found


def parse_question(row: Mapping[str, Any]) -> LabelledQuestion:
    must = tuple(tuple(plain(word) for word in group) for group in row["must"])
    return LabelledQuestion(
        row["id"], row["corpus"], row["question"], row["session"], must, plain(row.get("trap") or "")
    )


def plain(text: str) -> str:
    """A text in lower case with white space collapsed."""
    return " ".join(text.lower().split())


@contextmanager
def open_cached_memory(
    folders: Sequence[Path],
    cache: Path,
    copies: int = 1,
    recorded: Path | None = None,
    models: Measured | None = None,
) -> Iterator[Memory]:
    """A memory of all transcripts below some folders, indexed; made where the cache has none of the same content."""
    models = models or Measured()
    read_by = hashlib.sha256(recorded.read_bytes()).hexdigest()[:12] if recorded else "rules"
    home = cache / f"{content_key(folders)}-{copies}-{read_by}"
    root, now = MemoryRoot(home / "memory", home / "state"), dt.datetime.now(dt.UTC)
    archive = root.path / "sessions" / "archive"
    if not (home / "complete").exists():
        files, _ = copy_transcripts(folders, home / "live", {})
        root.derived_folder.mkdir(parents=True, exist_ok=True)
        root.index_page.write_text("# Memory\n", encoding="utf-8")
        settings = IngestSettings(archive, root.derived_folder / "sessions.db")
        ingest(
            [home / "live"],
            settings,
            root.sessions,
            Readings(root.sessions.parent / FOLDER),
            ClosedWhen(now, idle_hours=0),
        )
        print(f"{files} transcripts taken in", file=sys.stderr)
        if recorded:
            read_anew(archive, root.sessions, recorded, now)
    root.settings.write_text(f'model = "{models.dense}"\n' if models.dense else "", encoding="utf-8")
    person = PersonSettings(embedding_share=1.0, query_log=False)
    store = CopiedSessions(ArchivedSessions(archive, root.sessions), copies)
    with (
        cache_vectors(root, cache / transcripts_key(folders)),
        Memory(root, person=person, catalogue=models.catalogue(), now=lambda: now, sessions=lambda: store) as memory,
    ):
        memory.own()
        started = time.perf_counter()
        memory.reindex()
        print(f"indexed in {time.perf_counter() - started:.1f} s", file=sys.stderr)
        (home / "complete").touch()
        yield memory


def read_anew(archive: Path, compressed: Path, recorded: Path, now: dt.datetime) -> None:
    """Puts readings by a recorded model in the place of those by rules, and the digests by them behind the older."""
    store, readings = Archive(archive), Readings(compressed.parent / FOLDER)
    unread = load_unread(store)
    for reading in read_all(build_reader(None, recorded, archive, is_partial=True), unread, archive).values():
        readings.save(reading)
    compress_closed(store, compressed, readings, ClosedWhen(now, idle_hours=0))


class CopiedSessions:
    """Archived sessions, each several times under names of its own."""

    def __init__(self, store: SessionStore, copies: int):
        self._store = store
        self._copies = copies

    def marks(self) -> Mapping[str, str]:
        found = self._store.marks().items()
        return {COPY * copy + name: mark for name, mark in found for copy in range(self._copies)}

    def read_sizes(self) -> Mapping[str, int]:
        found = self._store.read_sizes().items()
        return {COPY * copy + name: size for name, size in found for copy in range(self._copies)}

    def read_days(self) -> Mapping[str, dt.date]:
        found = self._store.read_days().items()
        return {COPY * copy + name: day for name, day in found for copy in range(self._copies)}

    def session(self, session_id: str) -> ArchivedSession:
        found = self._store.session(session_id.lstrip(COPY))
        return replace(found, document=replace(found.document, path=raw_path(session_id)))

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        return self._store.notes(session_id.lstrip(COPY))

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        return self._store.at_depth(session_id.lstrip(COPY), depth, first)


def content_key(folders: Sequence[Path]) -> str:
    """A name for what a memory of these transcripts holds, made by this code."""
    key = hashlib.sha256(transcripts_key(folders).encode())
    for maker in MAKERS:
        for path in sorted((PACKAGES / maker).rglob("*.py")):
            key.update(path.read_bytes())
    return key.hexdigest()[:16]


def transcripts_key(folders: Sequence[Path]) -> str:
    """A name for these transcripts."""
    key = hashlib.sha256()
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.name.endswith((".jsonl", ".jsonl.xz"))):
            key.update(f"{folder.name}/{path.relative_to(folder)}\0".encode())
            key.update(path.read_bytes())
    return key.hexdigest()[:16]


def ask_recall(
    memory: Memory, questions: Sequence[LabelledQuestion], spoken: Mapping[str, float] | None = SPOKEN
) -> list[Shown]:
    """Every question as `oneiros recall --json` asks it; `spoken`: the weights of the stretches, None without them."""
    session_of = {str(memory.root.relative(path)): name for name, path in newest_files(memory.root.sessions).items()}
    memory.search(parse_query("warm up"))
    run = []
    for one in questions:
        started = time.perf_counter()
        hits = answer_json(memory.pipeline(spoken=spoken).answer(parse_query(one.text)))["hits"]
        taken = (time.perf_counter() - started) * 1_000
        sessions = [session_of.get(hit["path"]) or session_of_path(hit["path"]) for hit in hits]
        run.append(Shown([hit["passage"] for hit in hits], sessions, taken))
    return run


def ask_baselines(memory: Memory, questions: Sequence[LabelledQuestion]) -> dict[str, list[Shown]]:
    return {"rrf": ask_rrf(memory, questions), "fts5": ask_fts5(memory, questions)}


def ask_fts5(memory: Memory, questions: Sequence[LabelledQuestion]) -> list[Shown]:
    """Every question to FTS5 (unicode61, bm25, OR of the words) over the text of every turn, cut."""
    turns = cut_turns(memory)
    started = time.perf_counter()
    found = ranked_by_words([text for _, text in turns], [one.text for one in questions], MOST)
    taken = (time.perf_counter() - started) * 1_000 / len(questions)
    return [Shown([turns[place][1] for place in best], [turns[place][0] for place in best], taken) for best in found]


def ask_rrf(memory: Memory, questions: Sequence[LabelledQuestion]) -> list[Shown]:
    """Every question to FTS5 and the memory's model, joined by reciprocal ranks, over the pieces of what was said."""
    paths, texts, vectors = read_stretches(memory)
    sessions = [session_of_path(path) for path in paths]
    started = time.perf_counter()
    found = ranked_by_both(memory, texts, vectors, [one.text for one in questions])
    taken = (time.perf_counter() - started) * 1_000 / len(questions)
    best = [ranks[:MOST] for ranks in found]
    return [Shown([texts[place] for place in of], [sessions[place] for place in of], taken) for of in best]


def own_words(archive: Archive) -> list[str]:
    """What persons typed, plain; very short turns are left out."""
    turns = (turn for name in archive.session_ids() for turn in archive.turns(name))
    texts = {plain(turn.text) for turn in turns if turn.role is Role.PERSON}
    return [text for text in texts if len(text) >= LEAST_OWN]


def agreement(
    rows: Sequence[Mapping[str, Any]],
    run: Sequence[Shown],
    again: Sequence[Mapping[str, Any]],
    shown_again: Sequence[Shown],
) -> dict[str, Any]:
    """How far the rewordings, judged and as shown, find what the questions find."""
    firsts = {row["id"]: shown.sessions[:1] for row, shown in zip(rows, run, strict=True)}
    answered = {row["id"] for row in rows if row["answer_at_3"]}
    still_found = [float(row["answer_at_3"]) for row in again if row["id"] in answered]
    same = [float(shown.sessions[:1] == firsts[row["id"]]) for row, shown in zip(again, shown_again, strict=True)]
    shares = {name: fmean(float(row[name]) for row in again) for name in AIMS}
    return {
        "n": len(again),
        **shares,
        "kept": fmean(still_found),
        "kept_interval": confidence(still_found),
        "same": fmean(same),
    }


def judged_all(questions: Sequence[LabelledQuestion], run: Sequence[Shown], own: Sequence[str]) -> list[dict[str, Any]]:
    """What every answer of a run is worth."""
    return [judge(one, shown, own) for one, shown in zip(questions, run, strict=True)]


def left_out(questions: Sequence[LabelledQuestion], tried: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Each question as answered by the run that is best for the questions of all other projects."""
    rows = []
    for place, one in enumerate(questions):
        others = [number for number, other in enumerate(questions) if other.project != one.project]
        best = max(tried, key=lambda run: sum(float(run[number][aim]) for number in others for aim in AIMS))
        rows.append(best[place])
    return rows


def judge_as_long(
    questions: Sequence[LabelledQuestion], run: Sequence[Shown], own: Sequence[str], recall: Sequence[Shown]
) -> list[dict[str, Any]]:
    """What answers are worth that may be read anywhere, for as many characters as recall's first hits have."""
    rows = judged_all(questions, run, own)
    for one, shown, row, of_recall in zip(questions, run, rows, recall, strict=True):
        rooms = (sum(map(len, cut_to_room(of_recall.passages, TEN_CHARS)[:count])) for count in (1, FIRST, MOST))
        text = "\n".join(shown.passages)
        row |= {name: one.is_answered_by(text[:room]) for name, room in zip(AT, rooms, strict=True)}
    return rows


def judge(one: LabelledQuestion, shown: Shown, own: Sequence[str]) -> dict[str, Any]:
    """What one answer is worth. A first passage that answers is neither a question nor a trap."""
    passages = cut_to_room(shown.passages)
    answers = [one.is_answered_by(passage) for passage in passages[:FIRST]]
    first = plain(passages[0]) if passages and not answers[0] else ""
    return {
        "id": one.id,
        "project": one.project,
        "session_at_1": is_of_session(one, shown),
        "answer_at_1": answers[:1] == [True],
        "answer_at_3": any(answers),
        "answer_at_10": any(map(one.is_answered_by, cut_to_room(shown.passages, TEN_CHARS)[:MOST])),
        "question_first": bool(first) and is_own(first, own),
        "trap_first": bool(one.trap) and one.trap in first,
        "silent": not passages,
        "characters": sum(map(len, shown.passages)),
        "milliseconds": shown.milliseconds,
        "shown": passages,
    }


def is_of_session(one: LabelledQuestion, shown: Shown) -> bool:
    """Whether the first hit is of the right session, which may be named by the beginning of its id."""
    return any(name and one.session.startswith(name) for name in shown.sessions[:1])


def cut_to_room(passages: Sequence[str], room: int = SHOWN_CHARS) -> list[str]:
    """Passages up to so many characters in all; the last one is cut there."""
    fitting = []
    for passage in passages:
        if room <= 0:
            break
        fitting.append(passage[:room])
        room -= len(passage)
    return fitting


def is_own(passage: str, own: Sequence[str]) -> bool:
    """Whether a plain passage is for the most part what a person typed in one or several turns."""
    held = sum(len(text) for text in own if text in passage)
    return held >= OWN_WORDS * len(passage) or any(passage.strip("… ") in text for text in own)


def figures(
    questions: Sequence[LabelledQuestion], rows: Mapping[str, list[dict[str, Any]]], chosen: frozenset[str]
) -> dict[str, Any]:
    """Both systems over all questions, each project, and the parts chosen on and left out."""
    projects = list(dict.fromkeys(one.project for one in questions))
    parts = {"all": set(projects)}
    if chosen:
        parts |= {"chosen on": set(chosen), "left out": set(projects) - chosen}
    parts |= {name: {name} for name in projects}
    table = {
        label: {name: averages([row for row in run if row["project"] in names]) for name, run in rows.items()}
        for label, names in parts.items()
        if any(one.project in names for one in questions)
    }
    return {
        **stamp_run(),
        **table["all"],
        "parts": table,
        "questions": [
            {"id": one.id, "project": one.project, **{name: run[place] for name, run in rows.items()}}
            for place, one in enumerate(questions)
        ],
    }


def averages(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The shares of one system, the intervals of four of them, and what it shows and takes."""
    shares: dict[str, Any] = {name: fmean(float(row[name]) for row in rows) for name in SHARES}
    for name in ("session_at_1", *AT):
        shares[f"{name}_interval"] = confidence([float(row[name]) for row in rows])
    lengths = [row["characters"] for row in rows]
    return {
        "n": len(rows),
        **shares,
        "characters": fmean(lengths),
        "most_characters": max(lengths),
        "p50_ms": percentile([row["milliseconds"] for row in rows], 0.5),
    }


def print_tables(found: Mapping[str, Any], stream: Any) -> None:
    """A line for each system and part."""
    print(f"{found['machine']}\nmodel: {found['model']}; queries: {found['queries']}", file=stream)
    names = ("n", *SHARES, "characters", "most_characters", "p50_ms")
    print(f"{'':<30}" + "".join(f"{name:>16}" for name in names) + "   answer_at_1, _3 and _10, 95 %", file=stream)
    for system, values in found.get("rewordings", {}).items():
        cells = "".join(f"  {name} {values[name]:.3f}" for name in (*AIMS, "kept", "same"))
        print(f"{values['n']} rewordings, {system}:{cells}", file=stream)
    for label, systems in found["parts"].items():
        for system, values in systems.items():
            cells = "".join(f"{values[name]:>16.3f}" if name in SHARES else f"{values[name]:>16.0f}" for name in names)
            bounds = ", ".join("{:.2f} to {:.2f}".format(*values[f"{name}_interval"]) for name in AT)
            print(f"{label.rpartition('/')[2]:<18}{system:<12}{cells}   {bounds}", file=stream)


if __name__ == "__main__":
    main()
