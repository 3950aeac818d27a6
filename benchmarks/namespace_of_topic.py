"""Whether the topics nearest to a new statement tell the namespace in which its topic should stand.

    python -m benchmarks.namespace_of_topic --data ../shared/data [--json FILE]

The documents of four projects stand for topics (their first twelve sentences), their top folders for namespaces. Of
each document one sentence is taken as what somebody said; the folder is guessed from all other documents. dream gives
a statement to a topic that holds .35 of its telling words: only those that found a topic of their own are asked about.

words, meaning  the folder of the nearest document, by the share of telling words that it holds, by cosine
clear           of these guesses those whose nearest document is half as near again as the nearest one of another folder
commonest       always the folder with most documents
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.first_day_topics import embed_packaged
from dream.judge.compare import BELONGS_FROM
from dream.judge.contradiction import share_of
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words, rarity_in

PROJECTS = ("authelia", "traefik", "pydantic", "wled")
SENTENCES = 12  # of a document that stand for a topic
LEAST = 3  # documents of a folder, and sentences of a document
LENGTHS = range(30, 240)  # of a sentence that could have been said
CLEAR = 1.5
NOT_PROSE = re.compile(r"\A---\n.*?\n---\n|```.*?```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Filed:
    """A document and where its authors filed it."""

    namespace: str
    sentences: tuple[str, ...]

    @property
    def topic(self) -> str:
        return " ".join(self.sentences[:SENTENCES])


def read_filed(folder: Path) -> list[Filed]:
    """The documents of a project that have a folder with others."""
    found = []
    for file in sorted(folder.rglob("*.md")):
        paragraphs = re.split(r"\n\s*\n", NOT_PROSE.sub("", file.read_text(encoding="utf-8", errors="replace")))
        prose = [" ".join(part.split()) for part in paragraphs if part.strip() and part.strip()[0] not in "#|<-*>`![:{"]
        said = [text[start:end] for text in prose for start, end in sentence_spans(text) if end - start in LENGTHS]
        parts = file.relative_to(folder).parts
        if len(parts) > 1 and len(said) >= LEAST:
            found.append(Filed(parts[0], tuple(said)))
    held = Counter(one.namespace for one in found)
    return [one for one in found if held[one.namespace] >= LEAST]


def guesses(filed: Sequence[Filed], embed: Callable[[Sequence[str]], np.ndarray]) -> Iterator[tuple[str, bool, bool]]:
    """For each statement that founds a topic: by which arm, whether the folder is right, and whether it is clear."""
    chance = random.Random(1)  # noqa: S311  the same sentences in each run
    rarity = rarity_in(one.topic for one in filed)
    words, vectors = [frozenset(content_words(one.topic)) for one in filed], embed([one.topic for one in filed])
    commonest = Counter(one.namespace for one in filed).most_common(1)[0][0]
    for place, one in enumerate(filed):
        said = chance.choice(one.sentences)
        asked = frozenset(content_words(said))
        shares = [share_of(asked & held, asked, rarity) for held in words]
        others = [number for number in range(len(filed)) if number != place]
        if max(shares[number] for number in others) >= BELONGS_FROM:
            continue
        cosines = vectors @ embed([said])[0]
        yield "commonest", one.namespace == commonest, True
        for arm, near in (("words", shares), ("meaning", cosines.tolist())):
            best = max(others, key=near.__getitem__)
            apart = [near[number] for number in others if filed[number].namespace != filed[best].namespace]
            yield arm, filed[best].namespace == one.namespace, near[best] >= CLEAR * max(apart)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    embed = embed_packaged()
    assert embed is not None, "the packaged model is not installed"
    rows = [row for name in PROJECTS for row in guesses(read_filed(given.data / "docs" / name), embed)]
    figures = {}
    for arm in ("commonest", "words", "meaning"):
        mine = [(is_right, is_clear) for its, is_right, is_clear in rows if its == arm]
        clear = [is_right for is_right, is_clear in mine if is_clear]
        figures[arm] = {
            "statements": len(mine),
            "right": round(sum(is_right for is_right, _ in mine) / len(mine), 3),
            "clear": len(clear),
            "clear_right": round(sum(clear) / len(clear), 3) if clear else None,
        }
        print(arm, figures[arm])
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
