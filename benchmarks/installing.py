"""Measures what getting the program costs: `make setup` on a fresh clone, and the wheel in a clean home.

    python -m benchmarks.installing --json FILE

Needs a package index. The clone is of what is committed. `first_answer_seconds` runs from the start of the first
command (`oneiros init --example`) to the end of the first question (`oneiros recall`), the program installed before.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.machine import machine_text

CHECKOUT = Path(__file__).parent.parent
QUESTION = "which layer wins when two disagree"
Word = str | Path


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    print(machine_text(), "load", *(f"{load:.1f}" for load in os.getloadavg()))
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        figures = measure_setup(Path(folder) / "clone") | measure_wheel(Path(folder))
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:24} {value:8.1f}")


def measure_setup(clone: Path) -> dict[str, float]:
    """Seconds and megabytes of the environment that a fresh clone makes."""
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(clone)], check=True)
    seconds = time_command(["make", "setup"], clone, os.environ)
    return {"setup_seconds": seconds, "setup_mb": megabytes(clone / ".venv")}


def measure_wheel(folder: Path) -> dict[str, float]:
    """Seconds of installing the wheel into an environment of its own, and of its first answer."""
    home = folder / "home"
    (home / "run").mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    built = time_command([*pip, "wheel", CHECKOUT, "--no-deps", "--wheel-dir", folder], folder, os.environ)
    [wheel] = folder.glob("oneiros-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "program"], check=True)
    programs = folder / "program" / "bin"
    installed = time_command(
        [*pip, "--python", programs / "python", "install", f"{wheel}[offline]"], folder, os.environ
    )
    variables = {"HOME": str(home), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(home / "run")}
    answered = time_command([programs / "oneiros", "init", "--example"], home, variables)
    answered += time_command([programs / "oneiros", "recall", QUESTION], home, variables)
    time_command([programs / "oneiros", "stop"], home, variables)
    figures = {"wheel_build_seconds": built, "wheel_install_seconds": installed, "wheel_mb": megabytes(programs.parent)}
    return figures | {"first_answer_seconds": answered}


def time_command(command: Sequence[Word], folder: Path, variables: Mapping[str, str]) -> float:
    """How long a command takes. Raises where it fails."""
    begun = time.perf_counter()
    subprocess.run(list(map(str, command)), cwd=folder, env=dict(variables), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def megabytes(folder: Path) -> float:
    """What a folder takes on the disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) / 1e6


if __name__ == "__main__":
    main()
