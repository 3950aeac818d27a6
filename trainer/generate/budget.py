"""What a run of `generate` will cost, before the first byte leaves the machine."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.errors import UsageError
from trainer.extract.chunks import CHARS_PER_TOKEN, Chunk
from trainer.generate.prompt import INSTRUCTIONS, build_request

TOKENS_PER_PAIR = 160  # twice a question and an answer of a sentence or two, with JSON around them


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Prices change: they come from the command line, never from this code."""

    read: float
    written: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of a run."""

    requests: int
    tokens_read: int
    tokens_written: int
    dollars: float | None  # None where nobody gave a price

    @property
    def cost(self) -> str:
        """What it costs, in words."""
        if self.dollars is None:
            return "at a price that was not given"
        return f"about ${self.dollars:.2f}" if self.dollars else "no charge"

    def __str__(self) -> str:
        size = f"{self.requests} requests, {self.tokens_read} tokens to read, {self.tokens_written} to write"
        return f"{size}, {self.cost}"


def estimate(chunks: Sequence[Chunk], per_chunk: int, price: Price | None, shared: Sequence[str] = ()) -> Estimate:
    """What these chunks cost, generously: without any gain from caching, and with answers of twice their usual length.

    `shared` are the texts that a back end sends with the chunks beside the instructions, one a request.
    """
    prompt_chars = sum(len(INSTRUCTIONS) + len(build_request(chunk, per_chunk)) for chunk in chunks)
    read = (prompt_chars + sum(map(len, shared))) // CHARS_PER_TOKEN
    written = len(chunks) * per_chunk * TOKENS_PER_PAIR
    dollars = None if price is None else (read * price.read + written * price.written) / 1e6
    return Estimate(len(chunks), read, written, dollars)


def check_budget(plan: Estimate, budget_dollars: float) -> None:
    """Raises UsageError where the plan costs more than the budget."""
    if plan.dollars is not None and plan.dollars > budget_dollars:
        raise UsageError(
            f"this run costs about ${plan.dollars:.2f}, more than the budget of ${budget_dollars:.2f}",
            remedy="Raise --budget, lower --per-chunk or take fewer documents",
        )
