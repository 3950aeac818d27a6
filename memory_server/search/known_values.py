"""What a filter could have asked for: said where nothing passes one, so that a mistyped name is seen at once."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from memory_server.document import TYPES, Filter
from memory_server.escaping import shown_line
from memory_server.search.question import LISTS

MOST_NAMED = 8
NEAR = 0.75  # likeness of two spellings from which on they may be of one name
TAKEN = "There is no project %s; taken as %s."


def unknown_values(values_of: Callable[[str], set[str]], wanted: Filter) -> Iterator[str]:
    """A sentence for every value of a filter that no source has: which ones there are, the most alike first.

    `values_of` gives those that the sources have of a field of the query syntax.
    """
    asked = {field: getattr(wanted, LISTS[field]) for field in LISTS if field != "layer"}
    for field, values in asked.items():
        if values:
            known = set(map(_plain, values_of(field))).union(TYPES if field == "type" else ())
            folded = {name.casefold() for name in known}
            yield from (_sentence(field, value, known) for value in values if _plain(value).casefold() not in folded)


def with_nearest_projects(projects: Iterable[str], wanted: Filter) -> tuple[Filter, str]:
    """A filter in which a project that is none of these is the one that is near it, where only one is; and which."""
    known = {name.casefold(): name for name in projects if name}
    nearest = {value: _only_near(value, list(known)) for value in wanted.projects if value not in known}
    taken = {value: near for value, near in nearest.items() if near}
    meant = tuple(taken.get(value, value) for value in wanted.projects)
    note = " ".join(TAKEN % (shown_line(value), shown_line(known[near])) for value, near in taken.items())
    return replace(wanted, projects=meant), note


def _only_near(value: str, known: Sequence[str]) -> str:
    """The one name that holds a value, or that it holds, else the one that is spelt nearly so; empty for several."""
    holding = [name for name in known if value in name or name in value]
    near = holding or difflib.get_close_matches(value, known, n=2, cutoff=NEAR)
    return near[0] if len(near) == 1 else ""


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
