"""What a filter could have asked for: said where nothing passes one, so that a mistyped name is seen at once."""

import difflib
import sqlite3
from collections.abc import Iterator, Sequence

from memory_server.document import Filter
from memory_server.escaping import shown_line
from memory_server.search.question import LISTS

MOST_NAMED = 8
KNOWN = {  # field of the query syntax -> the values that sources have
    "topic": "select path from source where layer = 'topic'",
    "namespace": "select distinct namespace from source where namespace != ''",
    "project": "select distinct project from source where project != ''",
    "machine": "select distinct machine from source where machine != ''",
    "agent": "select distinct agent from source where agent != ''",
    "type": "select distinct kind from source where kind != ''",
    "tag": "select distinct value from source, json_each(source.tags)",
    "entity": "select distinct value from source, json_each(source.entities)",
}


def unknown_values(connection: sqlite3.Connection, wanted: Filter) -> Iterator[str]:
    """A sentence for every value of a filter that no source has: which ones there are, the most alike first."""
    asked = {field: getattr(wanted, LISTS[field]) for field in KNOWN}
    for field, values in asked.items():
        if values:
            known = {_plain(str(row[0])) for row in connection.execute(KNOWN[field])}
            folded = {name.casefold() for name in known}
            yield from (_sentence(field, value, known) for value in values if _plain(value).casefold() not in folded)


def _plain(name: str) -> str:
    """A value as a person writes it: of a topic's path its name."""
    return name.removeprefix("topics/").removesuffix(".md")


def _sentence(field: str, value: str, known: set[str]) -> str:
    if not known:
        return f"No source has a {field}."
    named = _most_alike(value, sorted(known))
    more = f" and {len(known) - len(named)} more" if len(known) > len(named) else ""
    return f"There is no {field} {shown_line(value)}; there are {', '.join(map(shown_line, named))}{more}."


def _most_alike(value: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(value, known, n=MOST_NAMED, cutoff=0.0)
