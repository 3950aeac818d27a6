"""Tokens that show themselves by the shape a service gave them.

`services.tsv` lists the shapes whose service is known, each with its documentation, an example and what only resembles
it. `vendor_tokens` knows how services in general name their tokens, without a list: words joined by `_`, `-` or `.`,
then a long random piece. What merely looks random stays: hashes, UUIDs and ids are what people search for.
"""

import csv
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from memory_server.redaction.values import (
    TURN,
    TURNS_OF_LETTERS,
    Span,
    is_hex,
    is_random,
    is_worded,
    pattern,
    share_of_turns,
)

# What may stand before a token: no letter or digit, but the end of an escape (`\n`, `%3D`, `\u0022`, an ANSI colour).
EDGE = r"(?:^|[^\w-]|\\[abfnrtv0]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m)"
FEWEST_CHARACTERS = 8  # different ones; a placeholder such as `ghp_xxxxxxxx` has fewer


class ServiceToken(NamedTuple):
    """A row of the table."""

    kind: str
    shape: str
    example: str  # `[class]{count}` stands for made-up characters, so that the table holds no token
    counter_example: str
    source: str


class Shapes:
    """All rows of the table as one pattern, which finds the place, and one a row, which names it."""

    def __init__(self, services: tuple[ServiceToken, ...]):
        self._services = services
        self._any = pattern(EDGE + "(" + "|".join(service.shape for service in services) + ")", max_mem=64 << 20)

    def find(self, data: bytes) -> Iterator[Span]:
        for match in self._any.finditer(data):
            start, end = match.span(1)
            if not is_placeholder_token(data[start:end].decode(errors="replace")):
                yield Span(start, end, self._kind(data[start:end]))

    @cached_property
    def _rows(self) -> tuple[tuple[str, Any], ...]:
        """Compiled when a token is found: most processes see none."""
        return tuple((service.kind, pattern(service.shape)) for service in self._services)

    def _kind(self, token: bytes) -> str:
        return next((kind for kind, row in self._rows if row.fullmatch(token)), "token")


def is_placeholder_token(token: str) -> bool:
    """Whether words or a filler stand where the random part of a token would."""
    is_words = ("-" in token or "_" in token) and not any(map(str.isdigit, token)) and is_worded(token)
    return len(set(token)) < FEWEST_CHARACTERS or "xxxx" in token.lower() or is_words


@cache
def table() -> tuple[ServiceToken, ...]:
    """The rows of `services.tsv`."""
    text = Path(__file__).with_name("services.tsv").read_text(encoding="utf-8")
    rows = csv.reader(text.splitlines()[1:], delimiter="\t", quoting=csv.QUOTE_NONE)
    return tuple(ServiceToken(*row) for row in rows)


@cache
def shapes() -> Shapes:
    """The table, compiled once."""
    return Shapes(table())


# Words that services put before the random part of what is secret, and of what merely names a thing.
SECRET_HEADS = frozenset(
    "sk rk ak ck pk pat pats aat sat oat uat at rt pt ct dt st tok token tkn secret sec key apikey api live test"
    " prod production sandbox oauth pw pwd pass psk auth access refresh personal admin bot webhook signing service"
    " cli sdk client integration sa".split()
)
HEX_HEADS = frozenset("sk rk pat sat aat tok token tkn secret pw pwd psk apikey api sdk access sandbox".split())
ID_HEADS = frozenset(
    "h1 did pm src si ftjob rs fc srv track id ids uid uuid guid msg message toolu srvtoolu tool req request"
    " resp response call chatcmpl cmpl completion run thread asst assistant file batch step vs cus customer pi"
    " price evt event ch in acct account seti txn po sub subscription user usr org team proj prj project"
    " workspace ws session sess conv conversation chat channel room dpl deployment deploy build job task trace"
    " span log img image container snap vol subnet ami vpc eni sg rtb igw node pod release rel cache chunk style"
    " styles module hash sha sha1 sha256 sha384 sha512 md5 digest etag commit tree blob ref branch rev revision"
    " diff patch checksum integrity nonce layer bundle asset assets env environment main index vendor page pages"
    " app test tests fixture data block row item entry edge object obj doc document note agent plan todo order"
    " invoice pay payment charge refund product sku link url path dir tmp temp backup lib pkg package version v"
    " component class div icon font svg el elem element field form input btn button widget".split()
)
WORD = r"(?:[a-z]{1,12}\d{0,2}|[A-Z]{1,12}\d{0,2}|[A-Z][a-z]{1,12}|[a-z]{1,4}\d[a-z]{1,8}|\d{1,2})"
VENDOR = pattern(rf"{EDGE}((?:{WORD}[_.~-]+){{1,4}})([\w+/=-]*{TURN}[\w+/=-]*{TURN}[\w+/=~.:!-]*)")
SEGMENTS = re.compile(r"([+/=~.:!]+)")
# Ids of GitHub's API, `PRRT_kwDOQ6DXvM5v7Yjy`, and names that Kubernetes gives, `api-7d4b9c6f5d-x2x9z`.
NAMED_BY_MACHINE = pattern(r"^[A-Z]+_(?:kw|lA|lQ)[A-Z]|-[0-9a-f]{7,10}-[0-9a-z]{5}$")
LEAST_RANDOM = 20  # characters of the random part; 16 behind a word that says what it is
LEAST_HEX = 28  # hexadecimal digits behind an underscore; hashes stand behind a hyphen, or a word that names a thing
LONGEST_DOTTED = 5  # letters of a word before a dot: `hvs.`, `dp.pt.`; names of code are longer
LONGEST_ID = 40  # characters that no id of a thing has


def vendor_tokens(data: bytes, *, must_say_so: bool = False) -> Iterator[Span]:
    """Tokens of services that nobody listed; where `must_say_so`, a word before them says what they are."""
    for match in VENDOR.finditer(data):
        body = without_path(match[2].decode())
        if is_vendor_token(match[1].decode(), body, must_say_so=must_say_so):
            yield Span(match.start(1), match.start(2) + len(body), "token")


def without_path(body: str) -> str:
    """A token without the words behind it: a path, a name before a value, the end of the sentence."""
    token = ""
    for segment in SEGMENTS.split(body):
        if (
            (len(segment) > 3 or (not token and segment.isupper()))
            and is_worded(segment)
            and share_of_turns(segment) < TURNS_OF_LETTERS
        ):
            break
        token += segment
    return token.rstrip(".:!/~")


def is_vendor_token(prefix: str, body: str, *, must_say_so: bool = False) -> bool:
    heads = prefix.lower().replace("-", "_").replace(".", "_").strip("_").split("_")
    says_so = not SECRET_HEADS.isdisjoint(heads)
    if (must_say_so and not says_so) or ("." in prefix and max(map(len, heads)) > LONGEST_DOTTED):
        return False
    names_a_thing = not says_so and (heads[0] in ID_HEADS or heads[-1] in ID_HEADS)
    if len(body) < (LONGEST_ID if names_a_thing else 16) or is_placeholder_token(prefix + body):
        return False
    if NAMED_BY_MACHINE.search(prefix + body):
        return False
    if "." in body and all(len(part) >= 16 and is_hex(part) for part in body.split(".")):
        return True  # an id and its secret
    if is_hex(body):
        known = not HEX_HEADS.isdisjoint(heads)
        return len(body) >= 24 if known else len(body) >= LEAST_HEX and is_underscored(prefix) and not names_a_thing
    return is_random(
        body, least=16 if says_so or is_underscored(prefix) else LONGEST_ID if names_a_thing else LEAST_RANDOM
    )


def is_underscored(prefix: str) -> bool:
    """Whether a prefix is written as services write theirs: two letters or more, then `_`."""
    return prefix.endswith("_") and any(len(head) > 1 and head.isalpha() for head in prefix.split("_"))
