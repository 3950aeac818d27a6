"""Measures what a client costs: start, memory, one request.

    python -m benchmarks.process --json FILE [--memory FOLDER]

All rows are taken in turn in one run: the relay to a warm daemon, an empty server of the MCP SDK, a hook, the short
commands, and an interpreter that does nothing. `start_*` are processor seconds of a daemon, `cli_*` commands as
multiples of that interpreter. `--memory` is an existing memory with its indices, such as `benchmarks.scale --keep`
leaves, for what five clients and a daemon hold; without it the shipped example is used.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import machine_text
from oneiros.client import Client
from oneiros.light.endpoint import connect_daemon, daemon_state, is_running, read_token, request, state_folder

RUNS = 15
STARTS = 5
CLIENTS = 5
EXAMPLE = Path(__file__).parent.parent / "memory"
EMPTY_SERVER = "from mcp.server import MCPServer; MCPServer('empty').run('stdio')"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
QUESTION = "which process opens the index"
COMMANDS = {  # of the command line, with the daemon running
    "cli_recall": ("recall", QUESTION),
    "cli_topics": ("topics",),
    "cli_status": ("status",),
    "cli_help": ("--help",),
    "cli_version": ("--version",),
}
OPENING: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
]


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--memory", type=Path)
    arguments = parser.parse_args()
    print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        figures = measure(Path(folder), arguments.memory)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<28} {value}")


def measure(folder: Path, memory: Path | None) -> dict[str, float]:
    """All figures of one run."""
    root = memory.absolute() if memory else Path(shutil.copytree(EXAMPLE, folder / "memory"))
    variables = {**os.environ, "ONEIROS_ROOT": str(root), "XDG_RUNTIME_DIR": str(folder)}
    client = Client(variables, root)
    with _daemon(client, variables, root) as first:
        _settle(client, first)  # with its indices made
    starts = _start_figures(client, variables, root)
    with _daemon(client, variables, root) as daemon:
        _settle(client, daemon)
        for tool in ("recall", "search", "exact"):
            client.ask("POST", f"/api/{tool}", {"query": QUESTION})
        return starts | _figures(variables, root)


@contextlib.contextmanager
def _daemon(client: Client, variables: Mapping[str, str], root: Path) -> Iterator[psutil.Process]:
    client.start()
    number = daemon_state(state_folder(variables, str(root)))["pid"]
    assert isinstance(number, int)
    try:
        yield psutil.Process(number)
    finally:
        client.ask("POST", "/api/stop")
        while is_running(str(root)):
            time.sleep(0.1)


def _start_figures(client: Client, variables: Mapping[str, str], root: Path) -> dict[str, float]:
    """Processor seconds of whole starts: until it listens, has answered a question, and has opened ChromaDB."""
    taken: dict[str, list[float]] = {"start_listening_s": [], "start_answer_s": [], "start_settled_s": []}
    for _ in range(STARTS):
        with _daemon(client, variables, root) as daemon:
            seconds = [_processor_seconds(daemon)]
            client.ask("POST", "/api/recall", {"query": QUESTION})
            seconds += [_processor_seconds(daemon), _settle(client, daemon)]
        for times, one in zip(taken.values(), seconds, strict=True):
            times.append(one)
    return {name: round(statistics.median(times), 2) for name, times in taken.items()}


def _settle(client: Client, daemon: psutil.Process) -> float:
    """Waits until ChromaDB answers, the last thing of a start; the processor seconds so far."""
    while client.ask("GET", "/api/indexing")["semantic"] != "ChromaDB":
        time.sleep(0.5)
    return _processor_seconds(daemon)


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _figures(variables: Mapping[str, str], root: Path) -> dict[str, float]:
    here = str(Path(__file__).parent.parent)
    variables = {**variables, "PYTHONPATH": here}
    relay = [sys.executable, "-m", "oneiros.light.relay"]
    kinds: dict[str, Callable[[], float]] = {
        "relay_ms": lambda: _until_listed(relay, variables),
        "sdk_server_ms": lambda: _until_listed([sys.executable, "-c", EMPTY_SERVER], variables),
        "hook_ms": lambda: _whole([sys.executable, "-m", "oneiros.light.hook", "Stop"], variables),
        "python_pass_ms": lambda: _whole([sys.executable, "-c", "pass"], variables),
        "request_ms": lambda: _request(variables, root),
    }
    command = [sys.executable, "-c", "from oneiros.cli.main import run; run()"]
    for name, words in COMMANDS.items():
        kinds[name] = lambda words=words: _whole([*command, *words], variables)  # type: ignore[misc]  # a default binds the loop's value
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(RUNS):
        for name, take in kinds.items():
            taken[name].append(take())
    figures = {name: round(statistics.median(times), 2) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name:<28} best {min(times):.1f}, worst {max(times):.1f}", file=sys.stderr)
    for name in COMMANDS:
        figures[name] = round(figures[name] / figures["python_pass_ms"], 1)
    return figures | _memory_figures(relay, variables, root)


def _memory_figures(relay: list[str], variables: Mapping[str, str], root: Path) -> dict[str, float]:
    daemon = daemon_state(state_folder(variables, str(root)))["pid"]
    assert isinstance(daemon, int)
    clients = [_open(relay, variables) for _ in range(CLIENTS)]
    try:
        for one in clients:
            _list_tools(one)
        sizes = [_resident_mb(one.pid) for one in clients]
        together = sum(sizes) + _resident_mb(daemon)
        return {"relay_mb": round(max(sizes), 1), "five_clients_and_daemon_mb": round(together, 1)}
    finally:
        for one in clients:
            _close(one)


def _resident_mb(process: int) -> float:
    return float(psutil.Process(process).memory_info().rss) / 1e6


def _open(command: list[str], variables: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, env=dict(variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _list_tools(process: "subprocess.Popen[str]") -> None:
    """Says hello and waits for the list of tools."""
    assert process.stdin is not None and process.stdout is not None
    for message in OPENING:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            reply: dict[str, Any] = json.loads(process.stdout.readline())
            assert "result" in reply, reply


def _close(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    process.wait(timeout=30)
    process.stdout.close()


def _until_listed(command: list[str], variables: Mapping[str, str]) -> float:
    started = time.perf_counter()
    process = _open(command, variables)
    _list_tools(process)
    taken = (time.perf_counter() - started) * 1000
    _close(process)
    return taken


def _whole(command: list[str], variables: Mapping[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=dict(variables), input="{}", text=True, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def _request(variables: Mapping[str, str], root: Path) -> float:
    started = time.perf_counter()
    connection = connect_daemon(variables, str(root), "http")
    assert connection is not None
    request(
        connection,
        read_token(state_folder(variables, str(root))),
        "POST",
        "/api/hook/output",
        b'{"event": "Stop", "input": {}}',
        30,
    )
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
