"""Any service that speaks the chat completions protocol: Ollama, llama.cpp, vLLM, a model served by `trainer/`.

A proxy of the environment is used for a service elsewhere, never for one on this machine.
"""

import ipaddress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from crawler.model.budget import Price
from crawler.model.client import Busy, Completion, Prompt, Refused

OPENAI_SECONDS = 600.0  # a small machine takes its time
PRESETS = {"ollama": "http://127.0.0.1:11434/v1", "trainer": "http://127.0.0.1:3011/v1"}


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
        answer = self._post(body)
        try:
            text = answer["choices"][0]["message"]["content"] or ""
            usage = answer.get("usage") or {}
            return Completion(str(text), int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0)))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Refused(f"{self.url} answered in another protocol") from error

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        import httpx  # noqa: PLC0415  more than all the rest of a command that asks no service

        url = PRESETS.get(self.url, self.url).rstrip("/") + "/chat/completions"
        if not url.casefold().startswith(("http://", "https://")):
            raise Refused(f"`{self.url}` is no address of a service")
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        try:
            with httpx.Client(headers=headers, timeout=OPENAI_SECONDS, trust_env=not is_here(url)) as client:
                response = client.post(url, json=body)
        except httpx.HTTPError as error:
            raise Busy(f"{url} cannot be reached, or went away ({type(error).__name__})") from error
        except (httpx.InvalidURL, ValueError, ImportError) as error:  # an address, or a proxy, that it cannot use
            raise Refused(f"{url} cannot be asked: {error}") from error
        if response.status_code == 429 or response.status_code >= 500:
            raise Busy(f"{url} answered {response.status_code}")
        if response.status_code != 200:
            raise Refused(f"{url} answered {response.status_code}")
        try:
            value = response.json()
        except ValueError as error:
            raise Refused(f"{url} answered no JSON") from error
        return value if isinstance(value, dict) else {}


def is_here(url: str) -> bool:
    """Whether an address is of this machine: `localhost`, or an address of the loopback."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
