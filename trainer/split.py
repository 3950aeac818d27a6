"""`split`: pairs in, training and validation pairs out, whole sources on one side.

The sources are shuffled with the seed and taken for validation until they hold the share that was asked for, so no
chunk, and no fact stated twice in one document, stands on both sides. A question that both sides ask is dropped from
the validation side.
"""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from trainer.errors import DataError
from trainer.pairs import Pair


def split(pairs: Sequence[Pair], *, share: float, seed: int, where: Path) -> tuple[list[Pair], list[Pair]]:
    """Training and validation pairs, in their given order; `share`, 0 to 1, is what validation aims at.

    Raises DataError with file and line for a pair without a source, and where there are fewer than two sources.
    """
    for line, pair in enumerate(pairs, start=1):
        if not pair.source:
            raise DataError("this pair names no source", where=where, line=line, remedy="Add `source` to split by it")
    sizes = Counter(pair.source for pair in pairs)
    if len(sizes) < 2:
        raise DataError("a split needs pairs of two sources or more", where=where, remedy="Add another document")
    sources = sorted(sizes)
    random.Random(seed).shuffle(sources)  # noqa: S311  (a split has to repeat, not to be secret)
    held: set[str] = set()
    for source in sources[:-1]:
        taken = sum(sizes[name] for name in held)
        wanted = share * len(pairs)
        if taken >= wanted:
            break
        if not held or taken + sizes[source] <= 2 * wanted:
            held.add(source)
    training = [pair for pair in pairs if pair.source not in held]
    asked = {normal(pair.question) for pair in training}
    validation = [pair for pair in pairs if pair.source in held and normal(pair.question) not in asked]
    if not validation:
        raise DataError("every held-out question is also asked in training", where=where, remedy="Use another seed")
    return training, validation


def normal(question: str) -> str:
    """A question's words in small letters, so that spacing and end marks do not make two of one."""
    return " ".join("".join(sign if sign.isalnum() else " " for sign in question.casefold()).split())
