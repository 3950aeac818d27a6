"""What an operator types to let people in."""

import re

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from memory_server.errors import UsageError
from parts.team.cli import app, run
from parts.team.tenants import create_tenant
from tests.parts.team.conftest import OWNER

pytestmark = pytest.mark.team


def typed(owner_dsn: str, *words: str) -> str:
    result = CliRunner().invoke(app, words, env={"ONEIROS_TEAM_OWNER_DSN": owner_dsn}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_token_is_shown_once_then_listed_without_itself_then_revoked(owner_dsn: str) -> None:
    create_tenant(owner_dsn, "ants")

    token = typed(owner_dsn, "token", "create", "ants", "ada", "--may", "read", "--may", "publish").strip()
    listed = typed(owner_dsn, "token", "list", "ants")
    number = listed.split("\t")[0]
    revoked = typed(owner_dsn, "token", "revoke", number)
    again = typed(owner_dsn, "token", "list", "ants")

    assert re.fullmatch("oneiros_token_[0-9a-f]{72}", token)
    assert re.fullmatch(r"\d+\tada\tpublish,read\tuntil \d{4}-\d\d-\d\d\tnever used\n", listed)
    assert revoked == "The token of ada is of no use any more.\n"
    assert "\trevoked " in again
    assert token[14:78] not in listed + again


def test_a_life_that_is_too_long_is_refused(owner_dsn: str) -> None:
    with pytest.raises(UsageError, match="Give 1 to 366"):
        typed(owner_dsn, "token", "create", "ants", "ada", "--days", "1000")


@pytest.mark.parametrize("name", ["", "  ", "an\tts", "an\nts", "ants\x1b[2J"])
def test_a_name_that_no_list_can_show_is_refused(owner_dsn: str, name: str) -> None:
    with pytest.raises(UsageError, match="is no name"):
        typed(owner_dsn, "tenant", "create", name)
    typed(owner_dsn, "tenant", "create", "named" + name.encode().hex())
    with pytest.raises(UsageError, match="is no name"):
        typed(owner_dsn, "token", "create", "named" + name.encode().hex(), name)


def test_a_token_whose_time_is_over_is_listed_so(owner_dsn: str) -> None:
    create_tenant(owner_dsn, "wasps")
    typed(owner_dsn, "token", "create", "wasps", "ada")
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("update token set expires = '2026-01-31' where person = 'ada' and expires > now()")

    assert "\texpired 2026-01-3" in typed(owner_dsn, "token", "list", "wasps")


def test_quotas_are_told_whole_as_they_are_now(owner_dsn: str) -> None:
    create_tenant(owner_dsn, "bees")

    output = typed(owner_dsn, "quota", "bees", "--questions", "5")

    assert output == "bees: 5 questions a minute of each token, 200000 (of the settings) passages.\n"


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    """The exit code of the program."""
    monkeypatch.setattr("sys.argv", ["oneiros-team", *words])
    with pytest.raises(SystemExit) as left:
        run()
    return left.value.code


def test_a_database_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONEIROS_TEAM_OWNER_DSN", "host=127.0.0.1 port=1")

    assert ended(monkeypatch, "token", "list", "ants") == 3

    output = capsys.readouterr().err
    assert output.startswith("The database does not answer: ")
    assert output.count("\n") == 1


def test_a_role_that_may_not_is_one_sentence(
    app_dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONEIROS_TEAM_OWNER_DSN", app_dsn)

    assert ended(monkeypatch, "tenant", "create", "moths") == 3

    text = "Is `owner_dsn` right, and did `oneiros-team upgrade` run?"
    assert capsys.readouterr().err == f"The database does not do that: permission denied for table tenant. {text}\n"


def test_an_owner_that_may_not_make_pgvector_is_told_who_does(
    postgres: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONEIROS_TEAM_OWNER_DSN", make_conninfo(postgres, dbname="postgres", user=OWNER))

    assert ended(monkeypatch, "upgrade") == 3

    assert "Have an admin run `create extension vector`" in capsys.readouterr().err
