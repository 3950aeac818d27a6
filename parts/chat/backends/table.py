"""Which back ends there are, and how each is built from a person's settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crawler.model.budget import Price
from parts.chat.backends.anthropic_api import AnthropicBackEnd
from parts.chat.backends.claude_cli import ClaudeCliBackEnd
from parts.chat.backends.openai_compatible import OpenAIBackEnd
from parts.chat.records import BackEnd


@dataclass(frozen=True, slots=True)
class ChatService:
    """How to reach a model."""

    model: str
    url: str  # of an OpenAI-compatible service, or a preset; of another Anthropic endpoint
    api_key: str = field(repr=False)
    price: Price
    folder: Path  # where the Claude command line runs
    variables: Mapping[str, str] = field(repr=False)


BACK_ENDS: dict[str, Callable[[ChatService], BackEnd]] = {
    "anthropic": lambda service: AnthropicBackEnd(service.model, service.api_key, service.price, service.url or None),
    "claude-cli": lambda service: ClaudeCliBackEnd(service.folder, model=service.model, environment=service.variables),
    "openai-url": lambda service: OpenAIBackEnd(service.model, service.url, service.price, service.api_key),
}
