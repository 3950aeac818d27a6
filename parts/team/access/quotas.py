"""How much a token may ask and a tenant may hold, the same whichever server is asked: the database counts."""

import psycopg

from parts.team.access.asker import Asker
from parts.team.engine.database import Database
from parts.team.errors import QuotaExceeded
from parts.team.settings import TeamSettings
from parts.team.tenants import find_tenant, room


class Quotas:
    """The quotas of the settings, or a tenant's own where its row has some."""

    def __init__(self, database: Database, settings: TeamSettings):
        self._database = database
        self._settings = settings

    def count_question(self, asker: Asker) -> None:
        """Counts one more in this minute of the database's clock. Raises QuotaExceeded, with the seconds to wait."""
        most = self._settings.questions_a_minute
        with self._database.untold() as connection:
            row = connection.execute(
                "select * from count_question(%s, %s, %s)", [asker.key, asker.tenant, most]
            ).fetchone()
        allowed, wait = row or (0, 60)
        if wait:
            raise QuotaExceeded(
                f"this token has asked its {allowed} questions of this minute",
                remedy=f"Ask again in {wait} seconds",
                retry_seconds=wait,
            )

    def check_room(self, asker: Asker) -> None:
        """Raises QuotaExceeded where the tenant holds as many passages as it may; asked before each write."""
        with self._database.tenant(asker.tenant) as connection:
            most, held = room(connection, self._settings.passages)
            (accepted,) = connection.execute("select count(*) from outbox").fetchone() or (0,)  # and not indexed yet
        if held + accepted >= most:
            raise QuotaExceeded(
                f"this memory holds {held} passages, {accepted} more were accepted, and it may hold {most}",
                remedy="Publish less, take something back, or ask your admin for more room",
            )


def set_quotas(owner_dsn: str, tenant: str, questions: int | None, passages: int | None) -> None:
    """Gives a tenant numbers of its own, by the owner's connection; None: as the settings say. Raises NotFound."""
    with psycopg.connect(owner_dsn) as connection:
        row = [questions, passages, find_tenant(owner_dsn, tenant).id]
        connection.execute("update tenant set most_questions = %s, most_passages = %s where id = %s", row)
