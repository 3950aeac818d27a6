"""What recall returns where a memory could do harm, and the way into the benchmark that measures it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchmarks.adapters.harm import Case, ask, build_memory, is_harmless, read_cases
from benchmarks.curation.pieces import read_pieces
from crawler.archive.append import Ingester, IngestSettings
from crawler.archive.store import Archive
from memory_server.document import Certainty
from memory_server.memory import Memory


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    pieces = [piece for piece in read_pieces() if piece.project == "relay"]
    with build_memory(tmp_path_factory.mktemp("harm"), pieces) as memory:
        yield memory


def test_contradictions_are_shown_both_with_days(memory: Memory) -> None:
    cases = [case for case in read_cases() if case.condition == "contradictory"]

    assert [case.question for case in cases if not is_harmless(case, ask(memory, case))] == []
    assert len(cases) == 4


def test_what_is_absent_or_adjacent_never_passes_for_sure(memory: Memory) -> None:
    cases = [case for case in read_cases() if case.condition in ("absent", "adjacent")]

    assert Certainty.SURE not in {hit.certainty for case in cases for hit in ask(memory, case).hits}


def test_a_topic_on_something_else_is_seldom_sure(memory: Memory) -> None:
    """Two of eight are told from the question by one word alone, which the model takes for another: see RESULTS.md."""
    cases = [case for case in read_cases() if case.condition == "topic"]
    harmful = [case.question for case in cases if not is_harmless(case, ask(memory, case))]

    assert set(harmful) <= {"How long are audit logs kept?", "May the nightly job write to the customer table?"}
    assert len(cases) == 8


def test_an_answer_that_shows_the_old_rule_first_or_unmarked_does_harm(memory: Memory) -> None:
    case = next(case for case in read_cases() if case.condition == "contradictory")
    fields = {name: getattr(case, name) for name in ("question", "old", "old_words", "new", "new_words")}

    assert not is_harmless(Case("superseded", **fields), ask(memory, case))


CORPUS = (
    {"role": "user", "content": "Which zone do the stamps have?", "ts": "2026-04-09T09:00:00Z"},
    {"role": "assistant", "content": "", "tool_name": "Read", "tool_result": "UTC", "ts": "2026-04-09T09:00:40Z"},
    {"role": "assistant", "content": "They are UTC.", "ts": "2026-04-09T09:02:00Z"},
)


@pytest.fixture
def adapter_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The adapter, beside names of a harness that keeps what it is told."""
    names: dict[str, dict[str, Any]] = {
        "harness.adapters.base": {
            "ArmSpec": SimpleNamespace,
            "CorpusManifest": SimpleNamespace,
            "IngestReport": SimpleNamespace,
            "MemoryAdapter": object,
        },
        "harness.gate": {"AdmissionSignal": SimpleNamespace},
        "harness.instructions": {"compose": lambda arm, sentence: f"{arm}: {sentence}\n"},
    }
    for name in ("harness", "harness.adapters", *names):
        module = ModuleType(name)
        module.__dict__.update(names.get(name, {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "benchmarks.adapters.agent_memory_bench", raising=False)
    import benchmarks.adapters.agent_memory_bench as module  # noqa: PLC0415  what it imports is there from here on

    yield module
    del sys.modules[module.__name__]


def test_a_session_of_the_corpus_is_taken_in_as_a_transcript(adapter_module: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "d001.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in CORPUS), encoding="utf-8")

    adapter_module.write_transcript(source, tmp_path / "feed")
    with Ingester(IngestSettings(archive=tmp_path / "archive", state=tmp_path / "sessions.db")) as ingester:
        ingester.ingest([tmp_path / "feed"])

    archive = Archive(tmp_path / "archive")
    turns = [(turn.role, turn.text) for name in archive.session_ids() for turn in archive.turns(name)]
    assert turns == [("person", "Which zone do the stamps have?"), ("assistant", "They are UTC.")]


def test_an_arm_has_the_shared_instruction_and_a_home_of_its_own(adapter_module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "shared.md").write_text("Shared.\n", encoding="utf-8")

    spec = adapter_module.OneirosAdapter(tmp_path, tmp_path / "shared.md").build(tmp_path / "session", "one")

    server = json.loads(Path(spec.mcp_config).read_text(encoding="utf-8"))["mcpServers"]["oneiros"]
    assert server["env"]["HOME"] == str(tmp_path / "one" / "home")
    assert spec.append_system_prompt_file.read_text(encoding="utf-8").endswith("\n\nShared.\n")
    assert "mcp__oneiros__recall" in spec.extra_allowed_tools
