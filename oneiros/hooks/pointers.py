"""Statements of layer 1 that bear on something, as one line each: where they stand and what they say about it.

A topic's passage holds several statements, and that it is near says little of any one of them. So a statement is pushed
where its tokens and those of what is asked find partners in each other, both ways, and the more so where they share
their telling words: what only shares a word, or holds much beside it, does not. The figures were chosen on prompts of
some projects; what they reach on others stands in benchmarks/RESULTS.md.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from memory_server.chunking import split_lines
from memory_server.document import Hit, Layer
from memory_server.escaping import escape_line
from memory_server.fields import Filter
from memory_server.index.expression import AllOf, Term
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words
from memory_server.layers.lessons import LESSONS_PAGE, read_lessons
from memory_server.layers.topics import shorten_text
from memory_server.memory import Memory
from memory_server.search.question import Question, Search, clean

MAX_HITS, PASSAGES = 8, 3  # passages that are looked at, and of one topic
SHARED = 0.4  # of the telling words of both: what they share, by the geometric mean of how many each has
CLOSE = 0.45  # of `mutual_match` and SHARED, together at most 1.4
CLOSE_EVERYWHERE = 0.56  # for a topic of no project, which meets the prompts of all of them
LINE_CHARS = 220
TITLE_CHARS = 80
FOOTNOTE = re.compile(r"\[\^[^\]]+\]")
NOT_A_STATEMENT = re.compile(r"^\s*(?:#|```|~~~|\||<!--|\[\^)")
MARK = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class Pointer:
    """One line that leads to a topic."""

    key: str  # the source's path
    line: str


def find_pointers(memory: Memory, text: str, project: str, topics: Collection[str] = ()) -> list[Pointer]:
    """The statements of layer 1 that bear on a text, the closest first, one a topic; none of another project.

    `topics`: of these files alone.
    """
    best: dict[str, Pointer] = {}
    everywhere = {*memory.find_topics(""), LESSONS_PAGE}
    for closeness, pointer in closest(memory, text, project, topics):
        if closeness >= (CLOSE_EVERYWHERE if pointer.key in everywhere else CLOSE):
            best.setdefault(pointer.key, pointer)
    return list(best.values())


def closest(memory: Memory, text: str, project: str, topics: Collection[str] = ()) -> list[tuple[float, Pointer]]:
    """The statements near a text, each with how close it is, the closest first."""
    hits = find_hits(memory, Search.RECALL, clean(text).split(), MAX_HITS, project, topics)
    found = list(dict.fromkeys(one for hit in hits for one in list_statements(memory, hit, project)))
    near = memory.closeness(text, [statement for _, _, statement in found]) if found else []
    words = frozenset(content_words(text))
    pointers = [
        (
            one + SHARED * overlap(words, frozenset(content_words(place[2]))),
            Pointer(place[0].path, pointer_line(*place)),
        )
        for one, place in zip(near, found, strict=True)
    ]
    return sorted(pointers, key=lambda one: -one[0])


def overlap(words: frozenset[str], others: frozenset[str]) -> float:
    """How many of their telling words two texts share, of the geometric mean of how many each has."""
    return len(words & others) / math.sqrt(len(words) * len(others)) if words and others else 0.0


def holding(memory: Memory, phrase: str, limit: int, project: str) -> list[Pointer]:
    """The statements of layer 1 in which a text stands letter by letter, one a passage; none of another project.

    Where it stands in a heading or table, the first statement of the passage.
    """
    found = []
    for hit in find_hits(memory, Search.EXACT, [phrase], limit, project):
        candidates = list(list_statements(memory, hit, project)) or ([] if hit.path == LESSONS_PAGE else [(hit, 0, "")])
        holders = [one for one in candidates if phrase.casefold() in one[2].casefold()]
        for holder in [*holders, *candidates][:1]:
            found.append(Pointer(hit.path, pointer_line(*holder)))
    return found


def find_hits(
    memory: Memory, search: Search, words: Sequence[str], limit: int, project: str = "", topics: Collection[str] = ()
) -> list[Hit]:
    """What topics and lessons answer to the words of somebody who does not know the query syntax.

    Without what does not hold today, what nobody approved, and topics of another project than this one. MEMORY.md
    points to the topics and says nothing itself.
    """
    is_phrase = search is Search.EXACT
    terms = tuple(Term(word, is_phrase=is_phrase) for word in words if any(map(str.isalnum, word)))
    here = {*memory.find_topics(project), LESSONS_PAGE}
    here = here.intersection(topics) if topics else here
    if not terms:
        return []
    text, wanted = " ".join(term.text for term in terms), Filter(layers=(Layer.TOPIC,), topics=tuple(sorted(here)))
    answer = memory.look_up(Question(text, AllOf(terms), wanted, search, limit=limit, per_source=PASSAGES))
    return [hit for hit in answer.hits if not hit.outside and not hit.unapproved]


def list_statements(memory: Memory, hit: Hit, project: str) -> Iterator[tuple[Hit, int, str]]:
    """The statements of a passage, each with its line in it, from 0; of the lessons those that hold in the project."""
    if hit.path != LESSONS_PAGE:
        yield from ((hit, line, statement) for line, statement in statements(hit.passage))
        return
    ours = ("", project.casefold())
    held = [one.text for one in read_lessons(memory.root) if one.project.casefold() in ours]
    for line, statement in statements(hit.passage):
        if any(statement in text for text in held):
            yield hit, line, statement


def pointer_line(hit: Hit, line: int, statement: str) -> str:
    """`- Mail (topics/mail.md:12): The relay listens on port 2525.`; `line` is of the passage, from 0."""
    text = shorten_text(escape_line(statement), LINE_CHARS)
    place = f"{escape_line(hit.path)}:{min(hit.lines.first + line, hit.lines.last)}"
    return f"- {shorten_text(escape_line(hit.title), TITLE_CHARS)} ({place}): {text}"


def statements(passage: str) -> Iterator[tuple[int, str]]:
    """The sentences of a passage, each with the line on which it begins, from 0, without marks of Markdown."""
    parts: list[str] = []
    for number, line in enumerate([*split_lines(passage), ""]):
        is_end = not line.strip() or bool(NOT_A_STATEMENT.match(line))
        if parts and (is_end or MARK.match(line)):
            text, starts = " ".join(parts), [*accumulate((len(one) + 1 for one in parts), initial=0)]
            for start, end in sentence_spans(text.replace(";", ",")):  # half a sentence would be shown
                yield number - len(parts) + bisect_right(starts, start) - 1, text[start:end]
            parts = []
        if not is_end:
            parts.append(FOOTNOTE.sub("", MARK.sub("", line)).strip())
