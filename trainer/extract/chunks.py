"""Pages of text become chunks of about 800 tokens.

A chunk ends at a heading or a paragraph where it can, at a sentence where a paragraph alone is too long, and never
spans two pages, so that `page` is true. Nothing is lost but the white space between paragraphs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from trainer.files import hash_texts

CHARS_PER_TOKEN = 4  # English prose under the usual BPE vocabularies; a model's own tokenizer is not loaded for this
CHUNK_CHARS = 800 * CHARS_PER_TOKEN
PARAGRAPH_END = re.compile(r"\n\s*\n")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """The text of one page; formats without pages are one page with the number 0."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, small enough to ask questions about."""

    id: str
    source: str  # the document's path as it was given
    page: int  # counted from 1; 0 where the format has no pages
    heading: str  # the Markdown heading that the chunk begins with or stands below, or empty
    text: str

    def as_row(self) -> dict[str, object]:
        """The chunk as a line of `corpus_chunks.jsonl`."""
        return asdict(self)


def chunk_document(source: str, pages: Sequence[Page], *, max_chars: int = CHUNK_CHARS) -> Iterator[Chunk]:
    """The chunks of a document, in reading order."""
    heading = ""
    for page in pages:
        gathered: list[str] = []
        above = heading
        for paragraph in split_paragraphs(page.text, max_chars):
            found = HEADING.match(paragraph)
            size = sum(len(part) + 2 for part in gathered)
            if gathered and (size + len(paragraph) > max_chars or (found and size > max_chars // 2)):
                yield chunk(source, page.number, above, gathered)
                gathered = []
            if found:
                heading = found.group(2)
            if not gathered:
                above = heading
            gathered.append(paragraph)
        if gathered:
            yield chunk(source, page.number, above, gathered)


def split_paragraphs(text: str, max_chars: int) -> Iterator[str]:
    """Paragraphs, those that are too long cut at sentences, and at any character where a sentence is too long."""
    for paragraph in PARAGRAPH_END.split(text):
        if not paragraph.strip():
            continue
        if len(paragraph) <= max_chars:
            yield paragraph.strip()
            continue
        gathered = ""
        for sentence in SENTENCE_END.split(paragraph.strip()):
            if gathered and len(gathered) + 1 + len(sentence) > max_chars:
                yield gathered
                gathered = ""
            gathered = f"{gathered} {sentence}".strip()
            while len(gathered) > max_chars:
                yield gathered[:max_chars]
                gathered = gathered[max_chars:]
        if gathered:
            yield gathered


def chunk(source: str, page: int, heading: str, paragraphs: Sequence[str]) -> Chunk:
    """The chunk of these paragraphs; its id comes from its content and place."""
    text = "\n\n".join(paragraphs)
    return Chunk(hash_texts(source, str(page), text), source, page, heading, text)
