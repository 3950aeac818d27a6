"""The Anthropic API as a client, through its own package."""

from dataclasses import dataclass, field
from typing import Any

from crawler.model.budget import Price
from crawler.model.client import Busy, Completion, Prompt, Refused

ANTHROPIC_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class AnthropicClient:
    """Sends one message. Retries are the caller's, not the package's."""

    model: str
    api_key: str = field(repr=False)
    price: Price
    base_url: str | None = None
    name: str = "anthropic"

    def complete(self, prompt: Prompt) -> Completion:
        try:
            import anthropic  # noqa: PLC0415  # half a second to import, an extra, and most runs never ask a service
        except ImportError as error:
            raise Refused("the anthropic package is missing: pip install 'oneiros[anthropic]'") from error

        client = anthropic.Anthropic(
            api_key=self.api_key, base_url=self.base_url, max_retries=0, timeout=ANTHROPIC_SECONDS
        )
        with client:
            try:
                message: Any = client.messages.create(
                    model=self.model,
                    max_tokens=prompt.max_output_tokens,
                    system=prompt.instructions,
                    messages=[{"role": "user", "content": prompt.session}],
                )
            except (anthropic.RateLimitError, anthropic.InternalServerError, anthropic.APIConnectionError) as error:
                raise Busy(f"the Anthropic API is busy ({type(error).__name__})") from error
            except anthropic.APIError as error:
                raise Refused(f"the Anthropic API refused: {error.message}") from error
        text = "".join(block.text for block in message.content if block.type == "text")
        return Completion(text, message.usage.input_tokens, message.usage.output_tokens)
