"""Pairs from a chat model behind Ollama or any OpenAI-compatible URL, a request a chunk."""

from trainer.errors import NeedsRepair
from trainer.extract.chunks import Chunk
from trainer.generate.prompt import INSTRUCTIONS, build_request, pairs_in_reply
from trainer.http_json import post_json
from trainer.pairs import Pair


class OllamaGenerator:
    """A model in a local Ollama, by its own API."""

    name = "ollama"

    def __init__(self, url: str, model: str):
        self.destination = f"{url.rstrip('/')}/api/chat"
        self.model = model

    def pairs(self, chunk: Chunk, count: int) -> list[Pair]:
        """At most `count` pairs. Raises NeedsRepair without a server, DataError on a reply without pairs."""
        body = {"model": self.model, "messages": build_messages(chunk, count), "stream": False}
        reply = post_json(self.destination, body)
        try:
            return pairs_in_reply(str(reply["message"]["content"]), chunk)[:count]
        except (KeyError, TypeError) as error:
            raise make_answer_error(self.destination) from error


class OpenAiGenerator:
    """A model behind `/chat/completions`."""

    name = "openai"

    def __init__(self, url: str, model: str, token: str = ""):
        self.destination = f"{url.rstrip('/')}/chat/completions"
        self.model = model
        self._token = token

    def pairs(self, chunk: Chunk, count: int) -> list[Pair]:
        """At most `count` pairs. Raises NeedsRepair without a server, DataError on a reply without pairs."""
        reply = post_json(
            self.destination, {"model": self.model, "messages": build_messages(chunk, count)}, token=self._token
        )
        try:
            return pairs_in_reply(str(reply["choices"][0]["message"]["content"]), chunk)[:count]
        except (KeyError, IndexError, TypeError) as error:
            raise make_answer_error(self.destination) from error


def build_messages(chunk: Chunk, count: int) -> list[dict[str, str]]:
    """The request as chat messages."""
    return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": build_request(chunk, count)}]


def make_answer_error(url: str) -> NeedsRepair:
    """The error for an answer that is JSON but holds no message."""
    return NeedsRepair("the server's answer holds no message", where=url, remedy="Check the address and the model")
