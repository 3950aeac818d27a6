"""What passes between the rooms of a chat: passages, the request to a model, and the pieces of its answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from crawler.model.budget import Price
from memory_server.document import Layer, SourcePath
from memory_server.errors import NeedsRepair

CACHE_READ, CACHE_WRITE, LONG_CACHE_WRITE = 0.1, 1.25, 2.0  # of the price of input, by the Anthropic API's price list


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """Lines of a source, or turns of an archived session, as they are put before a model."""

    number: int  # from 1
    path: SourcePath
    layer: Layer
    title: str
    lines: tuple[tuple[int, str], ...]  # numbers from 1, in order; blank lines are left out
    unapproved: bool = False  # a topic that nobody approved as it stands
    is_cut: bool = False  # something of its lines is left out for length

    @property
    def is_approved(self) -> bool:
        return self.layer is Layer.TOPIC and not self.unapproved


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """An earlier turn of the conversation, as it is told to a model again."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """One request to a model, from what changes least to what changes most: so the service's cache can serve it."""

    rules: str
    index_page: str  # the memory's index page; may be empty
    history: Sequence[EarlierTurn]
    passages: Sequence[ShownPassage]
    question: str
    max_output_tokens: int

    @property
    def chars(self) -> int:
        earlier = sum(len(one.question) + len(one.answer) for one in self.history)
        shown = sum(len(text) for passage in self.passages for _, text in passage.lines)
        return len(self.rules) + len(self.index_page) + earlier + shown + len(self.question)


@dataclass(frozen=True, slots=True)
class Cited:
    """A model's claim that words stand in a passage; nobody has looked yet."""

    number: int  # of the passage
    words: str
    first: int = 0  # of its lines, both ends included; 0: anywhere in it
    last: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a service counted for one answer."""

    input_tokens: int = 0  # those that no cache knew
    output_tokens: int = 0
    cached_tokens: int = 0  # read from the service's cache
    cache_writes: int = 0  # written to it for minutes
    long_cache_writes: int = 0  # written to it for an hour

    def usd(self, price: Price) -> float:
        """What they cost in US dollars."""
        cached = self.cached_tokens * CACHE_READ + self.cache_writes * CACHE_WRITE
        written = self.long_cache_writes * LONG_CACHE_WRITE
        return price.compute_cost(round(self.input_tokens + cached + written), self.output_tokens)


Piece = str | Cited | Usage


class BackEndFailed(NeedsRepair):
    """A back end gave no answer, or stopped in the middle of one; the message names it."""


class BackEnd(Protocol):
    """A way to a model."""

    @property
    def name(self) -> str: ...

    @property
    def price(self) -> Price: ...

    @property
    def cites(self) -> bool:
        """Whether the service itself says what an answer rests on; else the rules ask the model to quote."""

    def stream(self, prompt: ChatPrompt) -> Iterator[Piece]:
        """The answer, piece by piece; closing it ends the request. Raises BackEndFailed, also in the middle."""
