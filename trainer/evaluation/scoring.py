"""Whether an answer holds the fact it was asked for; pure functions."""

import re
from collections.abc import Sequence

from trainer.generate.validation import support
from trainer.pairs import Pair

WITHOUT_KEY = 0.7  # for a pair without keys: the share of the expected answer's content words that must be said
NOT_SPACE_OR_WORD = re.compile(r"[^\w\s./~-]+")


def is_right(answer: str, pair: Pair) -> bool:
    """Whether the answer holds one of the pair's keys as whole words; without keys, most words of the true answer."""
    if not pair.keys:
        return support(pair.answer, answer) >= WITHOUT_KEY
    text = normal(answer)
    return any(re.search(rf"(?<!\w){re.escape(normal(key))}(?!\w)", text) for key in pair.keys)


def normal(text: str) -> str:
    """Small letters, signs of quoting and emphasis dropped, spaces single."""
    return " ".join(NOT_SPACE_OR_WORD.sub("", text.casefold()).split())


def share_right(answers: Sequence[str], pairs: Sequence[Pair]) -> float:
    """The share, 0 to 1, of the answers that are right."""
    return sum(is_right(answer, pair) for answer, pair in zip(answers, pairs, strict=True)) / len(pairs)
