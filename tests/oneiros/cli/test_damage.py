"""Files of `.oneiros` that a disk has damaged: what is said, and which command mends them."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import working_session, write_transcript
from tests.memories import write_topic


@pytest.fixture
def environment(tmp_path: Path, founded: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Environment]:
    """A memory with a topic and an archived session, all indexed."""
    shutil.copytree(founded, tmp_path / "mem")
    variables = {"ONEIROS_ROOT": str(tmp_path / "mem"), "XDG_RUNTIME_DIR": str(tmp_path), "ONEIROS_NO_DAEMON": "1"}
    found = Environment(variables, tmp_path, tmp_path)
    write_topic(found.choice.root, "mail", "# Mail\n\n- The relay listens on port 2525.\n")
    write_transcript(tmp_path / ".claude" / "projects" / "-srv-app", *working_session())
    assert main(["ingest"], found) == 0 and main(["reindex"], found) == 0
    capsys.readouterr()
    yield found


def damage(file: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.write_bytes(os.urandom(16_384) + file.read_bytes()[16_384:])


@pytest.mark.parametrize("name", ["sessions.db", "raw.db", "stretches/ledger.db"])
@pytest.mark.parametrize("command", ["recall --no-daemon relay", "status", "ingest", "dream", "doctor"])
def test_what_is_made_of_transcripts_and_archive_is_made_anew(
    environment: Environment, name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(environment.choice.root.derived_folder / name)

    code = main(command.split(), environment)

    out, error = capsys.readouterr()
    assert code == 0, out + error
    assert main(["ingest"], environment) == main(["reindex"], environment) == main(["doctor"], environment) == 0
    assert main(["recall", "--no-daemon", "--raw", "keepalive every 300 seconds"], environment) == 0


def test_a_damaged_ledger_leaves_the_other_checks_and_is_rebuilt(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(environment.choice.root.ledger)

    assert main(["doctor", "--json"], environment) == 3
    checks = {one["check"]: one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["ledger"]["state"] == "failed" and "reindex --rebuild" in checks["ledger"]["repair"]
    assert checks["approval"]["state"] == checks["archive"]["state"] == checks["model"]["state"] == "ok"
    assert main(["reindex", "--rebuild"], environment) == main(["doctor"], environment) == 0


def test_a_rebuild_makes_what_is_damaged_deep_inside_anew(environment: Environment) -> None:
    file = environment.choice.root.sessions_database
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    file.write_bytes(file.read_bytes()[:8192] + os.urandom(file.stat().st_size - 8192))

    assert main(["reindex", "--rebuild"], environment) == main(["ingest"], environment) == 0
    assert main(["doctor"], environment) == 0
