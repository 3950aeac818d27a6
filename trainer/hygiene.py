"""Text that must never become training data: secrets, and text that was decoded wrongly.

A model cannot be made to forget, so both are refused before a file is written and again when it is read. The patterns
are narrow on purpose: an ordinary sentence about passwords passes, a value that opens something does not.
"""

import re

SECRETS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an API key": re.compile(r"\b(?:sk|pk|rk)-(?:[a-z]+-)*[A-Za-z0-9_-]{16,}|\bsk_(?:live|test)_[A-Za-z0-9]{16,}"),
    "a cloud key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}\b"),
    "a forge token": re.compile(
        r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{30,}|\bglpat-[A-Za-z0-9_-]{20,}"
    ),
    "a chat token": re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "a model hub token": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    "a web token": re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    "a password in an address": re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]{3,}@"),
    "a password": re.compile(
        r"(?i)\b(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)[\"']?\s*[:=]\s*[\"']?"
        r"(?!\*|<|\$|\[|redacted|none\b|null\b|true\b|false\b)[^\s\"'`]{6,}"
    ),
}

# UTF-8 read as Latin-1 or cp1252: a lead byte shown as a letter, then a continuation byte shown as a sign.
MOJIBAKE = re.compile(
    "[\u00c2\u00c3][\u0080-\u00bf]|\u00e2(?:\u20ac|\u0080)[\u0080-\u00bf\u2018-\u203a\u0153\u0161\u2122]?"
)
REPLACEMENT = "\ufffd"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def find_fault(text: str) -> str | None:
    """What forbids this text as training data, as a noun phrase; None where nothing does. Never quotes the text."""
    if REPLACEMENT in text:
        return "replacement characters of a failed decoding"
    if CONTROL.search(text):
        return "control characters"
    if MOJIBAKE.search(text):
        return "mis-decoded text"
    return next((name for name, pattern in SECRETS.items() if pattern.search(text)), None)
