"""The ways to a model, and how each is built from settings: the Anthropic API through its own package, any service that
speaks the chat completions protocol, and the person's own Claude command line.

Settings come from the person's own file alone: a cloned repository must not choose what is paid for or where a session
is sent. Retries are `client.py`'s, not a package's.
"""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawler.model.budget import Price
from crawler.model.client import Busy, Completion, LimitReached, ModelClient, Prompt, Refused
from memory_server.errors import UsageError

ANTHROPIC_SECONDS = 120.0
OPENAI_SECONDS = 600.0  # a small machine takes its time
PRESETS = {"ollama": "http://127.0.0.1:11434/v1", "trainer": "http://127.0.0.1:3011/v1"}
CLAUDE_SECONDS = 300.0
LIMIT = re.compile(r"\b(?:usage|hour|weekly|session|your) limit\b|\blimit reached\b", re.IGNORECASE)
LIMIT_MET = "the usage limit of the Claude subscription is met"
RECURSION_GUARD = "ONEIROS_OWN_CALL"  # set for the process, so that our own hooks do nothing in it


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


@dataclass(frozen=True, slots=True)
class ClaudeCliClient:
    """Runs `claude -p`. `folder` is a directory of its own, so that no project's settings apply."""

    folder: Path
    price: Price
    command: str = "claude"
    model: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    name: str = "claude-cli"

    def complete(self, prompt: Prompt) -> Completion:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(
                self._arguments(),
                input=f"{prompt.instructions}\n{prompt.session}",
                capture_output=True,
                text=True,
                timeout=CLAUDE_SECONDS,
                cwd=self.folder,
                env={**self.environment, RECURSION_GUARD: "1"},
                check=False,
            )
        except FileNotFoundError as error:
            raise Refused(f"`{self.command}` is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise Busy(f"`{self.command}` gave no answer in {CLAUDE_SECONDS:.0f} s") from error
        if done.returncode != 0 and LIMIT.search(done.stdout + done.stderr):
            raise LimitReached(LIMIT_MET)
        if done.returncode != 0:
            raise Busy(f"`{self.command}` ended with {done.returncode}")
        return parse_completion(done.stdout)

    def _arguments(self) -> list[str]:
        arguments = [self.command, "-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config"]
        arguments += ["--settings", '{"disableAllHooks":true}', "--tools", ""]
        return [*arguments, "--model", self.model] if self.model else arguments


def parse_completion(output: str) -> Completion:
    """The answer in the JSON that `claude -p` prints. Raises LimitReached or Refused where it is none."""
    try:
        value = json.loads(output)
        usage = value.get("usage") or {}
        if value.get("is_error") and LIMIT.search(str(value.get("result"))):
            raise LimitReached(LIMIT_MET)
        if value.get("is_error"):
            raise Refused(f"the Claude command line failed: {value.get('result')}")
        return Completion(str(value["result"]), int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0)))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Refused("the Claude command line answered no JSON") from error
