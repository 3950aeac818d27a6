"""Recall by type: of what recall finds in sessions, the passages that hold a line of that type.

The recorder's lines and the statements of a compressed session are made of the same sentences, so a passage is of a
type when it holds such a line. Lines of sessions that have no compressed file yet come behind, by their words.
"""

import hashlib
from collections.abc import Sequence

from memory_server.document import Answer, ChunkId, Filter, Hit, Layer, LineRange, Reason
from memory_server.errors import UsageError
from memory_server.index.digest import TYPES, DigestStore, TypedLine
from memory_server.index.raw import raw_path, session_of_path
from memory_server.search.query import Query

NO_LINE = "No line of that type answers that. Ask recall without a type."
LINE_SCORE = 0.5  # of a line found by its words alone: behind what recall is sure of


def require_type(kind: str) -> str:
    """The type by its name. Raises UsageError for one that there is not."""
    if kind not in TYPES:
        raise UsageError(f"there is no type {kind!r}", remedy=f"Choose one of: {', '.join(TYPES)}")
    return kind


def of_type(answer: Answer, digest: DigestStore, query: Query, kind: str, limit: int) -> Answer:
    """The hits of an answer that are of a type, then lines of that type that it does not hold.

    A line knows its project alone, so under any other filter there are none but those that hits hold.
    """
    hits = [hit for hit in answer.hits if lines_in(hit, digest, kind)]
    known = {line.text for hit in hits for line in lines_in(hit, digest, kind)}
    words = [term.text for term in query.terms()]
    projects = query.filter.projects
    if query.filter == Filter(projects=projects):
        hits += [_hit(line) for line in digest.find(words, kind, projects, limit) if line.text not in known]
    kept = tuple(hits[:limit])
    return Answer(kept, answer.note if kept else NO_LINE, answer.terms, answer.confidence)


def lines_in(hit: Hit, digest: DigestStore, kind: str) -> list[TypedLine]:
    """The lines of a type that stand in a hit's passage."""
    session_id = session_of_path(hit.path) or id8_in(hit.path)
    passage = _plain(hit.passage)
    found: Sequence[TypedLine] = digest.of_session(session_id, kind) if session_id else ()
    return [line for line in found if _plain(line.text) in passage]


def id8_in(path: str) -> str:
    """The beginning of a session's id that a compressed session's path ends with; empty for any other source."""
    if not path.startswith("sessions/compressed/"):
        return ""
    parts = path.removesuffix(".md").rsplit("-", 2)
    return parts[-2] if parts[-1].startswith("r") and parts[-1][1:].isdigit() else parts[-1]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _hit(line: TypedLine) -> Hit:
    name = hashlib.sha256(f"{line.session_id}/{line.ordinal}".encode()).hexdigest()[:24]
    return Hit(
        chunk=ChunkId(name),
        passage=line.text,
        path=raw_path(line.session_id),
        lines=LineRange(1, 1),
        layer=Layer.RAW,
        title=f"{line.type}: {line.why}",
        date=None,
        score=LINE_SCORE,
        why=(Reason("keyword", line.why),),
    )
