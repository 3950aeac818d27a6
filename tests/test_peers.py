"""A memory of others is run, asked, killed and judged as the benchmark says."""

import datetime as dt
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from benchmarks.answers import LabelledQuestion, Shown, is_of_session
from benchmarks.peers.__main__ import Trial, Yardstick
from benchmarks.peers.memories import PEERS
from benchmarks.peers.peer import Hit, Peer, Place, Setup, ask_all, install_once, run_command
from benchmarks.peers.weights import lay_hub, pool_graph
from memory_server.document import Document, Layer, raw_path
from memory_server.embedding.catalogue import find_packaged_model
from memory_server.embedding.model import ModelFiles
from memory_server.index.raw import ArchivedSession, ArchivedTurn
from memory_server.layers.notes import SessionNote

TEXTS = {"relay": "The relay listens on port 4711.", "printer": "The printer jams on Mondays."}
INDEX = """
import pathlib, sys, time
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.md")):
    copy = pathlib.Path("index", path.name)
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(path.read_text())
    time.sleep(0.3)  # so that a kill half-way leaves something undone
"""
SEARCH = """
import pathlib, sys
words = set(sys.argv[1].lower().split())
texts = [(path.stem, path.read_text()) for path in pathlib.Path("index").glob("*")]
for name, text in sorted(texts, key=lambda one: -len(words & set(one[1].lower().split()))):
    print(name, " ".join(text.split()))
"""


class Copier(Peer):
    """A memory that copies notes, and finds them by their words."""

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        return Setup(place, [sys.executable, "-c", INDEX, str(place.notes)], [sys.executable, "-c", SEARCH], {})

    def read_hits(self, answer: str) -> list[Hit]:
        hits = [line.partition(" ") for line in answer.splitlines()]
        return [(name, text) for name, _, text in hits]


class Mute(Copier):
    """A memory that indexes and finds nothing."""

    def read_hits(self, answer: str) -> list[Hit]:
        return []


class Sessions:
    """Two sessions of a turn each."""

    def marks(self) -> Mapping[str, str]:
        return dict.fromkeys(TEXTS, "")

    def read_sizes(self) -> Mapping[str, int]:
        return dict.fromkeys(TEXTS, 1)

    def read_days(self) -> Mapping[str, dt.date]:
        return {}

    def session(self, session_id: str) -> ArchivedSession:
        text = TEXTS[session_id]
        return ArchivedSession(
            Document(raw_path(session_id), Layer.RAW, ""), [ArchivedTurn("person", text, text, True)]
        )

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        return "", ()

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        return TEXTS[session_id]


def test_a_peer_is_judged_at_as_many_characters_as_recall_showed_and_comes_back_after_a_kill(tmp_path: Path) -> None:
    live = tmp_path / "live"
    live.mkdir()
    transcripts = [live / f"{name}.jsonl" for name in TEXTS]
    for path in transcripts:
        path.write_text("{}\n", encoding="utf-8")
    asked = [
        LabelledQuestion("1", "app", "port the relay listens on", "relay", (("4711",),), ""),
        LabelledQuestion("2", "app", "when printer jams", "printer", (("mondays",),), ""),
    ]
    recall = [Shown(["x" * 60], ["relay"], 1.0), Shown(["x" * 10], ["printer"], 1.0)]

    row = Trial(Copier(), tmp_path / "work", live, Sessions(), 60).measure(Yardstick(asked, [], recall))

    assert row["session_at_1"] == 1
    assert row["answer_at_1"] == 0.5  # the second answer stands behind the ten characters that recall showed
    assert row["index"]["is_complete"] and row["ends_after_kill"]
    assert row["same_after_kill"] == 1 and row["transcripts"] == 2


@pytest.mark.parametrize(("code", "seconds"), [("raise SystemExit(3)", 60.0), ("import time; time.sleep(60)", 0.3)])
def test_indexing_that_fails_or_takes_too_long_is_not_complete(tmp_path: Path, code: str, seconds: float) -> None:
    setup = Setup(Place(*[tmp_path] * 4), [sys.executable, "-c", code], [], {})
    spent = run_command(setup.index, setup, seconds)

    assert not spent.is_complete and spent.wall_seconds < 30


def test_nothing_is_known_of_a_kill_where_nothing_was_found_in_peace(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    trial = Trial(Mute(), tmp_path / "work", tmp_path / "live", Sessions(), 60)

    assert trial.try_kill([], ["which port"]) == {"ends_after_kill": True, "same_after_kill": None}


def test_an_environment_that_was_made_half_is_made_anew_and_a_whole_one_is_kept(tmp_path: Path) -> None:
    packages = tmp_path / "packages"

    made = list[str]()

    def make(name: str, *, fails: bool = False) -> None:
        packages.mkdir()
        made.append(name)
        assert not fails

    with pytest.raises(AssertionError):
        install_once(packages, partial(make, "half", fails=True))
    install_once(packages, partial(make, "whole"))
    install_once(packages, partial(make, "again"))

    assert made == ["half", "whole"]


@pytest.mark.parametrize(
    ("path", "session", "is_right"),
    [
        ("sessions/archive/9e4910ab-1c2d", "9e4910ab-1c2d", True),
        ("sessions/compressed/2026/2026-03-01-relay-9e4910ab-r2.md", "9e4910ab-1c2d", True),
        ("sessions/archive/9e4910ab-ffff", "9e4910ab-1c2d", False),
        ("topics/mail.md", "9e4910ab-1c2d", False),
    ],
)
def test_a_hit_is_of_a_session_that_it_names_whole_or_by_its_beginning(path: str, session: str, is_right: bool) -> None:
    hits = PEERS["oneiros"].read_hits(json.dumps({"hits": [{"path": path, "passage": "port 4711"}]}))

    asked = LabelledQuestion("1", "app", "which port", session, (("4711",),), "")
    assert is_of_session(asked, Shown([hits[0][1]], [hits[0][0]], 1.0)) == is_right


def test_what_a_door_leaves_running_is_ended_after_the_last_question(tmp_path: Path) -> None:
    write = "import pathlib; pathlib.Path('ended').touch()"
    say_nothing, end = ([sys.executable, "-c", code] for code in ("", write))
    setup = Setup(Place(*[tmp_path] * 4), [], say_nothing, {}, ending=end)

    run = ask_all(Mute(), setup, ["which port"])

    assert len(run) == 1 and (tmp_path / "ended").exists()


def test_a_graph_that_pools_gives_the_mean_of_the_first_256_tokens(tmp_path: Path) -> None:
    model = find_packaged_model()
    assert model is not None
    pooled = lay_hub(model, tmp_path, "packaged/pooled") / "model.onnx"
    pool_graph(pooled)
    tokens = {"input_ids": np.full((1, 300), 2003), "attention_mask": np.ones((1, 300), np.int64)}
    cut = {name: rows[:, :256] for name, rows in tokens.items()}
    as_it_was = onnxruntime.InferenceSession(model.weights)

    [row] = onnxruntime.InferenceSession(pooled).run(None, tokens)
    [states] = as_it_was.run(None, {**cut, "token_type_ids": np.zeros((1, 256), np.int64)})

    assert np.allclose(row, states.mean(axis=1), atol=1e-5)
