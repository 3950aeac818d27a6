"""The hook script: it ends in time with 0 and says nothing on stderr, whatever the daemon does."""

import socket
import subprocess
import sys
import threading
import time

import pytest

from oneiros.runtime import ensure_private, runtime_folder, socket_path
from tests.system.house import House


def run_hook(house: House, told: str = '{"hook_event_name": "Stop"}') -> tuple[subprocess.CompletedProcess[str], float]:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "oneiros.hook", "Stop"],
        input=told,
        env=dict(house.variables),
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done, time.monotonic() - started


def test_a_hook_without_a_daemon_says_nothing_and_starts_none(house: House) -> None:
    done, _ = run_hook(house)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert house.processes() == []


def test_a_hook_reaches_the_daemon(house: House) -> None:
    house.serve()

    done, _ = run_hook(house)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[1,", None])
def test_a_daemon_that_is_slow_or_answers_garbage_is_not_waited_for(house: House, answer: bytes | None) -> None:
    ensure_private(runtime_folder(house.variables))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(socket_path(house.variables, str(house.root), "http"))
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            if answer is None:
                connection.recv(1)  # until the hook gives up
            else:
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    done, seconds = run_hook(house, told="not json at all")
    thread.join()
    listener.close()

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert seconds < 20  # a bound against hanging, not a measure
