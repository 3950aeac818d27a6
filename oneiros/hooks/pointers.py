"""Topics that bear on something, as one line each: where they stand and what they say about it.

A topic's passage holds several statements, and that it is near says little of any one of them. So a statement is pushed
where it shares enough of its telling words with what is asked and is near in meaning on the scale that the memory
learnt. The figures were chosen on prompts of two projects; what they reach on two others stands in
benchmarks/RESULTS.md.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from memory_server.chunking import split_lines
from memory_server.document import Answer, Filter, Hit, Layer
from memory_server.escaping import shown_line
from memory_server.index.expression import AllOf, Term
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words
from memory_server.layers.topics import shortened
from memory_server.memory import Memory
from memory_server.search.query import clean
from memory_server.search.question import Question, Search

MAX_HITS = 8
SHARED_WORDS = 2  # telling words that a statement has in common with what is asked
OVERLAP = 0.3  # of the telling words of both: what they share, by the geometric mean of how many each has
NEAR = 3.2  # scaled cosine; 0 is a typical unrelated pair
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


def bearing_on(memory: Memory, text: str, project: str, topics: tuple[str, ...] = ()) -> list[Pointer]:
    """The statements of layer 1 that bear on a text, the nearest first, one a topic; none of another project.

    `topics`: of these alone, by name.
    """
    asked = frozenset(content_words(text))
    found = [
        (hit, line, statement)
        for hit in looked_up(memory, Search.RECALL, clean(text).split(), MAX_HITS, project, topics).hits
        for line, statement in statements(hit.passage)
        if shares_enough(asked, frozenset(content_words(statement)))
    ]
    if not found:
        return []
    near = memory.nearness(text, [statement for _, _, statement in found])
    best: dict[str, Pointer] = {}
    for place in sorted(range(len(found)), key=lambda place: -near[place]):
        if near[place] >= NEAR:
            best.setdefault(found[place][0].path, Pointer(found[place][0].path, pointer_line(*found[place])))
    return list(best.values())


def shares_enough(asked: frozenset[str], said: frozenset[str]) -> bool:
    """Whether a statement has so many telling words in common with what is asked that it may be about it."""
    return len(asked & said) >= max(SHARED_WORDS, OVERLAP * math.sqrt(len(asked) * len(said)))


def holding(memory: Memory, phrase: str, limit: int, project: str) -> list[Pointer]:
    """The statements of layer 1 in which a text stands letter by letter, one a passage; none of another project.

    Where it stands in a heading or table, the first statement of the passage.
    """
    found = []
    for hit in looked_up(memory, Search.EXACT, [phrase], limit, project).hits:
        said = list(statements(hit.passage)) or [(0, "")]
        holder = next((one for one in said if phrase.casefold() in one[1].casefold()), said[0])
        found.append(Pointer(hit.path, pointer_line(hit, *holder)))
    return found


def looked_up(
    memory: Memory,
    search: Search,
    words: Sequence[str],
    limit: int,
    project: str = "",
    topics: tuple[str, ...] = (),
) -> Answer:
    """What layer 1 answers to the words of somebody who does not know the query syntax.

    Without what does not hold today, what nobody approved, and what belongs to another project than this one.
    """
    is_phrase = search is Search.EXACT
    terms = tuple(Term(word, is_phrase=is_phrase) for word in words if any(map(str.isalnum, word)))
    if not terms:
        return Answer(())
    text, wanted = " ".join(term.text for term in terms), Filter(layers=(Layer.TOPIC,), topics=topics)
    answer = memory.look_up(Question(text, AllOf(terms), wanted, search, limit=limit))
    # the lines of MEMORY.md point to the topics and say nothing themselves
    left_out = {"MEMORY.md", *memory.topics_elsewhere(project)}
    kept = (hit for hit in answer.hits if hit.path not in left_out and not hit.outside and not hit.unapproved)
    return replace(answer, hits=tuple(kept))


def pointer_line(hit: Hit, line: int, statement: str) -> str:
    """`- Mail (topics/mail.md:12): The relay listens on port 2525.`; `line` is of the passage, from 0."""
    said = shortened(shown_line(statement), LINE_CHARS)
    place = f"{shown_line(hit.path)}:{min(hit.lines.first + line, hit.lines.last)}"
    return f"- {shortened(shown_line(hit.title), TITLE_CHARS)} ({place}): {said}"


def statements(passage: str) -> Iterator[tuple[int, str]]:
    """The sentences of a passage, each with the line on which it begins, from 0, without marks of Markdown."""
    kept: list[str] = []
    for number, line in enumerate([*split_lines(passage), ""]):
        is_end = not line.strip() or bool(NOT_A_STATEMENT.match(line))
        if kept and (is_end or MARK.match(line)):
            text, starts = " ".join(kept), [*accumulate((len(one) + 1 for one in kept), initial=0)]
            for start, end in sentence_spans(text.replace(";", ",")):  # half a sentence would be shown
                yield number - len(kept) + bisect_right(starts, start) - 1, text[start:end]
            kept = []
        if not is_end:
            kept.append(FOOTNOTE.sub("", MARK.sub("", line)).strip())
