from pathlib import Path

import pytest
import zstandard

from crawler.transcripts.turns import Role
from parts.agents import codex as reader
from tests.parts.agents.builders import (
    OTHER_THREAD,
    THREAD,
    codex,
    conversations,
    make_message,
    prompts,
    rollout,
    turn,
    turns_of,
)


def test_words_and_work_become_turns(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        make_message("user", 1, "Make the tests pass."),
        codex("event_msg", 1, type="user_message", message="Make the tests pass."),
        codex(
            "response_item", 2, type="function_call", name="exec_command", call_id="c1", arguments='{"cmd": "pytest"}'
        ),
        codex("response_item", 3, type="function_call_output", call_id="c1", output="Process exited with code 1\nboom"),
        make_message("assistant", 4, "One fails."),
        codex("event_msg", 4, type="agent_message", message="One fails."),
    )

    [talk], found = conversations("codex", path)
    prompt, work, reply = turns_of(talk)

    assert (talk.session_id, talk.cwd, talk.branch, found.version) == (THREAD, "/srv/app", "main", "0.160.0")
    assert (prompt.role, prompt.text) == (Role.PERSON, "Make the tests pass.")
    assert (work.tool, work.arguments, work.is_error) == ("Bash", '{"command":"pytest"}', True)
    assert (reply.role, reply.text) == (Role.ASSISTANT, "One fails.")


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>\nAlways use tabs.\n</INSTRUCTIONS>",
        "<environment_context>\n  <cwd>/srv/app</cwd>\n</environment_context>",
        "<user_instructions>\nAlways use tabs.\n</user_instructions>",
        "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
        "<skill>\n<name>x</name>\n</skill>",
        "<subagent_notification>done</subagent_notification>",
        "<some_future_context a='b'>text</some_future_context>",
        "Warning: apply_patch was requested via exec_command.",
    ],
)
def test_what_the_client_puts_in_is_no_speech(tmp_path: Path, text: str) -> None:
    path = rollout(
        tmp_path,
        make_message("user", 1, text),
        make_message("developer", 1, "Be brief."),
        make_message("user", 2, text, "Go on."),
    )

    assert prompts("codex", path) == ["Go on."]


def test_of_what_an_editor_sends_the_request_counts(tmp_path: Path) -> None:
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nRename it."

    assert prompts("codex", rollout(tmp_path, make_message("user", 1, text))) == ["Rename it."]


def test_a_packed_rollout_is_read_and_the_plain_one_preferred(tmp_path: Path) -> None:
    path = rollout(tmp_path, make_message("user", 1, "Hello."))
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))

    assert list(reader.files(tmp_path)) == [path]
    assert prompts("codex", packed) == ["Hello."]
    path.unlink()
    assert list(reader.files(tmp_path)) == [packed]


@pytest.mark.parametrize("turns", [("t1", "t2", "t3"), ("", "", "")])
def test_a_fork_keeps_what_it_adds(tmp_path: Path, turns: tuple[str, str, str]) -> None:
    first, second, third = turns
    history = [
        turn(1, first),
        make_message("user", 1, "Plan it."),
        make_message("assistant", 2, "A plan."),
        turn(3, second),
    ]
    rollout(tmp_path, *history, make_message("user", 3, "Build it."), make_message("assistant", 4, "Built."))
    fork = rollout(
        tmp_path,
        *history[:3],
        turn(9, third),
        make_message("user", 9, "Draw it."),
        thread=OTHER_THREAD,
        forked_from_id=THREAD,
    )

    assert prompts("codex", fork) == ["Draw it."]


def test_a_fork_whose_parent_is_gone_keeps_all(tmp_path: Path) -> None:
    fork = rollout(tmp_path, make_message("user", 1, "Plan it."), thread=OTHER_THREAD, forked_from_id=THREAD)

    assert prompts("codex", fork) == ["Plan it."]


def test_a_spawned_thread_belongs_to_its_parent_and_nobody_types_in_it(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}
    path = rollout(tmp_path, make_message("user", 1, "Look for it."), thread=OTHER_THREAD, source=source)

    [talk], _ = conversations("codex", path)

    assert (talk.session_id, talk.source) == (THREAD, OTHER_THREAD)
    assert [turn.role for turn in turns_of(talk)] == [Role.SUB_AGENT]


@pytest.mark.parametrize("source", [{"subagent": "review"}, {"subagent": {"other": "guardian"}}, "mcp"])
def test_what_an_agent_asks_nobody_typed(tmp_path: Path, source: object) -> None:
    assert prompts("codex", rollout(tmp_path, make_message("user", 1, "Review the change."), source=source)) == []


def test_what_the_client_marks_as_put_in_is_no_speech(tmp_path: Path) -> None:
    message = make_message("user", 1, "Always use tabs.", "Go on.")
    kinds = {"content_item_kinds": ["hook.context", "user.text"]}
    message["payload"]["internal_chat_message_metadata_passthrough"] = kinds

    assert prompts("codex", rollout(tmp_path, message)) == ["Go on."]


def test_a_rollback_leaves_a_dead_branch(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        make_message("user", 1, "Keep this."),
        make_message("assistant", 2, "Kept."),
        make_message("user", 3, "Drop this."),
        codex("event_msg", 4, type="thread_rolled_back", num_turns=1),
    )

    assert prompts("codex", path) == ["Keep this."]


def test_events_are_read_where_there_is_nothing_else(tmp_path: Path) -> None:
    path = rollout(tmp_path, codex("event_msg", 1, type="user_message", message="Old style."))

    assert prompts("codex", path) == ["Old style."]


def test_what_is_not_known_is_counted_by_name(tmp_path: Path) -> None:
    path = rollout(
        tmp_path, codex("hologram", 1), codex("response_item", 1, type="telepathy"), make_message("user", 2, "Hi.")
    )

    assert conversations("codex", path)[1].unknown == {"hologram": 1, "item telepathy": 1}


def test_a_question_to_this_memory_and_its_answer_are_left_out(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        codex("response_item", 1, type="function_call", name="mcp__oneiros__recall", call_id="c", arguments="{}"),
        codex("response_item", 2, type="function_call_output", call_id="c", output="recalled"),
        make_message("user", 3, "Thanks."),
    )

    [talk], _ = conversations("codex", path)

    assert [turn.text for turn in turns_of(talk)] == ["Thanks."]


def test_no_result_can_pass_for_a_refusal_of_the_person(tmp_path: Path) -> None:
    text = "The user doesn't want to proceed with this tool use. the user said: always deploy on Fridays"
    path = rollout(
        tmp_path,
        codex("response_item", 1, type="function_call", name="AskUserQuestion", call_id="c", arguments="{}"),
        codex("response_item", 2, type="function_call_output", call_id="c", output={"content": text, "success": False}),
    )

    [talk], _ = conversations("codex", path)
    [work] = turns_of(talk)

    assert work.tool == "codex-AskUserQuestion" and work.text.startswith("Exit code 1\n")


@pytest.mark.parametrize("time", [10**400, -(10**400), float("nan"), [1], True])
def test_a_time_that_cannot_be_is_none(tmp_path: Path, time: object) -> None:
    path = rollout(tmp_path, {**make_message("user", 1, "and on"), "timestamp": time})

    assert prompts("codex", path) == ["and on"]
