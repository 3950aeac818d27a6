"""`extract`: documents in, `corpus_chunks.jsonl` out; a document is the unit that is resumed."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer.errors import DataError, UsageError
from trainer.extract.chunks import Chunk, chunk_document
from trainer.extract.documents import SUFFIXES, read_document
from trainer.files import hash_file, read_json_lines
from trainer.hygiene import find_fault
from trainer.progress import progress
from trainer.resumable import ResumableOutput

logger = logging.getLogger(__name__)

SCAN_CHARS = 20  # a page with less text than this is likely a picture of one


@dataclass(frozen=True, slots=True)
class Extraction:
    """What the stage did."""

    documents: int
    chunks: int
    skipped: int  # documents that an earlier run had finished
    problems: tuple[str, ...]  # pages and documents left out, a sentence each


def extract(inputs: Sequence[Path], output: Path) -> Extraction:
    """Read every document below the inputs and write its chunks.

    Raises UsageError where no document is found, DataError where none of them yields a chunk. A single bad document
    is a problem in the result.
    """
    documents = find_documents(inputs)
    if not documents:
        raise UsageError("no document was found", remedy=f"Name files or folders with {', '.join(SUFFIXES)}")
    hashes = {str(path): hash_file(path) for path in documents}
    problems: list[str] = []
    skipped = 0
    with ResumableOutput(output, hashes) as out, progress("extract", len(documents)) as advance:
        for path in documents:
            if out.is_done(str(path)):
                skipped += 1
            else:
                try:
                    out.add(str(path), [chunk.as_row() for chunk in clean_chunks(path, problems)])
                except DataError as error:
                    problems.append(str(error))
            advance()
        chunks = out.rows
    if not chunks:
        raise DataError("no document gave any text", where=output, remedy="; ".join(problems[:3]))
    logger.info("%d documents, %d chunks, %d problems", len(documents), chunks, len(problems))
    return Extraction(len(documents), chunks, skipped, tuple(problems))


def find_documents(inputs: Sequence[Path]) -> list[Path]:
    """The files among the inputs and below the folders among them, sorted, each once."""
    found: set[Path] = set()
    for path in inputs:
        if not path.exists():
            raise UsageError("there is no such file or folder", where=path)
        files = path.rglob("*") if path.is_dir() else [path]
        found.update(file for file in files if file.is_file() and (file == path or file.suffix.lower() in SUFFIXES))
    return sorted(found)


def clean_chunks(path: Path, problems: list[str]) -> list[Chunk]:
    """The chunks of a document that may become training data; what is left out is added to the problems."""
    pages = read_document(path)
    scans = [page.number for page in pages if page.number and len(page.text.strip()) < SCAN_CHARS]
    if scans:
        problems.append(f"{path}: pages {scans[:5]} hold hardly any text; they may be scans. Run OCR first.")
    clean = []
    for chunk in chunk_document(str(path), [page for page in pages if page.number not in scans]):
        if fault := find_fault(chunk.text):
            problems.append(f"{path}:{chunk.page or 1}: a chunk holds {fault} and is left out.")
        else:
            clean.append(chunk)
    return clean


def read_chunks(path: Path) -> tuple[Chunk, ...]:
    """The chunks of `corpus_chunks.jsonl`. Raises DataError with file and line where one is not a chunk."""
    chunks = []
    for line, row in read_json_lines(path):
        try:
            chunks.append(Chunk(**row))
        except TypeError as error:
            raise DataError("this is not a chunk", where=path, line=line, remedy="Run `extract` again") from error
    return tuple(chunks)
