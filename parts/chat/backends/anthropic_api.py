"""The Anthropic API: passages go as `search_result` blocks, a text block a line, and its citations come back with them.

A block's number is a line's, so a citation names the lines; they are looked up again all the same. What changes least
stands first, for the service's cache: rules and index page for an hour, the history for minutes, the passages last
and uncached.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crawler.model.budget import Price
from parts.chat.records import BackEndFailed, ChatPrompt, Cited, Piece, ShownPassage, Usage

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 120.0
AN_HOUR, MINUTES = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}  # the longer one must come first


@dataclass(frozen=True, slots=True)
class AnthropicBackEnd:
    """Streams one message."""

    model: str
    api_key: str = field(repr=False)
    price: Price
    base_url: str | None = None
    name: str = "anthropic"
    cites: bool = True

    def stream(self, prompt: ChatPrompt) -> Iterator[Piece]:
        try:
            import anthropic  # noqa: PLC0415  half a second to import, an extra, and most runs never ask a service
        except ImportError as error:
            raise BackEndFailed(
                "anthropic: its package is missing", remedy="pip install 'oneiros[anthropic]'"
            ) from error

        client = anthropic.Anthropic(
            api_key=self.api_key, base_url=self.base_url, max_retries=0, timeout=TIMEOUT_SECONDS
        )
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": prompt.max_output_tokens,
            "system": system_blocks(prompt),
            "messages": build_messages(prompt),
        }
        try:
            with client, client.messages.create(**request, stream=True) as events:
                yield from _pieces(events, prompt.passages)
        except anthropic.APIStatusError as error:
            raise BackEndFailed(f"anthropic answered {error.status_code}: {error.message}"[:400]) from error
        except anthropic.APIError as error:
            raise BackEndFailed(f"anthropic cannot be reached, or went away: {error.message}"[:400]) from error


def system_blocks(prompt: ChatPrompt) -> list[dict[str, Any]]:
    """Rules and index page, kept by the service for an hour."""
    texts = [prompt.rules, *([f"The memory's index page, data too:\n{prompt.index_page}"] if prompt.index_page else [])]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    blocks[-1]["cache_control"] = AN_HOUR
    return blocks


def build_messages(prompt: ChatPrompt) -> list[dict[str, Any]]:
    """History, then this turn's passages and question."""
    messages: list[dict[str, Any]] = []
    for turn in prompt.history:
        messages += [
            {"role": "user", "content": [{"type": "text", "text": turn.question}]},
            {"role": "assistant", "content": [{"type": "text", "text": turn.answer}]},
        ]
    if messages:
        messages[-1]["content"][-1]["cache_control"] = MINUTES
    found = [search_result(passage) for passage in prompt.passages]
    return [*messages, {"role": "user", "content": [*found, {"type": "text", "text": prompt.question}]}]


def search_result(passage: ShownPassage) -> dict[str, Any]:
    """A passage as a block that can be cited line by line."""
    kind = "topic, rank 1" if passage.is_approved else f"{passage.layer}, said at some time, not approved"
    return {
        "type": "search_result",
        "source": make_source_url(passage),
        "title": f"{kind}: {passage.title or passage.path}",
        "content": [{"type": "text", "text": f"{text}\n"} for _, text in passage.lines],
        "citations": {"enabled": True},
    }


def make_source_url(passage: ShownPassage) -> str:
    return f"oneiros://{passage.path}:{passage.lines[0][0]}"


def _pieces(events: Any, passages: Sequence[ShownPassage]) -> Iterator[Piece]:
    usage, is_over = dict[str, Any](), False
    for event in events:
        if event.type == "message_start":
            usage = event.message.usage.to_dict()
            diagnostics = getattr(event.message, "diagnostics", None)
            if diagnostics is not None and getattr(diagnostics, "cache_miss_reason", None):
                logger.debug("the service's cache missed: %s", diagnostics.cache_miss_reason)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "citations_delta":
            yield parse_citation(event.delta.citation, passages)
        elif event.type == "message_delta":
            usage |= {name: count for name, count in event.usage.to_dict().items() if count is not None}
        is_over = is_over or event.type == "message_stop"
    yield parse_usage(usage)
    if not is_over:
        raise BackEndFailed("anthropic went away in the middle of an answer", remedy="Ask again")


def parse_citation(citation: Any, passages: Sequence[ShownPassage]) -> Cited:
    """A citation as a claim about lines of a passage; about none where it names what was not sent."""
    number = getattr(citation, "search_result_index", -1)
    first, end = getattr(citation, "start_block_index", 0), getattr(citation, "end_block_index", 0)
    words = citation.cited_text
    if not 0 <= number < len(passages) or citation.source != make_source_url(passages[number]):
        return Cited(0, words)
    lines = passages[number].lines
    if not 0 <= first < end <= len(lines):
        return Cited(0, words)
    return Cited(passages[number].number, words, lines[first][0], lines[end - 1][0])


def parse_usage(usage: dict[str, Any]) -> Usage:
    """The tokens, those written to the cache by how long they are kept."""
    written = usage.get("cache_creation") or {}
    long = int(written.get("ephemeral_1h_input_tokens") or 0)
    return Usage(
        int(usage.get("input_tokens") or 0),
        int(usage.get("output_tokens") or 0),
        int(usage.get("cache_read_input_tokens") or 0),
        max(0, int(usage.get("cache_creation_input_tokens") or 0) - long),
        long,
    )
