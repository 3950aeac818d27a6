"""`generate`: chunks in, checked pairs out; a chunk is the unit that is resumed."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from trainer.errors import DataError
from trainer.extract.chunks import Chunk
from trainer.files import hash_texts
from trainer.generate.validation import filter_pairs
from trainer.pairs import SYSTEM, Pair
from trainer.progress import progress
from trainer.resumable import ResumableOutput

logger = logging.getLogger(__name__)

PAIRS_PER_CHUNK = 5


class Generator(Protocol):
    """A back end that answers one chunk at a time."""

    name: str
    destination: str  # where the text goes, shown before the first byte leaves

    def pairs(self, chunk: Chunk, count: int) -> list[Pair]: ...


@runtime_checkable
class BatchGenerator(Protocol):
    """A back end that takes all chunks at once and gives each its pairs, or what went wrong with it alone."""

    name: str
    destination: str

    def list_shared_texts(self, chunks: Sequence[Chunk]) -> list[str]: ...

    def results(self, chunks: Sequence[Chunk], count: int) -> Iterator[tuple[Chunk, list[Pair] | DataError]]: ...


BackEnd = Generator | BatchGenerator


@dataclass(frozen=True, slots=True)
class Generation:
    """What the stage did."""

    chunks: int
    skipped: int  # chunks that an earlier run had finished
    pairs: int  # in the output, earlier runs counted in
    refused: dict[str, int]  # reason to number of pairs
    problems: tuple[str, ...]  # chunks without any answer, a sentence each; they are asked again next time


def generate(
    chunks: Sequence[Chunk],
    back_end: BackEnd,
    output: Path,
    *,
    per_chunk: int = PAIRS_PER_CHUNK,
    system: str = SYSTEM,
) -> Generation:
    """Ask the back end about every chunk that is not done, and keep the pairs that their chunk bears.

    `system`: the message that each pair begins with. Raises DataError where no pair at all is kept, NeedsRepair when
    the back end fails; finished chunks stay finished.
    """
    faults: list[str] = []
    problems: list[str] = []
    system_mark = "" if system == SYSTEM else f":{hash_texts(system)}"
    wanted = {chunk.id: f"{chunk.id}:{back_end.name}:{per_chunk}{system_mark}" for chunk in chunks}
    with ResumableOutput(output, wanted) as out, progress("generate", len(chunks)) as advance:
        waiting = [chunk for chunk in chunks if not out.is_done(chunk.id)]
        for _ in range(len(chunks) - len(waiting)):
            advance()
        for chunk, answer in generate_pairs(back_end, waiting, per_chunk):
            if isinstance(answer, DataError):
                problems.append(str(answer))
            else:
                out.add(
                    chunk.id, [replace(pair, system=system).as_row() for pair in filter_pairs(answer, chunk, faults)]
                )
            advance()
        pairs = out.rows
    if not pairs:
        raise DataError(
            f"no pair was kept out of {len(chunks)} chunks", where=output, remedy=(problems or faults or [""])[0]
        )
    logger.info("%d chunks, %d pairs, %d refused", len(chunks), pairs, len(faults))
    return Generation(len(chunks), len(chunks) - len(waiting), pairs, dict(Counter(faults)), tuple(problems))


def generate_pairs(
    back_end: BackEnd, chunks: Sequence[Chunk], count: int
) -> Iterator[tuple[Chunk, list[Pair] | DataError]]:
    """Each chunk with its pairs or with what went wrong with it alone."""
    if isinstance(back_end, BatchGenerator):
        if chunks:
            yield from back_end.results(chunks, count)
        return
    for chunk in chunks:
        try:
            yield chunk, back_end.pairs(chunk, count)
        except DataError as error:
            yield chunk, error
