"""What a token may ask and a tenant may hold, counted by the database."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from parts.team.access.asker import Asker
from parts.team.access.quotas import Quotas, set_quotas
from parts.team.engine.database import Database
from parts.team.errors import NotFound, QuotaExceeded
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant

pytestmark = pytest.mark.team


def asker(tenant: int, key: int) -> Asker:
    return Asker(tenant, "ada", frozenset({"read"}), key.to_bytes(32, "big"))


def allowed(quotas: Quotas, who: Asker) -> bool:
    try:
        quotas.count_question(who)
    except QuotaExceeded as error:
        assert 1 <= error.retry_seconds <= 60
        return False
    return True


def test_questions_at_once_are_all_counted(owner_dsn: str, database: Database) -> None:
    tenant = create_tenant(owner_dsn, "ants").id
    quotas = Quotas(database, TeamSettings(questions_a_minute=30))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: allowed(quotas, asker(tenant, 1)), range(80)))
        others = [allowed(quotas, asker(tenant, 2)) for _ in range(10)]

    assert answers.count(True) in (30, 60)  # 60 where a minute began meanwhile
    assert all(others)


def test_a_tenants_own_numbers_go_before_the_settings_until_they_are_taken_away(
    owner_dsn: str, database: Database
) -> None:
    tenant = create_tenant(owner_dsn, "bees").id
    quotas = Quotas(database, TeamSettings(questions_a_minute=1_000))

    set_quotas(owner_dsn, "bees", questions=0, passages=None)
    before = allowed(quotas, asker(tenant, 3))
    set_quotas(owner_dsn, "bees", questions=None, passages=None)
    after = allowed(quotas, asker(tenant, 3))

    assert (before, after) == (False, True)
    with pytest.raises(NotFound):
        set_quotas(owner_dsn, "wasps", questions=1, passages=1)


def test_a_memory_that_is_full_takes_nothing_more(owner_dsn: str, database: Database, garden_tenant: int) -> None:
    quotas = Quotas(database, TeamSettings())
    quotas.check_room(asker(garden_tenant, 4))

    set_quotas(owner_dsn, "garden", questions=None, passages=3)

    with pytest.raises(QuotaExceeded, match="may hold 3"):
        quotas.check_room(asker(garden_tenant, 4))


def test_what_is_accepted_and_not_indexed_yet_takes_room_too(owner_dsn: str, database: Database) -> None:
    """Else people publish more than the index may take, which then stays where it is."""
    quotas, tenant = Quotas(database, TeamSettings(passages=2)), create_tenant(owner_dsn, "hornets").id
    other = create_tenant(owner_dsn, "moths").id
    for whose in (tenant, tenant, other):
        quotas.check_room(asker(whose, 5))
        with database.tenant(whose) as connection:
            connection.execute("insert into outbox(tenant, commit) values(%s, 'c0ffee')", (whose,))

    quotas.check_room(asker(other, 6))
    with pytest.raises(QuotaExceeded, match="2 more were accepted"):
        quotas.check_room(asker(tenant, 5))
