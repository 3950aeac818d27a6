"""No text takes more than its length: eight times the text may not take much more than eight times as long."""

import time
from collections.abc import Iterator

import pytest

from benchmarks.redaction import make_example
from memory_server.redaction import Redactor
from memory_server.redaction.services import table

PIECES = [
    "httpclient.GetResponse(",
    "x = httpclient.GetResponse(url, token)\n",
    "token:",
    "token: password: ",
    "password:\n  ",
    "password for the ",
    'tokens: ["',
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nAAAA",
    "curl -x ",
    "bearer ",
    "cookie: sid=",
    'variable "x_token" {',
    "://a:",
    "\x1b[0m",
    "\x1b[0mtoken=aB3dE5fG7hJ9 ",
    "\u200b",
    "%5F",
    "\\\\",
    "token%3DaB3dE5fG7hJ9%26",
    "a1b2c3\n",
    "Z2hwX2Ex",
    "[redacted:secret] token aB3dE5fG7hJ9 ",
]
NEAR_MISSES = [make_example(row.example, 1)[:-12] + " " for row in table()]


def take_times(text: str) -> Iterator[float]:
    """How many seconds of a processor redacting takes, three times; least where nothing else keeps the machine busy."""
    redactor = Redactor()
    for _ in range(3):
        started = time.process_time()
        redactor.redact(text)
        yield time.process_time() - started


@pytest.mark.parametrize("piece", [*PIECES, *NEAR_MISSES])
def test_time_grows_with_the_text_alone(piece: str) -> None:
    short = (piece * (4_000 // len(piece) + 1))[:4_000]

    most = 30 * max(min(take_times(short)), 0.0005)  # 64 times, were it quadratic
    assert any(seconds < most for seconds in take_times(short * 8))
