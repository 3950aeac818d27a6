"""Has the systems that are entered make their offers, and scores them.

    python -m benchmarks.curation.run [SYSTEM...] [--out DIR] [--json FILE]

`--out` keeps the offers, a file a system, as the scorer reads them; `--json` the figures, with machine, day and commit.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.curation.pieces import read_pieces
from benchmarks.curation.score import compute_figures, format_figures, judge_offers
from benchmarks.curation.systems import SYSTEMS
from benchmarks.machine import stamp_run


def main() -> None:
    """Reads the command line, asks each system and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=[*SYSTEMS], help=f"of {', '.join(SYSTEMS)}; without: all")
    parser.add_argument("--out", type=Path, help="a folder for what they offer")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    options = parser.parse_args()
    pieces, found = read_pieces(), {}
    for name in options.systems:
        with tempfile.TemporaryDirectory(prefix="oneiros-curation-") as folder:
            offers = list(SYSTEMS[name](pieces, Path(folder)))
        found[name] = compute_figures(judge_offers(offers, pieces))
        sys.stdout.write("\n".join([name, *format_figures(found[name])]) + "\n")
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            text = "".join(json.dumps(asdict(offer), ensure_ascii=False) + "\n" for offer in offers)
            (options.out / f"{name}.jsonl").write_text(text, encoding="utf-8")
    if options.json:
        text = json.dumps({**stamp_run(), "systems": found}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
