"""Two clients, an editor and the command line at one memory, and what a killed daemon costs them."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from oneiros.light.endpoint import MAX_LOG_BYTES, daemon_state, is_running
from tests.loopback import free_port
from tests.system.house import CHECKOUT, House, RelayClient, is_living, wait_until


def test_two_clients_an_editor_and_the_command_line_ask_one_memory_at_once(house: House) -> None:
    first, second = house.relay().initialize(), house.relay().initialize()
    house.write("birds", "# Birds\n\nThe heron waits at the pond named Zwiebelteich.\n")

    wait_until(lambda: "Zwiebelteich" in first.text("search_exact", query="Zwiebelteich"))
    assert house.client.ask("POST", "/api/reindex", {"wait_seconds": 60})["done"]
    answers = [
        first.text("recall", query="where does the heron wait"),
        second.text("recall", query="where does the heron wait"),
    ]
    printed = json.loads(house.command("recall", "where does the heron wait", "--json").stdout)

    assert answers[0] == answers[1]
    assert printed["hits"][0]["path"] == "topics/birds.md"
    wait_until(house.has_one_daemon)


def test_a_token_that_opens_nothing_is_named_with_its_file(served: House) -> None:
    token = served.state / "token"
    content = token.read_bytes()
    token.write_bytes(b"")

    output = served.command("status", check=False)

    token.write_bytes(content)
    assert (output.returncode, output.stderr.partition(". ")[0]) == (
        3,
        f"{token}: it does not open the daemon that runs",
    )


def test_a_client_of_the_sdk_gets_answers_over_stdio(served: House) -> None:
    command = [sys.executable, "-c", "from oneiros.cli.main import run; run()", "mcp"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(served.variables), cwd=served.folder)

    async def run() -> list[CallToolResult]:
        async with Client(server) as client:
            await asyncio.to_thread(wait_until, lambda: served.client.ask("GET", "/api/indexing")["runs"] > 0)
            return [
                await client.call_tool("recall", {"query": "relay port"}),
                await client.call_tool("memory_status", {}),
            ]

    answer, status = ("".join(getattr(block, "text", "") for block in result.content) for result in asyncio.run(run()))

    assert "topics/mail.md:3" in answer and "2525" in answer
    assert "passages: 2 indexed by words, 2 by meaning" in status


def test_a_killed_daemon_costs_one_error_and_nothing_else(house: House) -> None:
    client = house.relay().initialize()
    client.text("recall", query="cat")
    house.daemon().suspend()
    client.hand_on({"id": "lost", "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "cat"}}})

    house.daemon().kill()

    reply = client.receive()
    assert reply["id"] == "lost" and "went away" in reply["error"]["message"]
    assert "oven" in client.text("recall", query="where does the cat sleep")


def test_a_daemon_that_went_with_nothing_under_way_is_not_noticed(house: House) -> None:
    house.serve()  # what is still being indexed would be told with the first answer and not with the second
    client = house.relay().initialize()
    before = client.text("search_exact", query="2525")

    house.daemon().kill()
    wait_until(lambda: not is_running(str(house.root)))

    assert client.text("search_exact", query="2525") == before


def test_a_daemon_that_is_killed_again_and_again_is_replaced_each_time(house: House) -> None:
    client = house.relay().initialize()
    for _ in range(7):
        assert "2525" in client.text("search_exact", query="2525")
        house.daemon().kill()
        wait_until(lambda: not is_running(str(house.root)))

    assert "2525" in client.text("search_exact", query="2525")


def test_a_deleted_derived_folder_is_made_anew_by_one_daemon(house: House) -> None:
    house.serve()
    first = daemon_state(house.state)["started"]

    shutil.rmtree(house.root / ".oneiros")

    wait_until(lambda: daemon_state(house.state).get("started", first) != first)
    client = house.relay().initialize()
    assert "2525" in client.text("search_exact", query="2525")
    assert is_running(str(house.root))
    wait_until(house.has_one_daemon)


@pytest.mark.parametrize("kind", ["mcp", "http"])
def test_a_daemon_whose_socket_was_deleted_is_reached_again(house: House, kind: str) -> None:
    house.serve()
    Path(str(daemon_state(house.state)[kind])).unlink()

    if kind == "mcp":
        assert "2525" in house.relay().initialize().text("search_exact", query="2525")
    else:
        assert "2525" in house.command("exact", "2525").stdout
    wait_until(lambda: Path(str(daemon_state(house.state).get(kind, "/none"))).exists())
    wait_until(house.has_one_daemon)


def test_answers_under_way_reach_a_client_that_has_closed_its_end(served: House) -> None:
    lines: list[dict[str, object]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search_exact", "arguments": {"query": "2525"}}},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)

    done = subprocess.run(
        [sys.executable, "-m", "oneiros.light.relay"],
        input=text,
        env=dict(served.variables),
        capture_output=True,
        text=True,
        check=True,
    )

    replies = {json.loads(line)["id"]: json.loads(line) for line in done.stdout.splitlines()}
    assert replies.keys() == {1, 2} and "2525" in replies[2]["result"]["content"][0]["text"]
    assert done.stderr == ""


def test_tools_are_listed_before_the_model_is_loaded(house: House) -> None:
    client = house.relay().initialize()

    names = [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]

    assert {"recall", "search_exact", "search_memory"} <= set(names)


def test_fifty_clients_that_open_at_once_share_one_daemon(house: House) -> None:
    with ThreadPoolExecutor(50) as threads:
        clients = list(threads.map(lambda _: house.relay(), range(50)))
        list(threads.map(RelayClient.initialize, clients))
        house.serve()  # it runs; the first index may take longer than a question waits for it
        answers = set(threads.map(lambda client: client.text("search_exact", query="2525"), clients))

    assert len(answers) == 1
    wait_until(house.has_one_daemon)


def test_the_daemon_survives_the_client_that_started_it(house: House) -> None:
    house.relay().initialize().process.send_signal(signal.SIGKILL)

    assert house.client.ask("GET", "/api/indexing")["stage"]
    assert house.daemon().ppid() != os.getpid()


def test_a_relay_ends_when_its_parent_has_vanished(served: House) -> None:
    script = (
        "import os, signal, subprocess, sys\n"
        "r, w = os.pipe()\n"
        "child = subprocess.Popen([sys.executable, '-m', 'oneiros.light.relay'], stdin=r, stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "signal.pause()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], env=dict(served.variables), stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    relay = psutil.Process(int(parent.stdout.readline()))

    parent.kill()
    parent.wait()
    parent.stdout.close()

    wait_until(lambda: not is_living(relay))


def test_an_idle_daemon_ends_and_the_next_request_starts_another(house: House) -> None:
    client = house.relay().initialize()
    first = house.daemon()
    house.settle(idle_minutes=0.03)
    wait_until(lambda: not is_running(str(house.root)))
    house.settle(idle_minutes=30)

    assert "2525" in client.text("search_exact", query="2525")
    assert house.daemon().pid != first.pid


def test_sigterm_and_sigint_end_the_daemon_cleanly(house: House) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        assert "2525" in house.relay().initialize().text("search_exact", query="2525")  # a client that stays
        house.serve()
        daemon = house.daemon()
        daemon.send_signal(number)
        wait_until(lambda: not is_running(str(house.root)))

        assert list((house.folder / "run" / "oneiros").glob("*.mcp")) == []
    assert "Traceback" not in house.log()


def test_a_stale_lock_and_socket_are_taken_over(house: House) -> None:
    house.serve()
    house.daemon().kill()
    wait_until(lambda: not is_running(str(house.root)))
    assert list((house.folder / "run" / "oneiros").glob("*.mcp")) != []

    house.serve()

    assert house.client.ask("GET", "/health")["status"] == "ok"


def test_a_log_that_has_grown_long_starts_anew_with_the_next_daemon(house: House) -> None:
    house.state.mkdir(mode=0o700, parents=True)
    (house.state / "daemon.log").write_text("x" * (MAX_LOG_BYTES + 1), encoding="utf-8")

    house.serve()

    assert "x" * 100 not in house.log() and "sources read" in house.log()


def test_a_missing_memory_is_one_error_that_says_so(house: House) -> None:
    (house.root / "MEMORY.md").unlink()

    reply = house.relay().request("initialize", {})

    assert "oneiros init" in reply["error"]["message"]
    assert house.running("oneiros.daemon.main") == []


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(served: House) -> None:
    client = served.relay().initialize()

    client.send_bytes(b"not json\n")
    assert client.receive()["error"]["code"] == -32700

    client.send_bytes(b'{"jsonrpc": "2.0", "id": 7, "method": "nonsense"}\n')
    assert client.receive()["error"]["code"] == -32601


def test_a_long_request_passes_whole(served: House) -> None:
    client = served.relay().initialize()

    reply = client.call("search_exact", query="heron " * 60_000)

    assert reply["result"]["content"]


def test_a_daemon_that_starts_anew_keeps_its_clients(house: House) -> None:
    client = house.relay().initialize()
    started = house.client.ask("GET", "/api/indexing") and daemon_state(house.state)["started"]

    house.client.ask("POST", "/api/restart")
    wait_until(lambda: daemon_state(house.state).get("started", started) != started)

    assert "2525" in client.text("search_exact", query="2525")


def test_relay_and_hook_import_the_standard_library_alone(house: House) -> None:
    code = (
        "import sys, json; before = set(sys.modules); import oneiros.light.relay, oneiros.light.hook;"
        "print(json.dumps(sorted({n.split('.')[0] for n in set(sys.modules) - before})))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
    )

    foreign = [name for name in json.loads(found.stdout) if name not in sys.stdlib_module_names]
    assert foreign == ["oneiros"]
    assert not {"asyncio", "pathlib", "typing_extensions"} & set(json.loads(found.stdout))


def test_serve_status_and_stop(house: House) -> None:
    served = json.loads(house.command("serve", "--json").stdout)
    status = json.loads(house.command("status", "--json").stdout)

    daemon = house.daemon()
    assert status["daemon"]["pid"] == served["pid"] == daemon.pid
    assert house.command("stop").returncode == 0
    assert not is_running(str(house.root))
    wait_until(lambda: not is_living(daemon))  # it lets its lock go a moment before it is gone
    assert house.command("stop", check=False).returncode == 1


def test_a_port_that_serve_was_given_is_the_one_of_later_daemons(house: House) -> None:
    port = free_port()

    first = json.loads(house.command("serve", "--json", "--port", str(port)).stdout)
    any_port = json.loads(house.command("serve", "--json", "--port", "0").stdout)
    other = house.command("serve", "--port", str(port - 1), check=False)
    house.command("serve", "--port", str(port))
    house.command("stop")
    again = json.loads(house.command("serve", "--json").stdout)

    assert first["port"] == any_port["port"] == again["port"] == port
    assert (other.returncode, other.stdout) == (1, "") and "oneiros stop" in other.stderr


def test_a_share_that_is_to_be_kept_is_the_next_daemons(house: House) -> None:
    house.serve()
    answer = house.client.ask("PUT", "/api/embedding", {"share": 0.75, "keep": True})
    house.command("stop")
    house.serve()

    assert answer["until"] == "you change your settings"
    assert house.client.ask("GET", "/api/indexing")["share"] == 0.75


def test_doctor_has_the_daemon_compare_what_a_query_returns_with_the_ledger(served: House) -> None:
    wait_until(lambda: served.client.ask("GET", "/api/indexing")["semantic"] == "ChromaDB", seconds=120)

    checks = json.loads(served.command("doctor", "--json", check=False).stdout)["checks"]

    assert [check["detail"] for check in checks if check["check"] == "meaning"] == [
        "all 2 vectors are held, and sampled ones find themselves; answered by ChromaDB"
    ]


def test_a_note_for_sessions_comes_from_the_session_that_the_client_names(house: House) -> None:
    for session in ("11111111-aaaa", "22222222-bbbb"):
        relay = house.relay(CLAUDE_CODE_SESSION_ID=session).initialize()
        relay.text("note_for_sessions", text=f"I am {session}.", session="somebody-else")

    reply = relay.text("read_memory", name="handoff")
    status = house.command("status").stdout

    for session in ("11111111-aaaa", "22222222-bbbb"):
        ago = r"status, \d minutes ago"
        assert re.search(rf"Session {session} tells the others \({ago}\):\n  \| I am {session}\.", reply)
        assert re.search(rf"note      {ago}, in \.blackboard/sessions/{session}/told-status\.md", status)
    assert "somebody-else" not in reply
