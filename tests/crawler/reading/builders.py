"""Builds sessions as a reader gets them."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crawler.facts import gather_facts
from crawler.quotes import Quote, SessionTurns, make_quote, session_turns
from crawler.reading.model import Unread
from crawler.reading.page import render_page
from crawler.reading.record import Reading, Request
from crawler.reading.rules import read_by_rules
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from tests.crawler.builders import SESSION, Record, entry_id, turns_of

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
RULE = "Always run the linter before a commit."  # a statement of the person that proves itself


def unread_from(turns: Sequence[Turn], *, session: str = SESSION, project: str = "shop") -> Unread:
    said, facts = session_turns(session, project, turns), gather_facts(turns)
    return Unread(said, facts, read_by_rules(said, turns, facts, "mark"))


def unread(folder: Path, *records: Record, session: str = SESSION, project: str = "shop") -> Unread:
    """A session that only rules have read."""
    return unread_from(turns_of(folder, *records), session=session, project=project)


def session_of(folder: Path, *records: Record, session: str = SESSION) -> SessionTurns:
    return unread(folder, *records, session=session).session


def session_saying(*texts: str) -> SessionTurns:
    """A session in which the person says these things, as entries 1, 2, ..."""
    turns = [Turn(Role.PERSON, PartKind.PROMPT, text, (entry_id(n),), NOON) for n, text in enumerate(texts, start=1)]
    return session_turns(SESSION, "shop", turns)


def read(folder: Path, *records: Record, session: str = SESSION, project: str = "shop") -> Reading:
    """What rules read of a session."""
    return unread(folder, *records, session=session, project=project).plain


def page(
    folder: Path, *records: Record, habits: Sequence[Sequence[Request]] = (), met: Mapping[str, int] | None = None
) -> str:
    """A session as a model is shown it."""
    one = unread(folder, *records)
    return render_page(one.session, one.facts, one.plain.outcome, habits, met or {})


def quoted(session: SessionTurns, words: str) -> Quote:
    """A true quote of these words, wherever a turn of the session holds them first."""
    turn = next(turn for turn in session.turns if words in turn.text)
    first = turn.text.index(words)
    return make_quote(session, turn, first, first + len(words))


def make_line(entry: str, words: str, text: str = "", /, **more: object) -> dict[str, object]:
    """A line as a model gives it, with one quote."""
    quotes = [{"entry": entry[:8], "text": words}]
    return {"kind": "rule", "text": text or words, "quotes": quotes, "holds": "surely", **more}


def answer(*lines: object, session: str = SESSION, **more: Any) -> dict[str, object]:
    """What a model says of one session."""
    known = {"title": "The relay", "goal": "Keep the relay alive.", "outcome": "partial", "proof": "", "open": []}
    return {"session": session[:8], **known, "lines": list(lines), **more}


def as_json(*sessions: object) -> str:
    return json.dumps(sessions, ensure_ascii=False)
