"""Topics as they were on a day that is over: few files, read from git when they are asked for and scanned.

A passage scores by its meaning and by the share of the question's words that it holds. Vectors of passages that stand
as they were are taken from the cache; of the others the most promising ones are embedded.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memory_server.chunking import chunk_document
from memory_server.document import Answer, Chunk, Document, Hit, Layer, Reason, SourcePath
from memory_server.embedding.engine import Embedded, Vectors
from memory_server.embedding.vector_cache import VectorCache, text_hash
from memory_server.errors import ContentError, NeedsRepair
from memory_server.index.ledger import build_embedded_text
from memory_server.language.words import FUNCTION_WORDS, Stemmer, content_words
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import SourceFile, as_document
from memory_server.root.git import run_git, split_batch
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import Question, Search
from memory_server.search.ranking.scoring import Calibration
from memory_server.search.retrieval import scale_score

MOST_FILES = 2_000  # of the memory on a day that is over
MOST_EMBEDDED = 64  # passages for one question
COVERED_WEIGHT = 2.0
ANSWERS = 2.7  # scaled cosine and covered share of a passage, so weighed, from which on it answers
Embed = Callable[[Sequence[str]], Sequence[Embedded]]


def question_then(question: Question, day: dt.date) -> Question:
    """The same question of what was there up to that day."""
    end, before = day + dt.timedelta(days=1), question.filter.before
    allowed = replace(question.filter, as_of=None, before=min(end, before) if before else end)
    layers = tuple(layer for layer in allowed.layers or (Layer.SESSION,) if layer is not Layer.TOPIC)
    return replace(question, filter=replace(allowed, layers=layers))


def topic_hits(
    root: MemoryRoot,
    question: Question,
    day: dt.date,
    vector: Vectors,
    embed: Embed,
    cache: VectorCache,
    calibration: Calibration,
    stemmer: Stemmer,
) -> list[Hit]:
    """The passages of topics of that day that answer a question `vector` (d,), a passage a topic, best first."""
    passages = [(document, chunk) for document in _documents(root, day) for chunk in chunk_document(document)]
    passages = [(document, chunk) for document, chunk in passages if chunk.searchable]
    wanted = _stems(stemmer, [word for word in content_words(question.text) if word not in FUNCTION_WORDS])
    covered = [_measure_coverage(stemmer, wanted, document, chunk) for document, chunk in passages]
    texts = [build_embedded_text(chunk.context(document), chunk.searchable) for document, chunk in passages]
    keys, vectors = list(map(text_hash, texts)), cache.vectors()
    rows = cache.find(keys)
    known = {place: vectors[rows[key].vector] for place, key in enumerate(keys) if key in rows}
    unknown = sorted(set(range(len(keys))) - known.keys(), key=lambda place: -covered[place])[:MOST_EMBEDDED]
    embedded = embed([texts[place] for place in unknown])
    known |= {place: one.vector for place, one in zip(unknown, embedded, strict=True)}
    best: dict[SourcePath, Hit] = {}
    for place, own in known.items():
        document, chunk = passages[place]
        meaning = float(calibration.meaning(np.array([own @ vector]))[0])
        score = meaning + COVERED_WEIGHT * covered[place]
        is_near = covered[place] == 1.0 if question.search is Search.EXACT else score >= ANSWERS
        if is_near and scale_score(score) > getattr(best.get(document.path), "score", 0.0):
            best[document.path] = _hit(document, chunk, scale_score(score), f"{meaning:.1f}", day)
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.path))


def join_topics(answer: Answer, topics: Sequence[Hit], limit: int) -> Answer:
    """An answer of sessions behind the topics of the same day."""
    hits = (*topics, *answer.hits)[:limit]
    return replace(answer, hits=hits, note=answer.note if not topics else "")


def _documents(root: MemoryRoot, day: dt.date) -> list[Document]:
    found = []
    for path, text in read_past_topics(root.path, day).items():
        document = as_document(SourceFile(SourcePath(path), Layer.TOPIC), parse_frontmatter(text))
        if not document.interval.outside(day):
            found.append(document)
    return found


def read_past_topics(folder: Path, day: dt.date) -> Mapping[str, str]:
    """The texts of topics and lessons as the last commit of that day had them, by path; none where there was none.

    Raises ContentError where the memory is in no repository.
    """
    before = f"--before={day.isoformat()}T23:59:59"
    commit = _git(folder, "rev-list", "-1", before, "HEAD").decode("ascii").strip()
    if not commit:
        return {}
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", "topics", "lessons.md")
    paths = [path for path in listed.decode("utf-8", "replace").split("\0") if path.endswith(".md")][:MOST_FILES]
    paths = [path for path in paths if "\n" not in path]
    found = _git(folder, "cat-file", "--batch", data="".join(f"{commit}:./{path}\n" for path in paths).encode())
    texts = (content.decode("utf-8", "replace") for content in split_batch(found, len(paths)))
    return dict(zip(paths, texts, strict=True))


def _git(folder: Path, *words: str, data: bytes = b"") -> bytes:
    try:
        done = run_git(folder, words, data)
        if done.returncode == 0:
            return done.stdout
    except NeedsRepair as error:
        raise ContentError(error.what, where=folder, remedy="Ask without as_of") from error
    raise ContentError("git knows nothing of this memory's past", where=folder, remedy="Ask without as_of")


def _stems(stemmer: Stemmer, words: Sequence[str]) -> set[str]:
    return {stem for stem in stemmer.stems(list(words)) if stem}


def _measure_coverage(stemmer: Stemmer, wanted: set[str], document: Document, chunk: Chunk) -> float:
    held = _stems(stemmer, content_words(f"{chunk.context(document)} {chunk.searchable}"))
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _hit(document: Document, chunk: Chunk, score: float, meaning: str, day: dt.date) -> Hit:
    return Hit(
        chunk=chunk.id,
        passage=chunk.searchable,
        path=document.path,
        lines=chunk.lines,
        layer=Layer.TOPIC,
        title=document.title,
        date=document.date,
        score=score,
        why=(Reason("semantic", meaning),),
        type=document.kind,
        tags=document.tags,
        outside=f"as it was on {day.isoformat()}",
    )
