"""What an operator sets: a file, variables before it, and an error for what nobody knows."""

from pathlib import Path

import pytest

from team.errors import Unfit
from team.settings import read_settings

pytestmark = pytest.mark.team


def test_a_variable_goes_before_the_file_and_a_folder_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "team.toml"
    file.write_text('dsn = "dbname=a"\nconnections = 3\nproxy_has_tls = true\n', encoding="utf-8")
    monkeypatch.setenv("ONEIROS_TEAM_DSN", "dbname=b")

    found = read_settings(file)

    assert (found.dsn, found.connections, found.proxy_has_tls) == ("dbname=b", 3, True)
    assert found.folder == tmp_path / "team-data"
    monkeypatch.setenv("ONEIROS_TEAM_FOLDER", "/srv/team")
    assert read_settings(file).folder == Path("/srv/team")


@pytest.mark.parametrize("text", ['dns = "dbname=a"', "connections = 'many'", "proxy_has_tls = 'perhaps'", "dsn = "])
def test_what_cannot_be_is_an_error_that_says_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "team.toml"
    file.write_text(text + "\n", encoding="utf-8")

    with pytest.raises(Unfit, match=r"dns|connections|proxy_has_tls|cannot be read"):
        read_settings(file)
