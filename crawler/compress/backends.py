"""The back ends of compression, and how each is built from settings.

Settings come from the person's own file alone (DESIGN section 2): a cloned repository must not choose what is paid for
or where a session is sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from crawler.archive.store import SessionRecord
from crawler.compress.extractive import compress_extractively
from crawler.compress.model.anthropic_api import AnthropicClient
from crawler.compress.model.budget import Price
from crawler.compress.model.claude_cli import ClaudeCliClient
from crawler.compress.model.compressor import ModelClient
from crawler.compress.model.openai_url import OpenAIClient
from crawler.facts import SessionFacts
from crawler.transcripts.turns import Turn
from memory_server.errors import UsageError
from memory_server.layers.sessions import CompressedSession


class Compressor(Protocol):
    """Makes a digest of a session's turns. It never raises for a session it cannot do: it falls back, and says so."""

    def compress(self, turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession: ...


class ExtractiveCompressor:
    """The default: quotes only, without a model."""

    def compress(self, turns: Sequence[Turn], facts: SessionFacts, record: SessionRecord) -> CompressedSession:
        return compress_extractively(turns, facts, record)


@dataclass(frozen=True, slots=True)
class BackEndSettings:
    """Which back end to use and how to reach it."""

    name: str = "extractive"
    model: str = ""
    url: str = ""  # of an OpenAI-compatible service, or a preset: ollama, trainer; of another Anthropic endpoint
    api_key: str = field(default="", repr=False)
    price: Price = field(default_factory=Price)
    folder: Path = Path("claude-cli")  # where the Claude command line runs; a directory of its own


def _anthropic(settings: BackEndSettings) -> ModelClient:
    return AnthropicClient(settings.model, settings.api_key, settings.price, settings.url or None)


def _openai_url(settings: BackEndSettings) -> ModelClient:
    return OpenAIClient(settings.model, settings.url, settings.price, settings.api_key)


def _claude_cli(settings: BackEndSettings) -> ModelClient:
    return ClaudeCliClient(settings.folder, settings.price, model=settings.model)


MODEL_BACK_ENDS: dict[str, Callable[[BackEndSettings], ModelClient]] = {
    "anthropic": _anthropic,
    "claude-cli": _claude_cli,
    "openai-url": _openai_url,
}


def build_client(settings: BackEndSettings) -> ModelClient:
    """The way to the model that the settings name. Raises UsageError for a name that is none of ours."""
    if settings.name not in MODEL_BACK_ENDS:
        known = ", ".join(["extractive", *MODEL_BACK_ENDS])
        raise UsageError(f"there is no back end `{settings.name}`", remedy=f"Choose one of: {known}")
    return MODEL_BACK_ENDS[settings.name](settings)
