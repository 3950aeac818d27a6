"""Nothing leaves the machine and nothing is left on it: the program at work in an empty home and without a network."""

import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawler.builders import working_session, write_transcript
from tests.memory_server.test_telemetry import ENVIRONMENT_FILE
from tests.system.house import CHECKOUT
from tests.system.without_network import is_permitted, run_without_network

PYTHON = (sys.executable, "-P", "-c")
EVERYTHING = """
import urllib.request
from oneiros.cli.main import main
from oneiros.environment import Environment
from oneiros.light.endpoint import daemon_state

def run(*command):
    code = main([*command], Environment.of_process())
    assert code == 0, (command, code)

run("init")
run("ingest")
run("recall", "why does the relay lose its connection")
run("dream")
run("serve")
try:
    run("recall", "why does the relay lose its connection")
    run("reindex", "--rebuild")
    port = daemon_state(Environment.of_process().choice.root.state)["port"]
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/today").status == 200
finally:
    run("stop")
"""
OWN = (  # where bytes may lie, below the home
    ".oneiros/memory",
    ".config/oneiros",
    ".local/state/oneiros",
    ".cache/huggingface",
    "run/oneiros",
)
BROUGHT = (".claude/projects", "work/.env")  # what lay there before


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of all commands."""

    said: str
    attempts: dict[str, int]
    files: tuple[str, ...]  # of the home, relative to it


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """The commands in a home that holds one session, standing in a folder whose `.env` names a collector."""
    if not is_permitted():
        pytest.skip("this machine lets no program have a network of its own (`unshare --map-root-user --net`)")
    home = Path(tempfile.mkdtemp(prefix="oneiros-"))  # short: a socket path may have 100 bytes
    for folder in ("run", "tmp", "work"):
        (home / folder).mkdir()
    (home / "work" / ".env").write_text(ENVIRONMENT_FILE, encoding="utf-8")
    write_transcript(home / ".claude" / "projects" / "-work-app", *working_session())
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home / "tmp")}
    variables |= {"XDG_RUNTIME_DIR": str(home / "run"), "PYTHONPATH": str(CHECKOUT)}
    try:
        found = run_without_network([*PYTHON, EVERYTHING], env=variables, cwd=home / "work")
        files = sorted(str(file.relative_to(home)) for file in home.rglob("*") if not file.is_dir())
        assert found["code"] == 0, found["said"]
        yield Outcome(found["said"], found["attempts"], tuple(files))
    finally:
        shutil.rmtree(home)


def test_the_counters_see_a_connection_and_a_look_up_of_a_name() -> None:
    if not is_permitted():
        pytest.skip("this machine lets no program have a network of its own (`unshare --map-root-user --net`)")
    attempts = ("socket.socket().connect(('192.0.2.1', 80))", "socket.getaddrinfo('example.org', 80)")
    quiet = "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
    for code, is_seen in ((attempts[0], True), (attempts[1], True), (quiet, False)):
        found: dict[str, Any] = run_without_network([*PYTHON, f"import socket; {code}"])

        assert any(found["attempts"].values()) is is_seen, code


def test_without_a_network_everything_works_and_nothing_looks_for_one(outcome: Outcome) -> None:
    assert "Process" in outcome.said  # the daemon ended as the last of them
    assert not any(outcome.attempts.values()), outcome.attempts


def test_nothing_is_written_but_in_the_folders_of_the_program(outcome: Outcome) -> None:
    assert [file for file in outcome.files if file.startswith(OWN[0])]
    assert [file for file in outcome.files if not file.startswith((*OWN, *BROUGHT))] == []
