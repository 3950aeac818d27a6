"""Topics made of readings: how they are called, how they read, and whether projects are kept apart.

    python -m benchmarks.filing --data DIR... [--rules DIR] [--named FILE | --namer claude-cli] [--out DIR] --json FILE

All folders of transcripts go into one memory, a project each, and the files that Claude reads in the projects of
`--rules`, a folder each. Recorded readings by a model become hunks beside the statements of those files, a model says
under which topics they stand and words them (recorded likewise; `--namer claude-cli` runs `claude`), and all that was
read as surely kept is accepted. `--out` keeps the memory, to be read by eye. Nobody's label is used.

topics, statements     that came of it; per_topic: statements a topic, at the 10th, 50th and 90th percentile
reworded               statements that stand in the words of the model that named their topic, which passed the gate
own_topic              share of statements in a project's own topic, since nobody named another
lines_of_three         lines of a topic of three statements, at most
index_lines            of MEMORY.md
foreign_filed          statements that stand in a topic of another project
foreign_compared       hunks whose comparison names a line of another project
"""

import argparse
import datetime as dt
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.machine import machine_text
from benchmarks.recorded import NAMED, RecordedNamer, build_reader, load_unread, read_all
from benchmarks.sessions import copy_transcripts
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive, SessionRecord
from crawler.model.budget import Price
from crawler.model.claude_cli import ClaudeCliClient
from crawler.model.client import Completion, Prompt
from crawler.reading.record import Reading
from dream.decisions.accept import Decisions
from dream.decisions.presence import Consent, How
from dream.evidence import Evidence
from dream.judge.reader import DreamReader
from dream.records import Hunk, State
from dream.run import Bounds, Dream
from dream.topics import read_topics
from memory_server.document import SourcePath
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from parts.taking_over.instructions import InstructionReader, WrittenFile
from parts.taking_over.takeover import Takeover

SURE = 0.84  # confidence of what a reader calls surely kept
PERSON = Consent(How.WORD)


def main() -> None:
    """Reads the command line, makes the memory, prints the figures and writes the JSON."""
    options = build_parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="oneiros-filing-") as folder:
        home = options.out or Path(folder)
        copy_transcripts(options.data, home / "live", {})
        made = Made(MemoryRoot(home / "memory", home / "state"), home / "live", options)
        made.dream()
        figures = {"machine": machine_text(), **made.figures()}
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json and options.json != Path("-"):
        options.json.write_text(text + "\n", encoding="utf-8")


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of transcripts, one a project")
    parser.add_argument("--recorded", type=Path, help="readings, as `benchmarks.reading` takes them")
    parser.add_argument("--rules", type=Path, help="a folder of projects with the files that Claude reads in them")
    parser.add_argument("--named", type=Path, default=NAMED, help="what a model answered about topics")
    parser.add_argument("--namer", choices=["claude-cli", "nobody"], help="who names topics; else a recording")
    parser.add_argument("--out", type=Path, help="a new folder that keeps the memory")
    parser.add_argument("--json", type=Path, nargs="?", const=Path("-"), help="where to write the figures")
    return parser


class Made:
    """One memory with the sessions of several projects, whose transcripts lie below a folder."""

    def __init__(self, root: MemoryRoot, live: Path, options: argparse.Namespace):
        self.root, home = root, live.parent
        self.root.topics.mkdir(parents=True, exist_ok=True)
        self.root.index_page.write_text("# Memory\n", encoding="utf-8")
        self.archive = Archive(self.root.path / "sessions" / "archive")
        settings = IngestSettings(self.root.path / "sessions" / "archive", home / "sessions.db")
        with Ingester(settings) as ingester:
            ingester.ingest(sorted(live.rglob("*.jsonl")))
        client = build_reader(None, options.recorded, home, is_partial=True)
        unread = load_unread(self.archive)
        self.readings = read_all(client, unread, home)
        self.namer = build_namer(options, home)
        self.rules_home, self.rules = options.rules, read_rules(options.rules)
        self.evidence = evidence = Evidence(self.archive, options.rules)
        person = PersonSettings(dream_hunks_a_day=100_000, dream_commit=False)
        self.now = max(record.ended for record in self.archive.records())
        self.decisions = Decisions(self.root, person, lambda: parse_end(self.now), is_true=evidence.resolve)

    def dream(self) -> None:
        """Offers what the files and the readings say, and accepts what is surely kept."""
        Takeover(self.decisions, self.evidence, Redactor(), now=lambda: parse_end(self.now)).run(self.rules)
        dream = Dream(
            self.decisions,
            self.archive,
            self._reading,
            now=lambda: parse_end(self.now),
            clock=lambda: 0.0,
            redactor=Redactor(),
            home=self.rules_home,
            reader=DreamReader(self.namer, Redactor()) if self.namer else None,
        )
        report = dream.run(Bounds())
        print(f"{report.sessions} sessions, {report.found} hunks, {report.refused}", file=sys.stderr)
        with self.decisions.together():
            for hunk in self.decisions.store.hunks():
                if hunk.state is State.PENDING and hunk.update.candidate.confidence >= SURE:
                    self.decisions.accept(hunk.id, PERSON)

    def _reading(self, record: SessionRecord) -> Reading:
        return self.readings[record.session_id]

    def figures(self) -> dict[str, Any]:
        """What came of it."""
        hunks = self.decisions.store.hunks()
        taken = [hunk for hunk in hunks if hunk.state is State.ACCEPTED]
        topics = [topic for topic in read_topics(self.root).files if topic.path != "lessons.md"]
        owner = {topic.path: topic.project for topic in topics}
        held = Counter(hunk.target for hunk in taken)
        sizes = sorted(held.values())
        thirds = [len(topic.lines) for topic in topics if held[topic.path] == 3]
        return {
            "projects": len(set(owner.values())),
            "hunks": len(hunks),
            "topics": len(topics),
            "statements": len(taken),
            "per_topic": quantiles(sizes, n=10)[::4] if len(sizes) > 1 else sizes,
            "own_topic": sum(is_own_topic(hunk) for hunk in taken) / max(1, len(taken)),
            "of_files": sum(bool(hunk.file) for hunk in taken),
            "reworded": sum(is_reworded(hunk) for hunk in taken if not hunk.file),
            "reworded_of_files": sum(is_reworded(hunk) for hunk in taken if hunk.file),
            "lines_of_three": max(thirds, default=0),
            "index_lines": len(self.root.index_page.read_text(encoding="utf-8").splitlines()),
            "foreign_filed": sum(owner.get(hunk.target, find_project(hunk)) != find_project(hunk) for hunk in taken),
            "foreign_compared": sum(self._names_another(hunk, owner) for hunk in hunks),
        }

    def _names_another(self, hunk: Hunk, owner: Mapping[SourcePath, str]) -> bool:
        """Whether the comparison of a hunk names a topic of another project."""
        named = hunk.update.why.partition(":")[0]
        return owner.get(SourcePath(named), "") not in ("", find_project(hunk))


def build_namer(options: argparse.Namespace, home: Path) -> Any:
    """Who says under which topics statements stand: a way to ask, or nobody."""
    if options.namer == "nobody":
        return None
    if options.namer == "claude-cli":
        client = ClaudeCliClient(home / "claude-cli", Price())

        def ask(prompt: Prompt) -> Completion:
            return client.complete(prompt)

        return ask
    return RecordedNamer.read(options.named).complete


def read_rules(folder: Path | None) -> list[WrittenFile]:
    """The files that Claude reads in the projects of a folder."""
    reader = InstructionReader(folder or Path())
    for project in sorted(folder.iterdir()) if folder else ():
        reader.read_project(project, project.name)
    return reader.found.files


def is_reworded(hunk: Hunk) -> bool:
    """Whether the model that named its topic worded a statement, in words that passed the gate."""
    return "worded anew" in hunk.update.candidate.why


def is_own_topic(hunk: Hunk) -> bool:
    """Whether a statement went where statements go that nobody filed."""
    return not hunk.update.candidate.topic


def find_project(hunk: Hunk) -> str:
    return hunk.update.candidate.project.casefold()


def parse_end(ended: Any) -> dt.datetime:
    """The end of the last session as a moment."""
    return ended if isinstance(ended, dt.datetime) else dt.datetime.fromisoformat(str(ended))


if __name__ == "__main__":
    main()
