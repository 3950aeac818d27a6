"""The whole way on a laptop, in an empty home and without a network: nothing leaves, and nothing is left elsewhere."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT
from tests.system.without_network import is_permitted, run_without_network

pytestmark = [pytest.mark.trainer, pytest.mark.timeout(1800)]  # minutes of training, on a busy machine many

EVERYTHING = """
import subprocess, sys
from pathlib import Path
import trainer.__main__  # which settles what the libraries read
from trainer.laptop import SHOWN, TRAINING, ask, post, service
from trainer.pairs import read_pairs

done = subprocess.run([sys.executable, "-m", "trainer", "laptop", "--epochs", "1"], capture_output=True, text=True)
assert done.returncode == 0 or "not fit to serve" in done.stderr, done.stderr  # one pass teaches little
home = Path.home() / ".cache" / "oneiros-trainer"
with service(home, home / "runs" / "run-1", 1) as port:
    token = (home / "token").read_text().strip()
    post(port, "/inference/load", {"run": "run-1", "force": True}, token)
    assert ask(port, read_pairs(TRAINING)[SHOWN], token)
"""
OWN = (".cache/oneiros-trainer/", ".cache/huggingface/")  # where bytes may lie, below the home
PAIRS = {"train": 9, "validation": 2, "calibration": 2}  # of each file: every stage has some, and the ninth is asked


def test_a_model_is_taught_served_and_asked_without_a_network(tmp_path: Path) -> None:
    if not is_permitted():
        pytest.skip("this machine lets no program have a network of its own (`unshare --map-root-user --net`)")
    program = copy_program(tmp_path / "program")
    home = tmp_path / "home"
    for folder in ("tmp", "work"):
        (home / folder).mkdir(parents=True)
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home / "tmp")}
    variables |= {"PYTHONPATH": f"{program}{os.pathsep}{CHECKOUT}"}
    variables |= {"OMP_WAIT_POLICY": "PASSIVE"}  # other tests run beside it

    found = run_without_network([sys.executable, "-c", EVERYTHING], env=variables, cwd=home / "work")

    assert found["code"] == 0, found["said"]
    assert not any(found["attempts"].values()), found["attempts"]
    files = [str(file.relative_to(home)) for file in home.rglob("*") if not file.is_dir()]
    assert [file for file in files if file.endswith("adapter_model.safetensors")]
    assert [file for file in files if not file.startswith(OWN)] == []


def copy_program(folder: Path) -> Path:
    """The trainer with the first pairs of its data: the same way, in a tenth of the time."""
    shutil.copytree(CHECKOUT / "trainer", folder / "trainer", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CHECKOUT / "memory" / "topics", folder / "memory" / "topics")
    for name, kept in PAIRS.items():
        file = folder / "trainer" / "data" / f"oneiros-{name}.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        file.write_text("".join(lines[:kept]), encoding="utf-8")
    return folder
