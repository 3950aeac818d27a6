"""The person's own Claude command line: no tools, no servers, no hooks, and no transcript that could be taken in."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawler.model.budget import Price
from crawler.model.claude_cli import RECURSION_GUARD
from parts.chat.context import question_text, system_text
from parts.chat.records import BackEndFailed, ChatPrompt, Piece, Usage

ALONE = (
    "-p --output-format stream-json --verbose --include-partial-messages --no-session-persistence --strict-mcp-config"
).split()
ALONE += ["--mcp-config", '{"mcpServers":{}}', "--tools", "", "--settings", '{"disableAllHooks":true}']
END_SECONDS = 5.0  # for the process to go by itself


@dataclass(frozen=True, slots=True)
class ClaudeCliBackEnd:
    """Runs `claude -p`. `folder` is a directory of its own, so that no project's settings apply."""

    folder: Path
    price: Price = field(default_factory=Price)  # the person's subscription pays
    command: str = "claude"
    model: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    name: str = "claude-cli"
    cites: bool = False

    def stream(self, prompt: ChatPrompt) -> Iterator[Piece]:
        self.folder.mkdir(parents=True, exist_ok=True)
        model = ["--model", self.model] if self.model else []
        with tempfile.TemporaryFile() as request_file:  # a pipe would fill where nobody reads it yet
            request_file.write(request_text(prompt).encode("utf-8", "replace"))
            request_file.seek(0)
            try:
                process = subprocess.Popen(
                    [self.command, *ALONE, *model],
                    stdin=request_file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=self.folder,
                    env={**self.environment, RECURSION_GUARD: "1"},
                )
            except OSError as error:
                remedy = "Install Claude Code, or set another chat_backend"
                raise BackEndFailed(f"claude-cli: `{self.command}` does not start", remedy=remedy) from error
        try:
            assert process.stdout is not None
            yield from _pieces(process.stdout)
        finally:  # the reader may have left
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def request_text(prompt: ChatPrompt) -> str:
    """Everything as one text, since the command line keeps no session."""
    history = "".join(f"I asked: {one.question}\nYou answered: {one.answer}\n\n" for one in prompt.history)
    return f"{system_text(prompt)}\n{history}{question_text(prompt)}"


def _pieces(lines: Any) -> Iterator[Piece]:
    for line in lines:
        try:
            event = json.loads(line)
            kind = event.get("type")
        except (ValueError, AttributeError):
            continue
        if kind == "stream_event":
            delta = (event.get("event") or {}).get("delta") or {}
            if delta.get("type") == "text_delta":
                yield str(delta.get("text", ""))
        elif kind == "result":
            if event.get("is_error"):
                raise BackEndFailed(f"claude-cli failed: {event.get('result') or event.get('subtype')}"[:400])
            yield parse_usage(event.get("usage") or {})
            return
    raise BackEndFailed("claude-cli ended without an answer", remedy="Try `claude -p hello` in a terminal")


def parse_usage(usage: Mapping[str, Any]) -> Usage:
    """The tokens that the client counted."""
    written = int(usage.get("cache_creation_input_tokens") or 0)
    read = int(usage.get("cache_read_input_tokens") or 0)
    return Usage(int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0), read, written)
