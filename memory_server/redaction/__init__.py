"""Masks secrets in text before anything is written."""

from memory_server.redaction.redactor import Redacted, Redactor, Span, redact

__all__ = ["Redacted", "Redactor", "Span", "redact"]
