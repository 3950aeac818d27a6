"""What a disk, a folder or a file refuses is one sentence: no traceback, and no word of damage."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT, House

# An account that may read and write everything gives that up first.
AS_ANYBODY = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
PROGRAM = """
import sys
from oneiros.cli.main import main
for words in sys.argv[1:]:
    print(main(words.split()), flush=True)
"""


def run_all(variables: dict[str, str], folder: Path, *commands: str) -> tuple[list[str], str]:
    """The exit codes of some commands, run one after the other in one process, and what they told."""
    command = [*AS_ANYBODY, sys.executable, "-c", PROGRAM, *commands]
    ended = subprocess.run(
        command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    return [line for line in ended.stdout.splitlines() if line.isdigit()], ended.stderr


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(CHECKOUT)}

    codes, output = run_all(variables, tmp_path, "init", "config idle_minutes 5")

    assert codes == ["3", "3"]
    assert output.splitlines() == [
        f"{home}: it cannot be used (Permission denied). Check its rights and those of the folders above it."
    ] * len(codes)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / ".oneiros").touch()
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}

    codes, output = run_all(variables, tmp_path, "init")

    assert codes == ["3"]
    file = tmp_path / ".oneiros"
    assert output == f"{file}: a file lies where a folder has to be. Move it away, or give it another name.\n"


@pytest.mark.parametrize("place", [".", ".oneiros"])
def test_a_memory_that_cannot_be_written_is_named_and_not_called_damaged(house: House, place: str) -> None:
    house.command("reindex")
    house.write("new", "# New\n\nA wheel.\n")
    folders = [folder for folder in [house.root / place, *(house.root / place).rglob("*")] if folder.exists()]
    for found in folders:
        found.chmod(found.stat().st_mode & ~0o222)
    commands = ("status", "recall --no-daemon relay", "reindex", "reindex --rebuild", "report", "dream")

    codes, output = run_all(dict(house.variables), house.folder, *commands)

    for found in folders:
        found.chmod(found.stat().st_mode | 0o200)
    assert "behind; bring them level" in output
    assert codes == ["0", "0", "3", "3", "3", "3"]  # what only reads answers from the indices that are there
    assert not any(word in output for word in ("Traceback", "unexpectedly", "damaged", "Errno"))
    assert all(line.startswith(str(house.root)) for line in output.splitlines()[-4:])
