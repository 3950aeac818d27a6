"""A passage in its place: what stands before and behind it in its file, or was said before and after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from memory_server.chunking import FOOTNOTE_DEFINITION, split_lines
from memory_server.document import SourcePath, session_of_path
from memory_server.layers.topics import document_and_text
from memory_server.memory import Memory
from memory_server.reading import find_source, read_turns
from parts.page.markdown import render_text
from parts.page.rendering import drop_references

LINES, TURNS = 4, 2  # shown on either side
TURN_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines or a turn, as they read."""

    html: Markup
    is_meant: bool


def read_pieces(memory: Memory, path: SourcePath, first: int, last: int) -> Sequence[Piece]:
    """The lines from `first` to `last`, counted from 1, with some before and behind. Raises as `read_lines` does."""
    return list(
        _list_turns(memory, path, first, last) if session_of_path(path) else _list_lines(memory, path, first, last)
    )


def _list_lines(memory: Memory, path: SourcePath, first: int, last: int) -> Iterator[Piece]:
    document, _ = document_and_text(memory.root, find_source(memory.root, path))
    lines = ["\n" if FOOTNOTE_DEFINITION.match(line) else line for line in split_lines(document.body)]
    first, last = max(0, first - document.body_line), last - document.body_line + 1
    for begin, end, is_meant in ((first - LINES, first, False), (first, last, True), (last, last + LINES, False)):
        text = drop_references("".join(lines[max(0, begin) : max(0, end)]))
        if text.strip():
            yield Piece(render_text(text), is_meant)


def _list_turns(memory: Memory, path: SourcePath, first: int, last: int) -> Iterator[Piece]:
    if memory.raw is None:
        return
    reading = read_turns(memory.raw.store, session_of_path(path), max(1, first - TURNS), last + TURNS, with_tools=True)
    for part, text in enumerate(reading.parts):
        number = reading.find_number(part)
        yield Piece(render_text(text.partition("] ")[2][:TURN_CHARS]), first <= number <= last)
