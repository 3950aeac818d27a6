"""Passwords that show themselves by the command, the address or the header around them."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from memory_server.redaction.values import Span, is_code, is_placeholder, is_worded, pattern

WORD = r"['\"]?([^\s'\"$][^\s'\"]{3,})"
CODE = r"(?:[a-z]{0,9}[0-9][a-z0-9-]{4,}|[a-z]{3,9}-[a-z]*[0-9][a-z0-9-]*)"  # one of a list, as services print them
# Kind, how its place begins, and the rest, up to REACH bytes behind that; the secret is group 1.
CONTEXTS = (
    ("password-in-url", r"://[^\s:/@\"'<>`$]*:", r"([^\s/@\"'<>`][^\s@\"'<>`/]*[^\s@\"'<>`]*)@[A-Za-z0-9\[]"),
    ("azure-sas", r"[?&](?:se_)?sig=", r"([A-Za-z0-9%+/]{30,}={0,2})"),
    ("signed-url", r"-signature=", r"([a-fA-F0-9]{40,})"),
    ("sql-password", r"identified\s", r"\s*(?:with\s+\S+\s+)?by\s+(?:password\s+)?['\"]([^'\"\s]{4,})['\"]"),
    (
        "piped-password",
        r"echo\s",
        (
            r"\s*(?:-n\s+)?['\"]?(?:[\w.-]+:)?([^\s'\":$]{4,})['\"]?\s*\|\s*"
            r"(?:(?:sudo\s+)?chpasswd|sudo\s+(?:-\w+\s+)*-S\b)"
        ),
    ),
    ("windows-credential", r"\bcmdkey\s", r"[^\n|;&]*?/pass(?:word)?[:=]\s*['\"]?([^\s'\"$/*%<][^\s'\"]{3,})"),
    ("net-use", r"\bnet\s+use\s", r"[^\n|;&]*?(?:/user:\S+|\\\\\S+)\s+['\"]?([^\s'\"$/*][^\s'\"]{3,})"),
    ("archive-password", r"\b(?:un)?zip\s", rf"[^\n|;&]*?(?-i:-P)\s*{WORD}"),
    ("archive-password", r"\b(?:7z[ar]?|(?:un)?rar)\s", rf"[^\n|;&]*?\s-h?p{WORD}"),
    ("oauth-code", r"[?&](?:code|auth_code|device_code)=", r"([\w./+~%-]{12,})"),
    (
        "recovery-code",
        r"\b(?:recovery|backup|rescue|scratch|2fa|mfa)[ _-]codes?\b",
        rf"[^\n:=]{{0,40}}[:=]\s*\[?[\"'`\s*-]*({CODE}(?:[\"'`\s,;*-]+{CODE})*)",
    ),
    ("openssl-password", r"\spass:", r"([^\s'\"$]{4,})"),
    ("htpasswd", r"htpasswd\s", rf"\s*-[a-z]*b[a-z]*\s+\S+\s+\S+\s+{WORD}"),
    ("ssh-password", r"sshpass\s", r"\s*-p\s*['\"]?([^\s'\"]+)"),
    ("curl-user", r"\bcurl\s", r"[^\n|;]*?(?:-u|--user|--proxy-user)[ =]?['\"]?[^\s:'\"$]+:([^\s'\"]{3,})"),
    ("mysql-password", r"\b(?:mysql|mariadb)[a-z]*\s", r"[^\n|;&]*?-p([^\s'\"$][^\s'\"]{3,})"),
    ("redis-password", r"redis-cli\s", rf"[^\n|;&]*?-a\s+{WORD}"),
    ("ldap-password", r"\bldap[a-z]+\s", rf"[^\n|;&]*?-w\s+{WORD}"),
    ("sql-server-password", r"\b(?:sqlcmd|bcp|osql)\s", rf"[^\n|;&]*?-P\s*{WORD}"),
    ("openssl-password", r"\bopenssl\s", rf"[^\n|;&]*?\s-k\s+{WORD}"),
    ("secure-string", r"convertto-securestring\s", rf"\s*(?:-string\s+)?{WORD}"),
    ("docker-login", r"\blogin\s", rf"[^\n|;&]*?-p\s+{WORD}"),
    ("basic-auth", r"\bbasic\s", r"\s*([A-Za-z0-9+/]{12,}={0,2})"),
    ("bearer-token", r"\bbearer\s", r"\s*([\w.~+/-]{16,}={0,2})"),
    ("netrc", r"\bmachine\s", r"\s*\S+\s+login\s+\S+\s+password\s+(\S+)"),
    ("pgpass", r":(?:5432|\*):", r"[\w*-]+:[\w*-]+:(\S+)"),
    (
        "private-key",
        r"-----begin[a-z0-9 ]*private key(?: block)?-----",
        (
            r"((?:(?:\s|\\[nrt])*[A-Z][A-Za-z-]+: [^\n\\]*)*"
            r"(?:[^-]{24,}-----END[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nrt])*[A-Za-z0-9+/=]{24,})+))"
        ),
    ),
    ("putty-key", r"private-lines: \d+\s", r"((?:\s*[A-Za-z0-9+/=]+)+)"),
    (
        "seed-phrase",
        r"(?:mnemonic|(?:seed|recovery)[ _-]?phrase)",
        r"[\"'`]?\s*(?:[:=]|is)\s*[\"'`]?((?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8})",
    ),
    ("cookie", r"cookie['\"]?:\s", r"\s*['\"]?([^\n\"']{8,})"),
    (
        "terraform-default",
        r"variable\s+\"[^\"\s]*(?:password|secret|token|key)[^\"\s]*\"",
        r"\s*\{[^}]*?default\s*=\s*\"([^\"\s]{6,})\"",
    ),
    ("private-key", r"\"(?:d|p|q|dp|dq|qi|k)\\?\"\s?:", r"\s*\\?\"([\w-]{20,})"),
)
REACH = 400  # bytes; private keys have PEM_REACH, and a JSON Web Key says `kty`
PEM_REACH = 20_000
COOKIE = pattern(r"(?i)[\w.-]*(?:sess|sid|token|auth|jwt)[\w.-]*=([^\s;,]{8,})")
COOKIE_HEADER = pattern("(?i)cookie")
# no plain value to doubt
WHOLE = frozenset("private-key putty-key seed-phrase recovery-code azure-sas signed-url".split())
LONG = frozenset(("private-key", "putty-key"))
RANDOM_ONLY = frozenset(("basic-auth", "bearer-token", "oauth-code"))  # the word before them stands in prose too


class Contexts:
    """One pattern that finds where a place begins, and one a row for the rest."""

    def __init__(self) -> None:
        self._rows = tuple((kind, pattern(f"(?i){rest}")) for kind, _, rest in CONTEXTS)
        self._begins = re2.Set.FullMatchSet()
        for _, begin, _ in CONTEXTS:
            self._begins.Add(f"(?i){begin}")
        self._begins.Compile()
        self._any = pattern("(?i)" + "|".join(begin for _, begin, _ in CONTEXTS))

    def find(self, data: bytes) -> Iterator[Span]:
        position = 0
        for begin in self._any.finditer(data):
            if begin.start() < position:
                continue  # in a header or a key that was searched as a whole
            row = min(self._begins.Match(begin[0]))
            for span in self._secrets(data, begin, row):
                yield span
                position = span.end if self._rows[row][0] in LONG else position

    def _secrets(self, data: bytes, begin: Any, row: int) -> Iterator[Span]:
        kind, rest = self._rows[row]
        at = begin.end()
        match = rest.match(data, at, at + (PEM_REACH if kind in LONG else REACH))
        if not match:
            return
        if kind == "cookie":
            last = COOKIE_HEADER.search(data, *match.span(1))
            end = last.start() if last else match.end(1)  # the next header is searched for itself
            yield from (Span(part.start(1), part.end(1), kind) for part in COOKIE.finditer(data, match.start(1), end))
        elif is_secret(kind, match[1].decode(errors="replace")):
            yield Span(begin.start() if begin[0].startswith(b"-----") else match.start(1), match.end(1), kind)


@cache
def contexts() -> Contexts:
    """The table, compiled once."""
    return Contexts()


def is_secret(kind: str, value: str) -> bool:
    """Whether something stands there, rather than `$TOKEN`, `password` or a word of the sentence."""
    if kind in WHOLE:
        return len(set(value)) >= 8
    if kind in RANDOM_ONLY and is_worded(value.rstrip("=")):
        return False
    return not (is_placeholder(value) or is_code(value))
