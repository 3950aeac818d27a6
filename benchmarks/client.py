"""The plugin inside the genuine Claude Code: what hooks cost, what they inject, and what a storm of sessions leaves.

    python -m benchmarks.client --json FILE

`hook_ms` and `floor_ms` are medians of runs that take turns, so that they share the machine's load: a command hook as
the plugin runs it, and `python3 -c pass` plus one request over the loopback. `tokens_ten_prompts` is what hooks put
before the model in one session of ten prompts. In the storm ten clients at a time start sessions for a minute, some of
which are killed at a random moment, and the daemon with them; afterwards every turn of every transcript must stand in
the archive and no process be left. Needs `make setup-client`.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchmarks.conformance import run_conformance, run_inspector
from crawler.archive.store import Archive
from crawler.transcripts.turns import Role, read_transcript
from oneiros.founding import found_memory
from oneiros.hooks.receipts import read_receipts
from oneiros.light.endpoint import connect_daemon, daemon_state, read_token, request
from tests.plugin.genuine_client import CLIENT, MISSING, PROGRAMS, VERSION, GenuineClient, new_session_id
from tests.plugin.messages_api import Call, MessagesApi
from tests.system.house import CHECKOUT, House, wait_until

ROUNDS = 60  # of the comparison of hook and floor
WORKERS = 10
STORM_SECONDS = 60.0
KILLED_SHARE = 0.3
DAEMON_KILLS = 3
SETTLE_SECONDS = 300.0
SEED = 12
PROMPTS = (
    "How are filtered questions answered?",
    "What may an MCP tool write?",
    "Where does the archive of transcripts lie?",
    "How is a chunk of a table made?",
    "Which layer wins when two of them disagree?",
    "Please remember that we release on Thursdays",
    "What did we decide about the metadata filter of ChromaDB?",
    "Why is the lock file not enough?",
    "How long may a hook take at the start of a session?",
    "What happens to a memory in a cloned repository?",
)


def main() -> None:
    """Measures everything and writes it down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=STORM_SECONDS, help="of the storm")
    arguments = parser.parse_args()
    if not CLIENT.exists():
        sys.exit(MISSING)
    figures: dict[str, Any] = {"client": VERSION}
    figures |= in_house(measure_cost)
    figures |= in_house(measure_tokens)
    figures |= in_house(lambda house: measure_storm(house, arguments.seconds))
    figures["scenarios"] = in_house(run_scenarios)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(
        f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}"
    )
    for key, value in figures.items():
        if key != "scenarios":
            print(f"{key:20} {value}")
    print(f"{'scenarios':20} {sum(figures['scenarios'].values())} of {len(figures['scenarios'])} pass")
    print(f"{'hook / floor':20} {figures['hook_ms'] / figures['floor_ms']:.2f}")


def in_house(measure: Callable[[House], dict[str, Any]]) -> dict[str, Any]:
    """Figures from a house of their own, with the example memory in it."""
    house = House()
    try:
        for file in house.root.rglob("*.md"):
            file.unlink()
        list(found_memory(house.memory_root, "", with_example=True))
        return measure(house)
    finally:
        house.close()


# -- what a hook costs ----------------------------------------------------------------------------------------------


def measure_cost(house: House) -> dict[str, float]:
    """The median of a command hook, and of the least that any could take; run in turn."""
    house.serve()
    variables = {**house.variables, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    variables.pop("PYTHONPATH")
    payload = json.dumps({"session_id": new_session_id(), "cwd": "/", "hook_event_name": "PostCompact"}).encode()
    hook = [str(CHECKOUT / "plugin" / "bin" / "oneiros-hook"), "PostCompact"]
    empty = [sys.executable, "-c", "pass"]
    times: dict[str, list[float]] = {"hook": [], "floor": []}
    for _ in range(ROUNDS):
        times["hook"].append(time_seconds(lambda: run_quietly(hook, payload, variables)))
        floor = time_seconds(lambda: run_quietly(empty, b"", variables)) + time_seconds(lambda: ask_once(house))
        times["floor"].append(floor)
    return {f"{name}_ms": round(statistics.median(values) * 1000, 1) for name, values in times.items()}


def time_seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def run_quietly(command: list[str], payload: bytes, variables: dict[str, str]) -> None:
    subprocess.run(command, input=payload, env=variables, stdout=subprocess.DEVNULL, check=True)


def ask_once(house: House) -> None:
    """One request as a hook makes it."""
    connection = connect_daemon(house.variables, str(house.root), "http")
    assert connection is not None
    request(connection, read_token(house.state), "POST", "/api/hook/output", b'{"event": "PostCompact"}', 30)


# -- what hooks inject ----------------------------------------------------------------------------------------------


def measure_tokens(house: House) -> dict[str, int]:
    """The tokens of one session of ten prompts, by the receipts that `oneiros status` shows."""
    api = MessagesApi()
    try:
        client = GenuineClient(house, api)
        client.install_plugin()
        house.serve()
        session_id = client.ask(PROMPTS[0]).session_id
        for prompt in PROMPTS[1:]:
            client.ask(prompt, "--resume", session_id)
        (receipt,) = [one for one in read_receipts(house.memory_root.sessions_database) if one.session_id == session_id]
    finally:
        api.close()
    return {"tokens_ten_prompts": receipt.tokens}


# -- ten sessions at once, with kills ---------------------------------------------------------------------------------


def measure_storm(house: House, seconds: float) -> dict[str, int]:
    """Ten clients at a time for so long; then what is left over and what is missing."""
    api = MessagesApi()
    api.on(
        r"question \d+",
        Call("mcp__plugin_oneiros_memory__recall", {"query": "which layer wins"}),
        Call("Bash", {"command": "sleep 0.2; echo slept", "description": "sleep"}),
        "The topic wins.",
    )
    try:
        storm = Storm(GenuineClient(house, api), seconds)
        storm.client.install_plugin()
        storm.run()
        storm.client.ask("a last session, whose start takes in what was killed")
        lost = storm.lost_turns()
        orphans = storm.orphans()
    finally:
        api.close()
    return {"sessions": len(storm.sessions), "kills": storm.kills, "orphans": orphans, "lost_turns": lost}


class Storm:
    """The sessions of one minute."""

    def __init__(self, client: GenuineClient, seconds: float):
        self.client = client
        self.sessions: list[str] = []
        self.kills = 0
        self._seconds = seconds
        self._guard = threading.Lock()

    def run(self) -> None:
        end = time.monotonic() + self._seconds
        with concurrent.futures.ThreadPoolExecutor(WORKERS + 1) as pool:
            work = [pool.submit(self._work, number, end) for number in range(WORKERS)]
            work.append(pool.submit(self._kill_daemons, end))
            for one in work:
                one.result()

    def _work(self, number: int, end: float) -> None:
        seeded = random.Random(f"{SEED}-{number}")  # noqa: S311  the same kills each time
        while time.monotonic() < end:
            session_id = new_session_id()
            with self._guard:
                self.sessions.append(session_id)
                prompt = f"question {len(self.sessions)}: which layer wins?"
            allowed = ("--allowedTools", "mcp__plugin_oneiros_memory", "Bash")
            limit = seeded.uniform(0.5, 6.0) if seeded.random() < KILLED_SHARE else 180.0
            with self.client.started(prompt, "--session-id", session_id, *allowed) as process:
                try:
                    process.wait(limit)
                except subprocess.TimeoutExpired:
                    with self._guard:
                        self.kills += 1

    def _kill_daemons(self, end: float) -> None:
        pause = self._seconds / (DAEMON_KILLS + 1)
        for _ in range(DAEMON_KILLS):
            time.sleep(max(0.0, min(pause, end - time.monotonic())))
            number = daemon_state(self.client.house.state).get("pid")
            if isinstance(number, int) and psutil.pid_exists(number):
                os.kill(number, signal.SIGKILL)
                with self._guard:
                    self.kills += 1

    def lost_turns(self) -> int:
        """The turns of person and assistant that stand in a transcript and not in the archive, once all is settled."""
        archive = Archive(self.client.house.root / "sessions" / "archive")
        left: Counter[tuple[str, str]] = Counter()

        def is_whole() -> bool:
            left.clear()
            for file in self.client.settings.glob("projects/*/*.jsonl"):
                archived = Counter(turn.text for turn in archive.turns(file.stem) if turn.role in SPOKEN)
                spoken = Counter(turn.text for turn in read_transcript(file) if turn.role in SPOKEN)
                left.update({(file.stem, text): count for text, count in (spoken - archived).items()})
            return not left

        try:
            wait_until(is_whole, SETTLE_SECONDS)
        except AssertionError:
            print(f"missing: {list(left)[:5]}", file=sys.stderr)
        return sum(left.values())

    def orphans(self) -> int:
        """The processes that outlive their sessions, the one daemon apart."""

        def list_left() -> list[psutil.Process]:
            daemon = daemon_state(self.client.house.state).get("pid")
            return [one for one in self.client.house.processes() if one.pid != daemon and not is_ended(one)]

        try:
            wait_until(lambda: not list_left(), 60)
        except AssertionError:
            print(f"left over: {[one.cmdline() for one in list_left()]}", file=sys.stderr)
        return len(list_left())


SPOKEN = (Role.PERSON, Role.ASSISTANT)


def is_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


# -- conformance ------------------------------------------------------------------------------------------------------


def run_scenarios(house: House) -> dict[str, bool]:
    """The conformance suite in both eras, and the Inspector."""
    house.write("mail", "# Mail\n\nThe relay listens on port 2525.\n")
    house.serve()
    wait_until(lambda: "port" in daemon_state(house.state), 60)
    port = daemon_state(house.state)["port"]
    assert isinstance(port, int)
    return {**run_inspector(house), **run_conformance(house, port, read_token(house.state))}


if __name__ == "__main__":
    main()
