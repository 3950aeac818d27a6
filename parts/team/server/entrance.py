"""Who gets in: stands before every route, also before those that do not exist, and hands on whose request it is.

Without a verified token, from a page elsewhere, too long, or beyond what is served at a time, a request gets no further
and has asked the memory nothing. Every answer is counted and has one line in the log, by its route: a path or a query
could hold words of a memory.
"""

import logging
import secrets
import time
from collections.abc import MutableMapping
from typing import Any

from mcp.server.auth.provider import TokenVerifier
from starlette.datastructures import Headers
from starlette.requests import Request

from memory_server.faces.guard import REFUSED_BODY, App, Message, Receive, Send, drain, refuse, replay_body, whole_body
from parts.team.access.asker import Asker, AskerToken
from parts.team.errors import TeamError
from parts.team.server.metrics import Metrics
from parts.team.settings import TeamSettings

logger = logging.getLogger(__name__)

MCP = "/mcp"
METADATA = "/.well-known/oauth-protected-resource/mcp"  # where a client finds out who makes tokens (RFC 9728)
OPEN = frozenset({"/health", "/ready", METADATA})  # these tell nothing of any memory
FIXED = OPEN | {MCP}  # routes of which Starlette does not say what they are called
ASKER = "oneiros.asker"  # key of the request's scope
UNKNOWN = "the token is missing, unknown, expired or revoked"
GET_ONE = "Send `Authorization: Bearer` with one that your admin made by `oneiros-team token create`"


def find_asker(request: Request) -> Asker:
    """Whose request it is, as the entrance found it."""
    asker = request.scope[ASKER]
    assert isinstance(asker, Asker)
    return asker


class TurnedAway(Exception):
    """A request that gets no further: the arguments of `guard.refuse` behind `send`."""


class Entrance:
    """An ASGI application around another one."""

    def __init__(self, app: App, verifier: TokenVerifier, settings: TeamSettings, metrics: Metrics):
        self._app = app
        self._verifier = verifier
        self._settings = settings
        self._metrics = metrics
        self._under_way = 0
        provider = f' resource_metadata="{settings.public_url}{METADATA}"' if settings.identity_issuer else ""
        self._challenge = ((b"www-authenticate", f"Bearer{provider}".encode()),)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the server's own start and end."""
        if scope["type"] != "http":  # websockets are off
            await self._app(scope, receive, send)
            return
        began, identity, status = time.perf_counter(), secrets.token_hex(8), 500

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", identity.encode())]
            await send(message)

        try:
            if scope["path"] in OPEN:
                await self._app(scope, receive, send_with_id)
            else:
                await self._admit(scope, receive, send_with_id)
        except TurnedAway as refused:
            await refuse(send_with_id, *refused.args)
        finally:
            seconds, fixed = time.perf_counter() - began, scope["path"] if scope["path"] in FIXED else "none"
            route = getattr(scope.get("route"), "path", fixed)
            self._metrics.count_answer(route, status, seconds)
            asker: Asker | None = scope.get(ASKER)
            who = {"request": identity, "tenant": asker and asker.tenant, "person": asker and asker.person}
            logger.info("%s %s %d, %.1f ms", scope["method"], route, status, seconds * 1e3, extra=who)

    async def _admit(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Has a request answered that is whole and whose asker is known; it is under way from then on, and not while
        it is still to come, which anybody could draw out. Raises TurnedAway.
        """
        try:
            scope[ASKER] = await self._asker(Request(scope).headers)
        except TurnedAway:
            await drain(receive)
            raise
        most = self._settings.write_bytes
        body = await whole_body(receive, most)
        if body == 413:
            raise TurnedAway(413, f"the body has more than {most} bytes", "Send less at a time")
        if isinstance(body, int):
            raise TurnedAway(body, *REFUSED_BODY[body])
        if self._under_way >= self._settings.most_requests:
            what = f"this server answers {self._settings.most_requests} requests at a time"
            raise TurnedAway(503, what, "Ask again in a moment", ((b"retry-after", b"1"),))
        scope["state"]["let_through"]()
        self._under_way += 1
        try:
            await self._app(scope, replay_body(body, receive), send)
        finally:
            self._under_way -= 1

    async def _asker(self, headers: Headers) -> Asker:
        """Whose request it is. Raises TurnedAway."""
        if not {*headers.getlist("origin")} <= {self._settings.public_url}:
            raise TurnedAway(403, "pages of another origin may not ask here", "Ask from a program")
        given = headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        try:
            verified = await self._verifier.verify_token(token.strip()) if scheme.lower() == "bearer" else None
        except TeamError as error:
            raise TurnedAway(error.status, error.what, error.remedy) from error
        if not isinstance(verified, AskerToken):
            raise TurnedAway(401, UNKNOWN, GET_ONE, self._challenge)
        return verified.asker
