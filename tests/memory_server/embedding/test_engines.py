"""Sparse, late-interaction and cross-encoder engines, each against its formula, on models of a few words."""

import json
from pathlib import Path

import numpy as np
import pytest

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Vectors
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair
from parts.models.cross_engine import CrossEngine
from parts.models.late_engine import LateEngine
from parts.models.sparse_engine import SparseEngine
from tests.memories import NOWHERE
from tests.tiny_models import MARKS, cross_model, dense_model, late_model, numbers_of, sparse_model

WORDS = ("the", "relay", "postfix", "listens", "port", "printer", "jams")
NUMBER = numbers_of(WORDS)
SIZE = len(NUMBER)
IDF = {"the": 0.1, "relay": 2.0, "postfix": 3.0, "port": 1.5, "[CLS]": 9.0, "unheard": 4.0}
TEXT = "the relay listens"


def chance(*shape: int) -> Vectors:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32) * 3


def files_of(folder: Path, kind: ModelKind) -> ModelFiles:
    return Catalogue(NOWHERE, folder.parent).find(folder.name, kind)


def ids(*words: str) -> list[int]:
    return [NUMBER[word] for word in words]


# -- sparse -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "damped"),
    [
        ("", lambda logits: np.log(1 + logits)),
        ('activation = "log(1+relu)"\n', lambda logits: np.log(1 + logits)),
        ('activation = "log(1+log(1+relu))"\n', lambda logits: np.log(1 + np.log(1 + logits))),
    ],
)
def test_a_passage_weighs_the_damped_greatest_logit_of_its_tokens(more: str, damped: object, tmp_path: Path) -> None:
    table = chance(SIZE, SIZE)
    engine = SparseEngine(files_of(sparse_model(tmp_path / "tiny", WORDS, table, IDF, more), ModelKind.SPARSE))
    logits = np.stack([table[number] for number in ids("[CLS]", "the", "relay", "listens", "[SEP]")])
    expected = damped(np.maximum(logits.max(axis=0), 0))  # type: ignore[operator]  # a function of the table above
    expected[: len(MARKS) - 2] = 0  # of the model's own marks

    (made,) = engine.embed([TEXT])

    dense = np.zeros(SIZE)
    dense[made.terms] = made.weights
    assert np.allclose(dense, expected, atol=1e-6)
    assert (np.diff(made.terms) > 0).all() and (made.weights > 0).all()


def test_weights_below_a_share_of_the_greatest_are_left_out(tmp_path: Path) -> None:
    table = chance(SIZE, SIZE)
    whole = SparseEngine(files_of(sparse_model(tmp_path / "whole", WORDS, table, IDF), ModelKind.SPARSE))
    cut_folder = sparse_model(tmp_path / "cut", WORDS, table, IDF, "least_share = 0.8\n")
    cut = SparseEngine(files_of(cut_folder, ModelKind.SPARSE))

    (all_of_it,), (best,) = whole.embed([TEXT]), cut.embed([TEXT])

    held = all_of_it.weights > 0.8 * all_of_it.weights.max()
    assert 0 < len(best.terms) < len(all_of_it.terms)
    assert best.terms.tolist() == all_of_it.terms[held].tolist()


def test_a_question_is_its_pieces_with_the_weights_of_the_table_and_asks_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sparse_model(tmp_path / "tiny", WORDS, chance(SIZE, SIZE), IDF)
    engine = SparseEngine(files_of(folder, ModelKind.SPARSE))
    (folder / "model.onnx").unlink()
    monkeypatch.setattr("parts.models.sparse_engine.load_session", lambda _: pytest.fail("a network"))

    asked = engine.weigh_question("The relay? the RELAY printer, postfix")

    assert asked.terms.tolist() == ids("the", "relay", "postfix")  # each once; the printer weighs nothing
    assert asked.weights.tolist() == pytest.approx([0.1, 2.0, 3.0])


@pytest.mark.parametrize("table", ["", "[]", "{", '{"relay": "much"}', '{"relay": [1]}'])
def test_a_table_of_question_weights_that_is_none_is_named(table: str, tmp_path: Path) -> None:
    folder = sparse_model(tmp_path / "tiny", WORDS, chance(SIZE, SIZE), IDF)
    (folder / "idf.json").write_text(table, encoding="utf-8")

    with pytest.raises(NeedsRepair, match=r"idf\.json: the table of question weights cannot be read"):
        SparseEngine(files_of(folder, ModelKind.SPARSE))


def test_a_graph_without_a_language_model_head_is_named(tmp_path: Path) -> None:
    folder = sparse_model(tmp_path / "tiny", WORDS, chance(SIZE, 3), IDF)

    with pytest.raises(NeedsRepair, match=r"model\.onnx: tiny gives no logit for each piece of its vocabulary"):
        SparseEngine(files_of(folder, ModelKind.SPARSE)).embed([TEXT])


# -- late interaction -------------------------------------------------------------------------------------------


def late_engine(tmp_path: Path, more: str = "") -> tuple[LateEngine, Vectors, Vectors]:
    dense, late = chance(SIZE, 8), chance(SIZE, 6)
    files = files_of(dense_model(tmp_path / "dense", WORDS, dense), ModelKind.DENSE)
    tokens = files_of(late_model(tmp_path / "late", WORDS, late, more), ModelKind.LATE)
    return LateEngine(OnnxEngine(files), tokens), dense, late


def unit(rows: Vectors) -> Vectors:
    made: Vectors = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return made


def test_a_late_model_gives_the_token_vectors_and_the_dense_one_the_vector(tmp_path: Path) -> None:
    engine, dense, late = late_engine(tmp_path)

    (made,) = engine.embed(["The relay  jams"])

    assert np.allclose(made.tokens, unit(late[ids("the", "relay", "jams")]), atol=1e-6)
    assert made.spans == ((0, 3), (4, 9), (11, 15))
    assert np.allclose(made.vector, unit(dense[ids("[CLS]", "the", "relay", "jams", "[SEP]")].mean(axis=0)), atol=1e-6)


def test_the_marker_stands_behind_the_first_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _, late = late_engine(tmp_path)
    read: list[object] = []

    def seen(_: object, rows: list[list[int]], *__: object) -> Vectors:
        read.append(rows)
        return np.asarray(late[np.array(rows)])

    monkeypatch.setattr("parts.models.late_engine.run_graph", seen)
    engine.embed(["relay"])
    engine.embed(["relay"], as_query=True)

    assert read == [[ids("[CLS]", "[unused1]", "relay", "[SEP]")], [ids("[CLS]", "[unused0]", "relay", "[SEP]")]]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('passage_marker = "[D]"\n', r"passage_marker of late is '\[D\]', which its tokenizer does not know"),
        ("dimensions = 7\n", r"late gives vectors of \(6,\), not of 7 dimensions"),
    ],
)
def test_a_late_model_that_is_not_as_described_is_named(more: str, words: str, tmp_path: Path) -> None:
    late_engine(tmp_path)
    file = tmp_path / "late" / "model.toml"
    key = more.partition(" ")[0]
    text = "".join(line + "\n" for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(key))
    file.write_text(text + more, encoding="utf-8")
    dense, late = files_of(tmp_path / "dense", ModelKind.DENSE), files_of(tmp_path / "late", ModelKind.LATE)

    with pytest.raises(NeedsRepair, match=words):
        LateEngine(OnnxEngine(dense), late).embed(["relay"])


# -- cross-encoder ----------------------------------------------------------------------------------------------


def test_a_cross_encoder_scores_each_passage_with_the_question(tmp_path: Path) -> None:
    table = chance(SIZE, 1)
    engine = CrossEngine(files_of(cross_model(tmp_path / "tiny", WORDS, table), ModelKind.CROSS))
    passages = ["relay listens", "printer", "the relay listens port", "printer", *(["the port"] * 11), ""]

    scores = engine.scores("relay port", passages)

    def expected(passage: str) -> float:
        asked = table[ids("[CLS]", "relay", "port", "[SEP]")].sum()
        return float(asked + 2 * table[ids(*passage.split(), "[SEP]")].sum())

    assert np.allclose(scores, [expected(passage) for passage in passages], atol=1e-5)


def test_the_same_pair_is_read_once_for_all_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CrossEngine(files_of(cross_model(tmp_path / "tiny", WORDS, chance(SIZE, 1)), ModelKind.CROSS))
    first = engine.scores("relay", ["port", "printer"])
    monkeypatch.setattr(engine, "_logits", lambda question, passages: pytest.fail(f"read again: {passages}"))

    assert engine.scores("relay", ["printer", "port"]).tolist() == first[::-1].tolist()


def test_a_graph_that_gives_no_one_score_is_named(tmp_path: Path) -> None:
    folder = cross_model(tmp_path / "tiny", WORDS, chance(SIZE, 2))

    with pytest.raises(NeedsRepair, match=r"tiny gives no one score for a pair, but \(2,\)"):
        CrossEngine(files_of(folder, ModelKind.CROSS)).scores("relay", ["port"])


def test_the_shipped_descriptions_name_what_their_tokenizers_must_know(tmp_path: Path) -> None:
    """Markers of late models and the table of sparse ones are data; a description without them would be of no use."""
    cards, _ = Catalogue(NOWHERE).cards()

    assert all(card.query_marker and card.passage_marker for card in cards if card.kind is ModelKind.LATE)
    assert all(card.query_weights == "idf.json" for card in cards if card.kind is ModelKind.SPARSE)
    activations = {card.name[-6:]: str(card.activation) for card in cards if card.kind is ModelKind.SPARSE}
    assert json.dumps(activations) == '{"2-mini": "log(1+relu)", "v3-gte": "log(1+log(1+relu))"}'
