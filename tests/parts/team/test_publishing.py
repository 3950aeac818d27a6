"""From a person's signed decision to a topic of the team, and back; what anybody else sends is not taken."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from dream.decisions.accept import Decisions
from dream.decisions.chain import ChainEntry
from dream.decisions.key import sign
from dream.decisions.passkey import Assertion, Passkey
from dream.decisions.presence import Consent, How
from memory_server.errors import UsageError
from memory_server.settings import PersonSettings
from parts.page.passkeys.browser import encode_base64
from parts.team.access.tokens import create_token
from parts.team.engine.database import Database
from parts.team.errors import Forbidden, NotFound
from parts.team.outbox import Outbox
from parts.team.publication import Publication
from parts.team.publishing import NotTaken, Publishing
from parts.team.repositories import Repositories
from parts.team.sharing.publishing import build_publication, find_nonce, sign_publication
from parts.team.sharing.team import TeamServer, find_changes, write_copy
from parts.team.tenants import create_tenant
from tests.dream.builders import NOW, new_topic, proposed
from tests.dream.test_consent import committed_memory, made_key, on, public_line, signed
from tests.dream.test_passkey import Page, yes
from tests.parts.team.serving import served_team
from tests.parts.team.tiny import tiny_settings

pytestmark = pytest.mark.team

TEAM = "https://memory.example.org"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return made_key(tmp_path / "key")


@pytest.fixture
def decisions(tmp_path: Path, key: Path) -> Decisions:
    """A memory in which one statement was accepted, and signed."""
    root = committed_memory(tmp_path / "memory")
    found = on(root, key)
    found.find_unexplained()
    [hunk] = proposed(found, new_topic("The relay hums at w7.", "relay"))
    found.accept(hunk.id, Consent(How.KEY))
    return signed(found, key)


def person(key: Path) -> PersonSettings:
    return PersonSettings(signing_key=public_line(key), team_url=TEAM)


def published(decisions: Decisions, key: Path) -> Publication:
    [hunk] = decisions.store.hunks()
    return sign_publication(build_publication(decisions, hunk.id, person(key)), partial(sign, key))


@pytest.fixture
def publishing(tmp_path: Path, database: Database) -> Publishing:
    return Publishing(Outbox(database, Repositories(tmp_path / "repositories")), TEAM)


@pytest.fixture
def tenant(owner_dsn: str, request: pytest.FixtureRequest) -> int:
    return create_tenant(owner_dsn, request.node.name).id


def test_a_statement_stands_in_the_topic_with_whose_it_is_until_it_is_taken_back(
    publishing: Publishing, tenant: int, decisions: Decisions, key: Path
) -> None:
    publication = published(decisions, key)

    first = publishing.publish(tenant, "ann", publication)
    again = publishing.publish(tenant, "ann", publication)

    assert first == again
    text = publishing.copy(tenant).files["topics/relay.md"]
    assert f"- The relay hums at w7.[^p{publication.nonce}]\n" in text
    day, decision = NOW.date().isoformat(), publication.decision[:16]
    assert f"[^p{publication.nonce}]: published by ann on {day}, decision {decision}\n" in text

    publishing.revoke(tenant, "ann", publication.nonce)
    assert publishing.copy(tenant).files == {}


def test_a_second_statement_joins_the_list_of_the_first_which_stays_when_it_goes(
    publishing: Publishing, tenant: int, decisions: Decisions, key: Path, tmp_path: Path
) -> None:
    first = published(decisions, key)
    publishing.publish(tenant, "ann", first)
    other_key, other = made_key(tmp_path / "other"), committed_memory(tmp_path / "others")
    theirs = on(other, other_key)
    theirs.find_unexplained()
    [hunk] = proposed(theirs, new_topic("It sleeps at w9.", "relay"))
    theirs.accept(hunk.id, Consent(How.KEY))
    second = published(signed(theirs, other_key), other_key)

    publishing.publish(tenant, "bob", second)

    text = publishing.copy(tenant).files["topics/relay.md"]
    assert f"w7.[^{first.label}]\n- It sleeps at w9.[^{second.label}]\n\n[^{first.label}]: " in text
    with pytest.raises(NotFound):
        publishing.revoke(tenant, "ann", second.nonce)
    publishing.revoke(tenant, "bob", second.nonce)
    assert publishing.copy(tenant).files["topics/relay.md"].count("[^p") == 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"text": "The relay hums at w8."}, "its signature is not by this key"),
        ({"topic": "topics/cats.md"}, "is not about topics/cats.md"),
        ({"topic": "../mail.md"}, "names no decision, or no topic"),
        ({"covering": "{}"}, "cannot be read"),
        ({"team": "https://other.example.org"}, "its signature is not by this key"),
        ({"text": "The relay\u202ehums."}, "what a reader cannot see"),
        ({"nonce": "0" * 16}, "rests on no acceptance"),
    ],
)
def test_what_was_not_signed_so_is_not_taken(
    publishing: Publishing, tenant: int, decisions: Decisions, key: Path, change: dict[str, Any], why: str
) -> None:
    with pytest.raises(NotTaken, match=why):
        publishing.publish(tenant, "ann", replace(published(decisions, key), **change))

    assert publishing.copy(tenant).commit == ""


def test_a_secret_or_another_team_is_refused_even_when_it_is_signed(
    publishing: Publishing, tenant: int, decisions: Decisions, key: Path
) -> None:
    publication = published(decisions, key)

    changes: tuple[dict[str, Any], ...] = (
        {"text": "Use password=hunter2hunter2 there."},
        {"team": "https://other.example.org"},
    )
    for change in changes:
        changed = replace(publication, **change)
        with pytest.raises(NotTaken, match=r"secret|signed for"):
            publishing.publish(tenant, "ann", sign_publication(changed, partial(sign, key)))


def test_a_person_publishes_with_the_key_they_began_with(
    publishing: Publishing, tenant: int, decisions: Decisions, key: Path, tmp_path: Path
) -> None:
    publishing.publish(tenant, "ann", published(decisions, key))
    other_key, other = made_key(tmp_path / "other"), committed_memory(tmp_path / "others")
    theirs = on(other, other_key)
    theirs.find_unexplained()
    [hunk] = proposed(theirs, new_topic("It sleeps.", "relay"))
    theirs.accept(hunk.id, Consent(How.KEY))

    with pytest.raises(Forbidden, match="not the key"):
        publishing.publish(tenant, "ann", published(signed(theirs, other_key), other_key))


def test_what_no_key_signed_is_not_made_a_publication(tmp_path: Path, key: Path) -> None:
    root = committed_memory(tmp_path / "memory")
    found = on(root)
    found.find_unexplained()
    [hunk] = proposed(found, new_topic("It hums.", "relay"))
    found.accept(hunk.id, Consent(How.WORD))

    with pytest.raises(UsageError, match="no key of yours signed"):
        build_publication(found, hunk.id, person(key))


def test_a_decision_that_a_passkey_signed_is_published_where_the_key_vouches_for_the_passkey(
    publishing: Publishing, tenant: int, key: Path, tmp_path: Path
) -> None:
    root = committed_memory(tmp_path / "memory")
    on(root, key).find_unexplained()
    page, other = Page(root, key), Page(committed_memory(tmp_path / "other"))
    page.registers("laptop of ann")
    [hunk] = proposed(page.decisions, new_topic("The relay hums at w7.", "relay"))
    page.decides(yes(hunk))
    publication = published(page.decisions, key)
    mine = publication.passkey
    assert isinstance(mine, Passkey) and mine.name == ""
    nested = encode_base64(b"\x81" * 1_400 + b"\x01")
    covering = msgspec.json.decode(publication.covering, type=ChainEntry)
    assert isinstance(covering.assertion, Assertion)
    deep = replace(covering, assertion=replace(covering.assertion, client_data=encode_base64(b"[" * 100_000)))

    passkeys: list[Passkey | UnsetType] = [
        UNSET,
        other.registers(),
        *(replace(mine, public_key=text) for text in ("", "AAAA", nested)),
    ]
    forgeries = [replace(publication, passkey=passkey) for passkey in passkeys]
    for forged in (*forgeries, replace(publication, covering=deep.line.decode())):
        with pytest.raises(NotTaken, match="signature of its decision"):
            publishing.publish(tenant, "ann", replace(forged, signature=sign(key, forged.signed_bytes)))
    with pytest.raises(NotTaken, match="its signature is not by this key"):
        publishing.publish(tenant, "ann", replace(publication, passkey=replace(mine, count=7)))
    publishing.publish(tenant, "ann", publication)

    assert "- The relay hums at w7.[^p" in publishing.copy(tenant).files["topics/relay.md"]
    with pytest.raises(UsageError, match="no key of yours"):
        build_publication(page.decisions, hunk.id, replace(person(key), signing_key=""))
    publishing.revoke(tenant, "ann", publication.nonce)


@pytest.fixture
def server(tmp_path: Path, owner_dsn: str, app_dsn: str, tenant: int, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the real server."""
    with served_team(replace(tiny_settings(tmp_path / "data", owner_dsn, app_dsn), public_url=TEAM)) as url:
        yield url


def test_a_person_reaches_it_by_their_token_and_keeps_a_copy(
    server: str, owner_dsn: str, decisions: Decisions, key: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    writing = TeamServer(server, create_token(owner_dsn, name, "ann@example.org", ["read", "publish"], 1))
    reading = TeamServer(server, create_token(owner_dsn, name, "bob@example.org", ["read"], 1))
    publication = published(decisions, key)

    commit = writing.publish(publication)
    with pytest.raises(UsageError, match="may not publish"):
        reading.publish(publication)
    stands, files = reading.copy()
    changes = find_changes(decisions.root, files)
    write_copy(decisions.root, changes)

    assert stands == commit
    assert list(changes) == ["topics/team/relay.md"]
    assert "The relay hums at w7." in (decisions.root.path / "topics/team/relay.md").read_text("utf-8")
    assert find_changes(decisions.root, files) == {}
    [hunk] = decisions.store.hunks()
    writing.revoke(find_nonce(decisions, hunk.id))
    write_copy(decisions.root, find_changes(decisions.root, reading.copy()[1]))
    assert not (decisions.root.path / "topics/team/relay.md").exists()
