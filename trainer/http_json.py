"""One JSON request over HTTP with the standard library, with retries that wait longer each time."""

import http.client
import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from trainer.errors import NeedsRepair, UsageError

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 1.0  # doubled at each further attempt: 1, 2, 4
WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
MAX_REPLY_BYTES = 16 << 20


def post_json(
    url: str,
    body: Mapping[str, object],
    *,
    token: str = "",
    timeout_seconds: float = 300.0,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """The JSON object that the server answers.

    Raises UsageError for an address that is no HTTP URL, NeedsRepair when the server refuses, or cannot be reached in
    four attempts.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{url!r} is no http or https address")
    connector = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    path = parts.path or "/"
    failure = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            pause(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        connection = connector(parts.hostname, parts.port, timeout=timeout_seconds)
        try:
            connection.request("POST", path, json.dumps(body).encode("utf-8"), headers)
            response = connection.getresponse()
            content = response.read(MAX_REPLY_BYTES)
        except (OSError, http.client.HTTPException) as error:
            failure = f"cannot be reached ({error})"
            continue
        finally:
            connection.close()
        if response.status == 200:
            return _object(content, url)
        failure = f"answered {response.status}: {content[:200].decode('utf-8', 'replace')}"
        if response.status not in WORTH_RETRYING:
            break
    raise NeedsRepair(f"the server {failure}", where=url, remedy="Check the address, the key and the server's log")


def _object(content: bytes, url: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except json.JSONDecodeError as error:
        raise NeedsRepair("the server's answer is not JSON", where=url, remedy="Check the address") from error
    if not isinstance(value, dict):
        raise NeedsRepair("the server's answer is no JSON object", where=url, remedy="Check the address")
    return value
