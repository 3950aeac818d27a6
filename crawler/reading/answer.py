"""What a model answered, as readings: nothing of it is believed that the session does not show.

An answer is data. A line stays only if its words are found in the session; whether they say what the line says, who
uses it asks `proof.py`. A session that the answer passes over counts as not read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from crawler.quotes import Quote, SessionTurns
from crawler.reading.page import ID_CHARS
from crawler.reading.quoting import find_quote
from crawler.reading.record import Holds, Line, LineKind, Outcome, Reading

MAX_LINES = 24  # of one session
MAX_TEXT = 400  # characters of a statement, of a quote that names no end
MAX_QUOTES, MAX_QUESTIONS, MAX_OPEN = 5, 3, 8
TITLE_CHARS = 90


class UnreadableAnswer(Exception):  # between model and reader, never shown as an error
    """An answer that is no list of sessions; the message says why, in words for the model."""


def parse_readings(answer: str, sessions: Sequence[SessionTurns]) -> Iterator[Reading]:
    """The readings of those sessions that the answer speaks of, without mark, reader and version.

    Raises UnreadableAnswer where it is no JSON list of objects.
    """
    known = {session.session_id[:ID_CHARS]: session for session in sessions}
    for item in parse_objects(answer):
        if session := known.pop(str(item.get("session"))[:ID_CHARS], None):
            yield parse_reading(item, session)


def parse_objects(answer: str) -> list[Mapping[str, object]]:
    """The objects of the list that an answer holds. Raises UnreadableAnswer."""
    first, last = answer.find("["), answer.rfind("]")
    try:
        items = json.loads(answer[first : last + 1])
    except (ValueError, RecursionError):
        raise UnreadableAnswer("the answer is no JSON list") from None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UnreadableAnswer("the answer is no list of objects")
    return items


def parse_reading(item: Mapping[str, object], session: SessionTurns) -> Reading:
    """One session's object as a reading."""
    lines, unfounded = list[Line](), list[str]()
    for given in _list(item.get("lines"))[:MAX_LINES]:
        line = parse_line(given, session) if isinstance(given, dict) else None
        if line is not None:
            lines.append(line)
        elif isinstance(given, dict):
            unfounded.append(_text(given.get("text"), MAX_TEXT))
    outcome, proof = item.get("outcome"), str(item.get("proof") or "")
    return Reading(
        session_id=session.session_id,
        mark="",
        reader="",
        version=0,
        project=session.project,
        title=_text(item.get("title"), TITLE_CHARS),
        goal=_text(item.get("goal"), MAX_TEXT),
        outcome=Outcome(str(outcome)) if outcome in list(Outcome) else Outcome.UNKNOWN,
        proof=next((one for turn in session.turns for one in turn.entries if proof and one.startswith(proof)), ""),
        open=tuple(_text(one, MAX_TEXT) for one in _list(item.get("open"))[:MAX_OPEN] if isinstance(one, str)),
        lines=tuple({line.text: line for line in lines}.values()),
        unfounded=tuple(filter(None, unfounded)),
    )


def parse_line(given: Mapping[str, object], session: SessionTurns) -> Line | None:
    """One line, with its words at their places; None where there is no statement or none of its words is found."""
    text, kind, holds = _text(given.get("text"), MAX_TEXT), given.get("kind"), given.get("holds")
    quotes = [quote for one in _list(given.get("quotes"))[:MAX_QUOTES] if (quote := _quote(one, session))]
    if not text or not quotes:
        return None
    return Line(
        kind=LineKind(str(kind)) if kind in list(LineKind) else LineKind.FACT,
        text=text,
        quotes=tuple(dict.fromkeys(quotes)),
        holds=Holds(str(holds)) if holds in list(Holds) else Holds.PROBABLY,
        takes_back=_text(given.get("takes_back"), MAX_TEXT),
        questions=tuple(
            _text(one, 200) for one in _list(given.get("questions"))[:MAX_QUESTIONS] if isinstance(one, str)
        ),
        topic=_text(given.get("topic"), 80),
    )


def _quote(one: object, session: SessionTurns) -> Quote | None:
    if not isinstance(one, dict) or not isinstance(one.get("text"), str):
        return None
    return find_quote(session, str(one.get("entry") or ""), one["text"])


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object, most: int) -> str:
    """A string as one line of at most so many characters; empty for anything else."""
    return " ".join(value.split())[:most].strip() if isinstance(value, str) else ""
