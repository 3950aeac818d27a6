"""Masks secrets in text before anything is written."""

from memory_server.redaction.redactor import Redacted, Redactor, redact
from memory_server.redaction.values import Span

__all__ = ["Redacted", "Redactor", "Span", "redact"]
