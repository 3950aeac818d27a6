"""The whole way on a laptop, in an empty home and without a network: nothing leaves, and nothing is left elsewhere."""

import os
import sys
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT
from tests.system.without_network import is_permitted, run_without_network

pytestmark = [pytest.mark.trainer, pytest.mark.timeout(3600)]  # minutes of training, on a busy machine many

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


def test_a_model_is_taught_served_and_asked_without_a_network(tmp_path: Path) -> None:
    if not is_permitted():
        pytest.skip("this machine lets no program have a network of its own (`unshare --map-root-user --net`)")
    for folder in ("tmp", "work"):
        (tmp_path / folder).mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    variables |= {"PYTHONPATH": str(CHECKOUT), "OMP_WAIT_POLICY": "PASSIVE"}  # other tests run beside it

    found = run_without_network([sys.executable, "-c", EVERYTHING], env=variables, cwd=tmp_path / "work")

    assert found["code"] == 0, found["said"]
    assert not any(found["attempts"].values()), found["attempts"]
    files = [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if not file.is_dir()]
    assert [file for file in files if file.endswith("adapter_model.safetensors")]
    assert [file for file in files if not file.startswith(OWN)] == []
