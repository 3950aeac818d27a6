"""Whose request it is: what decides which rows it can see, read off a verified token and off nothing else."""

from dataclasses import dataclass
from enum import StrEnum

from mcp.server.auth.provider import AccessToken

from parts.team.errors import Forbidden


class Right(StrEnum):
    """What a token may be used for."""

    READ = "read"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class Asker:
    """A person of a tenant, with one token."""

    tenant: int
    person: str  # as the token names them
    may: frozenset[str]  # of Right
    key: bytes  # 32 bytes, the same for every request with this token: what its questions are counted under

    def require(self, right: Right) -> None:
        """Raises Forbidden where the token was not made for it."""
        if right not in self.may:
            remedy = f"Ask your admin for one made with `--may {right.value}`"
            raise Forbidden(f"this token may not {right.value}", remedy=remedy)


class AskerToken(AccessToken):
    """A verified token with whom it stands for."""

    asker: Asker


def asker_token(token: str, asker: Asker, expires_at: int) -> AskerToken:
    """A verified token as the MCP SDK knows it; `expires_at` in seconds since 1970."""
    scopes = sorted(asker.may)
    return AskerToken(token=token, client_id=asker.person, scopes=scopes, expires_at=expires_at, asker=asker)
