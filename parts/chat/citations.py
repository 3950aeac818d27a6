"""Citations are looked up again: one is verified only if its words stand at that path and line, letter by letter.

A model cites in its text as `[2: "the words"]`, or its service does so beside the text; both become the same here, over
a stream, of which a whole answer is the case with one piece. Promised is that the words stand there as whole words in
one piece; not that they mean what the answer makes of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_server.document import Layer
from memory_server.errors import OneirosError
from memory_server.escaping import escape_line
from parts.chat.context import Look
from parts.chat.records import BackEndFailed, Cited, Piece, ShownPassage, Usage

MAX_QUOTE_CHARS = 600
MIN_QUOTE_CHARS = 3  # fewer stand nearly everywhere
MARK = re.compile(rf'\[(\d{{1,3}}): ?"((?:(?!"\]).){{1,{MAX_QUOTE_CHARS}}})"\]', re.DOTALL)
BEGINNING = re.compile(  # of a mark, up to the end of what has come so far
    rf'\[(?:\d{{0,3}}|\d{{1,3}}: ?|\d{{1,3}}: ?"(?:(?!"\]).){{0,{MAX_QUOTE_CHARS + 1}}})\Z', re.DOTALL
)
MARKS = "【】"  # around a citation's number in an answer: signs that no text of a model keeps, so none can pass for one
NOT_A_MARK = str.maketrans(MARKS, "[]")
NO_WORD_BEFORE = r"(?<!\w)(?<!\d[.,])"
NO_WORD_BEHIND = r"(?![\w\u0300-\u036f]|[.,]\d)"  # no accent set on the last letter, no further part of a number
CUT = re.compile(r"^… | …$")  # what `shortened` puts where it cut


@dataclass(frozen=True, slots=True)
class Citation:
    """What an answer rests on, or says that it does."""

    words: str  # of a verified one as the memory has them
    verified: bool
    path: str = ""  # relative to the memory root; empty where no such passage was shown
    first: int = 0  # lines, or turns of an archived session, both ends included
    last: int = 0
    layer: str = ""
    approved: bool = False  # stands in a topic that a person answered for

    def mark(self, number: int) -> str:
        """What stands in the answer where this is cited, as the one of that number."""
        return f"{MARKS[0]}{number}{'' if self.verified else ' NOT VERIFIED'}{MARKS[1]}"

    @property
    def place(self) -> str:
        """`path:line`, or `path:first-last`."""
        return f"{self.path}:{self.first}" if self.first == self.last else f"{self.path}:{self.first}-{self.last}"


def check_citations(
    pieces: Iterable[Piece], passages: Sequence[ShownPassage], look: Look
) -> Iterator[str | Citation | Usage]:
    """The answer with its citations checked; text that may become a mark is held back until it is one or is not."""
    shown_passages = {passage.number: passage for passage in passages}
    held = ""
    try:
        for piece in pieces:
            if isinstance(piece, str):
                ready, held = _cut_marks(held + piece)
            else:
                ready, held = [held, piece], ""
            for one in ready:
                if isinstance(one, Cited):
                    yield check(one, shown_passages.get(one.number), look)
                elif one:
                    yield one.translate(NOT_A_MARK) if isinstance(one, str) else one
    except BackEndFailed:
        if held:
            yield held.translate(NOT_A_MARK)
        raise
    if held:
        yield held.translate(NOT_A_MARK)


def _cut_marks(text: str) -> tuple[list[Piece], str]:
    """Text and marks in order, and the rest of it that may begin a mark."""
    found: list[Piece] = []
    while match := MARK.search(text):
        found += [text[: match.start()], Cited(int(match[1]), match[2])]
        text = text[match.end() :]
    beginning = BEGINNING.search(text)
    end = beginning.start() if beginning else len(text)
    return [*found, text[:end]], text[end:]


def check(cited: Cited, passage: ShownPassage | None, look: Look) -> Citation:
    """Looks a citation up. Unverified where its passage was not shown, or its words do not stand in it just now."""
    if passage is None:
        return Citation(cited.words, verified=False)
    first, last = passage.lines[0][0], passage.lines[-1][0]
    meant = Citation(cited.words, False, passage.path, first, last, passage.layer.value, passage.is_approved)
    if cited.first and not first <= cited.first <= cited.last <= last:
        return meant
    first, last = (cited.first, cited.last) if cited.first else (first, last)
    try:
        parts = look(passage.path, first, last)
    except OneirosError:
        return meant
    place = find_words(cited.words, parts)
    if place is None:
        return meant
    words, begins, ends = place
    is_approved, layer = passage.layer is Layer.TOPIC and passage.is_approved, passage.layer.value
    return Citation(words, True, passage.path, first + begins, first + ends, layer, is_approved)


def find_words(words: str, parts: Sequence[str]) -> tuple[str, int, int] | None:
    """Where words stand in lines: as they stand there, and the first and last line from 0. None: nowhere.

    Runs of blanks and line ends count as one blank, since a quote may run over lines; every other sign must be the
    same, so a look-alike is another one. No word may be cut in two: `port 25` does not stand in `port 2525`.
    """
    wanted = CUT.sub("", escape_line(words))
    if len(wanted) < MIN_QUOTE_CHARS or len(wanted) > 10 * MAX_QUOTE_CHARS:
        return None
    text, starts = "", list[tuple[int, int]]()  # where each line begins in the text, and its number
    for number, line in enumerate(map(escape_line, parts)):
        if line:
            text += " " if text else ""
            starts.append((len(text), number))
            text += line
    begin = NO_WORD_BEFORE if is_of_word(wanted[0]) else ""
    end = NO_WORD_BEHIND if is_of_word(wanted[-1]) else ""
    match = re.search(begin + re.escape(wanted) + end, text)
    if match is None:
        return None
    first, last = (
        max(number for start, number in starts if start <= place) for place in (match.start(), match.end() - 1)
    )
    return match[0], first, last


def is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
