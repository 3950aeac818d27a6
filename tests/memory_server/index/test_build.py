"""Whatever happened to the files, a reindex leaves the indices as a build from nothing would."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_server.document import Layer, SourcePath
from memory_server.embedding.engine import Vectors
from memory_server.embedding.vector_cache import TextHash, VectorCache
from memory_server.errors import NeedsRepair
from memory_server.index import graph as graph_module
from memory_server.index.build import Progress, read_state
from memory_server.index.graph import WHOLE
from memory_server.index.indices import Indices
from memory_server.index.ledger import VECTORS, Ledger
from memory_server.index.semantic import SemanticIndex
from memory_server.layers.topics import YOUNG_SECONDS
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from tests.memories import (
    copy_root,
    new_root,
    open_memory,
    recall,
    search_exact,
    search_memory,
    write_session,
    write_source,
    write_topic,
)
from tests.states import WordEngine, alike, differences, semantic_ids, state_of

QUESTIONS = ("relay port", "invoice", "token NOT archive", "robot layer:session")
WORDS = ("relay", "port", "invoice", "robot", "token", "archive", "fooBar", "東京都")


pytestmark = pytest.mark.usefixtures("graph")


class Killed(BaseException):
    """Stands for a kill: nothing but the outermost loop sees it."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """A memory of a few topics and a session, indexed."""
    root = new_root(tmp_path_factory.mktemp("made") / "memory")
    for name, sentence in (("mail", "The relay has port 25."), ("shop", "An invoice a robot."), ("key", "A token.")):
        write_topic(root, name, f"# {name}\n\n{sentence}\n")
    write_session(root, "2026-01-20-x-aaaaaaaa", "The robot wrote an invoice.", "The archive is full.")
    for file in root.path.rglob("*.md"):
        age(file)
    with open_memory(root, WordEngine) as memory:
        memory.indices.own()
        memory.reindex()
        memory.indices.bring_graph_level(lambda _: None)
    return root


@pytest.fixture
def indexed(made: MemoryRoot, tmp_path: Path) -> Iterator[Memory]:
    """That memory, for one test."""
    with open_memory(copy_root(made, tmp_path / "memory"), WordEngine) as memory:
        memory.reindex()  # notes that the files are the same; to make the indices takes five times as long
        yield memory


def age(file: Path) -> None:
    """Makes a file look as if it was saved long ago; one of this moment is looked at again in any case."""
    os.utime(file, (1_700_000_000, 1_700_000_000))


_fresh: dict[Any, dict[str, Any]] = {}  # by the files of which it was built


def fresh_state(memory: Memory, folder: Path) -> dict[str, Any]:
    """What a build from nothing of the same files says."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(memory.root.path, folder, ignore=shutil.ignore_patterns(".oneiros"))
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    held = tuple((file.relative_to(folder), file.read_bytes()) for file in files)
    if held not in _fresh:
        with open_memory(folder, WordEngine) as fresh:
            fresh.reindex()
            _fresh[held] = state_of(fresh, QUESTIONS)
    return _fresh[held]


def unlike_fresh(memory: Memory, folder: Path) -> list[str]:
    """In which parts a memory differs from a build from nothing of the same files."""
    return differences(state_of(memory, QUESTIONS), fresh_state(memory, folder))


# -- sequences --------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "d/e"])
BODIES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=0, max_size=4).map(
    lambda parts: "".join(f"# {part}\n\n{part} text.\n\n" for part in parts)
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, BODIES),
        st.tuples(st.just("remove"), NAMES, st.just("")),
        st.tuples(st.just("rename"), NAMES, NAMES),
        st.tuples(st.just("reindex"), st.just(""), st.just("")),
    ),
    min_size=1,
    max_size=8,
)


def take_step(memory: Memory, kind: str, name: str, more: str) -> None:
    file = memory.root.topics / f"{name}.md"
    if kind == "write":
        write_topic(memory, name, more)
    elif kind == "reindex":
        memory.reindex()
    elif file.exists() and kind == "remove":
        file.unlink()
    elif file.exists():
        target = memory.root.topics / f"{more}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_after_any_sequence_of_changes_a_reindex_equals_a_build_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    with open_memory(new_root(folder / "memory"), WordEngine) as memory:
        for step in steps:
            take_step(memory, *step)
        memory.reindex()

        again = memory.reindex()

        assert (again.changed, again.removed, again.embedded) == (0, 0, 0)
        assert unlike_fresh(memory, folder / "fresh") == []


def test_a_change_to_the_topic_that_was_indexed_last_changes_the_scales_of_the_index(
    indexed: Memory, tmp_path: Path
) -> None:
    (indexed.root.topics / "zebra.md").write_text("# Zebra\n\nA zebra.\n", encoding="utf-8")
    indexed.reindex()
    (indexed.root.topics / "zebra.md").write_text(
        "# Boiling point\n\nThe boiling point of ethanol.\n", encoding="utf-8"
    )
    indexed.reindex()

    assert unlike_fresh(indexed, tmp_path / "fresh") == []


# -- what a run does --------------------------------------------------------------------------------------------


def test_a_second_run_does_nothing(indexed: Memory) -> None:
    report = indexed.reindex()

    assert (report.changed, report.removed, report.embedded, report.unchanged) == (0, 0, 0, 5)


def test_only_what_changed_is_read_and_only_what_is_new_is_embedded(indexed: Memory) -> None:
    write_topic(indexed, "mail", "# mail\n\nThe relay has port 2525.\n")
    write_topic(indexed, "copy", "# shop\n\nAn invoice a robot.\n")

    report = indexed.reindex()

    assert (report.changed, report.removed, report.unchanged) == (3, 0, 3)  # the index page points to the new one
    assert (report.embedded, report.from_cache) == (1, 1)


def test_what_vanished_is_removed_from_every_index(indexed: Memory) -> None:
    (indexed.root.topics / "mail.md").unlink()

    report = indexed.reindex()

    assert report.removed == 1
    assert search_exact(indexed, "relay").hits == ()
    assert len(semantic_ids(indexed)) == indexed.status().passages


def test_a_file_that_is_touched_is_not_read_again(indexed: Memory) -> None:
    os.utime(indexed.root.topics / "mail.md", (1_600_000_000, 1_600_000_000))

    assert [source.path for source in indexed.upkeep.changes().changed] == ["topics/mail.md"]
    assert indexed.reindex().changed == 0
    assert indexed.upkeep.changes().is_empty


def test_a_file_saved_a_moment_ago_is_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x", encoding="utf-8")
    saved = file.stat().st_mtime

    just_now = read_state(file, SourcePath("a.md"), now=saved + YOUNG_SECONDS / 2)
    later = read_state(file, SourcePath("a.md"), now=saved + 2 * YOUNG_SECONDS)

    assert just_now is not None
    assert later is not None
    assert just_now.modified_ns == 0 != later.modified_ns


def test_a_bad_file_is_a_problem_and_the_others_are_indexed(indexed: Memory) -> None:
    write_topic(indexed, "good", "A wheel.")
    (indexed.root.topics / "bad.md").write_bytes(b"# Bad\n\n\xff\xfe\n")

    report = indexed.reindex()

    assert [(problem.path, problem.line, problem.rule) for problem in report.problems] == [
        ("topics/bad.md", 3, "unreadable")
    ]
    assert [hit.path for hit in search_exact(indexed, "wheel").hits] == ["topics/good.md"]


def test_a_file_whose_rights_are_gone_is_named_and_found_again_with_them(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write_topic(indexed, "secret", "A wheel.")
    read = Path.read_bytes

    def refused(file: Path) -> bytes:  # by hand: root, as which tests may run, is never refused
        if file == secret:
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return read(file)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refused)
        report = indexed.reindex()
    assert [(problem.path, problem.what) for problem in report.problems] == [
        ("topics/secret.md", "the file cannot be read (Permission denied)")
    ]

    assert indexed.reindex().problems == []
    assert [hit.path for hit in search_exact(indexed, "wheel").hits] == ["topics/secret.md"]


def test_a_problem_stays_until_its_file_is_mended(indexed: Memory) -> None:
    bad = indexed.root.topics / "bad.md"
    bad.write_bytes(b"\xff")
    indexed.reindex()
    indexed.reindex()
    assert [problem.path for problem in indexed.status().problems] == ["topics/bad.md"]

    bad.write_text("# Mended\n", encoding="utf-8")
    indexed.reindex()

    assert indexed.status().problems == ()


def test_an_interrupted_run_is_not_level_and_says_how_much_is_left(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.index.build.TEXTS_AN_APPEND", 1)

    def interrupt(step: Progress) -> None:
        if step.stage == "embedding topics":
            raise KeyboardInterrupt

    for number in range(3):
        write_topic(indexed, f"new{number}", f"# New {number}\n\nWheel {number} turns.\n")
    with pytest.raises(KeyboardInterrupt):
        indexed.reindex(report_progress=interrupt)

    status = indexed.status()

    left = status.passages - status.semantic
    assert (left > 1, status.changed, status.unfinished) == (True, 0, left)
    assert status.level == f"{left} passages behind; bring them level: oneiros reindex"
    indexed.reindex()
    assert indexed.status().level == "level with the disk"


def test_a_file_that_cannot_be_read_is_a_problem_and_not_behind(indexed: Memory) -> None:
    (indexed.root.topics / "bad.md").write_bytes(b"\xff")
    indexed.reindex()

    status = indexed.status()

    assert ([problem.path for problem in status.problems], status.changed) == (["topics/bad.md"], 0)


@pytest.mark.parametrize("again", [False, True])
def test_a_problem_goes_with_its_file(indexed: Memory, again: bool) -> None:
    bad = indexed.root.topics / "bad.md"
    bad.write_bytes(b"\xff")
    indexed.reindex()

    bad.unlink()
    if again:
        assert indexed.reindex().problems == []

    assert (indexed.status().problems, indexed.status().changed) == ((), 0)


def test_a_problem_that_was_mended_is_a_file_to_be_read(indexed: Memory) -> None:
    bad = indexed.root.topics / "bad.md"
    bad.write_bytes(b"\xff")
    indexed.reindex()

    bad.write_text("# Mended\n", encoding="utf-8")

    assert (indexed.status().problems, indexed.status().changed) == ((), 1)


def test_another_model_is_another_index_beside_the_old_vectors(indexed: Memory) -> None:
    before = semantic_ids(indexed)
    folder = indexed.indices.ledger.note(VECTORS)
    indexed.close()
    with open_memory(indexed, WordEngine) as other:
        fingerprint = other.model.fingerprint
        object.__setattr__(other.model, "weight_hash", "0" * 64)
        other.reindex()

        assert other.indices.ledger.note(VECTORS) != folder
        assert semantic_ids(other) == before
        assert sorted(cache.name for cache in other.root.vector_cache.iterdir()) == sorted(
            [fingerprint, other.model.fingerprint]
        )


# -- kills between single steps ---------------------------------------------------------------------------------

STEPS_OF_A_RUN: list[tuple[type, str]] = [
    (Ledger, "put_source"),
    (Ledger, "remove_source"),
    (Ledger, "set_problems"),
    (VectorCache, "append"),
    (SemanticIndex, "delete"),
    (SemanticIndex, "add"),
    (Ledger, "confirm"),
    (Ledger, "set_note"),
    (Indices, "snapshot"),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("kind", "step"), STEPS_OF_A_RUN, ids=lambda part: getattr(part, "__name__", part))
def test_a_kill_at_any_step_is_repaired_by_the_next_run(
    indexed: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, step: str, when: str
) -> None:
    write_topic(indexed, "mail", "# mail\n\nThe relay has port 2525.\n\n# more\n\nA token.\n")
    write_topic(indexed, "new", "# new\n\nAn archive.\n")
    (indexed.root.topics / "shop.md").unlink()
    indexed.indices.own()
    indexed.indices.bring_graph_level(lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(kind, step, killing(getattr(kind, step), when))
        with pytest.raises(Killed):
            indexed.reindex()
    indexed.close()

    with open_memory(indexed, WordEngine) as again:
        again.indices.own()
        again.reindex()

        assert again.indices.graph.is_level
        assert unlike_fresh(again, tmp_path / "fresh") == []


def killing(step: Callable[..., Any], when: str) -> Callable[..., Any]:
    def killed(*arguments: Any, **options: Any) -> Any:
        if when == "after":
            step(*arguments, **options)
        raise Killed

    return killed


@pytest.mark.parametrize("step", [VectorCache.append, Ledger.confirm, Indices.snapshot])
def test_a_search_finishes_what_a_kill_interrupted(
    indexed: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[..., Any]
) -> None:
    age(write_topic(indexed, "new", "# new\n\nA wheel.\n"))
    with monkeypatch.context() as patch:
        owner = {"append": VectorCache, "confirm": Ledger, "snapshot": Indices}[step.__name__]
        patch.setattr(owner, step.__name__, killing(step, "before"))
        with pytest.raises(Killed):
            indexed.reindex()
    indexed.close()

    with open_memory(indexed, WordEngine) as again:
        behind = again.upkeep.refresh()

        assert behind.is_empty
        assert unlike_fresh(again, tmp_path / "fresh") == []


# -- damage -----------------------------------------------------------------------------------------------------


def derived(memory: Memory, pattern: str) -> Path:
    (file,) = memory.root.derived_folder.glob(pattern)
    return file


@pytest.mark.parametrize("pattern", ["vectors/*/vectors.f32", "vectors/*/tokens.bin"])
@pytest.mark.parametrize("stored", [0.0, 0.5])
def test_vectors_that_lost_their_tail_are_made_again_by_the_next_run(
    indexed: Memory, tmp_path: Path, pattern: str, stored: float
) -> None:
    indexed.close()
    file = derived(indexed, pattern)
    os.truncate(file, int(file.stat().st_size * stored) + 7)

    with open_memory(indexed, WordEngine) as again:
        again.reindex()

        assert unlike_fresh(again, tmp_path / "fresh") == []


@pytest.mark.parametrize("lost", ["vectors", "semantic", "ledger.db"])
def test_a_part_that_was_deleted_is_made_again_by_the_next_run(indexed: Memory, tmp_path: Path, lost: str) -> None:
    indexed.close()
    part = indexed.root.derived_folder / lost
    shutil.rmtree(part) if part.is_dir() else part.unlink()
    (indexed.root.topics / "shop.md").unlink()

    with open_memory(indexed, WordEngine) as again:
        again.reindex()

        assert unlike_fresh(again, tmp_path / "fresh") == []


def test_what_is_derived_may_be_deleted_under_an_open_memory(indexed: Memory, tmp_path: Path) -> None:
    search_exact(indexed, "relay")
    shutil.rmtree(indexed.root.derived_folder)

    indexed.reindex()

    assert unlike_fresh(indexed, tmp_path / "fresh") == []


def scribble(file: Path, at: float = 0.0) -> None:
    """Overwrites a stretch of a file with rubbish."""
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(int(size * at))
        stream.write(b"\xa5" * max(1_000, int(size * (1 - at))))


@pytest.mark.parametrize("at", [0.0, 0.1])
@pytest.mark.parametrize("pattern", ["ledger.db", "vectors/*/keys.db"])
def test_a_damaged_file_is_named_with_its_remedy_and_a_rebuild_mends_it(
    indexed: Memory, tmp_path: Path, pattern: str, at: float
) -> None:
    indexed.close()
    scribble(derived(indexed, pattern), at)

    with open_memory(indexed, WordEngine) as again:
        with pytest.raises(NeedsRepair, match=r"Run `oneiros reindex --rebuild`"):
            recall(again, "relay")
        again.reindex(rebuild=True)

        assert unlike_fresh(again, tmp_path / "fresh") == []


def harm_graph(root: MemoryRoot, harm: str) -> None:
    """Does something to a graph that is closed."""
    [folder] = root.semantic_index.iterdir()
    if harm == "gone":
        shutil.rmtree(folder)
    elif harm == "emptied":
        for file in [*folder.rglob("*")]:
            if file.is_file() and file.name != WHOLE:
                file.unlink()
    elif harm == "scribbled":
        for file in folder.rglob("*"):
            if file.is_file():
                scribble(file)
    else:
        graph = SemanticIndex(folder)
        [(name, vector), *_] = sorted(graph.read_vectors(Layer.TOPIC).items())
        graph.delete(Layer.TOPIC, [name])
        if harm == "another vector":
            graph.add(Layer.TOPIC, [name], -vector[None])
        if harm == "of another memory":
            graph.add(Layer.TOPIC, [TextHash(b"another")], vector[None])
        graph.close()


@pytest.mark.parametrize(
    "harm", ["gone", "emptied", "scribbled", "another vector", "lost a passage", "of another memory"]
)
def test_a_wrong_graph_is_noticed_when_it_is_opened_and_filled_from_the_cache(
    indexed: Memory, tmp_path: Path, harm: str
) -> None:
    expected = state_of(indexed, QUESTIONS)["answers"]
    indexed.close()
    harm_graph(indexed.root, harm)

    with open_memory(indexed, WordEngine) as again:
        again.indices.own()
        assert alike(state_of(again, QUESTIONS)["answers"], expected)
        again.indices.bring_graph_level(lambda _: None)

        assert again.indices.graph.is_level
        assert again.indices.count_wrong(10) == (0, 0)
        assert alike(state_of(again, QUESTIONS)["answers"], expected)
        assert again.reindex().embedded == 0
        assert len([*again.root.semantic_index.iterdir()]) == 1
        assert unlike_fresh(again, tmp_path / "fresh") == []


def test_a_graph_that_fails_while_it_is_asked_leaves_the_answer_to_the_scan_and_is_made_anew(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[TextHash]:
        raise NeedsRepair("the semantic index is damaged")

    def ask() -> list[object]:
        return [[hit.chunk, hit.score] for word in WORDS for hit in search_memory(indexed, word).hits]

    indexed.indices.own()
    expected = ask()
    indexed.indices.bring_graph_level(lambda _: None)
    with monkeypatch.context() as patch:
        patch.setattr(SemanticIndex, "find_nearest", fail)
        assert alike(ask(), expected)
    assert not indexed.indices.graph.is_level
    indexed.indices.bring_graph_level(lambda _: None)

    assert alike(ask(), expected)
    assert indexed.indices.looks == {"chromadb": len(WORDS), "scan": 2 * len(WORDS)}


def test_a_graph_that_cannot_be_made_says_why_and_the_scan_answers(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise NeedsRepair("the semantic index is damaged")

    monkeypatch.setattr(SemanticIndex, "add", fail)
    indexed.indices.own()
    indexed.indices.graph.drop()

    indexed.indices.bring_graph_level(lambda _: None)

    assert indexed.indices.graph.trouble == "the semantic index is damaged"
    assert [hit.path for hit in search_memory(indexed, "relay").hits][:1] == ["topics/mail.md"]


def test_a_ledger_of_another_format_is_named_with_its_remedy(indexed: Memory) -> None:
    indexed.indices.ledger.connection.execute("pragma user_version = 99")
    indexed.close()

    with open_memory(indexed, WordEngine) as again, pytest.raises(NeedsRepair, match=r"the indices have format 99"):
        recall(again, "relay")


def test_the_next_run_makes_indices_of_another_format_anew(indexed: Memory, tmp_path: Path) -> None:
    indexed.indices.ledger.connection.execute("pragma user_version = 99")
    indexed.close()

    with open_memory(indexed, WordEngine) as again:
        report = again.reindex()

        assert report.embedded == 0 and unlike_fresh(again, tmp_path / "fresh") == []


def test_the_root_is_written_by_one_process_at_a_time(indexed: Memory) -> None:
    assert indexed.indices.own()
    write_source(indexed, "topics/new.md", "A wheel.")

    with open_memory(indexed, WordEngine) as other:
        with pytest.raises(NeedsRepair, match=rf"process {os.getpid()} writes the indices of this memory"):
            other.reindex()

        assert not other.upkeep.refresh().is_empty
        assert other.status().owner == f"process {os.getpid()}"
        assert other.status().level == f"2 files behind; process {os.getpid()} is at it"


def test_vectors_of_equal_texts_are_kept_once(indexed: Memory) -> None:
    before = len(indexed.indices.cache)
    for number in range(3):
        write_topic(indexed, f"same{number}", "# Same\n\nThe very same words.\n", title="Same")

    report = indexed.reindex()

    assert report.embedded == 1
    assert len(indexed.indices.cache) == before + 1
    assert np.isfinite(indexed.indices.cache.vectors()).all()


def test_every_question_without_a_filter_is_answered_by_the_graph_also_of_what_it_has_not_learnt_yet(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed.indices.own()
    indexed.indices.bring_graph_level(lambda _: None)
    write_topic(indexed, "wheel", "# wheel\n\nA zebra.\n")
    found: list[str] = []

    add = SemanticIndex.add

    def ask() -> None:
        found.extend(hit.path for hit in search_memory(indexed, "zebra").hits[:1])

    def ask_and_add(graph: SemanticIndex, layer: Layer, keys: Sequence[TextHash], vectors: Vectors) -> None:
        ask()
        add(graph, layer, keys, vectors)

    monkeypatch.setattr(SemanticIndex, "add", ask_and_add)
    indexed.reindex()
    ask()
    search_memory(indexed, "zebra tag:none")

    assert found == ["topics/wheel.md"] * 2
    assert indexed.indices.looks == {"chromadb": 2, "scan": 0}


def test_filling_a_graph_leaves_nothing_to_do_and_goes_on_where_it_was_interrupted(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_server.index.graph.KEYS_A_STEP", 1)
    indexed.indices.own()
    indexed.indices.graph.drop()
    learnt: list[int] = []
    left: set[tuple[int, str]] = set()

    def stop(step: Progress) -> None:
        learnt.append(step.total)
        left.add((indexed.upkeep.changes().unfinished, indexed.status().level))
        if len(learnt) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        indexed.indices.bring_graph_level(stop)
    indexed.indices.bring_graph_level(stop)

    assert learnt[2:] == [learnt[0] - 2] * (learnt[0] - 2)
    assert left == {(0, "level with the disk")}
    assert indexed.indices.graph.is_level


def test_a_graph_of_which_many_were_deleted_is_filled_anew(indexed: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_server.index.graph.FEW_DELETED", 1)
    indexed.indices.own()
    indexed.indices.bring_graph_level(lambda _: None)
    [before] = indexed.root.semantic_index.iterdir()
    for name in ("mail", "shop"):
        (indexed.root.topics / f"{name}.md").unlink()

    indexed.reindex()

    [after] = indexed.root.semantic_index.iterdir()
    assert after != before
    assert indexed.indices.count_wrong(10) == (0, 0)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["SemanticIndex.add", "remove_file", "replace_file"])
def test_a_kill_while_a_graph_is_filled_is_repaired_by_the_next_filling(
    indexed: Memory, monkeypatch: pytest.MonkeyPatch, step: str, when: str
) -> None:
    indexed.indices.own()
    kind = SemanticIndex if step == "SemanticIndex.add" else graph_module
    name = step.rpartition(".")[2]
    with monkeypatch.context() as patch:
        patch.setattr(kind, name, killing(getattr(kind, name), when))
        indexed.indices.graph.drop()
        with pytest.raises(Killed):
            indexed.indices.bring_graph_level(lambda _: None)
    indexed.close()

    with open_memory(indexed, WordEngine) as again:
        again.indices.own()
        again.indices.bring_graph_level(lambda _: None)

        assert again.indices.graph.is_level
        assert again.indices.count_wrong(10) == (0, 0)


def test_where_vectors_are_rewritten_without_some_the_graph_goes_with_all_its_bytes(indexed: Memory) -> None:
    indexed.indices.own()
    indexed.indices.bring_graph_level(lambda _: None)
    assert indexed.root.semantic_index.is_dir()

    indexed.indices.keep_vectors({*indexed.indices.ledger.texts()})

    assert not indexed.root.semantic_index.exists()
