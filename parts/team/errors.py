"""What can go wrong in a team's memory, each with the status that a server answers with."""

from pathlib import PurePath

from memory_server.errors import OneirosError


class TeamError(OneirosError):
    """A foreseen failure of a team's memory."""

    status = 500  # of HTTP

    def __init__(self, what: str, *, where: PurePath | str | None = None, remedy: str = ""):
        super().__init__(what, where=where, remedy=remedy)


class Unfit(TeamError):
    """A database, a role or a setting that this program refuses to run with."""


class Unavailable(TeamError):
    """The database does not answer now."""

    status = 503


class NotFound(TeamError):
    """There is no such thing for whoever asks: the same whether it is missing or another tenant's."""

    status = 404


class Forbidden(TeamError):
    """The token was not made for this."""

    status = 403


class QuotaExceeded(TeamError):
    """More was asked or written than a quota allows."""

    status = 429

    def __init__(self, what: str, *, remedy: str = "", retry_seconds: int = 0):
        super().__init__(what, remedy=remedy)
        self.retry_seconds = retry_seconds  # 0 where waiting does not help


def first_line(error: Exception) -> str:
    """What PostgreSQL or libpq says, without the statement that it quotes below."""
    return (str(error).splitlines() or [type(error).__name__])[0]
