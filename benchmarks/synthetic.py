"""A memory of any size without a model: Zipf-distributed words, clustered unit vectors, all from one seed.

The vectors lie in the cache under the real model's fingerprint, so that search, a rebuild and a daemon take them for
embedded. Questions are embedded by the real model, for its time, and get the vector of a place near the passage they
were made from.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_server.chunking import chunk_document
from memory_server.embedding.engine import Embedded, Engine, Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.vector_cache import VectorCache, pack_tokens, text_hash, token_bytes
from memory_server.index.ledger import build_embedded_text
from memory_server.language.words import FUNCTION_WORDS
from memory_server.layers.topics import find_sources, read_document
from memory_server.root.paths import MemoryRoot

VOCABULARY = 50_000
ZIPF = 1.1
CLUSTERS = 300
SPREAD = 0.6  # of a vector around its cluster's centre
WORDS_A_CHUNK = 70
CHUNKS_A_FILE = 30
SEED = 20261121
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru pra ste tri".split()


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was written: for each chunk the words that questions are made of."""

    chunks: int
    passages: tuple[str, ...]  # a sample


def write_corpus(root: MemoryRoot, chunks: int, seed: int = SEED) -> Corpus:
    """Writes topics and sessions of about so many chunks, a third of the files as sessions."""
    words = _vocabulary(np.random.default_rng(SEED))
    rng = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, VOCABULARY + 1) ** ZIPF
    odds /= odds.sum()
    sample: list[str] = []
    root.topics.mkdir(parents=True, exist_ok=True)
    (root.sessions / "2026").mkdir(parents=True, exist_ok=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    for number in range(-(-chunks // CHUNKS_A_FILE)):
        count = min(CHUNKS_A_FILE, chunks - number * CHUNKS_A_FILE)
        drawn = rng.choice(VOCABULARY, size=(count, WORDS_A_CHUNK), p=odds)
        texts = [" ".join(words[place] for place in row) + "." for row in drawn]
        sample += texts[:1]
        day = dt.date(2024, 1, 1) + dt.timedelta(days=number % 700)
        is_session = number % 3 == 0
        head = f"---\nid: {number:08x}-0000-4000-8000-000000000000\ntype: {'episodic' if is_session else 'semantic'}\n"
        head += f'title: "Subject {number} {texts[0].split()[0]}"\ncreated: {day}T10:00:00Z\n'
        head += f"tags: [group{number % 10}]\n---\n\n"
        if is_session:
            body = "## Key exchanges\n\n" + "".join(f"- {text}\n" for text in texts)
            file = root.sessions / "2026" / f"{day}-subject-{number:08x}.md"
        else:
            body = "".join(f"## Part {place} {text.split()[1]}\n\n{text}\n\n" for place, text in enumerate(texts))
            file = root.topics / f"subject-{number:05}.md"
        file.write_text(head + body, encoding="utf-8")
    return Corpus(chunks, tuple(sample))


def fill_vectors(root: MemoryRoot, model: ModelFiles) -> int:
    """Puts a vector for every chunk of the corpus into the cache; how many there are."""
    dimensions = model.card.dimensions
    cache = VectorCache(root.vector_cache / model.fingerprint, dimensions, token_bytes(dimensions))
    made: list[tuple[bytes, Embedded, str]] = []
    seen = 0
    try:
        for source in find_sources(root):
            document = read_document(root, source)
            for chunk in chunk_document(document):
                if chunk.searchable:
                    text = build_embedded_text(chunk.context(document), chunk.searchable)
                    made.append((text_hash(text), synthetic(text, dimensions), text))
            if len(made) >= 2_000:
                seen += _flush(cache, made)
        return seen + _flush(cache, made)
    finally:
        cache.close()


def _flush(cache: VectorCache, made: list[tuple[bytes, Embedded, str]]) -> int:
    from memory_server.embedding.vector_cache import TextHash  # noqa: PLC0415

    count = len(made)
    if made:
        cache.append(
            [TextHash(key) for key, _, _ in made],
            np.stack([embedded.vector for _, embedded, _ in made]),
            [pack_tokens(embedded, text) for _, embedded, text in made],
        )
        made.clear()
    return count


def synthetic(text: str, dimensions: int) -> Embedded:
    """A text as vectors: near the centre of a cluster that its longest word decides; one token a word."""
    matches = list(re.finditer(r"\w+", text))
    words = [match[0].casefold() for match in matches] or [""]
    anchor = max(words, key=lambda word: (len(word), word))
    centre = _direction(f"cluster {_number(anchor) % CLUSTERS}", dimensions)
    own = _direction(f"text {text}", dimensions)
    vector = centre + SPREAD * own
    tokens = np.stack([_direction(word, dimensions) for word in words])
    spans = tuple((match.start(), match.end()) for match in matches) or ((0, 0),)
    return Embedded((vector / np.linalg.norm(vector)).astype(np.float32), tokens, spans)


class TimedEngine:
    """The real engine for its time and for new texts; questions get synthetic vectors."""

    def __init__(self, engine: Engine):
        self._engine = engine

    @property
    def dimensions(self) -> int:
        return self._engine.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        """See `Engine.embed`."""
        real = self._engine.embed(texts, as_query=as_query)
        return [synthetic(text, self.dimensions) for text in texts] if as_query else real

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._engine.count_tokens(texts)

    def close(self) -> None:
        self._engine.close()


def _vocabulary(rng: np.random.Generator) -> list[str]:
    """Words that no stop list holds, the most frequent ones short."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        parts = rng.integers(0, len(SYLLABLES), size=2 + min(3, len(words) // 700))
        word = "".join(SYLLABLES[part] for part in parts)
        if word not in FUNCTION_WORDS:
            words[word] = None
    return list(words)


_DIRECTIONS: dict[str, NDArray[np.float32]] = {}  # of words and clusters, which come again and again


def _direction(name: str, dimensions: int) -> Vectors:
    found = _DIRECTIONS.get(name)
    if found is None:
        drawn = np.random.default_rng(_number(name)).standard_normal(dimensions, dtype=np.float32)
        found = drawn / np.float32(np.linalg.norm(drawn))
        if not name.startswith("text "):
            _DIRECTIONS[name] = found
    return found


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def corpus_files(folder: Path, words_wanted: int) -> list[tuple[str, str]]:
    """Real Markdown of the evaluation data, up to so many words: name and text."""
    found: list[tuple[str, str]] = []
    words = 0
    from benchmarks.layouts import read_any  # noqa: PLC0415

    for file in sorted(folder.rglob("*.md")) + sorted(folder.rglob("*.md.xz")):
        text = read_any(file)
        found.append((file.relative_to(folder).as_posix().removesuffix(".xz").replace("/", "-"), text))
        words += len(text.split())
        if words > words_wanted:
            break
    return found
