"""Masks secrets."""

import re

PATTERNS = re.compile(
    r"(?i)(?:sk-[a-z0-9_-]{16,}|gh[pousr]_[a-z0-9]{20,}|AKIA[0-9A-Z]{16}|xox[abpr]-[a-z0-9-]{10,}"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)|(?<=bearer )[a-z0-9._~+/=-]{16,})"
)


def redact(text: str) -> str:
    """The text with what looks like a secret masked."""
    return PATTERNS.sub("[redacted]", text)
