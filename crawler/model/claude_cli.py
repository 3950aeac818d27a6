"""The person's own Claude command line as a client, without hooks, without tools, leaving no transcript behind."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crawler.model.budget import Price
from crawler.model.client import Busy, Completion, LimitReached, Prompt, Refused

CLAUDE_SECONDS = 300.0
LIMIT = re.compile(r"\b(?:usage|hour|weekly|session|your) limit\b|\blimit reached\b", re.IGNORECASE)
LIMIT_MET = "the usage limit of the Claude subscription is met"
RECURSION_GUARD = "ONEIROS_OWN_CALL"  # set for the process, so that our own hooks do nothing in it


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
                encoding="utf-8",
                errors="replace",
                timeout=CLAUDE_SECONDS,
                cwd=self.folder,
                env={**self.environment, RECURSION_GUARD: "1"},
                check=False,
            )
        except FileNotFoundError as error:
            raise Refused(f"`{self.command}` is not installed") from error
        except OSError as error:
            raise Refused(f"`{self.command}` cannot be run: {error.strerror}") from error
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
        return Completion(
            str(value["result"] or ""), int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))
        )
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise Refused("the Claude command line answered no JSON") from error
