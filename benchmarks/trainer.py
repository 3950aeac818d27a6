"""Measures the trainer: `python -m benchmarks.trainer --json FILE`.

It runs what `make train-laptop` runs, in a fresh folder with the clock beside it; asks base, tuned model and retrieval
all questions; kills a run with -9 at a random step and continues it; and, where there is a card, compares QLoRA with a
plain loop. The JSON holds the agreed keys alone; machine, versions and the figures between go to stderr.
"""

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.trainer_gpu import measure_card
from trainer.laptop import PARAPHRASES, TOPICS, TRAINING
from trainer.training.adapter import fingerprint
from trainer.training.base_model import find_base, load_tokenizer
from trainer.training.events import read_heartbeat
from trainer.training.machine import this_machine
from trainer.training.presets import PACKAGED
from trainer.training.run_folder import RunFolder

RESUME_STEPS = 10
RESUME_SAVE = 3
FIRST_KILL = 4  # after the first checkpoint, so that there is something to resume
SCORES = (
    "base_validation_loss",
    "validation_loss",
    "answers_base",
    "answers_tuned",
    "answers_paraphrased",
    "answers_retrieval",
)


def main() -> None:
    """Run all parts and write the figures."""
    parser = argparse.ArgumentParser(
        description="Measure the trainer. Example: python -m benchmarks.trainer --json out.json"
    )
    parser.add_argument("--json", type=Path, required=True, help="the file that gets the figures")
    parser.add_argument("--seed", type=int, default=None, help="of the step at which the run is killed")
    parser.add_argument("--home", type=Path, default=None, help="keep the runs here instead of a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(options.home or Path(temporary), random.Random(options.seed))  # noqa: S311  (no secret)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures))


def measure(home: Path, chance: random.Random) -> dict[str, Any]:
    """All figures, in the agreed shape."""
    laptop = run_laptop(home)
    run = RunFolder(Path(laptop["run"]))
    talk(f"machine and versions: {json.dumps({key: run.read()[key] for key in ('machine', 'versions', 'threads')})}")
    talk(f"asked over HTTP: {laptop['question']} -> {laptop['answer']} ({'right' if laptop['right'] else 'wrong'})")
    scores = run_evaluation(home, run)
    talk(f"evaluation: {json.dumps(scores)}")
    identical = resumes_identically(home, chance)
    machine = this_machine()
    card = None
    if machine.device == "cuda":
        card = measure_card(machine, load_tokenizer(find_base(PACKAGED, home / "models")))
    return {
        "minutes": laptop["minutes"],
        **{key: scores[key] for key in SCORES},
        "resume_identical": identical,
        "gpu": card,
    }


def run_laptop(home: Path) -> dict[str, Any]:
    """`make train-laptop` with its wall time; what is unpacked once is not unpacked before."""
    began, cpu_before = time.monotonic(), cpu_minutes()
    command = [sys.executable, "-m", "trainer", "laptop", "--json"]
    done = subprocess.run(command, env=environment(home), stdout=subprocess.PIPE, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    minutes = round((time.monotonic() - began) / 60, 2)
    talk(f"laptop: {minutes} minutes, {cpu_minutes() - cpu_before:.1f} CPU minutes, load {os.getloadavg()}")
    return figures | {"minutes": minutes}


def run_evaluation(home: Path, run: RunFolder) -> dict[str, Any]:
    """All questions asked by the command, whose environment keeps threads that wait from spinning."""
    command = [sys.executable, "-m", "trainer", "evaluate", str(run.path), "--paraphrases", str(PARAPHRASES)]
    command += ["--passages", str(TOPICS), "--cpu", "--json"]
    done = subprocess.run(command, env=environment(home), stdout=subprocess.PIPE, check=False)
    if done.returncode not in {0, 1}:  # 1 is a verdict; its figures count all the same
        raise SystemExit(f"the evaluation ended with exit code {done.returncode}")
    scores: dict[str, Any] = json.loads(done.stdout)
    return scores


def cpu_minutes() -> float:
    """CPU time of all processes that were started here and have ended: what the wall time would be without others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / 60


def resumes_identically(home: Path, chance: random.Random) -> bool:
    """Whether a run killed with -9 at a random step and continued ends with the adapter of an undisturbed run."""
    straight, killed = home / "runs" / "straight", home / "runs" / "killed"
    wait_for(begin_training(home, straight))
    step = chance.randint(FIRST_KILL, RESUME_STEPS - 1)
    process = begin_training(home, killed)
    while process.poll() is None and read_step(killed) < step:
        time.sleep(0.01)
    process.kill()
    if process.wait() != -signal.SIGKILL:
        raise SystemExit("the run ended before it could be killed, so nothing was resumed")
    command = [sys.executable, "-m", "trainer", "train", "--resume", "--run", str(killed)]
    subprocess.run(command, env=environment(home), stdout=subprocess.DEVNULL, check=True)
    identical = fingerprint(straight / "adapter") == fingerprint(killed / "adapter")
    talk(f"killed at step {step}, resumed: {'identical' if identical else 'DIFFERENT'}")
    return identical


def begin_training(home: Path, run: Path) -> subprocess.Popen[bytes]:
    """A short run on the packaged model."""
    command = [sys.executable, "-m", "trainer", "train", str(TRAINING), "--base", PACKAGED, "--cpu", "--threads", "2"]
    command += ["--run", str(run), "--max-steps", str(RESUME_STEPS), "--save-steps", str(RESUME_SAVE)]
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.DEVNULL)


def wait_for(process: subprocess.Popen[bytes]) -> None:
    """Wait for a run that must succeed."""
    if process.wait() != 0:
        raise SystemExit(f"training ended with exit code {process.returncode}")


def read_step(run: Path) -> int:
    """The last step that a run reported."""
    beat = read_heartbeat(run)
    return 0 if beat is None else beat.step


def environment(home: Path) -> dict[str, str]:
    """This process's variables, with the trainer's things below the given folder."""
    return {**os.environ, "ONEIROS_TRAINER_HOME": str(home)}


def talk(text: str) -> None:
    """A line for the person."""
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
