"""Who gets in: stands before every route, also before those that do not exist, and hands the asker's scope on.

A request without a verified token, of a page elsewhere, too long, or beyond what is served at a time gets no further;
what is refused so has asked the memory nothing. Every answer is counted and has one line in the log, by its route: a
path or a query could hold words of a memory.
"""

import logging
import secrets
import time
from collections.abc import MutableMapping
from typing import Any

from mcp.server.auth.provider import TokenVerifier
from starlette.requests import Request

from memory_server.faces.guard import App, Message, Receive, Send, drain, refuse, replayed, whole_body
from team.access.scope import Scope, ScopedToken
from team.server.metrics import Metrics
from team.settings import TeamSettings

logger = logging.getLogger(__name__)

METADATA = "/.well-known/oauth-protected-resource/mcp"  # where a client finds out who makes tokens (RFC 9728)
OPEN = frozenset({"/health", "/ready", METADATA})  # these tell nothing of any memory
UNKNOWN_TOKEN = (
    "the token is missing, unknown, expired or revoked",
    "Send `Authorization: Bearer` with one that your admin made by `oneiros-team token create`",
)
BUSY_SECONDS = 1


def scope_of(request: Request) -> Scope:
    """Whose request it is, as the gate found it."""
    scope = request.scope["oneiros_scope"]
    assert isinstance(scope, Scope)
    return scope


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: App, verifier: TokenVerifier, settings: TeamSettings, metrics: Metrics):
        self._app = app
        self._verifier = verifier
        self._settings = settings
        self._metrics = metrics
        self._under_way = 0
        challenge = "Bearer"
        if settings.identity_issuer:
            challenge = f'Bearer resource_metadata="{settings.public_url}{METADATA}"'
        self._challenge = ((b"www-authenticate", challenge.encode()),)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the server's own start and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began, identity, status = time.perf_counter(), secrets.token_hex(8), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", identity.encode())]}
            await send(message)

        self._under_way += 1
        try:
            await self._answer(scope, receive, sent)
        finally:
            self._under_way -= 1
            seconds, route = time.perf_counter() - began, route_of(scope)
            self._metrics.answered(route, status, seconds)
            who: Scope | None = scope.get("oneiros_scope")
            logger.info(
                "%s %s %d %.1f ms",
                scope["method"],
                route,
                status,
                seconds * 1e3,
                extra={"request": identity, "tenant": who and who.tenant, "person": who and who.person},
            )

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        if self._under_way > self._settings.most_requests:
            await drain(receive)
            wait = ((b"retry-after", str(BUSY_SECONDS).encode()),)
            await refuse(send, 503, "the server answers as many requests as it may", "Ask again in a moment", wait)
            return
        headers = Request(scope).headers
        origin = headers.get("origin")
        if origin is not None and origin != self._settings.public_url:
            await drain(receive)
            await refuse(send, 403, "pages of another origin may not ask here", "Ask from a program")
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        verified = await self._verifier.verify_token(token.strip()) if scheme.lower() == "bearer" else None
        if not isinstance(verified, ScopedToken):
            await drain(receive)
            await refuse(send, 401, *UNKNOWN_TOKEN, self._challenge)
            return
        scope["oneiros_scope"] = verified.scope
        body = await whole_body(receive, self._settings.write_bytes)
        if isinstance(body, int):
            await drain(receive)
            what = "the body did not come in time" if body == 408 else "the body is longer than a write may be"
            await refuse(send, body, what, f"Send at once, and at most {self._settings.write_bytes} bytes")
            return
        await self._app(scope, replayed(body, receive), send)


def route_of(scope: MutableMapping[str, Any]) -> str:
    """The route as it was declared, never as it was asked for."""
    return getattr(scope.get("route"), "path", "none")
