"""What a filter could have asked for, and which words of a question stand nowhere: a mistyped name is seen at once."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memory_server.document import TYPES, SourceHead
from memory_server.escaping import escape_line
from memory_server.fields import BY_NAME, Filter, FilterKind, fold
from memory_server.search.ranking.terms import IndexedTerm

WORD = re.compile(r"[^\W_]+")
FILTER_LIKE = re.compile(r"(?<![\w:.@/-])([A-Za-z_]+):(?=[\w\"])")
MOST_NAMED = 8
NOWHERE = "Nowhere in this memory: %s."
MOST_WORDS = 4  # that are named
LEAST_HELD = 0.5  # of the other words; where fewer are held, the question may be of another language
NEAR = 0.75  # likeness of two spellings from which on they may be of one name
NO_FILTER_OF_NAME = f"There is no filter %s:; there are {', '.join(BY_NAME)}."
TAKEN = "There is no project %s; taken as %s."


def unknown_values(sources: Collection[SourceHead], wanted: Filter) -> Iterator[str]:
    """A sentence for every value of a filter that no source has: which ones there are, the most alike first."""
    for field, values in wanted.list_wanted():
        if field.kind is not FilterKind.LAYER and not field.is_day:
            known = set(map(_plain, field.collect_values(sources))).union(TYPES if field.name == "type" else ())
            folded = {fold(name) for name in known}
            yield from (_sentence(field.name, value, known) for value in values if fold(_plain(value)) not in folded)


def find_filter_like(typed: str) -> list[str]:
    """The words before a colon that are no filter and nearly called as one, folded, each once."""
    words = dict.fromkeys(map(fold, FILTER_LIKE.findall(typed)))
    return [word for word in words if word not in BY_NAME and difflib.get_close_matches(word, BY_NAME)]


def with_nearest_projects(projects: Iterable[str], wanted: Filter) -> tuple[Filter, str]:
    """A filter in which a project that is none of these is the one that is near it, where only one is; and which."""
    known = {fold(name): name for name in projects if name}
    nearest = {value: _only_near(value, list(known)) for value in wanted.projects if value not in known}
    taken = {value: near for value, near in nearest.items() if near}
    meant = tuple(taken.get(value, value) for value in wanted.projects)
    note = " ".join(TAKEN % (escape_line(value), escape_line(known[near])) for value, near in taken.items())
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
    return f"There is no {field} {escape_line(value)}; there are {', '.join(map(escape_line, named))}{more}."


def _most_alike(value: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(value, known, n=MOST_NAMED, cutoff=0.0)


@dataclass(frozen=True, slots=True)
class Absent:
    """Words of a question, as asked, that no passage of any layer holds."""

    names: tuple[str, ...] = ()  # written like one
    words: tuple[str, ...] = ()  # all others that tell something
    is_elsewhere: bool = False  # all names of the question are absent, and its other words are words of this memory

    def note(self, *, is_unsure: bool) -> str:
        """What is said of them; of other words than names only beside an answer that may be none."""
        words = [*self.names, *(self.words if is_unsure else ())][:MOST_WORDS]
        return NOWHERE % ", ".join(words) if words else ""


def find_absent(indices: Sequence[Sequence[IndexedTerm]], projects: Iterable[str] = ()) -> Absent:
    """The words of one question that every index says it does not hold, given the question's terms in each of them.

    What a project is called, as a whole or in part, is held.
    """
    called = {part.casefold() for name in projects for part in (*WORD.findall(name), "".join(WORD.findall(name)))}
    content = [terms for terms in zip(*indices, strict=True) if not terms[0].is_stop]
    is_held = [any(term.holders or term.word.casefold() in called for term in terms) for terms in content]
    names = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if terms[0].is_name]
    others = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if not terms[0].is_name]
    held_share = sum(held for _, held in others) / len(others) if others else 1.0
    return Absent(
        tuple(dict.fromkeys(word for word, held in names if not held)),
        tuple(dict.fromkeys(word for word, held in others if not held)),
        bool(names) and not any(held for _, held in names) and held_share >= LEAST_HELD,
    )
