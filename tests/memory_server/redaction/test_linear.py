"""No text takes more than its length: eight times the text may not take much more than eight times as long."""

import time

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


def seconds(text: str) -> float:
    redactor = Redactor()
    times = []
    for _ in range(3):
        started = time.process_time()
        redactor.redact(text)
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize("piece", [*PIECES, *NEAR_MISSES])
def test_time_grows_with_the_text_alone(piece: str) -> None:
    short = (piece * (4_000 // len(piece) + 1))[:4_000]

    assert seconds(short * 8) < 30 * max(seconds(short), 0.0005)  # 64 times, were it quadratic
