"""Another account reaches the loopback address, and only it: what it leaves open there stands in nobody's way."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiros.light import endpoint as runtime
from oneiros.light.endpoint import daemon_state, socket_path
from tests.system.house import House
from tests.system.test_http import ask

MANY = 300
HALF = b"POST /page/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"


@contextlib.contextmanager
def half_open(family: int, address: str | tuple[str, int]) -> Iterator[None]:
    """Many requests that do not end, none of which is closed from here."""
    with contextlib.ExitStack() as stack:
        for number in range(MANY):
            connection = stack.enter_context(socket.socket(family))
            connection.connect(address)
            with contextlib.suppress(OSError):  # it had to make room already
                connection.sendall(HALF + b"\r\n" * (number % 2))
        yield


@pytest.mark.parametrize("side", ["loopback", "private"])
def test_300_half_open_requests_leave_everybody_else_untouched(served: House, side: str) -> None:
    port = daemon_state(served.state)["port"]
    assert isinstance(port, int)
    sides = {
        "loopback": half_open(socket.AF_INET, ("127.0.0.1", port)),
        "private": half_open(socket.AF_UNIX, socket_path(served.variables, str(served.root), "http")),
    }
    with sides[side]:
        relay = served.relay().initialize()
        payload = {"session_id": "a-1", "prompt": "Which port does the relay listen on?"}

        assert served.client.ask("POST", "/api/exact", {"query": "2525"})["hits"]
        assert "2525" in relay.text("search_exact", query="2525")
        assert "2 topics" in served.answer_of_hook("SessionStart", payload)["systemMessage"]
        assert ask(served, "GET", "/api/status")[0] == 200


@pytest.mark.parametrize("taken", ["folder", "file", "link"])
def test_a_name_that_another_account_took_below_tmp_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    monkeypatch.setattr(runtime, "SHARED_FOLDER", str(tmp_path))
    variables = {"HOME": str(tmp_path / "home")}
    name = Path(runtime.runtime_folder(variables))
    assert name.parent == tmp_path
    if taken == "folder":
        name.mkdir()
        name.chmod(0o777)
    elif taken == "file":
        name.touch()
    else:
        name.symlink_to(tmp_path / "elsewhere")

    folder = runtime.runtime_folder(variables)
    runtime.ensure_private(folder)

    assert Path(folder).is_relative_to(tmp_path / "home" / ".local" / "state") and runtime.is_private(folder)
    assert not (tmp_path / "elsewhere").exists()
