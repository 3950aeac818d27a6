"""Whole processes: a closed pipe, ^C, strange bytes, and an environment without colour."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_server.root.paths import MemoryRoot
from tests.memories import new_root, write_topic
from tests.system.house import wait_until

REPOSITORY = Path(__file__).parent.parent.parent
ONEIROS = [sys.executable, "-c", "from oneiros.cli.main import run; run()"]


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    found = new_root(tmp_path / "memory")
    for number in range(40):
        write_topic(found, f"t{number}", f"# Topic {number}\n\nThe relay {number} listens on a port. 🚀\n")
    return found


def started(root: MemoryRoot, *arguments: str | bytes) -> "subprocess.Popen[bytes]":
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        "HOME": str(root.path.parent / "home"),
        "ONEIROS_ROOT": str(root.path),
    }
    return subprocess.Popen([*ONEIROS, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_closed_pipe_ends_quietly_with_0(root: MemoryRoot) -> None:
    for arguments in (("topics", "--json"), ("topics",), ("config",)):
        process = started(root, *arguments)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()

        with process.stderr as talk:
            error = talk.read().decode()

        assert (process.wait(), [line for line in error.splitlines() if " topics. " not in line]) == (0, [])


def test_an_argument_that_is_not_utf8_is_only_text(root: MemoryRoot) -> None:
    for arguments in (
        ("exact", b"\xff\xfe", "--no-daemon"),
        ("exact", b"\xff\xfe", "--no-daemon", "--json"),
        ("read", b"\xff"),
    ):
        process = started(root, *arguments)

        _, error = process.communicate()

        assert process.returncode in (1, 2), error.decode()
        assert b"unexpectedly" not in error


def test_indexing_that_is_interrupted_goes_on_where_it_was(root: MemoryRoot) -> None:
    for number in range(300):
        write_topic(root, f"more{number}", f"# More {number}\n\n" + f"Sentence {number} about a port. " * 30)
    settings = root.path.parent / "home" / ".config" / "oneiros" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("embedding_share = 0.01\n", encoding="utf-8")  # one worker, which takes a while anywhere
    process = started(root, "reindex")
    vectors = root.vector_cache
    wait_until(
        lambda: process.poll() is not None or any(file.stat().st_size for file in vectors.glob("*/vectors.f32")), 240
    )
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130, error.decode()
    assert b"Interrupted. What was done is kept" in error

    kept = sum(file.stat().st_size for file in vectors.glob("*/vectors.f32")) // (384 * 4)

    assert 0 < kept < 341


@pytest.mark.parametrize("module", ["logging", "oneiros.cli.table", "oneiros.environment", "numpy"])
def test_an_interruption_while_the_program_is_read_is_one_line(root: MemoryRoot, module: str) -> None:
    program = "from oneiros.cli.main import run; run()"
    command = [sys.executable, "-X", "importtime", "-c", program, "recall", "relay", "--no-daemon"]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "HOME": str(root.path.parent)}
    process = subprocess.Popen(
        command, env={**variables, "ONEIROS_ROOT": str(root.path)}, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    messages = []
    assert process.stderr is not None
    with process.stderr as lines:
        for line in map(bytes.decode, lines):
            if not line.startswith("import time:"):
                messages.append(line.strip())
            elif line.rpartition("|")[2].strip() == module:  # it has just been imported
                process.send_signal(signal.SIGINT)

    process.communicate()
    assert process.returncode == 130
    assert len(messages) == 1 and messages[0].startswith("Interrupted")
