"""Redacts an entry in every field that can hold a person's words, nested arguments included."""

from typing import Any

import msgspec

from crawler.transcripts.entry import Entry, EntryPart
from memory_server.redaction import Redactor

MAX_DEPTH = 100  # of a call's arguments; deeper ones, which no tool takes, are left out, as not all could be masked


class EntryRedactor:
    """Applies a redactor to entries. Remembers short fields, which repeat on every entry of a session."""

    def __init__(self, redactor: Redactor):
        self.masked = 0  # secrets found so far
        self._redactor = redactor
        self._short: dict[str, str] = {}

    def redact(self, entry: Entry) -> Entry:
        """The entry without secrets; the same object where there were none."""
        if entry.is_link:
            return entry
        return msgspec.structs.replace(
            entry,
            parts=tuple(self._part(part) for part in entry.parts),
            cwd=self._redact_repeated(entry.cwd),
            branch=self._redact_repeated(entry.branch),
        )

    def _part(self, part: EntryPart) -> EntryPart:
        text = self._text(part.text)
        arguments = self._arguments(part.arguments)
        tool = self._redact_repeated(part.tool)
        if (text, arguments, tool) == (part.text, part.arguments, part.tool):
            return part
        return msgspec.structs.replace(part, text=text, arguments=arguments, tool=tool)

    def _text(self, text: str) -> str:
        redacted = self._redactor.redact(text)
        self.masked += len(redacted.spans)
        return redacted.text

    def _arguments(self, arguments: str) -> str:
        if not arguments:
            return ""
        try:
            before = msgspec.json.decode(arguments)
        except RecursionError:
            return ""
        if arguments.count("[") + arguments.count("{") > MAX_DEPTH and _is_deeper(before, MAX_DEPTH):
            return ""
        after = self._redactor.redact_json(before)
        if after == before:
            return arguments
        self.masked += 1
        return msgspec.json.encode(after).decode()

    def _redact_repeated(self, text: str) -> str:
        if text not in self._short:
            self._short[text] = self._redactor.redact(text).text
        return self._short[text]


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects lie in each other more than so many deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (depth == 0 or any(_is_deeper(item, depth - 1) for item in inner))
