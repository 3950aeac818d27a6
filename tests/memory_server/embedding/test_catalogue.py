"""Models as data: what a `model.toml` may say, where models are found, and that no other file passes for one."""

import json
import os
from pathlib import Path

import pytest

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.model import ModelKind, file_hash, read_card
from memory_server.errors import NeedsRepair, UsageError
from tests.hub import Hub
from tests.memories import wait_for

PLAIN = """kind = "dense"
weights = "model.onnx"
tokenizer = "tokenizer.json"
licence = "MIT"
megabytes = 1
languages = ["en"]
dimensions = 4
"""


def described(folder: Path, more: str = "", plain: str = PLAIN) -> Path:
    """A folder with the files of a model that nobody runs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.toml").write_text(plain + more, encoding="utf-8")
    (folder / "model.onnx").write_bytes(b"weights")
    (folder / "tokenizer.json").write_bytes(b"{}")
    return folder


def catalogue(folder: Path) -> Catalogue:
    return Catalogue(folder / "hub", folder / "own")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAIN.replace('kind = "dense"\n', ""), r"model\.toml: kind is missing\. Mend that key"),
        (PLAIN.replace("dense", "denser"), r"model\.toml:1: kind is 'denser'\. It takes one of: dense, sparse, late"),
        (PLAIN.replace("= 4", '= "four"'), r"model\.toml:7: dimensions is 'four'\. It takes a whole number"),
        (PLAIN.replace("dimensions = 4\n", ""), r"dimensions is missing, which a dense model needs"),
        (PLAIN + "trust = true\n", r"model\.toml:8: trust is no setting here\. Remove it"),
        (PLAIN + "short_names = bge\n", r"model\.toml:8: the description is not valid TOML"),
        (PLAIN + '[sha256]\n"other" = "0"\n', r"sha256 holds 'other', which names no file of the model"),
        (PLAIN + '[sha256]\n"model.onnx" = "0"\n', r"sha256 holds 'model.onnx', which is no sha256"),
        (PLAIN.replace("dense", "sparse"), r"query_weights is '', no file of the model's folder"),
    ],
)
def test_a_bad_description_is_told_with_file_line_key_and_remedy(text: str, words: str, tmp_path: Path) -> None:
    folder = described(tmp_path / "tiny", plain=text)

    with pytest.raises(UsageError, match=words):
        read_card(folder / "model.toml")


@pytest.mark.parametrize("path", ["/etc/passwd", "../model.onnx", "a/../../b", "C:model.onnx", "..\\b", "", "a\0b"])
@pytest.mark.parametrize("key", ["weights", "tokenizer", "more_files"])
def test_no_path_of_a_description_leaves_its_folder(key: str, path: str, tmp_path: Path) -> None:
    written = json.dumps([path] if key == "more_files" else path)
    plain = "".join(line + "\n" for line in PLAIN.splitlines() if not line.startswith(key))
    folder = described(tmp_path / "tiny", plain=f"{key} = {written}\n{plain}")

    with pytest.raises(UsageError, match=rf"model\.toml:1: {key} is .*, no file of the model's folder"):
        read_card(folder / "model.toml")


def test_a_file_that_is_a_link_out_of_the_folder_is_not_taken(tmp_path: Path) -> None:
    folder = described(tmp_path / "tiny")
    (tmp_path / "secret").write_bytes(b"weights")
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").symlink_to(tmp_path / "secret")

    with pytest.raises(UsageError, match=r"model\.onnx: this file of the model is no file of its folder"):
        catalogue(tmp_path).addition(folder)


def test_an_added_model_is_copied_and_found_by_its_folders_name(tmp_path: Path) -> None:
    models = catalogue(tmp_path)

    addition = models.addition(described(tmp_path / "tiny"))
    added = models.add(addition)

    assert (added.card.name, added.card.kind, added.reason) == ("tiny", ModelKind.DENSE, "added by you")
    assert added.weights == tmp_path / "own" / "tiny" / "model.onnx" and added.weights.read_bytes() == b"weights"
    assert (
        addition.hashes
        == models.read_hashes(added.card)
        == {
            "model.onnx": file_hash(added.weights),
            "tokenizer.json": file_hash(added.tokenizer),
        }
    )
    assert models.find("TINY") == added
    assert "tiny" in [card.name for card in models.cards()[0]]


def test_an_added_model_that_changed_afterwards_is_refused_by_name(tmp_path: Path) -> None:
    models = catalogue(tmp_path)
    added = models.add(models.addition(described(tmp_path / "tiny")))

    added.weights.write_bytes(b"others")

    with pytest.raises(NeedsRepair, match=r"model\.onnx: this file of tiny is not the one that was recorded"):
        models.find("tiny")


def test_a_model_that_is_changed_under_the_same_size_and_time_is_refused_by_a_process_that_read_it(
    tmp_path: Path,
) -> None:
    models = catalogue(tmp_path)
    added = models.add(models.addition(described(tmp_path / "tiny")))
    before = added.weights.stat()
    probe = tmp_path / "probe"
    assert wait_for(lambda: probe.write_bytes(b"") == 0 and probe.stat().st_ctime_ns > before.st_ctime_ns)

    added.weights.write_bytes(b"WEIGHTS")
    os.utime(added.weights, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(NeedsRepair, match=r"model\.onnx: this file of tiny is not the one that was recorded"):
        models.find("tiny")


def test_an_addition_with_other_files_than_its_description_pins_is_refused(tmp_path: Path) -> None:
    folder = described(tmp_path / "tiny", f'[sha256]\n"model.onnx" = "{"0" * 64}"\n')

    with pytest.raises(NeedsRepair, match=r"this file of tiny is not the pinned one"):
        catalogue(tmp_path).addition(folder)


def test_nothing_is_added_under_the_name_of_a_shipped_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BGE-m3 is the name of a shipped model\. Rename the folder"):
        catalogue(tmp_path).addition(described(tmp_path / "BGE-m3"))


def test_one_bad_description_hides_no_other_model(tmp_path: Path) -> None:
    models = catalogue(tmp_path)
    described(tmp_path / "own" / "bad", "nonsense")

    cards, bad = models.cards()

    assert len(cards) == 13 and [error.where for error in bad] == [tmp_path / "own" / "bad" / "model.toml"]
    assert models.card("bge").name == "bge-small-en-v1.5"


@pytest.mark.parametrize("name", ["../own/tiny", "/etc", "..", "", "tiny/../tiny"])
def test_a_name_is_never_taken_for_a_path(name: str, tmp_path: Path) -> None:
    """`oneiros.toml` may come with a clone: it names a model and nothing else."""
    models = Catalogue(tmp_path / "hub", None, shipped=tmp_path / "shipped")
    described(tmp_path / "shipped" / "other")
    described(tmp_path / "own" / "tiny")

    with pytest.raises(UsageError, match="there is no model"):
        models.card(name)


def test_a_model_of_another_kind_is_told_apart(tmp_path: Path) -> None:
    models = catalogue(tmp_path)

    with pytest.raises(UsageError, match=r"ms-marco-MiniLM-L6-v2 is a cross model, where a dense one is wanted"):
        models.find("ms-marco-MiniLM-L6-v2")
    with pytest.raises(NeedsRepair, match=r"`oneiros model ms-marco-MiniLM-L6-v2 --download` fetches it \(92 MB\)"):
        models.find("ms-marco-MiniLM-L6-v2", ModelKind.CROSS)


def test_hashes_that_are_not_pinned_are_recorded_at_the_first_download_and_hold_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = catalogue(tmp_path)
    card = models.card("e5-small-v2")
    with Hub(card.repository, "1" * 40, {"model.onnx": b"weights", "tokenizer.json": b"{}"}) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        assert models.read_hashes(card) == {}

        fetched = models.download(card)

        assert models.read_hashes(card) == {
            "model.onnx": fetched.weight_hash,
            "tokenizer.json": file_hash(fetched.tokenizer),
        }
        assert models.find("e5-small-v2") == fetched
        hub.files["model.onnx"], hub.main = b"others", "2" * 40
        with pytest.raises(NeedsRepair, match=r"of e5-small-v2 is not the one that was recorded\. If you expect"):
            models.download(card)
        hub.shutdown()


def test_a_download_without_a_needed_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = catalogue(tmp_path)
    card = models.card("sparse-v2-mini")
    with Hub(card.repository, "1" * 40, {"tokenizer.json": b"{}", "idf.json": b"{}"}) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        template = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

        with pytest.raises(NeedsRepair, match=r"incomplete: onnx/model\.onnx did not come"):
            models.download(card)
        hub.shutdown()
