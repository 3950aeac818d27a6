"""A base from the model hub: fetched when a person allows it, found again without the network."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from huggingface_hub import constants, snapshot_download

from tests.hub import Hub
from trainer.files import read_json
from trainer.training import base_model
from trainer.training.base_model import find_base

pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(900),  # a process that imports torch takes a minute on a busy machine
]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LATER = "89abcdef0123456789abcdef0123456789abcdef"
NAME = "somebody/tiny"


@pytest.fixture
def hub(tiny_base: Path) -> Iterator[Hub]:
    files = {file.name: file.read_bytes() for file in sorted(tiny_base.iterdir())}
    running = Hub(NAME, COMMIT, files | {"onnx/model.safetensors": b"the same weights in another format"})
    yield running
    running.shutdown()
    running.server_close()


def trained(pairs_file: Path, name: str, hub_url: str, *more: str) -> subprocess.CompletedProcess[str]:
    """One step of training on the hub's model; the hub's cache lies beside the pairs."""
    folder = pairs_file.parent
    command = [sys.executable, "-m", "trainer", "train", str(pairs_file), "--base", NAME, "--cpu", "--threads", "1"]
    command += ["--max-steps", "1", "--run", str(folder / "runs" / name), *more]
    variables = {key: value for key, value in os.environ.items() if key != "HF_HUB_OFFLINE"}
    variables |= {"HF_ENDPOINT": hub_url, "HF_HOME": str(folder / "hub")}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)


def test_a_base_is_downloaded_once_and_used_without_the_network_afterwards(hub: Hub, pairs_file: Path) -> None:
    refused = trained(pairs_file, "refused", hub.url)
    assert refused.returncode == 3
    assert f"the model '{NAME}' is not on this machine. Allow it with --download" in refused.stderr
    assert hub.fetched == []

    downloaded = trained(pairs_file, "downloaded", hub.url, "--download")
    assert downloaded.returncode == 0, downloaded.stderr
    assert "model.safetensors" in hub.fetched
    assert "onnx/model.safetensors" not in hub.fetched
    record = read_json(pairs_file.parent / "runs" / "downloaded" / "run.json")
    assert (record["base"], record["base_identity"]) == (NAME, COMMIT)

    fetched = len(hub.fetched)
    again = trained(pairs_file, "again", hub.url)
    assert again.returncode == 0, again.stderr
    assert len(hub.fetched) == fetched


def test_a_name_stays_at_the_commit_that_was_fetched_first(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def commit(name: str, hub_cache: str) -> str:
        here = partial(snapshot_download, endpoint=hub.url, cache_dir=tmp_path / hub_cache)
        monkeypatch.setattr(base_model, "snapshot_download", here)
        return find_base(name, tmp_path / "models", download=True).identity

    with caplog.at_level("INFO"):
        assert commit(NAME, "first") == COMMIT
    hub.main = LATER

    assert f"{NAME} was fetched at commit {COMMIT}" in caplog.text
    assert commit(NAME, "emptied") == COMMIT
    assert commit(f"{NAME}@{LATER}", "other") == LATER
    assert read_json(tmp_path / "models" / "revisions.json") == {NAME: COMMIT}
