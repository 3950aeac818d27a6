"""Measures ingest: nothing lost, nothing invented, nothing secret, and how fast.

    python -m benchmarks.intake --data DIR --json FILE

DIR holds transcripts, plain or `.xz`, with a `manifest.jsonl`; where they are there, `human_prompts.jsonl` beside it is
compared prompt by prompt, `negatives/manifest.jsonl` names files to refuse, and `../docs` and `../eval` are what
redaction must leave alone. What is found beyond the listed prompts in files that the manifest marks `doubtful` is shown
apart, since nobody knows who wrote it.
"""

import argparse
import json
import lzma
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.planted_secrets import plant
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.discovery import RECORDS_JUDGED, judge
from crawler.archive.store import Archive
from crawler.compress.run import compress_session
from crawler.reading.record import FOLDER, Readings
from crawler.transcripts.tail import Verdict
from crawler.transcripts.transcript import TranscriptReader, open_transcript
from crawler.transcripts.turns import Turn, read_transcript
from memory_server.redaction import Redactor

LONG_SESSION = 20_000  # characters; shorter sessions do not count for the share of their digests
NOISE_MB = 64
LARGE_LINE_MB = 4
SECOND_PASS_FILES = 500
SEEDS = range(5)
SHOWN_ONLY = ("growth_steps", "growth_steps_equal", "invented_prompts", "doubtful_files", "details")  # not in the JSON
PIECE = 8  # characters of a secret that must not be seen in a row


@dataclass(slots=True)
class Figures:
    """What is printed and written as JSON."""

    files: int = 0
    crashes: int = 0
    bad_lines_reported: int = 0
    bad_lines_in_manifest: int = 0
    prompts_in_manifest: int = 0
    prompts_found: int = 0
    files_that_differ: list[dict[str, Any]] = field(default_factory=list)
    negatives: int = 0
    negatives_refused: int = 0
    mb_per_s: float = 0.0
    mb_per_s_noise: float = 0.0
    peak_mb: float = 0.0
    second_pass_s: float = 0.0
    secrets_planted: int = 0
    secrets_masked: int = 0
    false_positive_share: float = 0.0
    compressed_token_share: float = 0.0
    growth_steps: int = 0
    growth_steps_equal: int = 0
    invented_prompts: int = 0  # turns with role person that the reference does not list
    doubtful_files: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def main() -> int:
    """Runs every measurement; the exit code is 0 whatever the figures are."""
    arguments = argument_parser().parse_args()
    data: Path = arguments.data
    if arguments.peak:
        print(json.dumps(read_all_turns(data)))
        return 0
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="oneiros-intake-") as name:
        folder = Path(name)
        compare_prompts(data, figures)
        refuse_negatives(data, figures)
        measure_speed(data, folder, figures)
        measure_second_pass(folder, figures)
        measure_growth(data, folder, figures)
        measure_redaction(data, figures)
        measure_share(data, folder, figures)
    figures.details |= {"machine": platform.platform(), "python": platform.python_version()}
    show(figures)
    if arguments.json:
        wanted = {name: value for name, value in asdict(figures).items() if name not in SHOWN_ONLY}
        arguments.json.write_text(json.dumps(wanted, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of transcripts with a manifest.jsonl")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--peak", action="store_true", help=argparse.SUPPRESS)  # the process whose memory is measured
    return parser


def compare_prompts(data: Path, figures: Figures) -> None:
    """The person's prompts, file by file, against manifest and reference reading."""
    listed: dict[str, list[dict[str, Any]]] = {}
    for row in rows(data / "human_prompts.jsonl"):
        listed.setdefault(row["file"], []).append(row)
    for row in rows(data / "manifest.jsonl"):
        figures.files += 1
        figures.bad_lines_in_manifest += row.get("unparsable_lines", 0)
        try:
            turns, bad_lines = read_turns(on_disk(data / row["file"]))
        except Exception as error:  # noqa: BLE001  # a crash is what is being counted
            figures.crashes += 1
            figures.files_that_differ.append({"file": row["file"], "crash": repr(error)})
            continue
        figures.bad_lines_reported += bad_lines
        compare_file(row, listed.get(row["file"]), [turn for turn in turns if turn.is_prompt], figures)


def compare_file(row: dict[str, Any], listed: list[dict[str, Any]] | None, found: list[Turn], figures: Figures) -> None:
    """One file's prompts: by entry and first words where the reference lists them, by number otherwise."""
    expected = row["human_prompts"]
    if listed is None:
        lost, invented = max(0, expected - len(found)), max(0, len(found) - expected)
    else:
        wanted = Counter((item["uuid"] or "", item["start"][:40].strip()) for item in listed)
        got = Counter((turn_uuid(turn), turn.text[:40].strip()) for turn in found)
        lost, invented = (wanted - got).total(), (got - wanted).total()
    difference = {"file": row["file"], "expected": expected, "found": len(found), "lost": lost, "invented": invented}
    figures.prompts_in_manifest += expected
    figures.prompts_found += expected - lost
    if row.get("doubtful"):
        if lost or invented:
            figures.doubtful_files.append(difference | {"doubtful": row["doubtful"]})
        return
    figures.invented_prompts += invented
    if lost or invented:
        figures.files_that_differ.append(difference)


def turn_uuid(turn: Turn) -> str:
    return "" if turn.entries[0].startswith("made-") else turn.entries[0]


def read_turns(path: Path) -> tuple[list[Turn], int]:
    """The turns of one file read by itself, and how many bad lines it has."""
    with open_transcript(path) as stream:
        reader = TranscriptReader(stream)
        for _entry in reader:
            pass
    return list(read_transcript(path)), len(reader.bad_lines)


def refuse_negatives(data: Path, figures: Figures) -> None:
    """Files of other tools, which must be refused."""
    for row in rows(data / "negatives" / "manifest.jsonl"):
        figures.negatives += 1
        path = data / row["file"]
        path = on_disk(path) if on_disk(path).exists() else on_disk(data / "negatives" / row["file"])
        with open_transcript(path) as stream:
            head = stream.read(65536)
            stream.seek(0)
            records = (
                record for _, record in zip(range(RECORDS_JUDGED), TranscriptReader(stream).records(), strict=False)
            )
            refused = judge(records, head)[0] is Verdict.FOREIGN
        figures.negatives_refused += refused


def measure_speed(data: Path, folder: Path, figures: Figures) -> None:
    """Reading from bytes to turns, and the peak memory of a process that reads a file of long lines."""
    plain = folder / "plain"
    plain.mkdir()
    paths = []
    for number, row in enumerate(rows(data / "manifest.jsonl")):
        path = plain / f"{number}.jsonl"
        path.write_bytes(unpack(on_disk(data / row["file"])))
        paths.append(path)
    if paths:
        figures.mb_per_s = read_rate(paths)
    noise = folder / "noise.jsonl"
    write_noise(noise, NOISE_MB)
    figures.mb_per_s_noise = read_rate([noise])
    figures.details |= {
        "mb_per_wall_second": read_rate(paths, time.perf_counter) if paths else 0.0,
        "mb_per_wall_second_noise": read_rate([noise], time.perf_counter),
        "load_while_reading": round(os.getloadavg()[0], 1),
    }
    long_lines = folder / "long"
    long_lines.mkdir()
    write_long_lines(long_lines / "long.jsonl", LARGE_LINE_MB)
    command = [sys.executable, "-m", "benchmarks.intake", "--peak", "--data", str(long_lines)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    figures.peak_mb = round(json.loads(answer.stdout)["peak_mb"], 1)


def read_rate(paths: list[Path], clock: Callable[[], float] = time.process_time) -> float:
    """Megabytes a second from file to turns, the best of three.

    By default seconds of one core's work, since other work on the machine would be measured otherwise; the files are
    in the system's cache.
    """
    size = sum(path.stat().st_size for path in paths)
    best = 0.0
    for _ in range(3):
        started = clock()
        for path in paths:
            for _turn in read_transcript(path):
                pass
        best = max(best, size / 1e6 / (clock() - started))
    return round(best, 1)


def read_all_turns(folder: Path) -> dict[str, float]:
    """Reads every file of a folder turn by turn; the peak memory of this process."""
    turns = 0
    for path in sorted(folder.glob("*.jsonl")):
        for _turn in read_transcript(path):
            turns += 1
    unit = 1e6 if sys.platform == "darwin" else 1e3  # macOS counts bytes, Linux kilobytes
    return {"turns": turns, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit}


def write_noise(path: Path, megabytes: int) -> None:
    """A session whose bytes are nearly all progress, request logs and file history, as new clients write them."""
    common = {"sessionId": "00000000-0000-4000-8000-000000000001", "cwd": "/srv/app", "version": "2.1.330"}
    filler = "x" * 1500
    makers: list[dict[str, Any]] = [
        {"type": "progress", "data": {"type": "bash_progress", "output": filler}},
        {
            "type": "file-history-snapshot",
            "messageId": "m",
            "snapshot": {"trackedFileBackups": {"a.py": {"v": filler}}},
        },
        {"type": "api-request-blob", "hash": "h", "blob": {"messages": [{"role": "user", "content": filler * 12}]}},
        {"type": "attachment", "attachment": {"type": "prompt_snapshot", "content": filler * 4}},
    ]
    with path.open("w", encoding="utf-8") as stream:
        written = number = 0
        while written < megabytes * 1_000_000:
            record = {"parentUuid": f"p{number - 1}", **common, **makers[number % len(makers)], "uuid": f"p{number}"}
            if number % 200 == 0:
                record = {
                    **common,
                    "type": "user",
                    "uuid": f"p{number}",
                    "message": {"role": "user", "content": "go on"},
                }
            written += stream.write(json.dumps(record, separators=(",", ":")) + "\n")
            number += 1


def write_long_lines(path: Path, megabytes: int) -> None:
    """Tool results and images of several megabytes a line."""
    big = "line of output with words\n" * (megabytes * 1_000_000 // 26)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(12):
            image = {"type": "image", "source": {"type": "base64", "data": "A" * len(big)}}
            content: list[Any] = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": big}]
            if number % 2:
                content = [{"type": "text", "text": "look"}, image]
            record = {
                "type": "user",
                "uuid": f"u{number}",
                "sessionId": "s",
                "message": {"role": "user", "content": content},
            }
            stream.write(json.dumps(record) + "\n")


def measure_second_pass(folder: Path, figures: Figures) -> None:
    """Ingesting an unchanged tree of many files once more."""
    tree = folder / "tree"
    for number in range(SECOND_PASS_FILES):
        session = f"00000000-0000-4000-9000-{number:012x}"
        path = tree / f"project-{number % 20}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        message = {"role": "user", "content": f"question {number}"}
        record = {"type": "user", "uuid": f"{session[:-4]}ffff", "sessionId": session, "cwd": "/x", "message": message}
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    with Ingester(make_settings(folder / "tree-root")) as ingester:
        ingester.ingest([tree])
    with Ingester(make_settings(folder / "tree-root")) as ingester:
        started = time.perf_counter()
        report = ingester.ingest([tree])
        figures.second_pass_s = round(time.perf_counter() - started, 3)
    figures.details["second_pass_files"] = report.unchanged


def measure_growth(data: Path, folder: Path, figures: Figures) -> None:
    """Transcripts that grow step by step: after each step the archive equals one made at once."""
    for number, row in enumerate(rows(data.parent / "eval" / "growth.jsonl")):
        source = growth_source(data, row["file"])
        if source is None:
            continue
        content = unpack(source)
        live = folder / f"grow-{number}" / source.name.removesuffix(".xz")
        live.parent.mkdir()
        with Ingester(make_settings(folder / f"grow-root-{number}")) as ingester:
            for step, cut in enumerate(row["steps"]):
                live.write_bytes(content[: cut["bytes"]])
                ingester.ingest([live])
                fresh_root = folder / f"fresh-{number}-{step}"
                with Ingester(make_settings(fresh_root)) as fresh:
                    fresh.ingest([live])
                    figures.growth_steps += 1
                    figures.growth_steps_equal += digests(ingester.archive) == digests(fresh.archive)


def growth_source(data: Path, name: str) -> Path | None:
    candidates = map(on_disk, (data / name, data.parent / name, data / name.removeprefix("transcripts/")))
    return next((path for path in candidates if path.exists()), None)


def digests(archive: Archive) -> dict[str, str]:
    return {session_id: archive.hash_session(session_id) for session_id in archive.session_ids()}


def measure_redaction(data: Path, figures: Figures) -> None:
    """Planted secrets, and what is masked in documents and identifiers that hold none."""
    redactor = Redactor()
    for seed in SEEDS:
        for planted in plant(seed):
            figures.secrets_planted += 1
            figures.secrets_masked += not shows(redactor.redact_json(planted.value), planted.secret)
    documents = sorted((data.parent / "docs").rglob("*.md"))
    lines = masked = 0
    for path in documents:
        text = path.read_text(encoding="utf-8", errors="replace")
        lines += text.count("\n") + 1
        masked += len({text.count("\n", 0, span.start) for span in redactor.redact(text).spans})
    identifiers = [row["query"] for row in rows_of_evals(data, "exact_docs.jsonl", "exact_transcripts.jsonl")]
    wrong = sum(bool(redactor.redact(identifier).spans) for identifier in identifiers)
    shares = [masked / lines if lines else 0.0, wrong / len(identifiers) if identifiers else 0.0]
    figures.false_positive_share = round(max(shares), 5)
    figures.details |= {
        "document_lines": lines,
        "document_lines_masked": masked,
        "identifiers": len(identifiers),
        "identifiers_masked": wrong,
        "secret_kinds": len(list(plant())),
    }


def shows(redacted: object, secret: str) -> bool:
    """Whether a piece of a secret can still be read; its public prefix may stand in the name of the mask."""
    text = json.dumps(redacted, ensure_ascii=False)
    for mask in ("[redacted:" + part.split("]")[0] + "]" for part in text.split("[redacted:")[1:]):
        text = text.replace(mask, "")
    pieces = (json.dumps(secret[i : i + PIECE])[1:-1] for i in range(max(1, len(secret) - PIECE + 1)))
    return any(piece in text for piece in pieces)


def measure_share(data: Path, folder: Path, figures: Figures) -> None:
    """A full ingest of the data, and how long the digests are."""
    with Ingester(make_settings(folder / "root")) as ingester:
        started = time.perf_counter()
        report = ingester.ingest([data])
        figures.details |= {"ingest_s": round(time.perf_counter() - started, 1), "ingest_entries": report.entries}
        figures.details |= {"ingest_secrets": report.secrets, "ingest_copies": report.copies}
        archive, body, whole, spoken, sessions = ingester.archive, 0, 0, 0, 0
        started = time.perf_counter()
        for session_id in archive.session_ids():
            turns = list(archive.turns(session_id))
            chars = sum(len(turn.text) + len(turn.arguments) for turn in turns)
            compressed = (
                compress_session(archive, session_id, Readings(folder / FOLDER)) if chars >= LONG_SESSION else None
            )
            if compressed:
                body, whole, sessions = body + len(compressed.body), whole + chars, sessions + 1
                spoken += sum(len(turn.text) for turn in turns)
        figures.details |= {"compress_s": round(time.perf_counter() - started, 1), "long_sessions": sessions}
    figures.compressed_token_share = round(body / whole, 4) if whole else 0.0
    figures.details["compressed_share_without_arguments"] = round(body / spoken, 4) if spoken else 0.0


def make_settings(root: Path) -> IngestSettings:
    return IngestSettings(archive=root / "sessions" / "archive", state=root / ".oneiros" / "sessions.db")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON lines of a file; none where it is missing."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def rows_of_evals(data: Path, *names: str) -> Iterable[dict[str, Any]]:
    return (row for name in names for row in rows(data.parent / "eval" / name))


def on_disk(path: Path) -> Path:
    """The file that a manifest names, which may have been packed or unpacked since."""
    other = path.with_name(path.name.removesuffix(".xz") if path.suffix == ".xz" else f"{path.name}.xz")
    return other if other.exists() and not path.exists() else path


def unpack(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def show(figures: Figures) -> None:
    """The figures as a table on stdout."""
    for name, value in asdict(figures).items():
        if name not in ("files_that_differ", "doubtful_files", "details"):
            print(f"{name:24} {value}")
    for name, value in figures.details.items():
        print(f"  {name:30} {value}")
    for row in figures.files_that_differ:
        print("differs: ", json.dumps(row, ensure_ascii=False))
    for row in figures.doubtful_files:
        print("doubtful:", json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
