"""Any service that speaks the chat completions protocol: Ollama, llama.cpp, vLLM, a model served by `trainer/`.

A proxy of the environment is used for a service elsewhere, never for one on this machine.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from crawler.model.budget import Price
from crawler.model.client import MAX_TOKENS, Busy, Completion, Prompt, Refused
from memory_server.machine.files import UNREADABLE_JSON

OPENAI_SECONDS = 600.0  # a small machine takes its time
MAX_ANSWER_BYTES = 8 << 20  # a reading takes some kilobytes
PRESETS = {"ollama": "http://127.0.0.1:11434/v1", "trainer": "http://127.0.0.1:3011/v1"}

TokenCount = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]


class SaidMessage(msgspec.Struct, frozen=True):
    """What a model said."""

    content: str | None


class AnswerChoice(msgspec.Struct, frozen=True):
    """One of the answers; one was asked for."""

    message: SaidMessage


class CountedTokens(msgspec.Struct, frozen=True):
    """What the service counted."""

    prompt_tokens: TokenCount = 0
    completion_tokens: TokenCount = 0


class ChatAnswer(msgspec.Struct, frozen=True):
    """An answer of the protocol, as far as it is read."""

    choices: tuple[AnswerChoice, ...]
    usage: CountedTokens | None = None


@dataclass(frozen=True, slots=True)
class OpenAIClient:
    """Posts to `<url>/chat/completions`. `url` may be the name of a preset."""

    model: str
    url: str
    price: Price = field(default_factory=Price)
    api_key: str = field(default="", repr=False)
    name: str = "openai-url"

    def complete(self, prompt: Prompt) -> Completion:
        body = {
            "model": self.model,
            "max_tokens": prompt.max_output_tokens,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": prompt.instructions},
                {"role": "user", "content": prompt.session},
            ],
        }
        try:
            answer = msgspec.json.decode(self._post(body), type=ChatAnswer)
            usage = answer.usage or CountedTokens()
            return Completion(answer.choices[0].message.content or "", usage.prompt_tokens, usage.completion_tokens)
        except (*UNREADABLE_JSON, IndexError) as error:
            raise Refused(f"{self.url} answered in another protocol") from error

    def _post(self, body: dict[str, Any]) -> bytes:
        import httpx  # noqa: PLC0415  more than all the rest of a command that asks no service

        url = PRESETS.get(self.url, self.url).rstrip("/") + "/chat/completions"
        if not url.casefold().startswith(("http://", "https://")):
            raise Refused(f"`{self.url}` is no address of a service")
        headers = {"Accept-Encoding": "identity"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        try:
            with (
                httpx.Client(headers=headers, timeout=OPENAI_SECONDS, trust_env=not is_loopback_url(url)) as client,
                client.stream("POST", url, json=body) as response,
            ):
                if response.status_code == 429 or response.status_code >= 500:
                    raise Busy(f"{url} answered {response.status_code}")
                if response.status_code != 200:
                    raise Refused(f"{url} answered {response.status_code}")
                return _read_bounded(response.iter_raw(), url)  # raw: what is packed may unpack to anything
        except httpx.HTTPError as error:
            raise Busy(f"{url} cannot be reached, or went away ({type(error).__name__})") from error
        except (httpx.InvalidURL, ValueError, ImportError) as error:  # an address, or a proxy, that it cannot use
            raise Refused(f"{url} cannot be asked: {error}") from error


def _read_bounded(pieces: Iterable[bytes], url: str) -> bytes:
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise Refused(f"{url} answered more than {MAX_ANSWER_BYTES >> 20} MB")
    return bytes(content)


def is_loopback_url(url: str) -> bool:
    """Whether an address is of this machine: `localhost`, or an address of the loopback."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
