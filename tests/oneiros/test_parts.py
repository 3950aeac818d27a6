"""The seam: what parts bring, of this program and of others."""

import sys
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from oneiros.cli.main import main
from oneiros.cli.table import group_commands
from oneiros.environment import Environment
from oneiros.parts import Part, PartCommand, load_installed_parts, load_shipped_parts

ZOO = """
from oneiros.parts import Part, PartCommand

def part():
    return Part("zoo", commands=(PartCommand("feed", "Feed the animals.", "recall", add),))

def add(app):
    @app.command()
    def feed():
        print("fed")
"""


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package that brings a part."""
    folder = tmp_path / "zoo-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text("[oneiros.parts]\nzoo = zoo_part:part\n", encoding="utf-8")
    (tmp_path / "zoo_part.py").write_text(ZOO, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("zoo")
def test_a_part_of_another_package_is_listed_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = Environment({}, tmp_path, tmp_path)

    assert main(["--help"], environment) == 0
    assert main(["feed"], environment) == 0

    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines if line[:2] == "  "]
    assert names[names.index("recall") + 1] == "feed" and lines[-1] == "fed"
    assert [part.name for part in environment.parts] == [*(part.name for part in load_shipped_parts()), "zoo"]


@pytest.mark.usefixtures("zoo")
def test_a_part_that_cannot_be_loaded_is_named_with_the_package_that_brings_it(tmp_path: Path) -> None:
    (tmp_path / "zoo_part.py").write_text("import nowhere_to_be_found\n", encoding="utf-8")
    sys.modules.pop("zoo_part", None)

    with pytest.raises(NeedsRepair, match="zoo"):
        load_installed_parts()


def test_a_command_that_names_none_has_a_heading_of_its_own() -> None:
    feed, roam = PartCommand("feed", "Feed.", "Animals", print), PartCommand("roam", "Roam.", "feed", print)

    groups = group_commands([Part("zoo", commands=(feed, roam))])

    assert [row.name for row in groups["Animals"]] == ["feed", "roam"]


def test_parts_have_names_of_their_own() -> None:
    names = [part.name for part in load_installed_parts()]
    commands = [row.name for rows in group_commands(load_installed_parts()).values() for row in rows]

    assert len(set(names)) == len(names) and len(set(commands)) == len(commands)
