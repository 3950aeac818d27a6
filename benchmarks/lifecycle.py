"""A synthetic year of one memory: what fades, whether it is still found, what room that gives, and what a backup costs.

    python -m benchmarks.lifecycle --json FILE [--sessions 2000] [--topics 300] [--questions 40000] [--kills 100]

Time is passed in: sessions and topics come to be over 365 days, questions are asked by a power law over what is there
and half of them open the turns that answer. Then one run of gc, one prune of what is older than 180 days, its way back,
a backup and a restore on another machine, which is given the vectors of the same texts. The text is words of our pages
in no order, with the packaged model: figures of finding compare before and after, and say nothing else. Last, each
change is killed at random moments on a small memory.
"""

import argparse
import datetime as dt
import hashlib
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from benchmarks.machine import machine_text
from crawler.archive.store import Archive, SessionKey
from crawler.archived import ArchivedSessions
from crawler.closed import IDLE_HOURS, ClosedWhen
from crawler.compress.run import compress_closed
from crawler.reading.record import FOLDER, Readings
from crawler.transcripts.entry import Entry, EntryPart, PartKind
from dream.blame import count_citations
from dream.decisions.accept import Decisions
from memory_server.document import LineRange, SourcePath, raw_path
from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Engine
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.layers.sessions import cut_id8
from memory_server.lifecycle.use import DRILLED, UseLog
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.search.question import parse_query
from memory_server.settings import PersonSettings
from parts.keeping import fading
from parts.keeping.backup import back_up, bring_back, read_backups
from parts.keeping.pruning import Pruning
from tests.states import WordEngine

END = dt.datetime(2026, 11, 1, 12, 0, tzinfo=dt.UTC)
YEAR, FRESH_DAYS, OLD_DAYS = 365, 60, 182
OPENED_SHARE = 0.5  # of the questions: somebody reads what answers
EXPONENT = 1.0  # of the power law
DOCS = Path(__file__).parent.parent / "docs"  # whose words sessions are made of
MOST_QUESTIONS = 400  # questions of each kind that are compared
SAME_QUESTIONS = 500
TURNS, FACT_AT = 5, 2  # exchanges of a session, of four turns each, and the one whose reply holds the fact
SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro".split()
)


@dataclass(frozen=True)
class Fact:
    """Something that one session or topic says."""

    source: str  # the id of a session, or the path of a topic
    day: dt.date
    question: str
    value: str
    is_topic: bool = False


class Clock:
    """The time, to be set."""

    def __init__(self) -> None:
        self.now = END

    def __call__(self) -> dt.datetime:
        return self.now


Change = Callable[[MemoryRoot, Path], None]


# -- the year -------------------------------------------------------------------------------------------------------


class Writer:
    """Words that tell sources apart, and prose around them."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)  # noqa: S311  no secrets
        text = " ".join(file.read_text(encoding="utf-8") for file in sorted(DOCS.glob("*.md")))
        self._words = sorted({word.lower() for word in re.findall(r"\b[A-Za-z]{3,9}\b", text)})

    def prose(self, words: int) -> str:
        return " ".join(self.random.choices(self._words, k=words)).capitalize() + "."

    def name(self) -> str:
        return "".join(self.random.choices(SYLLABLES, k=5))

    def fact(self, source: str, day: dt.date, *, is_topic: bool = False) -> Fact:
        thing, value = f"{self.name()} {self.name()}", f"{self.name()}-{self.random.randrange(1000, 9999)}"
        return Fact(source, day, f"which value has the {thing}", value, is_topic)


def choose_day(number: int, of: int) -> dt.datetime:
    """When a source came to be: they are spread over the year."""
    return END - dt.timedelta(days=YEAR * (1 - number / of), hours=IDLE_HOURS + 20)


def state_fact(fact: Fact) -> str:
    return f"The {fact.question.removeprefix('which value has the ')} has the value {fact.value}."


def write_year(root: MemoryRoot, sessions: int, topics: int, seed: int = 7) -> list[Fact]:
    """Archives sessions, compresses them, and writes topics of which every third cites a session."""
    writer, facts = Writer(seed), []
    root.topics.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    archive = Archive(root.path / "sessions" / "archive")
    for number in range(sessions):
        day = choose_day(number, sessions)
        session_id = f"{hashlib.sha256(str(number).encode()).hexdigest()[:8]}-0000-4000-8000-{number:012x}"
        fact = writer.fact(session_id, day.date())
        key = SessionKey(session_id, machine="laptop", project=f"/work/project{number % 20}")
        archive.add(key, make_entries(writer, fact, day))
        os.utime(archive.record_file(session_id), (day.timestamp(), day.timestamp()))
        facts.append(fact)
    closed = ClosedWhen(END, process_start=lambda _: None)
    compress_closed(archive, root.sessions, Readings(root.sessions.parent / FOLDER), closed)
    for number in range(topics):
        fact = writer.fact(f"topics/topic{number}.md", choose_day(number, topics).date(), is_topic=True)
        cited = facts[number * sessions // topics]
        note = f"[^1]: person in session {cited.source}, entry {cited.source[:8]}-1, {cited.day}\n"
        mark, note = ("[^1]", note) if number % 3 == 0 else ("", "")
        head = f"---\ntype: semantic\nmodified: {fact.day}\n---\n# Topic {number}\n\n"
        text = f"{head}{state_fact(fact)}{mark}\n\n{writer.prose(80)}\n\n{note}"
        root.file(SourcePath(fact.source)).write_text(text, encoding="utf-8")
        facts.append(fact)
    subprocess.run(["git", "init", "--quiet", str(root.path)], check=True)
    return facts


def make_entries(writer: Writer, fact: Fact, day: dt.datetime) -> list[Entry]:
    """A session of twenty turns: what was asked, what tools returned, and one reply that holds the fact."""
    entries: list[Entry] = []

    def add(kind: PartKind, text: str, **more: str) -> None:
        number = len(entries)
        entries.append(
            Entry(
                id=f"{fact.source[:8]}-{number}",
                parent=entries[-1].id if entries else "",
                time=(day + dt.timedelta(minutes=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                parts=(EntryPart(kind, text, **more),),  # type: ignore[arg-type]  # texts alone
                session_id=fact.source,
                cwd="/work/project",
            )
        )

    for turn in range(TURNS):
        add(PartKind.PROMPT, writer.prose(10))
        add(PartKind.CALL, "", tool="Bash", call_id=f"c{turn}", arguments=json.dumps({"command": writer.prose(6)}))
        add(PartKind.RESULT, "\n".join(writer.prose(12) for _ in range(25)), tool="Bash", call_id=f"c{turn}")
        add(PartKind.TEXT, f"{state_fact(fact)} {writer.prose(12)}" if turn == FACT_AT else writer.prose(25))
    return entries


def ask_for_a_year(log: UseLog, clock: Clock, facts: Sequence[Fact], questions: int, seed: int = 11) -> set[str]:
    """Asks by a power law over what is there on each day; returns the sources that were opened."""
    chance, opened = random.Random(seed), set[str]()  # noqa: S311  no secrets
    order = list(facts)
    chance.shuffle(order)
    weights = [1 / (place + 1) ** EXPONENT for place in range(len(order))]
    meant = iter(sorted(chance.choices(range(len(order)), weights, k=questions), key=lambda _: chance.random()))
    for number in range(questions):
        clock.now = END - dt.timedelta(days=YEAR * (1 - number / questions))
        fact = order[next(meant)]
        if fact.day > clock.now.date():
            continue
        path = fact.source if fact.is_topic else raw_path(fact.source)
        log.count_found(f"{fact.question} {number}", [path])
        if chance.random() < OPENED_SHARE:
            first = 4 * FACT_AT + 1
            log.count_access(path, LineRange(1, 9) if fact.is_topic else LineRange(first, first + 3), DRILLED)
            opened.add(fact.source)
    clock.now = END
    return opened


# -- what is measured -----------------------------------------------------------------------------------------------


def open_on_day(root: MemoryRoot, clock: Clock, engine: Callable[[ModelFiles], Engine] = OnnxEngine) -> Memory:
    return Memory(
        require_memory(root),
        person=PersonSettings(query_log=True),
        catalogue=Catalogue(Path("/nonexistent")),
        now=clock,
        make_engine=engine,
        sessions=lambda: ArchivedSessions(root.path / "sessions" / "archive", root.sessions),
    )


def found_share(memory: Memory, facts: Sequence[Fact], *, include_raw: bool = False) -> float:
    """The share of facts whose value stands in an answer of ten hits."""
    found = 0
    for fact in facts:
        answer = memory.look_up(parse_query(fact.question, include_raw=include_raw))
        found += any(fact.value in hit.passage for hit in answer.hits)
    return found / max(len(facts), 1)


def answers(memory: Memory, facts: Sequence[Fact]) -> list[list[tuple[str, str]]]:
    looked = (memory.look_up(parse_query(fact.question)) for fact in facts)
    return [[(hit.path, hit.passage) for hit in answer.hits] for answer in looked]


def count_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def contents(root: MemoryRoot) -> dict[str, str]:
    """Every session by a hash of the bytes of its turns, and every file of layers 1 and 2, wherever it lies."""
    archive = Archive(root.path / "sessions" / "archive")
    found = {}
    for record in archive.records():
        files = [archive.record_file(record.session_id), *archive.list_objects(record)]
        parts = (file.read_bytes() if file.exists() else b"lost" for file in files)
        found[record.session_id] = hashlib.sha256(b"".join(parts)).hexdigest()
    for folder in ("topics", "sessions/compressed", "sessions/attic", "episodes"):
        for file in (root.path / folder).rglob("*.md"):
            found[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def measure(scratch: Path, sessions: int, topics: int, questions: int) -> dict[str, object]:
    """All figures but the kills."""
    root, clock = MemoryRoot(scratch / "one" / "memory", scratch / "one" / "state"), Clock()
    facts = write_year(root, sessions, topics)
    log = UseLog(require_memory(root).state_database, lambda: clock.now.date())
    opened = ask_for_a_year(log, clock, facts, questions)
    log.close()
    step(f"{len(opened)} of {len(facts)} sources were opened")
    of_sessions = [fact for fact in facts if not fact.is_topic]
    age = {fact.source: (END.date() - fact.day).days for fact in facts}
    fresh = spread([fact for fact in facts if age[fact.source] <= FRESH_DAYS])
    old = [fact for fact in of_sessions if age[fact.source] > OLD_DAYS]
    old_opened, others = (
        spread([f for f in old if f.source in opened]),
        spread([f for f in old if f.source not in opened]),
    )
    figures: dict[str, object] = {}
    with open_on_day(root, clock) as memory:
        memory.own()
        memory.reindex()
        before = [found_share(memory, some) for some in (fresh, old_opened)]
        figures["fresh_recall"], figures["old_recall"] = before
        figures["others_by_raw_before"] = found_share(memory, others, include_raw=True)
        room_before, held = count_bytes(root.derived_folder), contents(root)
        figures["index_bytes_before"] = room_before
        step(f"before: {figures}")
        started = time.monotonic()
        citations = count_citations(root)
        plan = memory.aging().plan(citations)
        fading.carry_out(root, plan.changes, END)
        figures["plan_seconds"] = round(time.monotonic() - started, 2)
        memory.reindex()
        figures["fade_seconds"] = round(time.monotonic() - started, 2)
        figures["index_bytes_after"] = count_bytes(root.derived_folder)
        figures["index_ratio"] = round(
            int(str(figures["index_bytes_after"])) / int(str(figures["index_bytes_before"])), 3
        )
        levels = [int(item.change.level) for item in plan.steps]
        figures["levels"] = [levels.count(level) for level in range(5)]
        after = [found_share(memory, some) for some in (fresh, old_opened)]
        figures["fresh_recall_change"], figures["old_recall_change"] = (
            b - a for a, b in zip(before, after, strict=True)
        )
        figures["others_by_raw"] = found_share(memory, others, include_raw=True)
        figures["others_by_default"] = found_share(memory, others)
        lost = held.keys() - {name for name, mark in contents(root).items() if held.get(name) == mark}
        step(f"after gc: {figures}")
        lost |= set(pruned_and_back(root, citations, held, figures, scratch))
        memory.reindex()
        figures["lost"] = len(lost)
        figures |= backed_up(root, memory, clock, scratch, spread(facts, SAME_QUESTIONS))
    return figures


def pruned_and_back(
    root: MemoryRoot, citations: Mapping[str, int], held: Mapping[str, str], figures: dict[str, object], scratch: Path
) -> list[str]:
    """Prunes and restores; what is not as it was before."""
    archive = Archive(root.path / "sessions" / "archive")
    last = (END - dt.timedelta(days=180)).isoformat()
    old = [one.session_id for one in archive.records() if one.ended < last and cut_id8(one.session_id) not in citations]
    file, started = scratch / "export.tar.zst", time.monotonic()
    Pruning(archive).export(old, file, END)
    figures["pruned"], figures["prune_seconds"] = len(old), round(time.monotonic() - started, 2)
    there = {cut_id8(session_id) for session_id in archive.session_ids()}
    figures["cited_pruned"] = len(citations.keys() - there)
    Pruning(archive).restore(file, END)
    now = contents(root)
    return [name for name, mark in held.items() if now.get(name) != mark]


def backed_up(
    root: MemoryRoot, memory: Memory, clock: Clock, scratch: Path, facts: Sequence[Fact]
) -> dict[str, object]:
    """A backup beside `tar | zstd -3` of the same files, and the same questions asked on another machine."""
    folder, figures = scratch / "plain.tar.zst", dict[str, object]()
    parts = ("--exclude=.oneiros", "--exclude=.git", "-C", str(root.path.parent), "-cf", "-", root.path.name)
    plain, ours = [], []
    made = None
    for number in range(3):  # in turns, since machines are shared
        started = time.monotonic()
        with folder.open("wb") as out, subprocess.Popen(["tar", *parts], stdout=subprocess.PIPE) as tar:
            subprocess.run(["zstd", "-3", "-q", "-c"], stdin=tar.stdout, stdout=out, check=True)
        plain.append(time.monotonic() - started)
        started = time.monotonic()
        decisions = Decisions(root, PersonSettings(), clock, is_true=lambda _: True)
        made = back_up(decisions, scratch / f"backup{number}.tar.zst", END)
        ours.append(time.monotonic() - started)
    assert made is not None
    figures["tar_seconds"], figures["backup_seconds"] = round(min(plain), 2), round(min(ours), 2)
    figures["backup_ratio"] = round(min(plain) / min(ours), 2)
    before = answers(memory, facts)
    other = MemoryRoot(scratch / "two" / "memory", scratch / "two" / "state")
    bring_back(read_backups(other, [made.file], made.fingerprint), "")
    fading.settle(other)
    for vectors in ("vectors", "stretches/vectors"):  # of the same texts by the same model, which take long to make
        shutil.copytree(root.derived_folder / vectors, other.derived_folder / vectors)
    with open_on_day(other, clock) as second:
        second.own()
        second.reindex()
        after = answers(second, facts)
    figures["restored_same"] = sum(one == two for one, two in zip(before, after, strict=True))
    figures["restored_asked"] = len(facts)
    return figures


def spread(facts: Sequence[Fact], most: int = MOST_QUESTIONS) -> list[Fact]:
    """At most so many of them, evenly."""
    every = max(1, len(facts) // most)
    return list(facts[::every])[:most]


# -- kills ----------------------------------------------------------------------------------------------------------


def kill_and_count(scratch: Path, kills: int) -> dict[str, int]:
    """Kills gc, prune, restore and backup at random moments; what was lost and what was left half."""
    base, clock = scratch / "base", Clock()
    root = MemoryRoot(base / "memory", base / "state")
    facts = write_year(root, 40, 10)
    log = UseLog(require_memory(root).state_database, lambda: clock.now.date())
    ask_for_a_year(log, clock, facts, 200)
    log.close()
    held, chance = contents(root), random.Random(3)  # noqa: S311  no secrets
    lost = half = 0
    seconds: dict[str, float] = {}
    for number in range(kills):
        name, change = list(CHANGES.items())[number % len(CHANGES)]
        if name not in seconds:
            seconds[name] = in_child(change, fresh_copy(base, scratch), scratch)
        at = fresh_copy(base, scratch)
        in_child(change, at, scratch, chance.uniform(0, seconds[name]))
        problems = find_damage(name, at, scratch, held)
        if problems:
            step(f"{name}: {problems}")
        lost += "lost" in problems
        half += "half" in problems
    return {"kills": kills, "killed_lost": lost, "killed_half": half}


def fresh_copy(base: Path, scratch: Path) -> MemoryRoot:
    for name in ("try", "restored"):
        shutil.rmtree(scratch / name, ignore_errors=True)
    for file in scratch.glob("*.killed"):
        file.unlink()
    shutil.copytree(base, scratch / "try")
    root = MemoryRoot(scratch / "try" / "memory", scratch / "try" / "state")
    [old] = [path for path in root.states.iterdir() if path.is_dir()]
    old.rename(root.state)
    return root


def gc_change(root: MemoryRoot, _: Path) -> None:
    with open_on_day(root, Clock(), WordEngine) as memory:
        memory.own()
        memory.reindex()
        fading.carry_out(root, memory.aging().plan(count_citations(root)).changes, END)
        memory.reindex()


def prune_change(root: MemoryRoot, scratch: Path) -> None:
    archive = Archive(root.path / "sessions" / "archive")
    held = count_citations(root)
    old = [session_id for session_id in archive.session_ids() if cut_id8(session_id) not in held]
    Pruning(archive).export(old, scratch / "export.killed", END)
    Pruning(archive).restore(scratch / "export.killed", END)


def backup_change(root: MemoryRoot, scratch: Path) -> None:
    made = back_up(Decisions(root, PersonSettings(), Clock(), is_true=lambda _: True), scratch / "backup.killed", END)
    bring_back(read_backups(restore_backup(scratch), [made.file], made.fingerprint), "")


def restore_backup(scratch: Path) -> MemoryRoot:
    return MemoryRoot(scratch / "restored" / "memory", scratch / "restored" / "state")


CHANGES: Mapping[str, Change] = {
    "gc": gc_change,
    "prune and restore": prune_change,
    "backup and restore": backup_change,
}


def in_child(change: Change, root: MemoryRoot, scratch: Path, kill_after: float | None = None) -> float:
    """Makes a change in a process of its own, and ends that after some seconds; how long it lived."""
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    child = spawn.Process(target=changing, args=(change, root, scratch, ready))
    child.start()
    ready.wait()
    started = time.monotonic()
    child.join(kill_after)
    if child.is_alive():
        child.kill()
        child.join()
    return time.monotonic() - started


def changing(change: Change, root: MemoryRoot, scratch: Path, ready: Event) -> None:
    ready.set()
    change(root, scratch)


def find_damage(name: str, root: MemoryRoot, scratch: Path, held: Mapping[str, str]) -> set[str]:
    """What the next command finds missing, or half there."""
    problems = set()
    archive = Archive(root.path / "sessions" / "archive")
    if any(problem.rule != "archive-orphan" for problem in archive.verify()):
        problems.add("half")
    fading.settle(root)
    if (export := scratch / "export.killed").exists() and Pruning(archive).notes():
        Pruning(archive).restore(export, END)
    now = contents(root)
    if any(now.get(key) != mark for key, mark in held.items()):
        problems.add("lost")
    if name == "gc":
        with open_on_day(root, Clock(), WordEngine) as memory:
            memory.own()
            memory.reindex()
            if memory.upkeep.is_unfinished() or memory.inspect().search_itself():
                problems.add("half")
    other = restore_backup(scratch)
    if other.path.exists() and (contents(other) != held or not (other.state / "root.json").exists()):
        problems.add("half")
    if (file := scratch / "backup.killed").exists() and not other.path.exists():
        bring_back(read_backups(other, [file]), "")
        if contents(other) != held:
            problems.add("lost")
    return problems


def step(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    for name, default in (("sessions", 2_000), ("topics", 300), ("questions", 40_000), ("kills", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-lifecycle-") as scratch:
        figures = measure(Path(scratch), arguments.sessions, arguments.topics, arguments.questions)
    with tempfile.TemporaryDirectory(prefix="oneiros-lifecycle-") as scratch:
        figures |= kill_and_count(Path(scratch), arguments.kills)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


if __name__ == "__main__":
    main()
