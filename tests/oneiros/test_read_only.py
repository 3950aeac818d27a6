"""A memory in a folder that may only be read: a backup that is mounted, a colleague's, an image."""

import os
import subprocess
import sys
from pathlib import Path

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.memories import write_topic

PROGRAM = """
import sys
from oneiros.cli.main import main
sys.stderr = sys.stdout
for line in sys.argv[1:]:
    print("##", line)
    print("->", main(line.split()), flush=True)
"""


def as_reader(folder: Path, *lines: str, **variables: str) -> list[str]:
    """What commands print, one after the other, to somebody who may write nowhere in the folder."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    obeying = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []  # root is asked for no rights
    try:
        command = [*obeying, sys.executable, "-c", PROGRAM, *lines]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=120)
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
    return done.stdout.split("## ")[1:]


def test_a_memory_that_can_only_be_read_answers_from_its_indices(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    variables = {"HOME": str(tmp_path), "ONEIROS_ROOT": str(root), "HF_HUB_CACHE": "/x", "PATH": os.environ["PATH"]}
    environment = Environment(variables, tmp_path, tmp_path)
    assert main(["init"], environment) == 0
    write_topic(root, "ports", "# Ports\n\nThe relay listens on port 2525.\n")
    assert main(["reindex"], environment) == 0
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}

    exact, recalled, status, doctor, remembered = as_reader(
        root,
        *("exact --no-daemon relay", "recall --no-daemon which port has the relay", "status", "doctor", "remember x"),
        **variables,
    )

    assert "listens on port 2525" in exact and "-> 0" in exact
    assert "listens on port 2525" in recalled and "-> 0" in recalled
    assert "1 topic" in status and "-> 0" in status
    assert "failed" not in doctor
    assert "-> 3" in remembered
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_whoever_writes_into_it_says_what_is_in_the_way(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    variables = {"HOME": str(tmp_path), "ONEIROS_ROOT": str(root), "HF_HUB_CACHE": "/x", "PATH": os.environ["PATH"]}
    assert main(["init"], Environment(variables, tmp_path, tmp_path)) == 0
    write_topic(root, "ports", "# Ports\n\nThe relay listens on port 2525.\n")
    output = as_reader(
        root,
        *("remember x", "wrong ports:3 x", "episode x", "ingest", "dream", "report", "reindex", "forget abc", "serve"),
        *("topics retire ports", "topics mv ports harbours", "backup copy.tar.zst"),
        **variables,
    )

    for answer in output:
        assert str(root) in answer and "Permission denied" in answer and "rights" in answer, answer
        assert "-> 3" in answer and "Errno" not in answer and "unexpected" not in answer, answer
