"""Who may speak to the HTTP side: a foreign Host, a foreign Origin, a missing token or too long a body get no further.

The secret of a page session, opened with a code from a person's terminal, passes in the place of the token; see
`dream/decisions/presence.py`. No cookie does: a browser sends those of one port of a machine to every other.
It stands before every route, also before those that do not exist. Binding to the loopback address does not suffice: any
page in a browser can send requests there, and a name that is rebound to 127.0.0.1 passes for the same origin.
"""

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY_BYTES = 1 << 20
BODY_SECONDS = 30.0
MAX_DRAINED_BYTES = 16 << 20
DRAIN_SECONDS = 5.0
PAGE_HEADER = "oneiros-page"
HOST = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?")
OWN_SITES = frozenset({b"same-origin", b"none"})  # another port of this machine is of the same site
ORIGIN = re.compile(rb"http://(?:localhost|127\.0\.0\.1|\[::1\]):(\d{1,5})")


class Guard:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: App,
        token: str,
        on_request: Callable[[MutableMapping[str, Any]], None] = lambda _: None,
        is_page: Callable[[str], bool] = lambda _: False,
        is_open: Callable[[str, str], bool] = lambda _method, _path: False,
    ):
        """`on_request` is told of each request that a token or a page lets through; `is_page` knows the secrets of
        pages, `is_open` what anybody may ask for: how a page comes to its secret, which tells nothing of the memory.
        """
        self._app = app
        self._token = token.encode()
        self._on_request = on_request
        self._is_page = is_page
        self._is_open = is_open

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await drain(receive)
            await refuse(send, *refusal)
            return
        body = await whole_body(receive)
        if isinstance(body, int):
            await refuse(send, body, *REFUSED_BODY[body])
            return
        if not self._is_open(scope["method"], scope["path"]):  # that keeps no room and no daemon
            self._on_request(scope)
        await self._app(scope, replay_body(body, receive), send)

    def _refusal(self, scope: MutableMapping[str, Any]) -> tuple[int, str, str] | None:
        """Status, sentence and remedy where a request may not pass."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        port = (scope.get("server") or ("", None))[1]  # None on a local socket
        host = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None or (port is not None and host[1] is not None and int(host[1]) != port):
            return 421, "this host is not served here", "Use the address that `oneiros status` shows"
        origins = [value for name, value in headers if name == b"origin"]
        if origins:
            origin = ORIGIN.fullmatch(origins[0]) if len(origins) == 1 else None
            if origin is None or port is None or int(origin[1]) != port:
                return 403, "pages of another origin may not ask here", "Ask from the daemon's own page or a program"
        sites = {value for name, value in headers if name == b"sec-fetch-site"}
        if not sites <= OWN_SITES:
            return 403, "pages of another port or site may not ask here", "Open the address in a tab of its own"
        if not self._has_token(headers) and not self._is_of_page(scope):
            return (
                401,
                "the token is missing or wrong",
                "Send `Authorization: Bearer` with the text of the file that `oneiros serve` names",
            )
        lengths = [value for name, value in headers if name == b"content-length"]
        if lengths and lengths[0].isdigit() and int(lengths[0]) > MAX_BODY_BYTES:
            return 413, *REFUSED_BODY[413]
        return None

    def _has_token(self, headers: list[tuple[bytes, bytes]]) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)

    def _is_of_page(self, scope: MutableMapping[str, Any]) -> bool:
        if self._is_open(scope["method"], scope["path"]):
            return True
        given = [value for name, value in scope["headers"] if name == PAGE_HEADER.encode()]
        return len(given) == 1 and self._is_page(given[0].decode("latin-1"))


REFUSED_BODY = {
    408: ("the body did not come in time", "Send it at once"),
    413: (f"the body has more than {MAX_BODY_BYTES} bytes", "Send less"),
}


async def whole_body(receive: Receive, most_bytes: int = MAX_BODY_BYTES) -> bytes | int:
    """The whole body, or the status it is refused with; what is too long has been drained."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 408
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most_bytes:
                    if message.get("more_body", False):
                        await drain(receive)
                    return 413
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return 408


async def drain(receive: Receive) -> None:
    """Reads what a refused client still sends, for a while: closing on it would take the answer from it."""
    size = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while size < MAX_DRAINED_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Hands a body that was read on as one message; then whatever comes."""
    waiting = [body]

    async def receive_next() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return receive_next


async def refuse(
    send: Send, status: int, what: str, remedy: str, more_headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Answers with an error in the shape of `rest.py`, and ends the connection."""
    text = json.dumps({"error": {"kind": "Refused", "what": what, "where": None, "line": None, "remedy": remedy}})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"connection", b"close"),
        *more_headers,
    ]
    if status == 401 and not more_headers:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
