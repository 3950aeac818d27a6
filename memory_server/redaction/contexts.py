"""Passwords that show themselves by the command, the address or the header around them."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from memory_server.redaction.randomness import is_worded
from memory_server.redaction.span import Span, pattern
from memory_server.redaction.values import is_code, is_placeholder

WORD = r"['\"]?([^\s'\"$][^\s'\"]{3,})"
# Kind, words in lower case of which one is there, and the shape; the secret is group 1. Each is searched for alone: in
# one alternation a command that never ends would hold up every match behind it.
CONTEXTS = (
    ("password-in-url", "://", r"://[^\s:/@\"'<>`$]*:([^\s/@\"'<>`][^\s@\"'<>`/]*[^\s@\"'<>`]*)@[A-Za-z0-9\[]"),
    ("azure-sas", "sig=", r"[?&](?:sig|se_sig)=([A-Za-z0-9%+/]{30,}={0,2})"),
    ("signed-url", "-signature=", r"-Signature=([a-fA-F0-9]{40,})"),
    ("sql-password", "identified", r"(?i)identified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?['\"]([^'\"\s]{4,})['\"]"),
    ("chpasswd", "chpasswd", r"[\w.-]+:([^\s'\":]{4,})['\"]?\s*\|\s*(?:sudo\s+)?chpasswd"),
    ("openssl-password", "pass:", r"\spass:([^\s'\"$]{4,})"),
    ("htpasswd", "htpasswd", rf"htpasswd\s+-[A-Za-z]*b[A-Za-z]*\s+\S+\s+\S+\s+{WORD}"),
    ("ssh-password", "sshpass", r"sshpass\s+-p\s*['\"]?([^\s'\"]+)"),
    ("curl-user", "curl", r"curl\b[^\n|;]*?\s(?:-u|--user|--proxy-user)[ =]?['\"]?[^\s:'\"$]+:([^\s'\"]{3,})"),
    ("mysql-password", "mysql mariadb", r"(?:mysql|mariadb)[a-z]*\b[^\n|;&]*?\s-p([^\s'\"$][^\s'\"]{3,})"),
    ("redis-password", "redis-cli", rf"redis-cli\b[^\n|;&]*?\s-a\s+{WORD}"),
    ("docker-login", "login", rf"login\b[^\n|;&]*?\s-p\s+{WORD}"),
    ("basic-auth", "basic", r"(?i:\bbasic)\s+([A-Za-z0-9+/]{12,}={0,2})"),
    ("bearer-token", "bearer", r"(?i:\bbearer)\s+([\w.~+/-]{16,}={0,2})"),
    ("netrc", "machine", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(\S+)"),
    ("pgpass", ":5432: :*:", r"(?m)^[\w.*-]+:(?:5432|\*):[\w*-]+:[\w*-]+:(\S+)$"),
    (
        "private-key",
        "-----begin",
        r"(-----BEGIN[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\s|\\[nrt])*[A-Z][A-Za-z-]+: [^\n\\]*)*"
        r"(?:[^-]{24,}-----END[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nrt])*[A-Za-z0-9+/=]{24,})+))",
    ),
    ("putty-key", "private-lines", r"Private-Lines: \d+\s+((?:[A-Za-z0-9+/=]+\s*)+)"),
    ("seed-phrase", "mnemonic phrase", r"(?i:mnemonic|(?:seed|recovery)[ _-]?phrase)[\"'`]?\s*(?:[:=]|is)\s*[\"'`]?"
     r"((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})"),
    ("cookie", "cookie", r"(?i)cookie['\"]?:\s*['\"]?([^\n\"']{8,})"),
    ("terraform-default", "variable", r"variable\s+\"[^\"]*(?:password|secret|token|key)[^\"]*\"\s*\{[^}]*?"
     r"default\s*=\s*\"([^\"\s]{6,})\""),
    ("private-key", "kty", r"[\"'](?:d|p|q|dp|dq|qi|k)\\?[\"']\s*:\s*\\?[\"']([\w-]{20,})"),
)  # fmt: skip
COOKIE = pattern(r"(?i)[\w.-]*(?:sess|sid|token|auth|jwt)[\w.-]*=([^\s;,]{8,})")
WHOLE = frozenset("private-key putty-key seed-phrase azure-sas signed-url".split())  # no plain value to doubt
RANDOM_ONLY = frozenset(("basic-auth", "bearer-token"))  # the word before them stands in prose too


class Context(NamedTuple):
    kind: str
    words: tuple[bytes, ...]
    shape: Any


@cache
def contexts() -> tuple[Context, ...]:
    """The table, compiled once."""
    return tuple(Context(kind, tuple(words.encode().split(b" ")), pattern(shape)) for kind, words, shape in CONTEXTS)


def find(data: bytes) -> Iterator[Span]:
    lower = data.lower()
    for context in contexts():
        if any(word in lower for word in context.words):
            for match in context.shape.finditer(data):
                if context.kind == "cookie":
                    yield from (Span(*part.span(1), "cookie") for part in COOKIE.finditer(data, *match.span(1)))
                elif is_secret(context.kind, match[1].decode(errors="replace")):
                    yield Span(*match.span(1), context.kind)


def is_secret(kind: str, value: str) -> bool:
    """Whether something stands there, rather than `$TOKEN`, `password` or a word of the sentence."""
    if kind in WHOLE:
        return len(set(value)) >= 8
    if kind in RANDOM_ONLY and is_worded(value.rstrip("=")):
        return False
    return not (is_placeholder(value) or is_code(value))
