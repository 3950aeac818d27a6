"""The whole way on a laptop, in an empty home and without a network: nothing leaves, and nothing is left elsewhere."""

import os
import sys
from pathlib import Path

import pytest

from tests.system.house import CHECKOUT
from tests.system.without_network import is_permitted, run_without_network

pytestmark = [pytest.mark.trainer, pytest.mark.timeout(3600)]  # minutes of training, on a busy machine many

OWN = (".cache/oneiros-trainer/", ".cache/huggingface/")  # where bytes may lie, below the home


def test_a_model_is_taught_served_and_asked_without_a_network(tmp_path: Path) -> None:
    if not is_permitted():
        pytest.skip("this machine lets no program have a network of its own (`unshare --map-root-user --net`)")
    for folder in ("tmp", "work"):
        (tmp_path / folder).mkdir()
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    variables |= {"PYTHONPATH": str(CHECKOUT)}

    found = run_without_network(
        [sys.executable, "-m", "trainer", "laptop", "--epochs", "1"], env=variables, cwd=tmp_path / "work"
    )

    assert found["code"] == 0, found["said"]
    assert not any(found["attempts"].values()), found["attempts"]
    files = [str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if not file.is_dir()]
    assert [file for file in files if file.endswith("adapter_model.safetensors")]
    assert [file for file in files if not file.startswith(OWN)] == []
