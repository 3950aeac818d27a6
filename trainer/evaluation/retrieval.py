"""The baseline without any training: find the passages that a question needs and give them to the base.

Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.15) in memory, over approved texts or else over the answers themselves.
It stands for the memory's own search, which this module may not import, and is weaker than that.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainer.generate.rules import split_prose
from trainer.generate.validation import content_words
from trainer.memory import read_approved
from trainer.pairs import Pair

K1, B = 1.2, 0.75  # the usual values; the texts are too few to fit others
TOP = 3  # passages in the prompt: more of them confuse a model of this size


class Passages:
    """Texts that can be searched."""

    def __init__(self, texts: Sequence[str]):
        self.texts = list(dict.fromkeys(texts))
        self._words = [Counter(content_words(text)) for text in self.texts]
        self._seen_in = Counter(word for words in self._words for word in words)
        self._mean = sum(words.total() for words in self._words) / max(len(self._words), 1)

    def best(self, question: str, top: int = TOP) -> list[str]:
        """The passages that fit the question best, best first; those without a common word are left out."""
        wanted = content_words(question)
        scored = sorted(((self._score(wanted, index), -index) for index in range(len(self.texts))), reverse=True)
        return [self.texts[-index] for score, index in scored[:top] if score > 0]

    def _score(self, wanted: set[str], index: int) -> float:
        words = self._words[index]
        length = K1 * (1 - B + B * words.total() / self._mean)
        return sum(
            math.log(1 + (len(self.texts) - self._seen_in[word] + 0.5) / (self._seen_in[word] + 0.5))
            * words[word]
            * (K1 + 1)
            / (words[word] + length)
            for word in wanted
            if word in words
        )


def with_passages(pair: Pair, passages: Sequence[str]) -> list[dict[str, str]]:
    """The prompt of a pair with the found passages before the question."""
    known = "\n".join(f"- {passage}" for passage in passages)
    return [
        {"role": "system", "content": pair.system},
        {"role": "user", "content": f"Known facts:\n{known}\n\nQuestion: {pair.question}"},
    ]


def read_passages(folder: Path) -> Iterator[str]:
    """The paragraphs, list items and table rows of approved text, each with the heading it stands below."""
    for approved in read_approved(folder):
        rows = (join_cells(line) for line in approved.text.split("\n") if line.lstrip().startswith("|"))
        yield from (f"{approved.heading}: {text}" for text in (*split_prose(approved.text), *rows) if text)


def join_cells(row: str) -> str:
    """A row of a table as a list of its cells; empty for the line below the heads."""
    return ", ".join(cell.strip() for cell in row.strip(" |").split("|") if cell.strip(" -:"))
