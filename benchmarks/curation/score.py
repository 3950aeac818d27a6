"""Scores what systems would keep of the pieces. Standard library alone.

    python -m benchmarks.curation.score OFFERS.jsonl... [--list] [--json FILE]

A line of OFFERS is `{"piece": "p001", "statement": "...", "kind": "...", "scope": "..."}`; README.md tells of each.

right, wrong   offers that say what is kept, and others. Neither: what may be kept, what is filed under the project that
               it belongs to, and findings of real pieces, since what only the assistant said was not labelled there
precision      right / (right + wrong)
recall         statements that an offer says / all that are kept; also by kind
f1             of both
scope          of the offers that are right, the share that is filed under the project or the person as it is kept
fell_for       of the pieces with a trap, the share of which something wrong is offered, by trap

Each share stands with its 95 % interval: pieces are drawn anew, with returning.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.curation.pieces import PROJECT, Offer, Piece, Wanted, read_offers, read_pieces

SEED, RESAMPLES = 20260301, 1_000
FINDING = "finding"
SHARES, FALLS = ("precision", "recall", "f1", "scope"), "falls"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a system would keep of one piece, judged."""

    piece: Piece
    right: Sequence[tuple[Offer, Wanted]]
    wrong: Sequence[Offer]
    missed: Sequence[Wanted]


def main() -> None:
    """Reads the command line and prints the figures of each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("offers", type=Path, nargs="+")
    parser.add_argument("--list", action="store_true", help="print what is wrong and what is missed")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    options = parser.parse_args()
    pieces, found = read_pieces(), {}
    for file in options.offers:
        judged = judge_offers(read_offers(file), pieces)
        found[file.stem] = compute_figures(judged)
        print(*format_figures(file.stem, found[file.stem]), *(list_errors(judged) if options.list else ()), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def judge_offers(offers: Iterable[Offer], pieces: Sequence[Piece]) -> list[Judged]:
    """What a system would keep of each piece, those of which it keeps nothing among them."""
    known = list(offers)
    return [_judge(piece, [one for one in known if one.piece == piece.id]) for piece in pieces]


def _judge(piece: Piece, offers: Sequence[Offer]) -> Judged:
    right, wrong = list[tuple[Offer, Wanted]](), list[Offer]()
    for offer in offers:
        matching = [one for one in piece.keep if one.matches(offer.statement)]
        right += [(offer, one) for one in matching if all(one is not known for _, known in right)]  # once is enough
        if not matching and not _is_uncounted(offer, piece):
            wrong.append(offer)
    return Judged(piece, right, wrong, [one for one in piece.keep if all(one is not known for _, known in right)])


def _is_uncounted(offer: Offer, piece: Piece) -> bool:
    if offer.kind == FINDING and piece.origin == "real":
        return True
    return any(one.matches(offer.statement) and one.scope in (PROJECT, offer.scope) for one in piece.either)


def compute_figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of all pieces, of the half that is held back, and of planted and real ones."""
    return {
        "all": _compute(judged),
        "held back": _compute([one for one in judged if one.piece.is_held_back]),
        "planted": _compute([one for one in judged if one.piece.origin == "planted"]),
        "real": _compute([one for one in judged if one.piece.origin == "real"]),
    }


def _compute(judged: Sequence[Judged]) -> dict[str, Any]:
    shares = measure_with_intervals(judged)
    by_trap = {trap: [one for one in judged if one.piece.trap == trap] for trap in {one.piece.trap for one in judged}}
    kept = Counter(one.kind for each in judged for one in each.piece.keep)
    missed = Counter(one.kind for each in judged for one in each.missed)
    return {
        "pieces": len(judged),
        "right": sum(len(one.right) for one in judged),
        "wrong": sum(len(one.wrong) for one in judged),
        **{name: shares[name] for name in SHARES},
        "recall_by_kind": {kind: [kept[kind] - missed[kind], kept[kind]] for kind in sorted(kept)},
        "fell_for": {trap: measure_with_intervals(by_trap[trap])[FALLS] for trap in sorted(by_trap) if trap},
    }


def measure_with_intervals(judged: Sequence[Judged]) -> dict[str, list[float]]:
    """Each share and the ends of its 95 % interval by bootstrap over pieces, seeded."""
    dice = random.Random(SEED)  # noqa: S311  resampling, not secrecy
    drawn = [measure(dice.choices(judged, k=len(judged))) for _ in range(RESAMPLES)]
    found, cut = dict[str, list[float]](), RESAMPLES // 40
    for name, share in measure(judged).items():
        ranked = sorted(one[name] for one in drawn)
        found[name] = [round(value, 3) for value in (share, ranked[cut], ranked[-1 - cut])]
    return found


def measure(judged: Sequence[Judged]) -> dict[str, float]:
    """All shares of some pieces together."""
    right, wrong = sum(len(one.right) for one in judged), sum(len(one.wrong) for one in judged)
    kept, missed = sum(len(one.piece.keep) for one in judged), sum(len(one.missed) for one in judged)
    filed = [offer.scope == wanted.scope for one in judged for offer, wanted in one.right]
    precision, recall = _divide(right, right + wrong), _divide(kept - missed, kept)
    return {
        "precision": precision,
        "recall": recall,
        "f1": _divide(2 * precision * recall, precision + recall),
        "scope": _divide(sum(filed), len(filed)),
        FALLS: _divide(sum(bool(one.wrong) for one in judged), len(judged)),
    }


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def format_figures(system: str, found: dict[str, Any]) -> Iterator[str]:
    """A line for each part of the pieces, behind the system."""
    yield system
    for part, figures in found.items():
        shares = ", ".join("{} {:.2f} ({:.2f}-{:.2f})".format(name, *figures[name]) for name in SHARES)
        falls = "".join(f"; {trap} {share:.2f}" for trap, (share, _, _) in figures["fell_for"].items())
        yield f"  {part}: {figures['right']} right, {figures['wrong']} wrong; {shares}{falls}"


def list_errors(judged: Sequence[Judged]) -> Iterator[str]:
    """What is wrong and what is missed, outside of the half that is held back."""
    for each in judged:
        if not each.piece.is_held_back:
            yield from (f"  WRONG {each.piece.id} {each.piece.trap}: {one.statement}" for one in each.wrong)
            yield from (f"  MISSED {each.piece.id} {one.kind}: {one.statement}" for one in each.missed)


if __name__ == "__main__":
    main()
