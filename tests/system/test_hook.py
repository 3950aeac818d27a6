"""The hook script: it ends in time with 0 and says nothing on stderr, whatever the daemon does."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawler.closed import read_ends
from oneiros.light.endpoint import ensure_private, runtime_folder, socket_path
from oneiros.light.hook import NOBODY_LOOKED
from tests.dream.builders import decisions_on
from tests.system.house import CHECKOUT, House, wait_until


def run_hook(
    house: House, payload: str = '{"session_id": "a-1"}', event: str = "UserPromptExpansion"
) -> subprocess.CompletedProcess[str]:
    """A hook to its end; the bound is against hanging, and measures nothing."""
    return subprocess.run(
        [sys.executable, "-m", "oneiros.light.hook", event],
        input=payload,
        env=dict(house.variables),
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_a_hook_without_a_daemon_says_nothing_and_starts_none(house: House) -> None:
    done = run_hook(house)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert house.processes() == []


@pytest.mark.parametrize("socket_left", [None, False, True])
def test_a_hook_without_a_daemon_has_nothing_to_log(house: House, socket_left: bool | None) -> None:
    if socket_left is not None:  # a daemon was killed
        ensure_private(runtime_folder(house.variables))
        path = socket_path(house.variables, str(house.root), "http")
        house.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        (house.state / "daemon.json").write_text(json.dumps({"http": path}), encoding="utf-8")
        if socket_left:
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(path)

    done = run_hook(house)

    assert (done.returncode, done.stdout, (house.state / "hook.log").exists()) == (0, "", False)


def test_a_hook_reaches_the_daemon(house: House) -> None:
    house.serve()
    payload = {"session_id": "a-1", "prompt": "Which port does the relay listen on?"}

    reply = house.answer_of_hook("UserPromptSubmit", payload)

    assert "The relay listens on port 2525." in reply["hookSpecificOutput"]["additionalContext"]


@contextlib.contextmanager
def answering(house: House, answer: bytes | None) -> Iterator[list[bytes]]:
    """What listens in a daemon's place and gives one answer, or none; the requests that it was sent."""
    ensure_private(runtime_folder(house.variables))
    path, requests = socket_path(house.variables, str(house.root), "http"), list[bytes]()
    state = house.state / "daemon.json"
    state.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.write_text(json.dumps({"http": path}), encoding="utf-8")

    def serve() -> None:
        with contextlib.suppress(OSError):  # the test ends it
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):  # the hook may have given up
                    requests.append(connection.recv(65_536))
                    connection.sendall(answer) if answer is not None else connection.recv(1)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield requests
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n[1,", b"HTTP/1.1 500 Oh\r\n\r\n{}", None]
)
def test_a_daemon_that_is_slow_or_answers_garbage_is_not_waited_for(house: House, answer: bytes | None) -> None:
    log, runs = house.state / "hook.log", list[subprocess.CompletedProcess[str]]()
    why = "took too long" if answer is None else "gave no answer"
    with answering(house, answer) as asked:

        def has_told() -> bool:  # a late machine may not have come so far as to ask, or to read what was answered
            runs.append(run_hook(house, payload="not json at all"))
            return bool(asked) and log.exists() and why in log.read_text(encoding="utf-8")

        wait_until(has_told)

    assert {(done.returncode, done.stdout, done.stderr) for done in runs} == {(0, "", "")}


def changed_by_nobody(house: House) -> None:
    """A topic is changed although the state before it was approved."""
    decisions = decisions_on(house.memory_root)
    assert decisions.find_unexplained() == []  # which notes what is there
    house.write("mail", "# Mail\n\nThe relay was sold.\n")


def warning_of_hook(house: House) -> Any:
    """What the start of a session says without a daemon; never nothing, and on a late machine it is asked again."""
    answers: list[Any] = []

    def has_looked() -> bool:
        answers.append(json.loads(run_hook(house, event="SessionStart").stdout))
        return bool(answers[-1] != json.loads(NOBODY_LOOKED))

    wait_until(has_looked)
    return answers[-1]


def test_the_warning_about_changes_does_not_depend_on_a_daemon_that_can_be_reached(house: House) -> None:
    changed_by_nobody(house)
    (house.folder / "run" / "oneiros").write_text("a file where a daemon would listen", encoding="utf-8")

    reply = warning_of_hook(house)

    context = reply["hookSpecificOutput"]["additionalContext"]
    assert "stand as nobody approved them" in context and "mail.md" not in context
    assert "topics/mail.md (changed)" in reply["systemMessage"] and "oneiros doctor" in reply["systemMessage"]


def test_where_nobody_can_look_the_session_is_told_so(house: House) -> None:
    (house.folder / "run" / "oneiros").write_text("a file where a daemon would listen", encoding="utf-8")
    (house.state / "decisions-head.json").mkdir(parents=True)

    assert run_hook(house, event="SessionStart").stdout.encode() == NOBODY_LOOKED


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"HTTP/1.1 503 Busy\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", None])
def test_the_warning_about_changes_does_not_depend_on_what_a_daemon_answers(house: House, answer: bytes | None) -> None:
    changed_by_nobody(house)
    with answering(house, answer):
        reply = warning_of_hook(house)

    assert "topics/mail.md (changed)" in reply["systemMessage"]


def test_the_start_of_a_session_starts_the_daemon_and_says_how_the_memory_stands(house: House) -> None:
    reply = house.answer_of_hook("SessionStart", {"session_id": "a-1"})

    assert "2 topics" in reply["systemMessage"]
    assert "[Mail](topics/mail.md)" in reply["hookSpecificOutput"]["additionalContext"]


def modes_below(*folders: Path) -> dict[Path, int]:
    """The modes of folders and of all that lies in them; a daemon that runs may take files away meanwhile."""
    found = {}
    for folder in folders:
        for place, names, files in os.walk(folder):
            for path in (Path(place), *(Path(place) / name for name in (*names, *files))):
                with contextlib.suppress(FileNotFoundError):
                    found[path] = path.lstat().st_mode
    return found


def test_all_that_a_hook_and_its_daemon_write_is_for_the_person_alone(house: House) -> None:
    for place in (house.root, *house.root.rglob("*")):
        place.chmod(0o755)  # as a clone lies there
    text = '{"session_id": "a-1"}'
    command = [sys.executable, "-m", "oneiros.light.hook"]
    for event in ("SessionStart", "SessionEnd"):
        subprocess.run([*command, event], input=text, env=dict(house.variables), text=True, umask=0, check=True)
    house.warm_up()

    written = modes_below(house.root / ".oneiros", house.state)
    assert {"ledger.db", "token", "ended.jsonl", "daemon.log"} <= {place.name for place in written}
    assert [place for place, mode in written.items() if mode & 0o077] == []


def test_the_end_of_a_session_is_noted_without_a_daemon(house: House) -> None:
    run_hook(house, event="SessionEnd")

    assert set(read_ends(house.state / "ended.jsonl")) == {"a-1"}
    assert house.processes() == []


def test_a_session_id_that_is_a_path_is_not_noted(house: House) -> None:
    run_hook(house, payload='{"session_id": "../../topics/x"}', event="SessionEnd")

    assert not (house.state / "ended.jsonl").exists()


def test_a_write_into_approved_memory_is_denied_without_a_daemon(house: House) -> None:
    call = {"tool_name": "Write", "tool_input": {"file_path": str(house.root / "topics" / "x.md")}, "cwd": "/"}

    reply = house.answer_of_hook("PreToolUse", call)

    assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert house.processes() == []


@pytest.mark.parametrize("fault", ["SyntaxError", "AttributeError"])
def test_a_guard_that_is_broken_denies(house: House, fault: str) -> None:
    call = {"tool_name": "Write", "tool_input": {"file_path": str(house.root / "topics" / "x.md")}, "cwd": "/"}
    program = (
        "import sys; from oneiros.light import hook\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'parts.hook_table': raise {fault}(name)\n"
        "sys.meta_path.insert(0, Broken()); hook.run()"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, "PreToolUse"],
        input=json.dumps(call).encode(),
        capture_output=True,
        env=dict(house.variables),
        check=True,
    )

    decision = json.loads(done.stdout)["hookSpecificOutput"]
    assert decision["permissionDecision"] == "deny"
    assert "the guard cannot be loaded" in decision["permissionDecisionReason"]


def test_a_hook_imports_little(house: House) -> None:
    house.serve()
    program = (
        "import sys; from oneiros.light import hook; hook.os._exit = print; hook.run(); print(sorted(sys.modules))"
    )
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
