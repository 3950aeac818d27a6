"""Has the systems that are entered make their offers, and scores them.

    python -m benchmarks.curation.run [SYSTEM...] [--out DIR] [--json FILE]
    python -m benchmarks.curation.run --ask DIR
    python -m benchmarks.curation.run --pack DIR

`--out` keeps the offers, a file a system, as the scorer reads them. `--ask` writes the prompts of `plain` and of
`oneiros` to DIR/SYSTEM/NNN.prompt.txt, letter by letter as they are sent. Whoever reads for a model sees one of them at
a time and nothing else, and writes the answer to NNN.answer.txt beside it; `--pack` puts these into the recordings.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.curation.pieces import Piece, read_pieces
from benchmarks.curation.score import compute_figures, format_figures, judge_offers
from benchmarks.curation.systems import PIECES_READ, PLAINLY_READ, SYSTEMS, build_plain_prompts, offer_read
from benchmarks.recorded import RecordedClient, pack_answers, write_prompts
from benchmarks.runs import build_parser, write_figures


def main() -> None:
    """Reads the command line, and does what it says."""
    parser = build_parser(__doc__)
    parser.add_argument("systems", nargs="*", default=[*SYSTEMS], help=f"of {', '.join(SYSTEMS)}; without: all")
    parser.add_argument("--out", type=Path, help="a folder for what they offer")
    parser.add_argument("--ask", type=Path, help="a folder for prompts")
    parser.add_argument("--pack", type=Path, help="that folder, with answers")
    options = parser.parse_args()
    pieces = read_pieces()
    if options.pack:
        pack_answers(options.pack / "plain", PLAINLY_READ)
        pack_answers(options.pack / "oneiros", PIECES_READ)
    elif options.ask:
        silent = RecordedClient({}, {}, is_partial=True)
        list(offer_read(pieces, silent))
        write_prompts(build_plain_prompts(pieces), options.ask / "plain")
        write_prompts(silent.asked, options.ask / "oneiros")
    else:
        found = {name: score_system(name, pieces, options.out) for name in options.systems}
        write_figures(options.json, {"systems": found})


def score_system(name: str, pieces: Sequence[Piece], out: Path | None) -> dict[str, Any]:
    """The figures of a system, printed; what it offers goes to a folder."""
    offers = list(SYSTEMS[name](pieces))
    found = compute_figures(judge_offers(offers, pieces))
    print(*format_figures(name, found), sep="\n")
    if out:
        out.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(asdict(offer), ensure_ascii=False) + "\n" for offer in offers)
        (out / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
