"""Any service that streams chat completions: Ollama, llama.cpp, vLLM. It is asked to quote, and is not believed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from crawler.model.budget import Price
from crawler.model.openai_url import PRESETS
from parts.chat.context import question_text, system_text
from parts.chat.records import BackEndFailed, ChatPrompt, Piece, Usage

CONNECT_SECONDS, SILENT_SECONDS = 10.0, 120.0  # a small machine reads a long prompt for a while
END = "[DONE]"


def build_messages(prompt: ChatPrompt) -> list[dict[str, str]]:
    """A request as messages of the chat completions protocol."""
    messages = [{"role": "system", "content": system_text(prompt)}]
    for turn in prompt.history:
        messages += [{"role": "user", "content": turn.question}, {"role": "assistant", "content": turn.answer}]
    return [*messages, {"role": "user", "content": question_text(prompt)}]


@dataclass(frozen=True, slots=True)
class OpenAIBackEnd:
    """Posts to `<url>/chat/completions`. `url` may be the name of a preset."""

    model: str
    url: str
    price: Price = field(default_factory=Price)
    api_key: str = field(default="", repr=False)
    cites: bool = False

    @property
    def name(self) -> str:
        return f"openai-url ({self.url or 'no address'})"

    def stream(self, prompt: ChatPrompt) -> Iterator[Piece]:
        import httpx  # noqa: PLC0415  more than all the rest of a command that asks no service

        url = PRESETS.get(self.url, self.url).rstrip("/")
        body = {
            "model": self.model,
            "messages": build_messages(prompt),
            "max_tokens": prompt.max_output_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        is_plain = url.casefold().startswith("http://")  # else all certificates are read, which takes 30 ms
        timeout = httpx.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
        try:
            with (
                httpx.Client(headers=headers, timeout=timeout, trust_env=False, verify=not is_plain) as client,
                client.stream("POST", f"{url}/chat/completions", json=body) as response,
            ):
                if response.status_code != 200:
                    raise BackEndFailed(f"{self.name} answered {response.status_code}", remedy="See its log")
                yield from self._pieces(response.iter_lines())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            what = f"{self.name} cannot be reached, or went away ({type(error).__name__})"
            raise BackEndFailed(what, remedy="Start it, or set chat_url") from error

    def _pieces(self, lines: Iterator[str]) -> Iterator[Piece]:
        for line in lines:
            data = line.removeprefix("data:").strip()
            if data == END:
                return
            if not line.startswith("data:") or not data:
                continue
            try:
                event = json.loads(data)
                if "error" in event:
                    raise BackEndFailed(f"{self.name} failed: {event['error']}"[:400])
                for choice in event.get("choices", ()):
                    if piece := choice.get("delta", {}).get("content"):
                        yield str(piece)
                if usage := event.get("usage"):
                    cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
                    uncached = int(usage.get("prompt_tokens", 0)) - cached
                    yield Usage(uncached, int(usage.get("completion_tokens", 0)), cached)
            except (ValueError, AttributeError, TypeError) as error:
                raise BackEndFailed(f"{self.name} answers in another protocol") from error
        raise BackEndFailed(f"{self.name} went away in the middle of an answer", remedy="Ask again")
