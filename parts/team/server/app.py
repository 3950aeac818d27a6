"""The whole server on one screen: the memory, who may ask it, its faces, and how it listens and ends.

A process holds nothing that another one would need: any number of them may stand behind a proxy. One that is to end
answers what it has begun, for at most `stop_seconds`, and takes nothing more.
"""

import contextlib
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator

import psycopg
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.routes import create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from memory_server.embedding.engine import ModelInUse
from memory_server.faces.connections import KEEP_ALIVE_SECONDS, HttpConnection
from parts.team.access.identity import IdentityTokens
from parts.team.access.quotas import Quotas
from parts.team.access.tokens import MadeTokens
from parts.team.engine.database import Database
from parts.team.errors import Unfit
from parts.team.memory import TeamMemory
from parts.team.outbox import Outbox
from parts.team.publishing import Publishing
from parts.team.repositories import Repositories
from parts.team.server.entrance import Entrance
from parts.team.server.guarded import GuardedMemory
from parts.team.server.mcp import create_mcp
from parts.team.server.metrics import Metrics
from parts.team.server.published import add_published
from parts.team.server.routes import create_api
from parts.team.settings import TeamSettings

logger = logging.getLogger(__name__)

READY_SECONDS = 2.0  # after which a database that does not answer counts as gone
BACKLOG = 256


def create_app(
    database: Database, memory: TeamMemory, settings: TeamSettings, version: str, metrics: Metrics
) -> Entrance:
    """REST, MCP at `/mcp`, health and readiness, behind the entrance. Closes the database when it ends."""
    guarded = GuardedMemory(memory, Quotas(database, settings), metrics)
    api, mcp = create_api(guarded, version), create_mcp(guarded, version)
    publishing = Publishing(Outbox(database, Repositories(settings.repositories)), settings.public_url)
    add_published(api, publishing, guarded)
    # the entrance has checked Origin, and a token is asked for that no browser sends by itself
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    served = mcp.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=settings.write_bytes
    )
    api.router.routes += [
        Route(one.path, one.endpoint, methods=["POST"]) for one in served.routes if isinstance(one, Route)
    ]
    _add_health(api, database)
    if settings.identity_issuer:
        # AuthSettings leaves an issuer as it was written, slash or none: clients compare it letter by letter
        addresses = {"issuer_url": settings.identity_issuer, "resource_server_url": f"{settings.public_url}/mcp"}
        auth = AuthSettings.model_validate({**addresses, "validate_token_resource": False})
        assert auth.resource_server_url
        api.router.routes.extend(create_protected_resource_routes(auth.resource_server_url, [auth.issuer_url]))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield
        database.close()

    api.router.lifespan_context = lifespan
    return Entrance(api, build_verifier(database, settings), settings, metrics)


def build_verifier(database: Database, settings: TeamSettings) -> TokenVerifier:
    """The tokens that an admin made and, where the settings name one, those of an identity provider.

    Raises Unfit where they say too little of it.
    """
    if not settings.identity_issuer:
        return MadeTokens(database)
    if not (settings.identity_audience and settings.identity_keys and settings.public_url):
        raise Unfit("identity_issuer stands alone", remedy="Set identity_audience, identity_keys and public_url too")
    return MadeTokens(database, IdentityTokens(settings, database))


def _add_health(api: FastAPI, database: Database) -> None:
    @api.get("/health")
    def health() -> dict[str, bool]:
        """Whether this process runs."""
        return {"alive": True}

    @api.get("/ready")
    def ready() -> JSONResponse:
        """Whether this process can answer, which it cannot without its database."""
        try:
            with database.pool.connection(timeout=READY_SECONDS) as connection:
                connection.execute("select 1")
        except psycopg.OperationalError:  # also where no connection is free in time
            return JSONResponse({"ready": False}, 503)
        return JSONResponse({"ready": True})


def serve(settings: TeamSettings, model: ModelInUse, version: str) -> None:
    """Serves until SIGTERM or SIGINT. Raises Unfit for an address that would lay answers open, or is taken."""
    metrics = Metrics()
    try:
        listening = bound(settings)
        if settings.metrics_listen:
            metrics.serve(*address(settings.metrics_listen))
        database = Database(settings.dsn, connections=settings.connections)
        server = build_server(create_app(database, TeamMemory(database, model), settings, version, metrics), settings)
        server.config.load()
    except OSError as error:  # of addresses, and of the files of TLS
        raise Unfit(f"the server cannot start ({error})", remedy="Mend the setting that names it") from error
    logger.info("listening at %s:%d", *listening.getsockname()[:2])
    server.run([listening])


class TeamConnection(HttpConnection):
    """One of a proxy or a person; more than are answered at a time, so that the rest hear that they shall wait."""

    room = 1_000


def build_server(app: Entrance, settings: TeamSettings) -> uvicorn.Server:
    """What listens. Whatever stands in front of it is not believed about who asks: the token says that."""
    config = uvicorn.Config(
        app,
        http=TeamConnection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.stop_seconds,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )
    return uvicorn.Server(config)


def bound(settings: TeamSettings) -> socket.socket:
    """The socket of `listen`. Raises Unfit beyond the machine without TLS, unless the settings say who brings it."""
    host, port = address(settings.listen)
    if not (ipaddress.ip_address(host).is_loopback or settings.tls_certificate or settings.proxy_has_tls):
        raise Unfit(
            f"{settings.listen} can be reached from other machines and has no TLS",
            remedy="Set tls_certificate and tls_key, or proxy_has_tls where only a proxy with TLS can reach it",
        )
    return socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
    )


def address(listen: str) -> tuple[str, int]:
    """`127.0.0.1:8420` or `[::1]:8420` as host and port. Raises Unfit for anything else."""
    host, _, port = listen.rpartition(":")
    try:
        return str(ipaddress.ip_address(host.strip("[]"))), int(port)
    except ValueError as error:
        raise Unfit(f"{listen!r} is no address", remedy="Write an IP address and a port: 127.0.0.1:8420") from error
