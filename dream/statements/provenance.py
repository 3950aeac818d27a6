"""The footnote behind a statement: whose words it rests on, when and where they were said, in one line.

    [^1]: you, 2026-03-01, session 5f0c2a9e
    [^2]: Claude, 2026-03-02, session 5f0c2a9e
    [^3]: docs/build.md:12 of app, 2026-03-01

The long ids stand in the person's state; `blame` knows them. Footnotes of before, with session and entry in full, are
read for ever.
"""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.records import Candidate
from memory_server.chunking import FOOTNOTE_DEFINITION, split_lines
from memory_server.escaping import escape_line
from memory_server.layers.footnotes import find_footnotes
from memory_server.layers.mif import parse_date
from memory_server.layers.sessions import cut_id8
from memory_server.machine.clock import local_day

YOU, AGREED, CLAUDE = "you", "you agreed", "Claude"
REWORDED = "reworded in a review"
DAY = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?![\w-])")  # none stands in an id
SESSION_SOURCE = re.compile(
    rf"(?:^|;)\s*(?P<who>{YOU}|{AGREED}|{CLAUDE})(?:, (?P<day>{DAY.pattern}))?, session (?P<session>[A-Za-z0-9]{{1,8}})"
    r"(?=;|\s*$)"
)
EARLIER_SOURCE = re.compile(
    r"(?P<role>person|assistant) in session (?P<session>[^\s,;]+), entry (?P<entry>[^\s,;]+)"
    rf"(?:, (?P<day>{DAY.pattern}))?"
)
GIVEN = re.compile(
    rf"(?:^|;)\s*(?P<where>said directly|[^;,]+:\d+(?: of [^;,]+)?)(?:, (?P<day>{DAY.pattern}))?(?=;|\s*$)"
)


@dataclass(frozen=True, slots=True)
class NotedSource:
    """One source as a footnote names it."""

    role: Role
    session_id: str = ""  # whole, or its first eight characters; empty where it is from no session
    entry: str = ""  # empty where the footnote does not say
    day: dt.date | None = None
    where: str = ""  # a file and its line, or `said directly`; empty for a session


def write_note(candidate: Candidate, *, is_reworded: bool = False) -> str:
    """What the footnote of a statement says: who, when and where, and what is cited; never words."""
    parts = list(dict.fromkeys(_sources(candidate)))
    for one in candidate.metadata.citations:
        mark = " (agent_inferred)" if one in candidate.inferred_metadata else ""
        parts.append(f"cites {escape_line(one)}{mark}")
    if is_reworded:
        parts.append(REWORDED)
    return "; ".join(parts) or "written in a review"


def _sources(candidate: Candidate) -> Iterator[str]:
    named = set[str]()
    for words in candidate.evidence:
        day = f", {local_day(words.time).isoformat()}" if words.time else ""
        if isinstance(words, Quote):
            who = AGREED if candidate.is_agreed else CLAUDE if words.role is Role.ASSISTANT else YOU
            where = f"{day}, session {cut_id8(words.session_id)}"
            if where not in named:  # a further quote of the same day only says what the first is about
                yield f"{who}{where}"
            named.add(where)
        else:
            yield f"{escape_line(words.describe_place(candidate.project))}{day}"


def read_note(note: str) -> list[NotedSource]:
    """The sources that a footnote names, those of sessions first."""
    found = [
        NotedSource(
            Role.ASSISTANT if match["who"] == CLAUDE else Role.PERSON,
            match["session"],
            day=parse_date(match["day"] or ""),
        )
        for match in SESSION_SOURCE.finditer(note)
    ]
    found += [
        NotedSource(Role(match["role"]), match["session"], match["entry"], parse_date(match["day"] or ""))
        for match in EARLIER_SOURCE.finditer(note)
    ]
    return found + [
        NotedSource(Role.PERSON, day=parse_date(match["day"] or ""), where=match["where"])
        for match in GIVEN.finditer(note)
    ]


def read_notes(text: str) -> dict[str, str]:
    """What each footnote of a topic says, by its label."""
    lines = split_lines(text)
    defined = find_footnotes(text).defined.items()
    return {label: FOOTNOTE_DEFINITION.sub("", lines[places[0]]).strip() for label, places in defined}


def find_days(note: str) -> Iterator[dt.date]:
    """The days that a footnote names."""
    return (day for found in DAY.findall(note) if (day := parse_date(found)))
