"""Measures how sessions of other machines and other agents come in.

    python -m benchmarks.sources --json [--samples DIR]

Three machines with 200 sessions each stand at an sshd on the loopback; each has a home of its own. `fetch_ratio`: the
rate of a first fetch of some 100 MB a machine into the mirror, as a share of rsync's over the same ssh in the same run,
taken in turn. `lost` and `doubled`: prompts after 20 kills of either end during first ingests of smaller sessions,
while more was written. `second_seconds` and `second_kb`: a visit of all three behind it, without a change; what went
through the pipes of ssh, both ways. `readers`: each reader of another agent's sessions, against samples and what the
person typed in them.
"""

import argparse
import json
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.machine import machine_text
from benchmarks.source_readers import readers_figures
from crawler.archive.store import Archive
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.environment import Environment, now
from oneiros.ingest.run import Wanted, fetch_sessions, run_ingest
from parts.machines import fetch, visits
from parts.machines.addresses import parse_address
from parts.machines.mirror import Mirror
from parts.machines.sessions import build_wanted_transcripts
from tests.crawler.builders import Record, assistant, person, to_lines
from tests.other_machines import OtherMachines

NAMES = ("laptop", "desk", "server")
SESSIONS = 200  # on each machine
LONG_BYTES = 500_000  # of a session that is only fetched: the mean of 210 genuine ones is 580,000
ROUNDS = 3
KILLS = 20
SHORT_EXCHANGES = 5  # of a session that is ingested
WORDS = "relay port index memory session topic bright oven printer lease harbour signal window garden copper".split()


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="the figures alone, as one object")
    parser.add_argument("--samples", type=Path, help="sessions of other agents, each beside its list of prompts")
    arguments = parser.parse_args()
    if shutil.which("rsync") is None:
        parser.error("rsync is not installed; a fetch is compared with it")
    if not arguments.json:
        print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        figures: dict[str, Any] = {**fetch_figures(Path(folder, "fetch")), **ingest_figures(Path(folder, "ingest"))}
    if arguments.samples:
        figures["readers"] = readers_figures(arguments.samples)
    print(json.dumps(figures, indent=None if arguments.json else 2))


# -- a first fetch, beside rsync --------------------------------------------------------------------------------------


def fetch_figures(folder: Path) -> dict[str, float]:
    """The rate of a first fetch as a share of rsync's."""
    chance = random.Random(1)  # noqa: S311  words of a test
    with OtherMachines(folder / "net", folder / "home") as net:
        for name in NAMES:
            net.add(name)
            for number in range(SESSIONS):
                write_session(net, name, number, exchanges(chance, number, LONG_BYTES // 2_000, words=140))
        takes: dict[str, list[float]] = {"ours": [], "rsync": []}
        for turn in range(ROUNDS):
            takes["rsync"].append(sum(rsync_seconds(net, name, folder / f"rsync-{turn}") for name in NAMES))
            takes["ours"].append(sum(fetch_seconds(net, name, folder / "mirror") for name in NAMES))
        size = sum(file.stat().st_size for file in net.folder.rglob("*.jsonl"))
    ours, rsync = (statistics.median(takes[who]) for who in ("ours", "rsync"))
    print(f"{size / 1e6:.0f} MB; ours {takes['ours']}, rsync {takes['rsync']} seconds", file=sys.stderr)
    return {"fetch_ratio": round(rsync / ours, 2), "fetch_mb_per_second": round(size / ours / 1e6, 1)}


def fetch_seconds(net: OtherMachines, name: str, folder: Path) -> float:
    address = parse_address(f"{name}={net.url(name)}")
    with Mirror(folder) as mirror:
        began = time.perf_counter()
        delivery = fetch.ask(address, [build_wanted_transcripts({}, name)], mirror, net.variables)
        seconds = time.perf_counter() - began
        assert len(delivery.files) == SESSIONS and not delivery.lost, delivery.lost
    return seconds


def rsync_seconds(net: OtherMachines, name: str, into: Path) -> float:
    host, _, port = net.url(name).removeprefix("ssh://").partition(":")
    ssh = f"ssh -o BatchMode=yes -p {port}"
    source = f"{host}:{net.homes[name]}/.claude/projects/"
    (into / name).mkdir(parents=True)
    began = time.perf_counter()
    subprocess.run(["rsync", "-a", "-e", ssh, source, f"{into}/{name}"], env=dict(net.variables), check=True)
    return time.perf_counter() - began


# -- kills, and a second ingest ---------------------------------------------------------------------------------------

INGEST = """
import os
from pathlib import Path
from oneiros.environment import Environment, now
from oneiros.ingest.run import Wanted, run_ingest
home = Path(os.environ["HOME"])
environment = Environment(os.environ, home, home)
run_ingest(environment, environment.resolve_root(home / "memory"), Wanted(), now())
"""


def ingest_figures(folder: Path) -> dict[str, float]:
    """What kills lose and double, and what an ingest without a change costs."""
    chance = random.Random(2)  # noqa: S311  the same
    home = folder / "home"
    with OtherMachines(folder / "net", home) as net:
        files = []
        for name in NAMES:
            net.add(name)
            for number in range(SESSIONS):
                files.append(write_session(net, name, number, exchanges(chance, number, SHORT_EXCHANGES, words=300)))
        environment = Environment(net.variables, home, home)
        root = environment.resolve_root(home / "memory")
        root.path.mkdir()
        root.index_page.write_text("# Memory\n", encoding="utf-8")
        change_setting(environment.person_file, "machines", [f"{name}={net.url(name)}" for name in NAMES])
        kill_often(net, files, chance)
        run_ingest(environment, root, Wanted(), now())
        lost, doubled = compare_with_archive(root, files)
        return {"lost": lost, "doubled": doubled, **second_figures(environment, root)}


def kill_often(net: OtherMachines, files: list[Path], chance: random.Random) -> None:
    """Kills ingests at either end, and goes on with some session each time."""
    kills = ended = 0
    here = str(Path(__file__).parent.parent)
    while kills < KILLS:
        process = subprocess.Popen(
            [sys.executable, "-c", INGEST], env={**net.variables, "PYTHONPATH": here}, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=chance.uniform(0.5, 6.0))
            ended += 1
        except subprocess.TimeoutExpired:
            kills += 1
            if kills % 2:
                process.send_signal(signal.SIGKILL)
            else:
                net.break_off()
        process.wait()
        for file in chance.sample(files, 20):
            number = 50_000 + kills * 100 + chance.randrange(100)
            with file.open("ab") as stream:
                stream.write(session_lines([person(number, f"Prompt {number}.")], file.stem))
    print(f"{kills} kills, {ended} ingests that came to their end before", file=sys.stderr)


def compare_with_archive(root: MemoryRoot, files: list[Path]) -> tuple[int, int]:
    """How many prompts and replies of the files the archive lacks, and how many it has too often."""
    archive = Archive(root.path / "sessions" / "archive")
    lost = doubled = 0
    for file in files:
        held = Counter(entry.id for entry in archive.entries(file.stem) if entry.parts)
        written = Counter(json.loads(line)["uuid"] for line in file.read_bytes().splitlines())
        lost += sum((written - held).values())
        doubled += sum((held - written).values())
    return lost, doubled


def second_figures(environment: Environment, root: MemoryRoot) -> dict[str, float]:
    """The time in which all machines are visited and nothing is new, and what that sends; beside it three times ssh and
    an empty Python, which such a visit cannot do without, and the whole ingest, which looks at every session here, too.
    """
    sent: list[int] = []

    def count_bytes(*arguments: Any, **more: Any) -> fetch.Delivery:
        delivery = fetch.ask(*arguments, **more)
        sent.append(delivery.bytes)
        return delivery

    def visit() -> None:
        reports = list(fetch_sessions(environment, root, Wanted(), lambda: None))
        assert not any(report.ingest.read or report.problems for report in reports)

    takes: dict[str, list[float]] = {"second": [], "second_ingest": [], "three_ssh": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visits, "ask", count_bytes)
        for _ in range(ROUNDS):
            takes["second"].append(time_seconds(visit))
            takes["three_ssh"].append(sum(time_seconds(partial(empty_python, environment, one)) for one in NAMES))
    kilobytes = sum(sent) / ROUNDS / 1000
    takes["second_ingest"].append(time_seconds(lambda: run_ingest(environment, root, Wanted(), now())))
    print(f"second: {takes} seconds", file=sys.stderr)
    medians = {f"{name}_seconds": round(statistics.median(times), 2) for name, times in takes.items()}
    return {**medians, "second_kb": round(kilobytes, 1)}


def empty_python(environment: Environment, name: str) -> None:
    address = next(one for one in visits.addresses(environment) if one.name == name)
    subprocess.run(address.command, env=dict(environment.variables), input=b"pass", check=True)


def time_seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# -- sessions ---------------------------------------------------------------------------------------------------------


def exchanges(chance: random.Random, session: int, count: int, *, words: int) -> list[Record]:
    """Prompts and replies of some words each."""
    found = []
    for number in range(1, 2 * count, 2):
        prompt, reply = (" ".join(chance.choices(WORDS, k=words)) for _ in range(2))
        found.append(person(number, f"Session {session}, prompt {number}: {prompt}"))
        found.append(assistant(number + 1, reply))
    return found


def write_session(net: OtherMachines, name: str, number: int, records: list[Record]) -> Path:
    session = f"{NAMES.index(name):04x}{number:04x}-1111-4111-8111-111111111111"
    file = net.homes[name] / ".claude" / "projects" / f"-srv-app-{number % 10}" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(session_lines(records, session))
    return file


def session_lines(records: list[Record], session: str) -> bytes:
    """Records as lines of a session, their ids its own."""
    return to_lines(*({**one, "sessionId": session, "uuid": session[:8] + one["uuid"]} for one in records))


if __name__ == "__main__":
    main()
