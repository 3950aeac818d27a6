"""Whose question it is: what decides which rows a request can see, read off a verified token and nothing else."""

from dataclasses import dataclass
from enum import StrEnum

from mcp.server.auth.provider import AccessToken

from team.errors import Forbidden


class Right(StrEnum):
    """What a token may be used for."""

    READ = "read"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class Scope:
    """The asker of one request."""

    tenant: int
    person: str  # as the token names them
    may: frozenset[str]  # of Right
    key: bytes  # 32 bytes, the same for every request with this token: what its questions are counted under

    def require(self, right: Right) -> None:
        """Raises Forbidden where the token was not made for it."""
        if right not in self.may:
            raise Forbidden(
                f"this token may not {right.value}", remedy=f"Ask your admin for one made with `--may {right.value}`"
            )


class ScopedToken(AccessToken):
    """A verified token with what it stands for."""

    scope: Scope


def scoped(token: str, scope: Scope, expires_at: int, claims: dict[str, str] | None = None) -> ScopedToken:
    """The token as the MCP SDK knows it; `expires_at` in seconds since 1970."""
    return ScopedToken(
        token=token,
        client_id=scope.person,
        subject=scope.person,
        scopes=sorted(scope.may),
        expires_at=expires_at,
        claims=claims,
        scope=scope,
    )
