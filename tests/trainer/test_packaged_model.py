"""The model that comes in a package: taught through the command, merged, written for other programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.files import read_json
from trainer.laptop import TRAINING
from trainer.training.events import read_events
from trainer.training.publish import export_gguf, merge
from trainer.training.run_folder import RunFolder

pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(900),  # a process that imports torch takes a minute on a busy machine
    # Deprecations inside transformers and torch that concern their authors; ours stay errors.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def test_the_packaged_model_learns_answers_and_becomes_a_gguf_file(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "runs" / "real")
    command = [sys.executable, "-m", "trainer", "train", str(TRAINING), "--base", "smollm2-135m", "--cpu"]
    command += ["--threads", "1", "--max-steps", "6", "--run", str(run.path)]
    home = os.environ | {"ONEIROS_TRAINER_HOME": str(tmp_path)}
    done = subprocess.run(command, env=home, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr

    merge(run, tmp_path / "merged")
    file = export_gguf(tmp_path / "merged", tmp_path / "model.gguf", kind="q8_0")

    losses = [row["loss"] for row in read_events(run.path / "events.jsonl") if row["event"] == "log"]
    assert sum(losses[-2:]) < sum(losses[:2])
    assert file.read_bytes()[:4] == b"GGUF"
    assert read_json(tmp_path / "merged" / "merged_from.json")["base"] == "smollm2-135m"
