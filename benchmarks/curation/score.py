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
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.curation.pieces import PROJECT, Offer, Piece, Wanted, read_offers, read_pieces

SEED, RESAMPLES = 20260301, 1_000
FINDING = "finding"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a system would keep of one piece, judged."""

    piece: Piece
    right: Sequence[tuple[Offer, Wanted]]
    wrong: Sequence[Offer]

    def find_missed(self) -> list[Wanted]:
        return [one for one in self.piece.keep if all(one is not wanted for _, wanted in self.right)]

    def count_found(self) -> int:
        return len(self.piece.keep) - len(self.find_missed())


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
        sys.stdout.write("\n".join([file.stem, *format_figures(found[file.stem])]) + "\n")
        if options.list:
            sys.stdout.writelines(f"{line}\n" for line in list_errors(judged))
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
    return Judged(piece, right, wrong)


def _is_uncounted(offer: Offer, piece: Piece) -> bool:
    if offer.kind == FINDING and piece.origin == "real":
        return True
    return any(one.matches(offer.statement) and one.scope in (PROJECT, offer.scope) for one in piece.either)


def compute_figures(judged: Sequence[Judged]) -> dict[str, Any]:
    """The figures of all pieces, of the half that is held back, and of planted and real ones."""
    parts: dict[str, Callable[[Piece], bool]] = {
        "all": lambda _: True,
        "held back": lambda piece: piece.is_held_back,
        "planted": lambda piece: piece.origin == "planted",
        "real": lambda piece: piece.origin == "real",
    }
    return {name: _compute([one for one in judged if is_in(one.piece)]) for name, is_in in parts.items()}


def _compute(judged: Sequence[Judged]) -> dict[str, Any]:
    kinds = sorted({one.kind for each in judged for one in each.piece.keep})
    traps = sorted({each.piece.trap for each in judged} - {""})
    return {
        "pieces": len(judged),
        "right": sum(len(one.right) for one in judged),
        "wrong": sum(len(one.wrong) for one in judged),
        "precision": with_interval(measure_precision, judged),
        "recall": with_interval(measure_recall, judged),
        "f1": with_interval(measure_f1, judged),
        "scope": with_interval(measure_scope, judged),
        "recall_by_kind": {kind: _recall_of_kind(judged, kind) for kind in kinds},
        "fell_for": {
            trap: with_interval(measure_falls, [one for one in judged if one.piece.trap == trap]) for trap in traps
        },
    }


def measure_precision(judged: Sequence[Judged]) -> float:
    right = sum(len(one.right) for one in judged)
    return _divide(right, right + sum(len(one.wrong) for one in judged))


def measure_recall(judged: Sequence[Judged]) -> float:
    return _divide(sum(one.count_found() for one in judged), sum(len(one.piece.keep) for one in judged))


def measure_f1(judged: Sequence[Judged]) -> float:
    precision, recall = measure_precision(judged), measure_recall(judged)
    return _divide(2 * precision * recall, precision + recall)


def measure_scope(judged: Sequence[Judged]) -> float:
    filed = [offer.scope == wanted.scope for one in judged for offer, wanted in one.right]
    return _divide(sum(filed), len(filed))


def measure_falls(judged: Sequence[Judged]) -> float:
    return _divide(sum(bool(one.wrong) for one in judged), len(judged))


def _recall_of_kind(judged: Sequence[Judged], kind: str) -> list[int]:
    """How many statements of a kind were found, and how many there are."""
    wanted = sum(one.kind == kind for each in judged for one in each.piece.keep)
    return [wanted - sum(one.kind == kind for each in judged for one in each.find_missed()), wanted]


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def with_interval(measure: Callable[[Sequence[Judged]], float], judged: Sequence[Judged]) -> list[float]:
    """A figure and the ends of its 95 % interval by bootstrap over pieces, seeded."""
    dice = random.Random(SEED)  # noqa: S311  resampling, not secrecy
    drawn = sorted(measure(dice.choices(judged, k=len(judged))) for _ in range(RESAMPLES)) if judged else [0.0]
    ends = (measure(judged), drawn[len(drawn) // 40], drawn[-1 - len(drawn) // 40])
    return [round(value, 3) for value in ends]


def format_figures(found: dict[str, Any]) -> list[str]:
    """A line for each part of the pieces."""
    names = ("precision", "recall", "f1", "scope")
    return [
        f"  {part}: {figures['right']} right, {figures['wrong']} wrong; "
        + ", ".join("{} {:.2f} ({:.2f}-{:.2f})".format(name, *figures[name]) for name in names)
        + "".join(f"; {trap} {falls[0]:.2f}" for trap, falls in figures["fell_for"].items())
        for part, figures in found.items()
    ]


def list_errors(judged: Sequence[Judged]) -> Iterable[str]:
    """What is wrong and what is missed, outside of the half that is held back."""
    for each in judged:
        if not each.piece.is_held_back:
            yield from (f"  WRONG {each.piece.id} {each.piece.trap}: {one.statement}" for one in each.wrong)
            yield from (f"  MISSED {each.piece.id} {one.kind}: {one.statement}" for one in each.find_missed())


if __name__ == "__main__":
    main()
