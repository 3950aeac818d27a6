"""`oneiros model`: the list, a folder added, one tried on the person's questions, and what only they may do."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_server.embedding.catalogue import PACKAGED_MODEL
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import UsageError
from parts.guard.commands import person_words
from tests.conftest import MakeEngine
from tests.memories import write_topic
from tests.oneiros.cli.test_commands import Shell, shell  # noqa: F401  (a fixture)
from tests.tiny_models import cross_model, dense_model, numbers_of, sparse_model

WORDS = ("relay", "zorblax", "printer", "jams", "listens")
NUMBER = numbers_of(WORDS)
SIZE = len(NUMBER)


@pytest.fixture
def memory(shell: Shell, founded: Path, monkeypatch: pytest.MonkeyPatch, make_engine: MakeEngine) -> Path:  # noqa: F811
    """A memory with a topic about a relay and one about a printer; models other than the packaged one are run."""

    def engine_of(files: ModelFiles) -> Any:
        return make_engine(files) if files.card.name == PACKAGED_MODEL else OnnxEngine(files)

    monkeypatch.setattr("oneiros.opening.OnnxEngine", engine_of)
    root = shell.home / ".oneiros" / "memory"
    shutil.copytree(founded, root)
    write_topic(root, "mail", "# Mail\n\nThe relay listens behind the wall.\n")
    write_topic(root, "print", "# Print\n\nThe printer jams on Mondays.\n")
    assert shell("reindex")[0] == 0
    return root


def tiny_dense(folder: Path) -> Path:
    """Takes `zorblax` for a relay."""
    table = np.eye(SIZE, dtype=np.float32)
    table[NUMBER["zorblax"]] = table[NUMBER["relay"]]
    return dense_model(folder, WORDS, table)


def tiny_sparse(folder: Path) -> Path:
    """Sees `zorblax` in a relay."""
    logits = np.zeros((SIZE, SIZE), np.float32)
    logits[NUMBER["relay"], NUMBER["zorblax"]] = 8
    return sparse_model(folder, WORDS, logits, dict.fromkeys(WORDS, 2.0))


def test_the_list_names_every_model_and_how_to_get_it(shell: Shell, memory: Path) -> None:  # noqa: F811
    found = shell.json("model", "--list")
    rows = {row["name"]: row for row in found["models"]}

    assert found["problems"] == [] and len(rows) == 13
    assert rows[PACKAGED_MODEL] == {
        "name": PACKAGED_MODEL,
        "kind": "dense",
        "megabytes": 91,
        "licence": "Apache-2.0",
        "languages": ["en"],
        "in_use": True,
        "here": "the packaged model",
        "get": "",
        "sha256": rows[PACKAGED_MODEL]["sha256"],
        "pinned": ["onnx/model.onnx", "tokenizer.json"],
        "note": "",
    }
    assert rows["e5-small-v2"]["get"] == "oneiros model e5-small-v2 --download"
    assert rows["e5-small-v2"]["sha256"] == {} and not rows["e5-small-v2"]["in_use"]
    _, out, error = shell("model", "--list")
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == [*rows]
    assert "oneiros model --try NAME" in error


def test_a_folder_is_shown_with_its_hashes_added_and_listed(shell: Shell, memory: Path, tmp_path: Path) -> None:  # noqa: F811
    folder = tiny_sparse(tmp_path / "tiny-sparse")

    code, out, error = shell("model", "--add", str(folder))

    place = shell.home / ".local" / "state" / "oneiros" / "models" / "tiny-sparse"
    assert code == 0 and out == f"tiny-sparse  {place}\n"
    assert "tiny-sparse: sparse, MIT, 1 MB, en" in error and error.count("  model.onnx") == 1
    assert "Use it: oneiros config sparse_model tiny-sparse" in error
    [row] = [row for row in shell.json("model", "--list")["models"] if row["name"] == "tiny-sparse"]
    assert row["here"] == "added by you" and {*row["sha256"]} == {"model.onnx", "tokenizer.json", "idf.json"}
    assert shell("config", "sparse_model", "tiny-sparse")[0] == 0
    assert shell("reindex")[0] == 0
    assert shell.json("recall", "zorblax")["hits"][0]["path"] == "topics/mail.md"


def test_without_consent_nothing_is_added(
    shell: Shell,  # noqa: F811
    memory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody(_: object) -> None:
        raise UsageError("no terminal", remedy="Do it yourself")

    monkeypatch.setattr("oneiros.cli.consent.person_at_terminal", nobody)

    code, _, error = shell("model", "--add", str(tiny_dense(tmp_path / "tiny-dense")))

    assert code == 2 and "This is for you alone to decide: add the model tiny-dense" in error
    assert not (shell.home / ".local" / "state" / "oneiros" / "models").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("dimensions = 12", "dimensions = 13"), r"dimensions is 13, and the model gives 12"),
        (('weights = "model.onnx"', 'weights = "../model.onnx"'), "weights is '../model.onnx', no file of the model"),
        (('weights = "model.onnx"', 'weights = "tokenizer.json"'), "the model cannot be loaded"),
    ],
)
def test_a_folder_that_is_no_fit_model_is_refused(
    shell: Shell,  # noqa: F811
    memory: Path,
    tmp_path: Path,
    change: tuple[str, str],
    words: str,
) -> None:
    folder = tiny_dense(tmp_path / "tiny-dense")
    file = folder / "model.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(*change), encoding="utf-8")

    code, _, error = shell("model", "--add", str(folder))

    assert code in (2, 3) and words in error
    assert not (shell.home / ".local" / "state" / "oneiros" / "models").exists()


def test_a_model_is_tried_on_the_questions_of_the_log_before_it_is_switched(
    shell: Shell,  # noqa: F811
    memory: Path,
    tmp_path: Path,
) -> None:
    assert shell("model", "--add", str(tiny_dense(tmp_path / "tiny-dense")))[0] == 0
    for question in ("relay listens", "zorblax", "zorblax"):
        shell("search", question)
    before = shell.json("status")
    now = shell.json("search", "zorblax")["hits"][0]["path"]

    found = shell.json("model", "--try", "tiny-dense")

    assert (found["model"], found["in_use"], found["questions"]) == ("tiny-dense", PACKAGED_MODEL, 2)
    [one] = found["differing"]
    assert (one["query"], one["now"]["path"], one["then"]["path"]) == ("zorblax", now, "topics/mail.md")
    assert found["judged_now"]["questions"] == found["judged_then"]["questions"] == 0
    after = shell.json("status")
    assert (
        after["model"] == before["model"] == PACKAGED_MODEL
    )  # nothing is switched, and nothing logged but the question
    assert after["queries_logged"] == before["queries_logged"] + 1
    assert not (memory / ".oneiros" / "trial").exists()
    folders = {folder.name for folder in (memory / ".oneiros" / "vectors").iterdir()}
    assert len(folders) == 2
    assert shell("model", "tiny-dense")[0] == 0
    assert shell.json("search", "zorblax")["hits"][0]["path"] == "topics/mail.md"
    assert {folder.name for folder in (memory / ".oneiros" / "vectors").iterdir()} == folders


def test_a_trial_tells_what_the_person_judged(
    shell: Shell,  # noqa: F811
    memory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shell("model", "--add", str(tiny_sparse(tmp_path / "tiny-sparse")))[0] == 0
    shell("recall", "zorblax")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "m topics/mail.md")
    shell("queries", "--judge")

    found = shell.json("model", "--try", "tiny-sparse")
    _, out, error = shell("model", "--try", "tiny-sparse")

    assert (found["judged_now"]["first"], found["judged_then"]["first"]) == (0, 1)
    assert found["differing"][0]["then"]["path"] == "topics/mail.md"
    assert found["differing"][0]["then"]["verdict"] == "right"
    assert "recall zorblax" in out and "then  topics/mail.md:3  [right]" in out
    assert "1 of 1 questions begin otherwise" in error
    assert "then  of 1 judged questions 1 begin with a right answer" in error


def test_a_cross_encoder_is_tried_without_a_vector_made(shell: Shell, memory: Path, tmp_path: Path) -> None:  # noqa: F811
    assert shell("model", "--add", str(cross_model(tmp_path / "x", WORDS, np.ones((SIZE, 1), np.float32))))[0] == 0
    shell("recall", "the relay")

    assert shell.json("model", "--try", "x")["questions"] == 1
    assert len(list((memory / ".oneiros" / "vectors").iterdir())) == 1


def test_a_model_that_is_not_here_cannot_be_tried(shell: Shell, memory: Path) -> None:  # noqa: F811
    code, _, error = shell("model", "--try", "bge-m3")

    assert code == 3 and "the files of bge-m3 are not on this machine" in error


@pytest.mark.parametrize(
    "options",
    [
        ("--list", "--download", "bge"),
        ("--pause", "--resume"),
        ("--list", "--pause"),
        ("--download",),
        ("--list", "bge"),
        ("--try", "bge", "minilm"),
    ],
)
def test_options_that_do_not_go_together_are_told(shell: Shell, memory: Path, options: tuple[str, ...]) -> None:  # noqa: F811
    assert shell("model", *options)[0] == 2


def test_a_setting_of_a_kind_takes_a_model_of_that_kind_alone(shell: Shell, memory: Path, tmp_path: Path) -> None:  # noqa: F811
    assert shell("model", "--add", str(tiny_sparse(tmp_path / "tiny-sparse")))[0] == 0

    assert (
        "tiny-sparse is a sparse model, where a cross one is wanted"
        in shell("config", "rerank_model", "tiny-sparse")[2]
    )
    assert "are not on this machine" in shell("config", "late_model", "answerai-colbert-small-v1")[2]
    assert shell("config", "sparse_model", "TINY-SPARSE")[0] == 0
    assert shell.json("config", "sparse_model") == {"sparse_model": "tiny-sparse"}
    assert shell("config", "sparse_model", "")[0] == 0
    assert shell.json("config", "sparse_model") == {"sparse_model": ""}


@pytest.mark.parametrize(
    "command", [("config", "model", "sparse-v2-mini"), ("init", "--model", "sparse-v2-mini", "--download")]
)
def test_no_memory_is_given_a_model_that_makes_no_vectors(
    shell: Shell,  # noqa: F811
    memory: Path,
    command: tuple[str, ...],
) -> None:
    code, _, error = shell(*command)

    assert code == 2 and "is a sparse model, where a dense one is wanted" in error
    assert (memory / "oneiros.toml").read_text(encoding="utf-8") == f'model = "{PACKAGED_MODEL}"\n'


@pytest.mark.parametrize(
    ("words", "is_theirs"),
    [
        (["model", "--add", "/tmp/x"], True),
        (["model", "--add=/tmp/x"], True),
        (["model", "x", "--download"], True),
        (["config", "rerank_model", "x"], True),
        (["model", "--list"], False),
        (["model", "--try", "x"], False),
        (["model", "x"], False),
    ],
)
def test_what_decides_which_program_runs_is_for_the_person_alone(words: list[str], is_theirs: bool) -> None:
    assert bool(person_words(words)) == is_theirs


# -- a memory that is not English -------------------------------------------------------------------------------

RUSSIAN = "Сервер перезапускается каждую ночь, чтобы журналы не становились слишком большими для диска. "
GERMAN = "Der Server wird jede Nacht neu gestartet, damit das Protokoll nicht zu groß wird und die Platte reicht. "


@pytest.mark.parametrize(("text", "name"), [(RUSSIAN, "Russian"), (GERMAN, "German")])
def test_doctor_and_init_name_the_model_that_reads_a_memory_of_another_language(
    shell: Shell,  # noqa: F811
    memory: Path,
    text: str,
    name: str,
) -> None:
    [before] = [check for check in shell.json("doctor")["checks"] if check["check"] == "language"]
    assert before["state"] == "ok"
    for number in range(8):
        write_topic(memory, f"t{number}", f"# {number}\n\n{text * 9}\n")
    shell("reindex")

    [check] = [check for check in shell.json("doctor")["checks"] if check["check"] == "language"]
    _, _, output = shell("init")

    assert check["state"] == "warning"
    assert f"most of this memory is {name}, which all-MiniLM-L6-v2 was not trained on" in check["detail"]
    assert check["repair"] == (
        "oneiros model multilingual-e5-small --download, then oneiros model --try multilingual-e5-small,"
        " then oneiros model multilingual-e5-small"
    )
    assert check["repair"] in output
