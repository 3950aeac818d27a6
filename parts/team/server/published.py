"""The routes by which people publish, take back, and fetch the copy that they read where there is no network."""

from dataclasses import asdict
from functools import partial
from typing import Any

import msgspec
from fastapi import FastAPI, Request

from memory_server.errors import UsageError
from memory_server.faces.body import Body
from parts.team.access.asker import Right
from parts.team.publication import Publication
from parts.team.publishing import Publishing
from parts.team.server.entrance import find_asker
from parts.team.server.guarded import GuardedMemory


class TakenBack(Body):
    """The body of a revocation."""

    nonce: str


def add_published(api: FastAPI, publishing: Publishing, guarded: GuardedMemory) -> None:
    """Adds the routes; each takes tenant and person from the token alone."""

    @api.post("/api/publish")
    def publish(request: Request, body: dict[str, Any]) -> dict[str, str]:
        """Takes a signed statement in; the commit that holds it."""
        asker = find_asker(request)

        def take_publication() -> str:
            try:
                publication = msgspec.convert(body, Publication)
            except msgspec.ValidationError as error:
                raise UsageError("the body is no publication", remedy="Send what `oneiros publish` sends") from error
            return publishing.publish(asker.tenant, asker.person, publication)

        return {"commit": guarded.ask("publish", asker, take_publication, Right.PUBLISH, grows=True)}

    @api.post("/api/revoke")
    def revoke(request: Request, body: TakenBack) -> dict[str, str]:
        """Takes out of its topic what the same person published."""
        asker = find_asker(request)
        revoked = partial(publishing.revoke, asker.tenant, asker.person, body.nonce)
        return {"commit": guarded.ask("revoke", asker, revoked, Right.PUBLISH)}

    @api.get("/api/copy")
    def copy(request: Request) -> dict[str, Any]:
        """All topics of the newest commit."""
        asker = find_asker(request)
        return asdict(guarded.ask("copy", asker, partial(publishing.copy, asker.tenant)))
