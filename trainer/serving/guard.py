"""Who may ask and how much may be sent: a bearer token, this host's own names, no foreign pages, bounded bodies."""

import hmac
import ipaddress
import json
import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trainer.errors import NeedsRepair, UsageError

MAX_BODY_BYTES = 1 << 20
OPEN_PATHS = frozenset({"/health"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared with, not bound to)
MIN_TOKEN_CHARS = 16
# Sent twice, the guard would read one of them and somebody else the other.
SINGLE = (b"host", b"authorization", b"origin", b"content-length", b"transfer-encoding")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """Stands before the application; an ASGI middleware."""

    def __init__(self, app: Application, token: str, hosts: frozenset[str]):
        self._app = app
        self._token = token
        self._hosts = LOOPBACK | hosts
        self._any_address = not EVERYWHERE.isdisjoint(hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        names = [name for name, _ in scope["headers"]]
        refusal = ambiguous(names) or self._refusal(
            scope["path"], {name.decode("latin-1"): value for name, value in scope["headers"]}
        )
        if refusal is None:
            await self._app(scope, limit_body(receive), send)
            return
        status, what = refusal
        body = json.dumps({"error": {"message": what, "type": "refused", "code": status}}).encode("utf-8")
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, path: str, headers: dict[str, bytes]) -> tuple[int, str] | None:
        host = urlsplit(f"//{headers.get('host', b'').decode('latin-1')}").hostname or ""
        if not self._is_ours(host):
            return 421, "This name is not served here. Use the service's address, or start it with --name."
        origin = headers.get("origin", b"").decode("latin-1")
        if origin and urlsplit(origin).hostname not in {host, *self._hosts}:
            return 403, "Pages of other sites are not served."
        if (
            not headers.get("content-length", b"0").isdigit()
            or int(headers.get("content-length", b"0")) > MAX_BODY_BYTES
        ):
            return 413, f"A body may have {MAX_BODY_BYTES} bytes."
        if path in OPEN_PATHS:
            return None
        given = headers.get("authorization", b"").removeprefix(b"Bearer ")
        if not hmac.compare_digest(given, self._token.encode("utf-8")):
            return 401, "The bearer token is missing or wrong. It stands in the service's token file."
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a request may name this host. A page of another site can have its name lead here, not its address."""
        return host in self._hosts or (self._any_address and is_address(host))


def ambiguous(names: Sequence[bytes]) -> tuple[int, str] | None:
    """The refusal of headers that two readers could understand in two ways."""
    for name in SINGLE:
        if names.count(name) > 1:
            return 400, f"The header {name.decode()} was sent twice."
    if b"content-length" in names and b"transfer-encoding" in names:
        return 400, "A body has a length or comes in chunks, not both."
    return None


def is_address(host: str) -> bool:
    """Whether a host is written in digits rather than as a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def limit_body(receive: Receive) -> Receive:
    """The same receiver, which ends the body of a client that sends more than it may without saying so before."""
    seen = 0

    async def receiver() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > MAX_BODY_BYTES else message

    return receiver


def read_token(path: Path) -> str:
    """The token of a file that only this user can read; made where there is none.

    Raises NeedsRepair where others may read or replace the file, or it is empty: an empty token would let everybody in.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
    with path.open(encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        token = stream.read().strip()
    if status.st_mode & 0o077 or status.st_uid not in (os.geteuid(), 0):
        raise NeedsRepair(
            "others can read or change the token file", where=path, remedy="Remove it; a new token is made then"
        )
    if not token:
        raise NeedsRepair("the token file is empty", where=path, remedy="Remove it; a new token is made then")
    return token


def check_binding(host: str, token: str) -> None:
    """Raises UsageError for a service that others could reach and that has no token worth the name."""
    if host not in LOOPBACK and len(token) < MIN_TOKEN_CHARS:
        raise UsageError(
            f"binding to {host} needs a token of {MIN_TOKEN_CHARS} signs or more", remedy="Set --token-file"
        )
