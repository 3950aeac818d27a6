"""The routes by which people publish, take back, and fetch the copy that they read where there is no network."""

from dataclasses import asdict
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from pydantic import BaseModel

from dream.decisions.publication import Publication
from memory_server.errors import UsageError
from team.access.asker import Right
from team.access.quotas import Quotas
from team.publishing import Publishing
from team.server.entrance import asker_of


class TakenBack(BaseModel):
    """The body of a revocation."""

    nonce: str


def add_published(api: FastAPI, publishing: Publishing, quotas: Quotas) -> None:
    """Adds the routes; each takes tenant and person from the token alone."""

    @api.post("/api/publish")
    def publish(request: Request, body: dict[str, Any]) -> dict[str, str]:
        """Takes a signed statement in; the commit that holds it."""
        asker = asker_of(request)
        asker.require(Right.PUBLISH)
        quotas.count_question(asker)
        quotas.check_room(asker)
        try:
            publication = msgspec.convert(body, Publication)
        except msgspec.ValidationError as error:
            raise UsageError("the body is no publication", remedy="Send what `oneiros publish` sends") from error
        return {"commit": publishing.publish(asker.tenant, asker.person, publication)}

    @api.post("/api/revoke")
    def revoke(request: Request, body: TakenBack) -> dict[str, str]:
        """Takes out of its topic what the same person published."""
        asker = asker_of(request)
        asker.require(Right.PUBLISH)
        quotas.count_question(asker)
        return {"commit": publishing.revoke(asker.tenant, asker.person, body.nonce)}

    @api.get("/api/copy")
    def copy(request: Request) -> dict[str, Any]:
        """All topics of the newest commit."""
        asker = asker_of(request)
        asker.require(Right.READ)
        quotas.count_question(asker)
        return asdict(publishing.copy(asker.tenant))
