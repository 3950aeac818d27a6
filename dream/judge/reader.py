"""The model that a person lets read, as dream asks it: one prompt, one JSON object back, and nothing in it believed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crawler.model.client import Completion, Prompt
from crawler.reading.lines import is_safe_text
from memory_server.redaction import Redactor

Ask = Callable[[Prompt], Completion]  # raises Refused or LimitReached where the model is not to be had
NO_ANSWER = "the model's answer was none"
MaySee = Callable[[str, Sequence[str]], bool]  # a project, and files of it


@dataclass(slots=True)
class ReaderRun:
    """How far a reader came with some statements."""

    statements: int = 0  # that it was asked about
    left: int = 0  # that the next run asks about
    stopped: str = ""  # why; never empty where any are left


@dataclass(frozen=True, slots=True)
class DreamReader:
    """A way to the model, and whose statements may be sent to it."""

    ask: Ask
    redactor: Redactor
    may_see: MaySee = lambda *_: True

    def answer(self, prompt: Prompt) -> dict[str, Any]:
        """The object that the model answers with; empty where it answers with none. Raises as `ask` does.

        What looks like a secret in a topic or a file is masked before it is sent.
        """
        text = self.ask(replace(prompt, session=self.redactor.redact(prompt.session).text)).text
        try:
            parsed = json.loads(text[text.find("{") : text.rfind("}") + 1])
        except (ValueError, RecursionError):
            return {}
        return parsed if isinstance(parsed, dict) else {}

    def clean(self, value: object, most: int) -> str:
        """A text of an answer on one line; empty where it is none, is too long, hides something, holds a secret or
        speaks to an assistant.
        """
        text = " ".join(value.split()) if isinstance(value, str) else ""
        is_plain = bool(text) and len(text) <= most and any(map(str.isalnum, text)) and is_safe_text(text)
        return text if is_plain and not self.redactor.redact(text).spans else ""
