"""Runs other memories, one after the other, on the questions of `benchmarks.answers`.

    python -m benchmarks.peers NAME... --data TRANSCRIPTS... --queries FILE --json FILE

The packages of each are installed once below `--work`, its sessions, indices and settings lie in a home of its own
there, and it is asked through its own door. What it shows counts as in `benchmarks.answers`: an answer is found where
it stands anywhere in as many characters as recall's first passages have. `plain` in the place of a name runs recall,
FTS5 and the joined baseline of that benchmark. FILE keeps the rows of all runs.

Indexing ends after `--minutes`; what is there by then is asked. The first KILLED transcripts are then indexed twice
more, once in peace, and once killed half-way and begun anew: `same_after_kill` is the share of questions with
hits in peace that have the same then; nothing is known of it where none has any, or where it did not end in peace. CPU
seconds count children that were waited for, peak memory the largest process.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import answers
from benchmarks.answers import LabelledQuestion, Shown
from benchmarks.layouts import read_lines
from benchmarks.machine import stamp_run
from benchmarks.metrics import percentile
from benchmarks.peers.memories import PEERS
from benchmarks.peers.peer import Peer, Place, Setup, ask_all, install_once, run_command
from benchmarks.runs import build_parser, write_figures
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from memory_server.embedding.catalogue import find_packaged_model
from memory_server.index.raw import SessionStore

KILLED = 4  # transcripts of the trial with a kill, and questions that are asked after it


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What a run is judged by."""

    questions: Sequence[LabelledQuestion]
    own: Sequence[str]
    recall: Sequence[Shown]

    def judge(self, run: Sequence[Shown]) -> dict[str, Any]:
        """The shares of one system, at equal characters."""
        return answers.averages(answers.judge_as_long(self.questions, run, self.own, self.recall))


def main() -> None:
    """Reads the command line, runs the names one after the other and adds their rows to the file."""
    parser = build_parser(__doc__)
    parser.add_argument("names", nargs="+", choices=["plain", *PEERS])
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders of transcripts, plain or .xz")
    parser.add_argument("--queries", type=Path, required=True, help="questions in the shape of answers.jsonl")
    parser.add_argument("--work", type=Path, default=Path("benchmarks/out/peers"), help="packages and homes")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="as of benchmarks.answers")
    parser.add_argument("--source", type=Path, help="a checkout of a peer that no registry has")
    parser.add_argument("--minutes", type=float, default=12, help="at most, of indexing")
    parser.set_defaults(json=Path("benchmarks/out/peers.json"))
    options = parser.parse_args()
    with answers.open_cached_memory([folder.resolve() for folder in options.data], options.cache.resolve()) as memory:
        folder = memory.root.path / "sessions" / "archive"
        archive, store = Archive(folder), ArchivedSessions(folder, memory.root.sessions)
        questions = [
            one for one in map(answers.parse_question, read_lines(options.queries)) if archive.holds(one.session)
        ]
        yardstick = Yardstick(questions, answers.own_words(archive), answers.ask_recall(memory, questions))
        for name in options.names:
            if name == "plain":
                runs = {"recall": yardstick.recall, **answers.ask_baselines(memory, questions)}
                rows = {system: yardstick.judge(run) for system, run in runs.items()}
            else:
                peer, work, live = PEERS[name], options.work.resolve() / name, memory.root.path.parent / "live"
                install_once(work / "packages", partial(peer.install, work / "packages", options.source))
                rows = {name: Trial(peer, work, live, store, options.minutes * 60).measure(yardstick)}
            add_rows(options.json, rows, options.queries.name, len(questions))


def add_rows(file: Path, rows: Mapping[str, Mapping[str, Any]], queries: str, count: int) -> None:
    """Puts rows beside those that a file has of other systems."""
    systems = json.loads(file.read_text(encoding="utf-8"))["systems"] if file.exists() else {}
    added = {name: {**stamp_run(), "load": os.getloadavg()[2], **row} for name, row in rows.items()}
    write_figures(file, {"queries": queries, "n": count, "systems": {**systems, **added}})
    print(json.dumps(added))


@dataclass(frozen=True, slots=True)
class Trial:
    """One peer, and the sessions that it is given."""

    peer: Peer
    work: Path  # its folder
    live: Path  # the folder of the transcripts
    store: SessionStore
    seconds: float  # at most, of indexing

    def measure(self, yardstick: Yardstick) -> dict[str, Any]:
        """What the peer finds and what it takes."""
        questions = [one.text for one in yardstick.questions]
        transcripts = sorted(self.live.rglob("*.jsonl"))
        setup = self.lay_out(transcripts)
        spent = run_command(setup.index, setup, self.seconds)
        files = [path for path in setup.place.home.rglob("*") if path.is_file() and not path.is_symlink()]
        disk = sum(path.stat().st_size for path in files) / 1e6
        run = ask_all(self.peer, setup, questions)
        return {
            **yardstick.judge(run),
            "p95_ms": percentile([shown.milliseconds for shown in run], 0.95),
            "transcripts": len(transcripts),
            "index": asdict(spent),
            "disk_mb": disk,
            **self.try_kill(transcripts[:KILLED], questions[:KILLED]),
        }

    def try_kill(self, transcripts: Sequence[Path], questions: Sequence[str]) -> dict[str, Any]:
        """Whether indexing that was killed half-way ends when begun anew, and finds what indexing in peace finds."""
        setup = self.lay_out(transcripts)
        in_peace = run_command(setup.index, setup, self.seconds)
        found = ask_all(self.peer, setup, questions)
        setup = self.lay_out(transcripts)
        run_command(setup.index, setup, in_peace.wall_seconds / 2)
        again = run_command(setup.index, setup, self.seconds)
        pairs = zip(found, ask_all(self.peer, setup, questions), strict=True)
        same = [float(one.passages == other.passages) for one, other in pairs if one.passages]
        is_known = in_peace.is_complete and same
        return {"ends_after_kill": again.is_complete, "same_after_kill": fmean(same) if is_known else None}

    def lay_out(self, transcripts: Sequence[Path]) -> Setup:
        """An empty home with the peer's settings, and transcripts with what was said in them beside it."""
        sessions = self.work / "sessions"
        place = Place(self.work / "packages", self.work / "home", sessions / "transcripts", sessions / "notes")
        for folder in (place.home, sessions):
            shutil.rmtree(folder, ignore_errors=True)
        for folder in (place.home, place.notes):
            folder.mkdir(parents=True)
        for path in transcripts:
            copy = place.transcripts / path.relative_to(self.live)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        for name in {path.stem for path in transcripts} & set(self.store.marks()):
            turns = [turn for turn in self.store.session(name).turns if turn.spoken]
            text = "\n\n".join(f"## {'Person' if turn.is_person else 'Assistant'}\n\n{turn.spoken}" for turn in turns)
            (place.notes / f"{name}.md").write_text(text + "\n", encoding="utf-8")
        model = find_packaged_model()
        assert model is not None, "the packaged model is installed with the benchmarks"
        return self.peer.prepare(place, model)


if __name__ == "__main__":
    main()
