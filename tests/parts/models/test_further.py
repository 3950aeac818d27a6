"""A memory with a sparse, a late-interaction or a cross-encoder model on: what it finds, keeps and forgets."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.vector_cache import text_hash
from memory_server.embedding.workers import EmbeddingControl, Interrupted, WorkerPlan
from memory_server.errors import NeedsRepair, UsageError
from memory_server.index.build import Progress
from memory_server.machine import database
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings, PersonSettings
from parts.models.further import ChosenFurtherModels
from parts.models.late_engine import LateEngine
from parts.models.sparse_engine import SparseEngine, TermWeights
from parts.models.trial import answer_with_model
from tests.conftest import MakeEngine
from tests.memories import kept_reading, new_root, open_memory, recall, write_topic
from tests.tiny_models import cross_model, dense_model, late_model, numbers_of, sparse_model

WORDS = ("relay", "zorblax", "printer", "jams", "listens", "harbour", "market")
NUMBER = numbers_of(WORDS)
SIZE = len(NUMBER)
PLACES = ("kitchen", "cellar", "attic", "garden", "office", "garage", "library", "station", "harbour", "market")


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """Forty passages, of which one is about a relay and one about a printer."""
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", "# Mail\n\nThe relay listens behind the wall.\n")
    write_topic(root, "print", "# Print\n\nThe printer jams on Mondays.\n")
    for number in range(38):
        place, other = PLACES[number % 10], PLACES[number // 4]
        write_topic(
            root, f"t{number}", f"# Room {number}\n\nThe {place} was painted {number} days before the {other}.\n"
        )
    return root


@pytest.fixture
def added(tmp_path: Path) -> Path:
    """Models of the person's own. The sparse one sees `zorblax` in a relay; the cross-encoder loves harbours."""
    logits = np.zeros((SIZE, SIZE), np.float32)
    logits[range(SIZE), range(SIZE)] = 5
    logits[NUMBER["relay"], NUMBER["zorblax"]] = 8
    own, chance = tmp_path / "models", np.random.default_rng(3)
    sparse_model(own / "tiny-sparse", WORDS, logits, dict.fromkeys(WORDS, 2.0))
    late_model(own / "tiny-late", WORDS, chance.standard_normal((SIZE, 24)).astype(np.float32))
    scores = np.zeros((SIZE, 1), np.float32)
    scores[NUMBER["harbour"]] = 4
    cross_model(own / "tiny-cross", WORDS, scores)
    dense_model(own / "tiny-dense", WORDS, chance.standard_normal((SIZE, 16)).astype(np.float32))
    return own


def first(memory: Memory, question: str) -> str:
    hits = recall(memory, question).hits
    return hits[0].path if hits else ""


def test_nothing_of_it_is_there_where_it_is_off(root: MemoryRoot, make_engine: MakeEngine, added: Path) -> None:
    with open_memory(root, make_engine, added=added) as memory:
        memory.reindex()
        hits = recall(memory, "relay").hits

    assert not (root.derived_folder / "terms").exists()
    assert all(not {"sparse", "cross"} & {*hit.parts} for hit in hits)


def test_what_is_off_is_not_imported() -> None:
    program = "import sys, memory_server.memory; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert "memory_server.further" in loaded
    assert not {"sparse_engine", "late_engine", "cross_engine"} & {name.rpartition(".")[2] for name in loaded}
    assert "parts.models.sparse" not in loaded


# -- sparse -----------------------------------------------------------------------------------------------------


def test_a_sparse_model_finds_by_words_that_do_not_stand_there(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    with open_memory(root, make_engine, added=added) as memory:
        memory.reindex()
        assert first(memory, "zorblax") != "topics/mail.md"

    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        memory.reindex()
        [hit, *others] = recall(memory, "zorblax").hits

        assert hit.path == "topics/mail.md" and hit.parts["sparse"] > 3
        assert "sparse" in [reason.arm for reason in hit.why]
        assert all(other.parts["sparse"] < 1 for other in others)


def test_the_arm_scores_the_inner_product_of_question_and_passage(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        memory.reindex()
        snapshot, scores = memory.indices.snapshot(), memory.further.make_scorer(root.ledger)
        assert scores is not None
        found = scores(snapshot, "zorblax relay printer")
        paths = [snapshot.sources[number].path for number in snapshot.passages.sources.tolist()]

    best = dict(zip(paths, found.tolist(), strict=True))
    assert best["topics/mail.md"] == pytest.approx(2 * (np.log(9) + np.log(6)), abs=2 / 64)
    assert best["topics/print.md"] == pytest.approx(2 * np.log(6), abs=2 / 64)
    assert sum(value > 0 for value in found) == 2


def test_a_rebuild_weighs_nothing_anew_and_a_change_only_what_changed(
    root: MemoryRoot, make_engine: MakeEngine, added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: list[str] = []
    weigh = SparseEngine.embed

    def counted(self: SparseEngine, texts: Sequence[str]) -> list[TermWeights]:
        weighed.extend(texts)
        return weigh(self, texts)

    monkeypatch.setattr(SparseEngine, "embed", counted)
    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        memory.reindex()
        assert len(weighed) == 40
        memory.reindex(rebuild=True)
        assert len(weighed) == 40 and first(memory, "zorblax") == "topics/mail.md"

        write_topic(root, "print", "# Print\n\nThe zorblax printer is new.\n")
        memory.reindex()

        assert len(weighed) == 41 and "zorblax printer" in weighed[-1]
        assert {hit.path for hit in recall(memory, "zorblax").hits[:2]} == {"topics/mail.md", "topics/print.md"}


def test_an_interrupted_run_keeps_what_it_weighed(root: MemoryRoot, make_engine: MakeEngine, added: Path) -> None:
    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        assert isinstance(memory.further, ChosenFurtherModels)
        sparse = memory.further.sparse
        assert sparse is not None
        memory.indices.own()
        texts = {text_hash(f"relay {number}"): f"relay {number}" for number in range(200)}
        control = EmbeddingControl(lambda: WorkerPlan.of_share(0.5))
        done: list[int] = []
        again: list[int] = []

        def end(step: Progress) -> None:
            done.append(step.done)
            control.end()

        with pytest.raises(Interrupted):
            sparse.bring_level(texts, control, end)
        control = EmbeddingControl(lambda: WorkerPlan.of_share(0.5))
        sparse.bring_level(texts, control, lambda step: again.append(step.total))

        assert done and again[0] == 200 - done[-1]


def test_another_sparse_model_has_weights_of_its_own(root: MemoryRoot, make_engine: MakeEngine, added: Path) -> None:
    logits = np.zeros((SIZE, SIZE), np.float32)
    logits[NUMBER["printer"], NUMBER["zorblax"]] = 8
    sparse_model(added / "other-sparse", WORDS, logits, dict.fromkeys(WORDS, 2.0))
    for model, found in (("tiny-sparse", "topics/mail.md"), ("other-sparse", "topics/print.md")):
        with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model=model)) as memory:
            memory.reindex()
            assert first(memory, "zorblax") == found

    assert len(list((root.derived_folder / "terms").glob("*.db"))) == 2


def test_forgetting_leaves_no_weight_of_a_text_that_no_source_holds_once_nobody_reads(
    root: MemoryRoot, make_engine: MakeEngine, added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        memory.reindex()
        terms = np.array(sorted([NUMBER["relay"], NUMBER["zorblax"], NUMBER["listens"]]), "<u2").tobytes()
        assert any(terms in one.read_bytes() for one in (root.derived_folder / "terms").iterdir())
        (root.topics / "mail.md").unlink()
        memory.reindex()

        [weights] = (root.derived_folder / "terms").glob("*.db")
        with kept_reading(weights, "weighed"):
            assert not memory.upkeep.forget_of_models()

        assert memory.upkeep.forget_of_models()
        assert not any(terms in one.read_bytes() for one in (root.derived_folder / "terms").iterdir())
        assert first(memory, "printer jams") == "topics/print.md"


def test_forgetting_leaves_nothing_that_a_model_not_in_use_made(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    with open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse")) as memory:
        memory.reindex()
        with answer_with_model(memory, memory.catalogue.find_any("tiny-late")):
            pass
        assert len(list(root.vector_cache.iterdir())) == 2
    (root.derived_folder / "trial").mkdir()

    with open_memory(root, make_engine, added=added) as memory:
        memory.reindex()
        strike = root.state / "forgetting.txt"
        strike.parent.mkdir(parents=True, exist_ok=True)
        strike.write_text("0f0f0f0f-0000-4000-8000-000000000000\n", encoding="utf-8")
        memory.reindex()

        assert [folder.name for folder in root.vector_cache.iterdir()] == [memory.model.fingerprint]
        assert not list((root.derived_folder / "terms").iterdir()) and not (root.derived_folder / "trial").exists()


# -- late interaction -------------------------------------------------------------------------------------------


def test_a_late_models_tokens_take_the_place_of_the_embedders(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    with open_memory(root, make_engine, added=added) as memory:
        memory.reindex()
        plain, dense_only = recall(memory, "relay listens").hits[0], memory.model.fingerprint

    with open_memory(root, make_engine, added=added, person=PersonSettings(late_model="tiny-late")) as memory:
        memory.reindex()
        hit = recall(memory, "relay listens").hits[0]
        snapshot, engine = memory.indices.snapshot(), memory.engine()

        assert isinstance(engine, LateEngine) and memory.model.fingerprint != dense_only
        assert snapshot.tokens.shape[1] == 24 // 8  # bytes a token, where the embedder's own take 48
        assert hit.path == plain.path == "topics/mail.md"
        assert hit.parts["meaning"] == pytest.approx(plain.parts["meaning"], abs=1e-4)
        assert hit.parts["tokens"] != pytest.approx(plain.parts["tokens"], abs=1e-4)

    assert len(list(root.vector_cache.iterdir())) == 2


# -- cross-encoder ----------------------------------------------------------------------------------------------


def test_a_cross_encoder_lifts_what_it_likes_out_of_more_passages_than_are_shown(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    question = "which room was painted"
    ranks, shown = [], 5
    for model in ("", "tiny-cross"):
        with open_memory(root, make_engine, added=added, person=PersonSettings(rerank_model=model)) as memory:
            memory.reindex()
            hits = recall(memory, question, limit=40).hits
            ranks.append([rank for rank, hit in enumerate(hits) if "harbour" in hit.passage])
            best = recall(memory, question, limit=shown).hits

    plain, crossed = ranks
    assert len(plain) == len(crossed) and sum(crossed) < sum(plain) and plain[-1] >= shown
    liked = [hit for hit in best if "harbour" in hit.passage]
    assert liked and all(hit.parts["cross"] > 1 for hit in liked)  # in units of the spread
    assert "cross" in [reason.arm for reason in liked[0].why]


# -- which are on -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["sparse_model", "late_model", "rerank_model"])
def test_a_model_of_another_kind_or_of_no_name_is_told(
    key: str, root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    with pytest.raises(UsageError, match="tiny-dense is a dense model, where a"):
        open_memory(root, make_engine, added=added, person=PersonSettings(**{key: "tiny-dense"}))  # type: ignore[arg-type]  # a name
    with pytest.raises(UsageError, match="there is no model 'nosuch'"):
        open_memory(root, make_engine, added=added, person=PersonSettings(**{key: "nosuch"}))  # type: ignore[arg-type]  # a name


def test_weights_that_changed_on_the_disk_are_refused_before_anything_is_searched(
    root: MemoryRoot, make_engine: MakeEngine, added: Path
) -> None:
    models = Catalogue(Path("/nowhere"), added)
    (added / "recorded.json").write_text(
        json.dumps({"tiny-sparse": dict.fromkeys(models.card("tiny-sparse").files, "0" * 64)}), encoding="utf-8"
    )

    with pytest.raises(NeedsRepair, match="this file of tiny-sparse is not the one that was recorded"):
        open_memory(root, make_engine, added=added, person=PersonSettings(sparse_model="tiny-sparse"))


def test_a_memory_names_no_further_model(root: MemoryRoot) -> None:
    """Which model runs beside the embedder is the person's, not a clone's."""
    assert not {"sparse_model", "late_model", "rerank_model"} & {
        field.name for field in dataclasses.fields(MemorySettings)
    }
