"""Pairs from the Anthropic API: message batches at half the price, with the shared part of the prompt cached.

Every request of a document begins with the same system blocks (instructions, then the document's outline, which ends
with a cache mark), so that the service reads them once a document. The outline also lets the model write questions
that stand alone. Batches end within a day; the id of an open one is kept beside the output, so that a killed run asks
for its results instead of paying again.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anthropic

from trainer.errors import DataError, NeedsRepair
from trainer.extract.chunks import SENTENCE_END, Chunk
from trainer.files import read_json, write_json
from trainer.generate.budget import TOKENS_PER_PAIR
from trainer.generate.prompt import INSTRUCTIONS, build_request, pairs_in_reply
from trainer.pairs import Pair

OUTLINE_CHARS = 12_000  # about 3,000 tokens: above the service's minimum for caching, small beside a day's budget
POLL_SECONDS = 20.0
MAX_BATCH = 10_000  # requests; the service's own limit is higher, this bounds what one failure can cost


class AnthropicBatches:
    """The batch back end: all chunks at once."""

    name = "anthropic"

    def __init__(
        self,
        client: anthropic.Anthropic,
        model: str,
        ticket: Path,
        pause: Callable[[float], None] = time.sleep,
        most: int = MAX_BATCH,
    ):
        """`ticket` is the file that remembers an open batch, `most` how many requests one may hold."""
        self.destination = str(client.base_url)
        self.model = model
        self._client = client
        self._ticket = ticket
        self._pause = pause
        self._most = most

    def list_shared_texts(self, chunks: Sequence[Chunk]) -> list[str]:
        """What goes with each chunk's request beside the instructions."""
        outlines = build_outlines(chunks)
        return [outlines[chunk.source] for chunk in chunks]

    def results(self, chunks: Sequence[Chunk], count: int) -> Iterator[tuple[Chunk, list[Pair] | DataError]]:
        """Each chunk with its pairs, or with the reason why it has none; in the order the service gives.

        Raises NeedsRepair when the service refuses or cannot be reached.
        """
        try:
            yield from self._results(chunks, count)
        except anthropic.APIError as error:
            raise NeedsRepair(
                f"the Anthropic API did not serve the batch ({error.message})",
                where=self.destination,
                remedy="Check key and network, then run the same command again: nothing is paid twice",
            ) from error

    def _results(self, chunks: Sequence[Chunk], count: int) -> Iterator[tuple[Chunk, list[Pair] | DataError]]:
        waiting = {chunk.id: chunk for chunk in chunks}
        outlines = build_outlines(chunks)
        while waiting:
            batch = [] if self._ticket.exists() else list(waiting.values())[: self._most]
            yield from self._collect_results(self._open_batch(batch, outlines, count), waiting, count)
            for chunk in batch:
                if waiting.pop(chunk.id, None):
                    yield chunk, DataError("the batch holds no answer", where=f"{chunk.source} {chunk.id}")
            self._ticket.unlink(missing_ok=True)

    def _collect_results(
        self, batch_id: str, waiting: dict[str, Chunk], count: int
    ) -> Iterator[tuple[Chunk, list[Pair] | DataError]]:
        """What a batch says of the chunks that wait; they wait no longer then."""
        while self._client.messages.batches.retrieve(batch_id).processing_status != "ended":
            self._pause(POLL_SECONDS)
        for item in self._client.messages.batches.results(batch_id):
            chunk = waiting.pop(item.custom_id, None)
            if chunk is None:
                continue  # of an earlier run over other chunks
            if item.result.type != "succeeded":
                yield chunk, DataError(f"the request {item.result.type}", where=f"{chunk.source} {chunk.id}")
                continue
            reply = "".join(block.text for block in item.result.message.content if block.type == "text")
            try:
                yield chunk, pairs_in_reply(reply, chunk)[:count]
            except DataError as error:
                yield chunk, error

    def _open_batch(self, chunks: Sequence[Chunk], outlines: Mapping[str, str], count: int) -> str:
        if self._ticket.exists():
            return str(read_json(self._ticket)["batch"])
        requests: list[Any] = [
            {"custom_id": chunk.id, "params": build_params(self.model, chunk, outlines[chunk.source], count)}
            for chunk in chunks
        ]
        batch = self._client.messages.batches.create(requests=requests)
        write_json(self._ticket, {"batch": batch.id, "chunks": len(requests)})
        return str(batch.id)


def build_params(model: str, chunk: Chunk, outline: str, count: int) -> dict[str, object]:
    """The message request of one chunk; the system blocks are the same for all chunks of a document."""
    return {
        "model": model,
        "max_tokens": count * TOKENS_PER_PAIR,
        "system": [
            {"type": "text", "text": INSTRUCTIONS},
            {"type": "text", "text": outline, "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [{"role": "user", "content": build_request(chunk, count)}],
    }


def build_outlines(chunks: Sequence[Chunk]) -> dict[str, str]:
    """For each document the first sentence of each of its chunks, as the shared part of the prompt."""
    lines: dict[str, list[str]] = {}
    for chunk in chunks:
        sentence = " ".join(SENTENCE_END.split(chunk.text, maxsplit=1)[0].split())[:200]
        lines.setdefault(chunk.source, []).append(
            f"- {chunk.heading}: {sentence}" if chunk.heading else f"- {sentence}"
        )
    return {
        source: f"<outline of={json.dumps(source)}>\n" + "\n".join(found)[:OUTLINE_CHARS] + "\n</outline>"
        for source, found in lines.items()
    }
