"""What an operator types to let people in."""

import re

import pytest
from typer.testing import CliRunner

from memory_server.errors import UsageError
from team.cli import app, run
from team.tenants import create_tenant

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


def test_a_database_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONEIROS_TEAM_OWNER_DSN", "host=127.0.0.1 port=1")
    monkeypatch.setattr("sys.argv", ["oneiros-team", "token", "list", "ants"])

    with pytest.raises(SystemExit) as ended:
        run()

    assert ended.value.code == 3
    said = capsys.readouterr().err
    assert said.startswith("The database does not answer: ")
    assert said.count("\n") == 1
