"""Sessions as Fading Memories served them: a conversation, what it became level by level, and what would fade next."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import Path, Query

from crawler.compress.levels import SessionReader, list_digest_sections
from dream.blame import count_citations
from memory_server.document import SourceHead
from memory_server.errors import ContentError
from memory_server.faces.memory_text import reading_json
from memory_server.faces.rest import MAX_NUMBER, use_json
from memory_server.layers import episodes
from memory_server.layers.sessions import (
    CompressedSession,
    Statement,
    cut_id8,
    find_session_files,
    parse_id8,
    read_session,
)
from memory_server.lifecycle.gc import BELOW, GcWanted, step_json
from oneiros.served import ServedMemory

Name = Annotated[str, Path(max_length=1_000, description="the id of a session, or the beginning of one")]
QueryName = Annotated[str, Query(max_length=1_000, description="the id of a session, or the beginning of one")]
Memory = Annotated[str, Path(max_length=1_000, description="an id of the tree, an episode's, a topic, or a hit's path")]
Below = Annotated[float, Query(ge=0.0, le=1.0, description="strength below which turns fade")]


class FadingMemories:
    """The sessions of the served memory, with how alive each of them is."""

    def __init__(self, served: ServedMemory):
        self._served = served

    def list_conversations(
        self,
        page: Annotated[int, Query(ge=1, le=MAX_NUMBER)] = 1,
        per_page: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> dict[str, Any]:
        """A page of sessions, newest first."""
        known = [one for one in self._served.memory.indices.snapshot().sources.values() if parse_id8(one.path)]
        known.sort(key=lambda one: (str(one.date or ""), one.path), reverse=True)
        shown = list(islice(known, (page - 1) * per_page, page * per_page))
        found = list(self._describe_sessions(shown))
        return {"conversations": found, "total": len(known), "page": page, "per_page": per_page}

    def read_conversation(self, name: Name) -> dict[str, Any]:
        """One session: what is known of it, and its digest."""
        session = self._session(name)
        text = self._served.memory.read_session(session.session_id, "digest")
        known = {key: value for key, value in asdict(session).items() if key not in ("session_id", "sections")}
        return {"conversation_id": session.session_id, **known, "text": text}

    def read_memory(self, mid: Memory) -> dict[str, Any]:
        """One memory by any id that an answer names, with how often it was found."""
        memory = self._served.memory
        try:
            found = reading_json(memory.read(episodes.read_episode(memory.root, mid).path))
        except ContentError:
            found = reading_json(memory.read(mid))
        return {"id": mid, **found, **use_json(memory.aging().aliveness([found["path"]]).use(found["path"]))}

    def read_tree(self, name: QueryName) -> dict[str, Any]:
        """A session from its one line by its digest to its turns; `GET /memory/ID` reads each leaf."""
        session = self._session(name)
        places = self._places(session)
        children = [
            {
                "level": "digest",
                "text": section.title,
                "children": [_branch(statement, places) for statement in section.statements],
            }
            for section in list_digest_sections(session)
        ]
        return {"id": session.session_id, "level": "line", "text": session.title, "children": children}

    def plan_decay(self, threshold: Below = BELOW) -> dict[str, Any]:
        """What would fade. Nothing does here: the person runs `oneiros gc`."""
        memory = self._served.memory
        wanted = GcWanted(below=threshold, fade_days=memory.person.fade_days)
        plan = memory.aging().plan(count_citations(memory.root), wanted)
        return {
            "steps": list(map(step_json, plan.changes)),
            "done": False,
            "command": f"oneiros gc --below {threshold}",
        }

    def _describe_sessions(self, sources: list[SourceHead]) -> Iterator[dict[str, Any]]:
        aging, paths = self._served.memory.aging(), [one.path for one in sources]
        aliveness, alive = aging.aliveness(paths), aging.measure_use(paths)
        for one in sources:
            try:
                session_id = read_session(self._served.memory.root.file(one.path)).session_id
            except (OSError, ContentError):  # gone since it was indexed
                continue
            yield {
                "conversation_id": session_id,
                "title": one.title,
                "project": one.project,
                "date": one.date and one.date.isoformat(),
                "path": one.path,
                "strength": round(alive[one.path]["strength"], 4),
                **use_json(aliveness.use(one.path)),
            }

    def _session(self, name: str) -> CompressedSession:
        """A session's newest file. Raises ContentError where it has none."""
        session_id = SessionReader(self._served.archive, self._served.memory.root.sessions).resolve(name)
        found = find_session_files(self._served.memory.root.sessions, session_id)
        if not found:
            what = f"session {session_id} is not compressed yet"
            raise ContentError(what, remedy=f"GET /drill?name={session_id}&depth=raw reads its turns")
        return read_session(found[-1])

    def _places(self, session: CompressedSession) -> dict[str, str]:
        """Where each archived entry stands, as a place that can be read; none of a session without turns."""
        if session.session_id not in self._served.archive.session_ids():
            return {}
        turns = enumerate(self._served.archive.turns(session.session_id), start=1)
        return {entry: f"{cut_id8(session.session_id)}:{number}" for number, turn in turns for entry in turn.entries}


def _branch(statement: Statement, places: dict[str, str]) -> dict[str, Any]:
    """A statement with the turns that it came from."""
    begins = tuple(statement.entries)
    found = dict.fromkeys(place for entry, place in places.items() if begins and entry.startswith(begins))
    leaves = [{"id": place, "level": "raw"} for place in found]
    return {"level": "statement", "text": statement.text, "children": leaves}
