"""Which model is used, where its files come from, and that the bge path computes what it should."""

import dataclasses
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from memory_server.embedding import catalogue as catalogue_module
from memory_server.embedding.catalogue import PACKAGED_MODEL, SHIPPED, Catalogue, find_packaged_model
from memory_server.embedding.engine import Vectors
from memory_server.embedding.model import ModelFiles, ModelKind, Pooling
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair, UsageError
from tests.bge import RandomBert, write_hub_cache
from tests.hub import Hub
from tests.memories import NOWHERE, new_root, open_memory, search_memory, write_topic

TEXTS = ("The relay listens on port 2525.", "Coffee", "東京 and a rather longer text about the archive " * 3)
REVISION = "0" * 40  # not the pinned one, whose weights have a known hash


@pytest.fixture(scope="module")
def bert() -> RandomBert:
    return RandomBert.of_seed(5, words=30_522)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, bert: RandomBert) -> Path:
    """A hub cache that holds a bge-small of random weights."""
    folder = tmp_path_factory.mktemp("hub")
    write_hub_cache(folder, "BAAI/bge-small-en-v1.5", REVISION, bert)
    return folder


@pytest.fixture(scope="module")
def bge(hub: Path) -> ModelFiles:
    return Catalogue(hub).find()


def reference(bert: RandomBert, bge: ModelFiles, text: str) -> Vectors:
    """CLS of the plain forward pass, of unit length."""
    ids = Tokenizer.from_file(str(bge.tokenizer)).encode(text).ids
    first = bert.states(ids)[0]
    unit: Vectors = first / np.linalg.norm(first)
    return unit


def test_bge_gives_the_vectors_of_a_plain_forward_pass(bert: RandomBert, bge: ModelFiles) -> None:
    embedded = OnnxEngine(bge).embed(TEXTS)

    for text, one in zip(TEXTS, embedded, strict=True):
        assert np.allclose(one.vector, reference(bert, bge, text), atol=1e-4)


def test_bge_gives_the_token_vectors_of_a_plain_forward_pass(bert: RandomBert, bge: ModelFiles) -> None:
    ids = Tokenizer.from_file(str(bge.tokenizer)).encode(TEXTS[0]).ids
    expected = bert.states(ids)[1:-1]

    (one,) = OnnxEngine(bge).embed(TEXTS[:1])

    assert np.allclose(one.tokens, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-4)
    assert [TEXTS[0][first:last] for first, last in one.spans] == [
        *("The", "relay", "listen", "s", "on", "port"),
        *("252", "5", "."),
    ]


def test_a_question_to_bge_carries_its_instruction_and_a_passage_does_not(bert: RandomBert, bge: ModelFiles) -> None:
    (question,) = OnnxEngine(bge).embed(["relay port"], as_query=True)

    instruction = "Represent this sentence for searching relevant passages: "
    assert np.allclose(question.vector, reference(bert, bge, instruction + "relay port"), atol=1e-4)
    assert question.spans == ((0, 5), (6, 10))
    assert len(question.tokens) == 2


def test_every_vector_of_bge_has_unit_length(bge: ModelFiles) -> None:
    for one in OnnxEngine(bge).embed([*TEXTS, "", "x " * 2_000]):
        assert np.linalg.norm(one.vector) == pytest.approx(1, abs=1e-5)
        assert np.allclose(np.linalg.norm(one.tokens, axis=1), 1, atol=1e-5)


def test_a_text_beyond_the_length_of_the_model_is_cut(bge: ModelFiles) -> None:
    engine = OnnxEngine(bge)

    assert engine.count_tokens(["x " * 2_000]) == [256]
    assert len(engine.embed(["x " * 2_000])[0].tokens) == 254


def test_a_text_has_the_same_vector_alone_and_in_a_batch(bge: ModelFiles) -> None:
    engine = OnnxEngine(bge)

    for alone, together in zip((engine.embed([text])[0] for text in TEXTS), engine.embed(TEXTS), strict=True):
        assert np.allclose(alone.vector, together.vector, atol=1e-5)
        assert np.allclose(alone.tokens, together.tokens, atol=1e-4)


def test_passages_and_questions_carry_the_prefixes_of_their_model(bert: RandomBert, bge: ModelFiles) -> None:
    card = dataclasses.replace(bge.card, query_prefix="query: ", passage_prefix="passage: ")
    engine = OnnxEngine(dataclasses.replace(bge, card=card))

    (question,), (passage,) = engine.embed(["relay port"], as_query=True), engine.embed(["relay port"])

    assert np.allclose(question.vector, reference(bert, bge, "query: relay port"), atol=1e-4)
    assert np.allclose(passage.vector, reference(bert, bge, "passage: relay port"), atol=1e-4)
    assert question.spans == passage.spans == ((0, 5), (6, 10))


# -- which model ------------------------------------------------------------------------------------------------


def test_bge_in_the_hub_cache_is_taken_before_the_packaged_model(bge: ModelFiles) -> None:
    assert bge.card.name == "bge-small-en-v1.5"
    assert bge.card.pooling is Pooling.CLS
    assert bge.reason == "from the hub cache, revision 000000000000"


def test_without_a_hub_cache_the_packaged_model_is_taken() -> None:
    files = Catalogue(NOWHERE).find()

    assert (files.card.name, files.card.pooling, files.reason) == (
        "all-MiniLM-L6-v2",
        Pooling.MEAN,
        "the packaged model",
    )


def test_the_packaged_model_can_be_asked_for_beside_bge(hub: Path) -> None:
    assert Catalogue(hub).find("minilm").card.name == "all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("bge", "bge-small-en-v1.5"),
        ("BGE-base", "bge-base-en-v1.5"),
        ("BAAI/bge-large-en-v1.5", "bge-large-en-v1.5"),
        ("bge-m3", "bge-m3"),
        ("all-minilm-l6-v2", "all-MiniLM-L6-v2"),
    ],
)
def test_a_model_is_known_by_its_full_and_its_short_name(name: str, found: str) -> None:
    assert Catalogue(NOWHERE).card(name).name == found


def test_an_unknown_model_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"there is no model 'gpt'\. `oneiros model --list` names them"):
        Catalogue(NOWHERE).find("gpt")


def test_a_model_that_is_not_here_is_an_error_that_says_how_to_get_it() -> None:
    with pytest.raises(NeedsRepair, match=r"`oneiros init --model bge-m3 --download` fetches it \(2,290 MB\)"):
        Catalogue(NOWHERE).find("bge-m3")


def test_without_any_model_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(NeedsRepair, match=r"`pip install 'oneiros\[offline\]'`"):
        Catalogue(NOWHERE).find()


def test_a_packaged_model_that_was_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_module, "PACKAGED_WEIGHT_HASH", "0" * 64)

    with pytest.raises(NeedsRepair, match=r"not the one that was tested\. Reinstall with"):
        find_packaged_model()


def test_weights_at_the_pinned_revision_that_are_not_the_pinned_ones_are_refused(tmp_path: Path) -> None:
    card = Catalogue(NOWHERE).card("bge-small")
    snapshot = tmp_path / "models--BAAI--bge-small-en-v1.5" / "snapshots" / card.revision
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "onnx" / "model.onnx").write_bytes(b"other")
    (snapshot / "tokenizer.json").write_text("{}", encoding="utf-8")

    with pytest.raises(NeedsRepair, match=r"model\.onnx: this file of bge-small-en-v1\.5 is not the pinned one"):
        Catalogue(tmp_path).find(card.name)


@pytest.mark.parametrize("changed", ["onnx/model.onnx", "onnx/model.onnx_data", "tokenizer.json"])
def test_a_download_that_brings_another_file_than_the_pinned_one_is_refused(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"onnx/model.onnx": b"weights", "onnx/model.onnx_data": b"more", "tokenizer.json": b"{}", "evil.py": b"1"}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items() if name != "evil.py"}
    card = dataclasses.replace(Catalogue(NOWHERE).card("bge-m3"), sha256=hashes)
    with Hub(card.repository, "1" * 40, files) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        )
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)

        fetched = Catalogue(tmp_path / "first").download(card)
        assert (fetched.weight_hash, fetched.reason[-12:]) == (hashes["onnx/model.onnx"], card.revision[:12])
        assert "evil.py" not in hub.fetched
        hub.files[changed] = b"other"
        with pytest.raises(
            NeedsRepair, match=r"this file of bge-m3 is not the pinned one\. Delete it and fetch it again"
        ):
            Catalogue(tmp_path / "second").download(card)
        hub.shutdown()


def test_every_file_of_a_pinned_revision_is_pinned_and_no_other_revision_is() -> None:
    cards, bad = Catalogue(NOWHERE).cards()
    pinned = {card.name: card for card in cards if card.sha256}

    assert not bad
    assert {*pinned} == {"bge-small-en-v1.5", "bge-base-en-v1.5", "bge-large-en-v1.5", "bge-m3", PACKAGED_MODEL}
    for card in cards:
        assert {*card.sha256} == ({*card.files} if card.name in pinned else set())
        assert bool(re.fullmatch("[0-9a-f]{40}", card.revision)) == (card.name in pinned)


def test_every_kind_is_described_with_its_licence_and_its_languages() -> None:
    cards, _ = Catalogue(NOWHERE).cards()

    assert {card.kind for card in cards} == {*ModelKind}
    assert all(card.licence in ("MIT", "Apache-2.0") and card.languages for card in cards)
    assert {card.name for card in cards if "many" in card.languages} == {"bge-m3", "multilingual-e5-small"}
    assert sum(one.parent.parent == SHIPPED for one in SHIPPED.rglob("model.toml")) == len(cards) == 13


def test_a_half_downloaded_model_counts_as_absent(hub: Path, tmp_path: Path) -> None:
    card = Catalogue(NOWHERE).card("bge-small")
    snapshot = tmp_path / "models--BAAI--bge-small-en-v1.5" / "snapshots" / card.revision
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "onnx" / "model.onnx").write_bytes(b"x")

    assert Catalogue(tmp_path).here(card) is None
    assert Catalogue(tmp_path).find().card.name == "all-MiniLM-L6-v2"


def test_a_weight_file_that_is_no_model_is_named_with_a_remedy(bge: ModelFiles, tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"rubbish")

    with pytest.raises(NeedsRepair, match=r"the model cannot be loaded"):
        OnnxEngine(dataclasses.replace(bge, weights=weights))


@pytest.mark.parametrize("rubbish", [b"", b"{", b"\xff\xfe", b'{"version": "1.0"}'])
def test_a_tokenizer_file_that_is_none_is_named_with_a_remedy(bge: ModelFiles, tmp_path: Path, rubbish: bytes) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(rubbish)

    with pytest.raises(NeedsRepair, match=r"the tokenizer cannot be loaded"):
        OnnxEngine(dataclasses.replace(bge, tokenizer=tokenizer))


@pytest.mark.parametrize(
    "change",
    [
        {"weight_hash": "1" * 64},
        {"pooling": Pooling.MEAN},
        {"query_prefix": ""},
        {"passage_prefix": "passage: "},
        {"max_tokens": 128},
        {"name": "x"},
    ],
)
def test_whatever_changes_a_vector_changes_the_fingerprint(bge: ModelFiles, change: dict[str, str]) -> None:
    of_card = {key: value for key, value in change.items() if key != "weight_hash"}
    of_files = {key: value for key, value in change.items() if key == "weight_hash"}

    other = dataclasses.replace(bge, card=dataclasses.replace(bge.card, **of_card), **of_files)  # type: ignore[arg-type]  # one field at a time

    assert other.fingerprint != bge.fingerprint
    assert len(bge.fingerprint) == 16


def test_a_memory_under_bge_keeps_its_vectors_apart_from_those_of_another_model(hub: Path, tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "The relay listens on port 2525.")
    for cache in (NOWHERE, hub):
        with open_memory(root, OnnxEngine, hub_cache=cache) as memory:
            memory.reindex()
            assert search_memory(memory, "relay port").hits[0].path == "topics/mail.md"

    assert len(list(root.vector_cache.iterdir())) == 2
