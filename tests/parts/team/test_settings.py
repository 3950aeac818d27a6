"""What an operator sets: a file, variables before it, and an error for what nobody knows."""

from pathlib import Path

import pytest

from parts.team.errors import Unfit
from parts.team.settings import read_settings

pytestmark = pytest.mark.team


def test_a_variable_goes_before_the_file_and_a_folder_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "team.toml"
    file.write_text('dsn = "dbname=a"\nconnections = 3\nproxy_has_tls = true\n', encoding="utf-8")
    monkeypatch.setenv("ONEIROS_TEAM_DSN", "dbname=b")
    monkeypatch.setenv("ONEIROS_TEAM_PASSAGES", "9")

    found = read_settings(file)

    assert (found.dsn, found.connections, found.passages, found.proxy_has_tls) == ("dbname=b", 3, 9, True)
    assert found.folder == tmp_path / "team-data"
    monkeypatch.setenv("ONEIROS_TEAM_FOLDER", "/srv/team")
    assert read_settings(file).folder == Path("/srv/team")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('dns = "dbname=a"', "there is no setting 'dns'"),
        ("connections = 'many'", "connections must be a whole number from 1 on"),
        ("connections = 0", "connections must be a whole number from 1 on"),
        ("proxy_has_tls = 'perhaps'", "proxy_has_tls must be true or false"),
        ("listen = 8420", "listen must be text"),
        ("folder = 7", "folder must be the name of a folder"),
        ("dsn = ", "cannot be read"),
        ('dsn = "nonsense"', "dsn must be an address"),
    ],
)
def test_what_cannot_be_is_an_error_that_says_so(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "team.toml"
    file.write_text(text + "\n", encoding="utf-8")

    with pytest.raises(Unfit, match=words) as refused:
        read_settings(file)

    assert str(file) in str(refused.value)


def test_a_variable_that_cannot_be_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEIROS_TEAM_PASSAGES", "hunter2")

    with pytest.raises(Unfit, match="passages must be") as refused:
        read_settings()

    assert "ONEIROS_TEAM_PASSAGES" in str(refused.value)
    assert "hunter2" not in str(refused.value)

    monkeypatch.delenv("ONEIROS_TEAM_PASSAGES")
    monkeypatch.setenv("ONEIROS_TEAM_OWNER_DSN", "host=db password=hunter1 hunter2")
    with pytest.raises(Unfit, match="owner_dsn must be") as refused:
        read_settings()
    assert "hunter" not in str(refused.value)
