"""Topics that bear on something, as one line each: where they stand and what they say about it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from memory_server.document import Answer, Filter, Hit, Layer
from memory_server.escaping import shown_line
from memory_server.layers.topics import shortened
from memory_server.memory import Memory
from memory_server.search.query import clean
from memory_server.search.question import AllOf, Question, Search, Term
from memory_server.search.ranking.ranking import FLOOR

MAX_HITS = 8
LEAST_SHARE = 0.75  # of the best hit's score; what is far behind it only shares a word
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


def recalled(memory: Memory, text: str) -> tuple[Hit, ...]:
    """What layer 1 knows about a text, the best first; nothing where it does not bear on it."""
    answer = looked_up(memory, Search.RECALL, clean(text).split(), MAX_HITS)
    if answer.confidence < FLOOR:  # which a tiny memory does not apply by itself
        return ()
    best = max((hit.score for hit in answer.hits), default=0.0)
    return tuple(hit for hit in answer.hits if hit.score >= LEAST_SHARE * best)


def holding(memory: Memory, phrase: str, limit: int) -> Answer:
    """The passages of layer 1 in which a text stands letter by letter."""
    return looked_up(memory, Search.EXACT, [phrase], limit)


def looked_up(memory: Memory, search: Search, words: Sequence[str], limit: int) -> Answer:
    """What layer 1 answers to the words of somebody who does not know the query syntax."""
    is_phrase = search is Search.EXACT
    terms = tuple(Term(word, is_phrase=is_phrase) for word in words if any(map(str.isalnum, word)))
    if not terms:
        return Answer(())
    text, topics = " ".join(term.text for term in terms), Filter(layers=(Layer.TOPIC,))
    answer = memory.look_up(Question(text, AllOf(terms), topics, search, limit=limit))
    # the lines of MEMORY.md point to the topics and say nothing themselves
    return replace(answer, hits=tuple(hit for hit in answer.hits if hit.path != "MEMORY.md"))


def pointers_to(hits: Sequence[Hit], shown_before: Collection[str]) -> list[Pointer]:
    """A pointer to each hit's source that was not shown before."""
    return [Pointer(hit.path, pointer_line(hit)) for hit in hits if hit.path not in shown_before]


def pointer_line(hit: Hit) -> str:
    """`- Mail (topics/mail.md:12): The relay listens on port 2525.`"""
    statement = shortened(shown_line(first_statement(hit.passage)), LINE_CHARS)
    return f"- {shortened(shown_line(hit.title), TITLE_CHARS)} ({shown_line(hit.path)}:{hit.lines.first}): {statement}"


def first_statement(passage: str) -> str:
    """The first paragraph or list item of a passage, without marks of Markdown that mean nothing on a line."""
    kept: list[str] = []
    for line in passage.splitlines():
        if not line.strip() or NOT_A_STATEMENT.match(line) or (kept and MARK.match(line)):
            if kept:
                break
            continue
        kept.append(MARK.sub("", line).strip())
    return FOOTNOTE.sub("", " ".join(kept))
