"""Asking the daemon from another process: the same answers and the same errors as from `Memory` itself."""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_server.document import Answer, ChunkId, Hit, Layer, LineRange, Reason, SourcePath
from memory_server.errors import ContentError, NeedsRepair, OneirosError, UsageError
from oneiros.runtime import DaemonUnreachable, connected, read_token, request, started

ANSWER_SECONDS = 120.0
KINDS: dict[str, type[OneirosError]] = {kind.__name__: kind for kind in (UsageError, ContentError, NeedsRepair)}


class DaemonLost(Exception):
    """The daemon that was there a moment ago does not answer; the caller opens the memory itself."""


class Client:
    """Requests to the daemon of one root, a connection each."""

    def __init__(self, variables: Mapping[str, str], root: Path):
        self._variables = variables
        self._root = str(root)

    def start(self) -> None:
        """Starts the daemon if there is none. Raises NeedsRepair where it does not start."""
        try:
            started(self._variables, self._root, "http").close()
        except (DaemonUnreachable, OSError) as error:
            raise NeedsRepair(f"the daemon does not start: {error}", remedy="Run `oneiros doctor`") from error

    def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any]:
        """The answer of a route. Raises what the daemon's `Memory` raised, or DaemonLost."""
        connection = connected(self._variables, self._root, "http")
        if connection is None:
            raise DaemonLost
        content = json.dumps(body).encode() if body is not None else b""
        try:
            status, text = request(connection, read_token(self._root), method, path, content, seconds)
            answer = json.loads(text)
        except (OSError, ValueError) as error:
            raise DaemonLost from error
        if status >= 400 and "error" in answer:
            told = answer["error"]
            kind = KINDS.get(told.get("kind"), NeedsRepair)
            raise kind(told["what"], where=told.get("where"), line=told.get("line"), remedy=told.get("remedy", ""))
        if not isinstance(answer, dict):
            raise DaemonLost
        return answer

    def search(
        self,
        tool: str,
        query: str,
        *,
        limit: int,
        per_source: int,
        include_raw: bool = False,
        type: str = "",  # noqa: A002  as the tool's argument is named
    ) -> tuple[Answer, int]:
        """An answer, and how many files the indices are behind. `tool`: recall, search or exact.

        `type`: what recall alone knows, the recorder's.
        """
        body = {"query": query, "limit": limit, "per_source": per_source, "include_raw": include_raw}
        body |= {"fresh": True, "explain": True} | ({"type": type} if type else {})
        found = self.ask("POST", f"/api/{tool}", body)
        return answer_of_json(found), int(found["behind"])


def answer_of_json(found: Mapping[str, Any]) -> Answer:
    """The answer that `answer_json` was made from, with its terms and scores."""
    return Answer(
        tuple(_hit_of_json(hit) for hit in found["hits"]),
        str(found["note"]),
        tuple(found.get("terms", ())),
        confidence=float(found.get("confidence", 0.0)),
        scores={ChunkId(name): scores for name, scores in found.get("scores", {}).items()},
    )


def _hit_of_json(hit: Mapping[str, Any]) -> Hit:
    return Hit(
        chunk=ChunkId(hit["id"]),
        passage=hit["passage"],
        path=SourcePath(hit["path"]),
        lines=LineRange(hit["first_line"], hit["last_line"]),
        layer=Layer(hit["layer"]),
        title=hit["title"],
        date=dt.date.fromisoformat(hit["date"]) if hit["date"] else None,
        score=hit["score"],
        why=tuple(Reason(reason["arm"], reason["detail"]) for reason in hit["why"]),
        more_lines=tuple(LineRange(*lines) for lines in hit["more_lines"]),
        decides=hit["decides"],
        replaced_by=hit["replaced_by"],
    )
