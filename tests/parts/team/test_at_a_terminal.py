"""A person at their terminal, a team's server on the loopback: a statement goes there and comes back as a copy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.settings import read_person_settings
from parts.team.access.tokens import create_token
from parts.team.sharing.team import TOKEN
from parts.team.tenants import create_tenant
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed
from tests.parts.team.serving import served_team
from tests.parts.team.tiny import tiny_settings
from tests.system.at_terminal import SETTLE, TAKE_UP, WORD, at_terminal
from tests.system.house import House
from tests.system.test_consent import PASSPHRASE_TWICE, SIGN

pytestmark = pytest.mark.team

STATEMENT = "The relay listens on port 2526."


@pytest.fixture
def address(tmp_path: Path, owner_dsn: str, app_dsn: str) -> Iterator[str]:
    """Where the team's server answers."""
    with served_team(tiny_settings(tmp_path / "data", owner_dsn, app_dsn)) as url:
        yield url


def test_what_was_accepted_and_signed_is_published_pulled_and_taken_back(
    house: House, address: str, owner_dsn: str
) -> None:
    create_tenant(owner_dsn, "ants")
    variables = {TOKEN: create_token(owner_dsn, "ants", "ann@example.org", ["read", "publish"], 1)}
    archive_statements(house.memory_root, STATEMENT)
    [hunk] = proposed(decisions_on(house.memory_root), new_topic(STATEMENT, "relay"))
    assert at_terminal(house, [WORD, *PASSPHRASE_TWICE, SIGN], "key", "new").code == 0
    assert at_terminal(house, [(TAKE_UP, "a\n"), SETTLE, SIGN], "review").code == 0
    assert at_terminal(house, [SIGN], "config", "team_url", address).code == 0
    key = read_person_settings(house.folder / ".config" / "oneiros" / "config.toml").signing_key

    shown = house.command("publish", hunk.id, "--show")
    refused = house.command("publish", hunk.id, check=False)
    sent = at_terminal(house, [SIGN], "publish", hunk.id, variables=variables)

    assert key and STATEMENT in shown.stdout
    assert refused.returncode == 2
    assert sent.code == 0 and "Published, commit" in sent.screen, sent

    pulled = at_terminal(house, [(r"Do this \[y,n\]\? ", "y\n"), SIGN], "team", "--pull", variables=variables)
    copy = house.root / "topics" / "team" / "relay.md"
    assert pulled.code == 0 and f"+- {STATEMENT}" in pulled.screen, pulled
    assert f"- {STATEMENT}[^p" in copy.read_text("utf-8")
    assert f"1 topic of {address}" in house.command("team").stdout
    assert "topics/team/relay.md" in house.command("exact", "2526").stdout

    taken = at_terminal(house, [], "publish", hunk.id, "--revoke", variables=variables)
    assert taken.code == 0 and "Taken back, commit" in taken.screen, taken
    again = at_terminal(house, [(r"Do this \[y,n\]\? ", "y\n"), SIGN], "team", "--pull", variables=variables)
    assert again.code == 0 and not copy.exists(), again
