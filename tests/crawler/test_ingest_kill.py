"""SIGKILL at any moment of ingest and compression: nothing twice, nothing lost, no half file."""

import random
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from crawler.closed import ClosedWhen
from crawler.compress.run import compress_closed
from crawler.reading.record import Readings
from tests.crawler.builders import settings_in, working_session, write_transcript

pytestmark = pytest.mark.system

State = dict[str, str]  # session or file -> its content or a hash of it
LATER = datetime(2030, 1, 1, tzinfo=UTC)

CALLS = 116_000  # roughly the function calls of one undisturbed run

# The process that is killed: it kills itself at its n-th function call, whichever that is.
VICTIM = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from tests.crawler.test_ingest_kill import work
left = int(sys.argv[3])
def count(frame, event, argument):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
work(Path(sys.argv[1]), Path(sys.argv[2]))
sys.setprofile(None)
print(int(sys.argv[3]) - left)
"""


def work(root: Path, live: Path) -> None:
    """All that an ingest writes: archive, state, readings and compressed sessions."""
    with Ingester(settings_in(root)) as ingester:
        ingester.ingest([live])
        closed = ClosedWhen(LATER, process_start=lambda pid: None)
        compress_closed(ingester.archive, root / "compressed", Readings(root / "readings"), closed)


def state_of(root: Path) -> State:
    archive = Archive(root / "sessions" / "archive")
    assert archive.verify() == []
    state = {session_id: archive.hash_session(session_id) for session_id in archive.session_ids()}
    for path in sorted([*(root / "compressed").rglob("*"), *(root / "readings").rglob("*")]):
        if path.is_file() and not path.name.endswith(".tmp"):
            state[path.name] = path.read_text(encoding="utf-8")
    return state


def write_sessions(live: Path, count: int = 3) -> None:
    for number in range(count):
        session = f"{number:08x}-1111-4111-8111-111111111111"
        records = working_session(session=session)
        for item in records:
            item["uuid"] = item["uuid"].replace("-4000-", f"-4{number:03x}-")
        write_transcript(live, *records, session=session)


def kill_often(tmp_path: Path, kills: int, seed: int) -> tuple[State, list[State]]:
    """Kills until so many have hit. The state of an undisturbed run, and that of each run that came to its end."""
    live, root = tmp_path / "live", tmp_path / "root"
    write_sessions(live)
    work(tmp_path / "undisturbed", live)
    expected = state_of(tmp_path / "undisturbed")
    chance = random.Random(seed)
    ended: list[State] = []
    killed = runs = 0
    while killed < kills:
        runs += 1
        assert runs < 10 * kills + 10, f"{killed} of {runs} runs were hit; CALLS is far from what a run calls"
        if is_killed(root, live, moment=chance.randint(1, CALLS)):
            killed += 1
            continue
        ended.append(state_of(root))
        shutil.rmtree(root)
    work(root, live)
    return expected, [*ended, state_of(root)]


def is_killed(root: Path, live: Path, *, moment: int) -> bool:
    """Runs the victim; False where it came to its end before its moment."""
    repository = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", VICTIM, str(root), str(live), str(moment), repository]
    died = subprocess.run(command, check=False, capture_output=True, cwd=repository).returncode
    assert died in (0, -signal.SIGKILL)
    return died == -signal.SIGKILL


def test_a_kill_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    expected, ended = kill_often(tmp_path, kills=8, seed=1)

    assert [state for state in ended if state != expected] == []


@pytest.mark.stress
def test_a_hundred_and_twenty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    expected, ended = kill_often(tmp_path, kills=120, seed=2)

    assert [state for state in ended if state != expected] == []
