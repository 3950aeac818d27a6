"""Which model `init` takes: bge where it is, may come and does come, else the packaged one."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_server.embedding.catalogue import DEFAULT_MODEL, PACKAGED_MODEL, SHIPPED, Catalogue
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair
from oneiros.cli import founding
from oneiros.cli.founding import choose_model, has_route
from tests.bge import RandomBert, write_hub_cache
from tests.hub import Hub


@pytest.fixture
def models(tmp_path: Path) -> Catalogue:
    """The shipped models, but that no hash of bge is pinned: that of random weights is not the real one."""
    shipped = tmp_path / "shipped"
    shutil.copytree(SHIPPED, shipped)
    file = shipped / DEFAULT_MODEL / "model.toml"
    file.write_text(file.read_text(encoding="utf-8").partition("[sha256]")[0], encoding="utf-8")
    return Catalogue(tmp_path / "hub", tmp_path / "added", shipped)


@pytest.fixture
def prompts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person at a terminal with a network is asked, who presses Enter."""
    questions = list[str]()

    def confirm(question: str, *, default: bool, err: bool) -> bool:
        questions.append(question)
        return default and err

    monkeypatch.setattr(founding, "is_conversation", lambda: True)
    monkeypatch.setattr(founding, "has_route", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    return questions


@pytest.fixture
def served_from(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the hub at an address."""

    def change(url: str) -> None:
        template = f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

    return change


def test_enter_takes_bge_which_then_embeds(
    models: Catalogue, prompts: list[str], served_from: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = models.card(DEFAULT_MODEL)
    weights = write_hub_cache(tmp_path / "made", card.repository, card.revision, RandomBert.of_seed(1, 30_522))
    snapshot = weights.parent.parent
    files = {name: (snapshot / name).read_bytes() for name in ("onnx/model.onnx", "tokenizer.json")}
    with Hub(card.repository, card.revision, files) as hub:
        served_from(hub.url)
        taken = choose_model("", models, download=False)
        hub.shutdown()

    [one] = OnnxEngine(taken).embed(["Which port?"])
    output = capsys.readouterr().err
    assert taken.card.name == DEFAULT_MODEL and one.vector.shape == (384,)
    assert abs(float(np.linalg.norm(one.vector)) - 1) < 1e-3
    assert "134 MB (about 50 s at 20 Mbit/s)" in output and card.revision in output and len(prompts) == 1
    assert choose_model("", models, download=False) == models.find(DEFAULT_MODEL) and len(prompts) == 1


def test_without_a_network_nobody_is_asked_and_one_sentence_names_the_packaged_model(
    models: Catalogue, prompts: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(founding, "has_route", lambda: False)

    taken = choose_model("", models, download=False)

    assert taken.card.name == PACKAGED_MODEL and prompts == []
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("There is no network.") and f"oneiros model {DEFAULT_MODEL} --download" in line


@pytest.mark.parametrize("proxy", ["", "socks5://127.0.0.1:9", "ftp://127.0.0.1:9"])
def test_what_was_offered_and_does_not_come_is_one_sentence(
    models: Catalogue,
    prompts: list[str],
    served_from: Any,
    proxy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    served_from("http://127.0.0.1:9")

    taken = choose_model("", models, download=False)

    assert taken.card.name == PACKAGED_MODEL and len(prompts) == 1
    assert "could not be downloaded" in capsys.readouterr().err.splitlines()[-1]
    with pytest.raises(NeedsRepair, match="could not be downloaded"):
        choose_model("", models, download=True)  # which was told, not offered


def test_the_way_to_a_network_is_looked_for_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(founding, "NOBODYS", ("127.0.0.1", "::1"))
    assert has_route()

    monkeypatch.setattr(founding, "NOBODYS", ("no address", "no address"))
    assert not has_route()
