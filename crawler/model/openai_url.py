"""Any service that speaks the chat completions protocol: Ollama, llama.cpp, vLLM, a model served by `trainer/`."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any

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
        answer = self._post(json.dumps(body).encode())
        try:
            text = answer["choices"][0]["message"]["content"]
            usage = answer.get("usage") or {}
            return Completion(str(text), int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0)))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Refused(f"{self.url} answered in another protocol") from error

    def _post(self, body: bytes) -> dict[str, Any]:
        url = PRESETS.get(self.url, self.url).rstrip("/") + "/chat/completions"
        if not url.startswith(("http://", "https://")):
            raise Refused(f"`{self.url}` is no address of a service")
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        request = urllib.request.Request(url, body, headers)  # noqa: S310  # http and https only, checked above
        try:
            with urllib.request.urlopen(request, timeout=OPENAI_SECONDS) as response:  # noqa: S310  # the same
                value = json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 429 or error.code >= 500:
                    raise Busy(f"{url} answered {error.code}") from error
                raise Refused(f"{url} answered {error.code}") from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise Busy(f"{url} cannot be reached") from error
        except ValueError as error:
            raise Refused(f"{url} answered no JSON") from error
        return value if isinstance(value, dict) else {}
