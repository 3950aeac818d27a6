"""The ways to a model, and how each is built from settings.

Settings come from the person's own file alone: a cloned repository must not choose what is paid for or where a session
is sent. Retries are `client.py`'s, not a package's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crawler.model.anthropic_api import AnthropicClient
from crawler.model.budget import Price
from crawler.model.claude_cli import ClaudeCliClient
from crawler.model.client import ModelClient
from crawler.model.openai_url import OpenAIClient
from memory_server.errors import UsageError


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which way to use and how."""

    name: str = "claude-cli"
    model: str = ""
    url: str = ""  # of an OpenAI-compatible service, or a preset: ollama, trainer; of another Anthropic endpoint
    api_key: str = field(default="", repr=False)
    price: Price = field(default_factory=Price)
    folder: Path = Path("claude-cli")  # where the Claude command line runs; a directory of its own


CLIENTS: dict[str, Callable[[ModelSettings], ModelClient]] = {
    "anthropic": lambda one: AnthropicClient(one.model, one.api_key, one.price, one.url or None),
    "claude-cli": lambda one: ClaudeCliClient(one.folder, one.price, model=one.model),
    "openai-url": lambda one: OpenAIClient(one.model, one.url, one.price, one.api_key),
}


def build_client(settings: ModelSettings) -> ModelClient:
    """The way to the model that the settings name. Raises UsageError for a name that is none of ours."""
    if settings.name not in CLIENTS:
        known = ", ".join(["rules", *CLIENTS])
        raise UsageError(f"there is no reader `{settings.name}`", remedy=f"Choose one of: {known}")
    return CLIENTS[settings.name](settings)
