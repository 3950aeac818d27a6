"""Events of a session to their answers: what is counted, what is ingested, and that nothing goes wrong aloud."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.environment import Environment
from oneiros.hooks.dispatch import Hooks
from oneiros.hooks.receipts import read_receipts
from oneiros.hooks.session_start import ReviewLines
from oneiros.hooks.whereabouts import Whereabouts
from oneiros.ingest.queue import IngestQueue
from tests.memories import recall, write_topic

PROMPT = {"session_id": "s", "prompt": "Which port does the mail relay listen on?"}


@pytest.fixture
def hooks(memory: Memory, tmp_path: Path) -> Iterator[Hooks]:
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    memory.reindex()
    ingest_queue = IngestQueue(Environment({}, tmp_path, tmp_path), memory.root, lambda *_: None)  # not started
    built = Hooks(memory, tmp_path, ingest_queue, lambda: ReviewLines(["1 proposal waits: oneiros review"]))
    yield built
    built.close()


def test_what_is_injected_is_counted_once_however_often_a_session_is_resumed(hooks: Hooks, memory: Memory) -> None:
    starts = {hooks.answer("SessionStart", {"session_id": "s", "source": "resume"}) for _ in range(3)}
    hooks.answer("UserPromptSubmit", PROMPT)
    again = hooks.answer("UserPromptSubmit", PROMPT)

    (receipt,) = read_receipts(memory.root.sessions_database)
    assert len(starts) == 1 and again == ""
    assert receipt.injections == 2


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_a_session_that_lost_its_context_is_shown_a_topic_again(hooks: Hooks, source: str) -> None:
    first = hooks.answer("UserPromptSubmit", PROMPT)
    hooks.answer("SessionStart", {"session_id": "s", "source": source})

    assert hooks.answer("UserPromptSubmit", PROMPT) == first != ""


@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SessionEnd", "Nonsense", ""])
def test_an_event_that_is_only_noted_has_no_answer(hooks: Hooks, event: str) -> None:
    payload = {"session_id": "s", "transcript_path": "/nowhere/s.jsonl"}

    assert hooks.answer(event, payload) == ""


def test_what_goes_wrong_is_a_line_in_the_log_and_no_answer(
    hooks: Hooks, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    memory.close()
    memory.root.ledger.write_bytes(b"nonsense" * 1_000)

    with caplog.at_level(logging.WARNING):
        assert hooks.answer("UserPromptSubmit", PROMPT) == ""

    assert "UserPromptSubmit" in caplog.text


def test_with_no_bytes_allowed_nothing_is_injected(hooks: Hooks, memory: Memory) -> None:
    memory.person = type(memory.person)(hook_bytes=0)

    assert hooks.answer("UserPromptSubmit", PROMPT) == ""
    assert "additionalContext" not in hooks.answer("SessionStart", {"session_id": "s"})


def test_a_muted_topic_is_not_pushed_and_still_found(hooks: Hooks, memory: Memory, tmp_path: Path) -> None:
    memory.person = PersonSettings(muted_pointers=("topics/mail.md",))

    assert hooks.answer("UserPromptSubmit", PROMPT) == ""
    assert "topics/mail.md" not in hooks.answer("SessionStart", {"session_id": "s"})
    assert recall(memory, "on which port does the relay listen").hits[0].path == "topics/mail.md"


@pytest.mark.parametrize(
    ("rule", "is_pushed"), [("shop=topics/mail.md", False), ("SHOP=topics/mail.md", False), ("b=topics/mail.md", True)]
)
def test_a_topic_is_muted_in_one_project(
    hooks: Hooks, memory: Memory, tmp_path: Path, rule: str, is_pushed: bool
) -> None:
    memory.person = PersonSettings(muted_pointers=(rule,))

    answer = hooks.answer("UserPromptSubmit", {**PROMPT, "cwd": str(tmp_path / "shop")})

    assert bool(answer) == is_pushed


@pytest.mark.parametrize("rule", ["shop", "main", "/srv/shop"])
def test_a_project_is_muted_by_its_name_or_that_of_its_folder(rule: str) -> None:
    assert Whereabouts("/srv/shop/main/.git").is_quiet(PersonSettings(muted_projects=(rule,)))


@pytest.mark.parametrize("rule", ["shop", "Shop", "FOLDER/shop"])
def test_nothing_is_put_before_the_model_in_a_muted_project(
    hooks: Hooks, memory: Memory, tmp_path: Path, rule: str
) -> None:
    memory.person = PersonSettings(muted_projects=(rule.replace("FOLDER", str(tmp_path)),))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "api").mkdir()
    there = {"cwd": str(tmp_path / "shop" / "api")}

    started = hooks.answer("SessionStart", {"session_id": "s", **there})

    assert hooks.answer("UserPromptSubmit", {**PROMPT, **there}) == ""
    assert "Topics:" not in started and "1 proposal waits" in started  # the person is still told
    assert hooks.answer("UserPromptSubmit", {**PROMPT, "cwd": str(tmp_path)}) != ""


def test_a_topic_of_another_project_or_time_is_not_pushed(hooks: Hooks, memory: Memory, tmp_path: Path) -> None:
    payload = {**PROMPT, "cwd": str(tmp_path / "shop")}
    before = hooks.answer("UserPromptSubmit", payload)
    for number, fields in enumerate(({"project": "garden"}, {"validUntil": "2025-12-31"}), start=1):
        write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n", **fields)
        memory.reindex()

        assert hooks.answer("UserPromptSubmit", {**payload, "session_id": f"other{number}"}) == ""
    assert before != ""
