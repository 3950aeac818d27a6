"""Measures dream: contradictions found, statements found, decoys left alone, proposals worth a person's minute.

    python -m benchmarks.dream --format beam --data BEAM --queries beam_updates.jsonl --json FILE
    python -m benchmarks.dream --format writes --data TRANSCRIPTS --queries md_writes.jsonl --json FILE
    python -m benchmarks.dream --format real --data TRANSCRIPTS --labels FILE --negatives FILE --json [FILE]

`beam`: each chat is written as a transcript and taken in. For every pair of statements the earlier stands in a topic,
and the later must be flagged; so must none of the five messages that share most words with the earlier. `writes`:
what a person's notes got, statements and decoys planted into real turns, and proposals labelled by hand. Chats,
families of planted texts and sessions are split by a seed in a part that rules were written on and a part held back;
both are shown. `real`: everything that is offered of real sessions against what a reader would keep (`dream_real.py`).
Every proposal here has passed the gate.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.dream_beam import measure_beam
from benchmarks.dream_real import Labels, measure_real
from benchmarks.dream_writes import measure_writes
from benchmarks.machine import machine_text

KEYS = (
    "pairs recall precision newest_value curve sessions right_file content_recall planted_recall decoys_proposed"
    " labelled"
    " worth_accepting false_per_session negatives parts seconds peak_mb"
).split()  # of the JSON; those that belong to the other format are null

REAL_KEYS = (
    "offered precision judged_precision recall_3 recall_23 negatives_offered hard_negatives intervals per_project"
    " calibration bad_titles without_label seconds peak_mb"
).split()


def main() -> int:
    """Runs one format; the exit code is 0 whatever the figures are."""
    arguments = argument_parser().parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="oneiros-dream-") as folder:
        if arguments.format == "real":
            labels = Labels.read(arguments.labels, arguments.negatives)
            figures = measure_real(arguments.data, labels, Path(folder))
        else:
            measure = measure_beam if arguments.format == "beam" else measure_writes
            figures = measure(arguments.data, arguments.queries, Path(folder))
    figures["seconds"] = round(time.perf_counter() - started, 1)
    figures["peak_mb"] = peak_megabytes()
    print(machine_text(), file=sys.stderr)
    for name, value in figures.items() if arguments.json != Path("-") else ():
        if name != "curve":
            print(f"{name:18} {json.dumps(value, ensure_ascii=False)}")
    for point in figures.get("curve", ()):
        print(f"  from {point['from']:.2f}  recall {point['recall']:.2f}  precision {point['precision']:.2f}")
    if arguments.json:
        wanted = {name: figures.get(name) for name in (REAL_KEYS if arguments.format == "real" else KEYS)}
        text = json.dumps(wanted, indent=1, ensure_ascii=False)
        if arguments.json == Path("-"):
            print(text)
        else:
            arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def peak_megabytes() -> float:
    """The most memory that this process ever held, reading the data in included."""
    unit = 1e6 if sys.platform == "darwin" else 1e3  # macOS counts bytes, Linux kilobytes
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("beam", "writes", "real"), required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of chats, or of transcripts with a manifest")
    parser.add_argument("--queries", type=Path, help="beam_updates.jsonl or md_writes.jsonl")
    parser.add_argument("--labels", type=Path, help="of `real`: what a reader would keep")
    parser.add_argument("--negatives", type=Path, help="of `real`: what looks like it and is not")
    parser.add_argument("--json", type=Path, nargs="?", const=Path("-"), help="where to write the figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
