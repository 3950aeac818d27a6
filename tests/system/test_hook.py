"""The hook script: it ends in time with 0 and says nothing on stderr, whatever the daemon does."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from crawler.closed import read_ends
from oneiros.runtime import ensure_private, runtime_folder, socket_path
from tests.system.house import CHECKOUT, House, wait_until


def run_hook(
    house: House, told: str = '{"session_id": "a-1"}', event: str = "UserPromptExpansion"
) -> subprocess.CompletedProcess[str]:
    """A hook to its end; the bound is against hanging, and measures nothing."""
    return subprocess.run(
        [sys.executable, "-m", "oneiros.hook", event],
        input=told,
        env=dict(house.variables),
        capture_output=True,
        text=True,
        timeout=30,
    )


def answer_of_hook(house: House, told: str, event: str) -> Any:
    """What a hook that must have an answer says; on a machine that is late it says nothing, and is asked again."""
    said: list[str] = []

    def has_said() -> bool:
        said.append(run_hook(house, told, event).stdout)
        return said[-1] != ""

    wait_until(has_said)
    return json.loads(said[-1])


def test_a_hook_without_a_daemon_says_nothing_and_starts_none(house: House) -> None:
    done = run_hook(house)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert house.processes() == []


def test_a_hook_reaches_the_daemon(house: House) -> None:
    house.serve()
    told = json.dumps({"session_id": "a-1", "prompt": "Which port does the relay listen on?"})

    said = answer_of_hook(house, told, "UserPromptSubmit")

    assert "The relay listens on port 2525." in said["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[1,", b"HTTP/1.1 500 Oh\r\n\r\n{}", None]
)
def test_a_daemon_that_is_slow_or_answers_garbage_is_not_waited_for(house: House, answer: bytes | None) -> None:
    ensure_private(runtime_folder(house.variables))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(socket_path(house.variables, str(house.root), "http"))
    listener.listen()
    listener.settimeout(60)
    asked = []

    def serve() -> None:
        connection, _ = listener.accept()
        asked.append(True)
        with connection, contextlib.suppress(OSError):  # the hook may have given up
            connection.recv(65_536)
            if answer is None:
                connection.recv(1)  # until the hook gives up
            else:
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    (house.root / ".oneiros").mkdir()
    state = {"http": socket_path(house.variables, str(house.root), "http")}
    (house.root / ".oneiros" / "daemon.json").write_text(json.dumps(state), encoding="utf-8")
    done = run_hook(house, told="not json at all")
    while not asked:  # a late machine may not have come so far
        done = run_hook(house, told="not json at all")
    thread.join()
    listener.close()

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = (house.root / ".oneiros" / "hook.log").read_text(encoding="utf-8")
    assert ("took too long" if answer is None else "gave no answer") in log


def test_the_start_of_a_session_starts_the_daemon_and_says_how_the_memory_stands(house: House) -> None:
    said = answer_of_hook(house, '{"session_id": "a-1"}', "SessionStart")

    assert "2 topics" in said["systemMessage"]
    assert "[Mail](topics/mail.md)" in said["hookSpecificOutput"]["additionalContext"]


def test_the_end_of_a_session_is_noted_without_a_daemon(house: House) -> None:
    run_hook(house, event="SessionEnd")

    assert set(read_ends(house.root / ".oneiros" / "ended.jsonl")) == {"a-1"}
    assert house.processes() == []


def test_a_session_id_that_is_a_path_is_not_noted(house: House) -> None:
    run_hook(house, told='{"session_id": "../../topics/x"}', event="SessionEnd")

    assert not (house.root / ".oneiros" / "ended.jsonl").exists()


def test_a_write_into_approved_memory_is_denied_without_a_daemon(house: House) -> None:
    call = {"tool_name": "Write", "tool_input": {"file_path": str(house.root / "topics" / "x.md")}, "cwd": "/"}

    said = answer_of_hook(house, json.dumps(call), "PreToolUse")

    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert house.processes() == []


def test_a_hook_imports_little(house: House) -> None:
    house.serve()
    program = "import sys; from oneiros import hook; hook.os._exit = print; hook.run(); print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(CHECKOUT)!r}); {program}", "PostCompact"],
        input="{}",
        env=dict(house.variables),
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.stderr == ""
    for heavy in ("'re'", "'json'", "'enum'", "'socket'", "'typing'", "'collections'"):
        assert heavy not in done.stdout
