from pathlib import Path

from crawler.transcripts.turns import Role
from tests.crawler.builders import assistant, call, entry_id, person, queued, record, result, turns_of, working_session


def test_the_blocks_of_one_reply_are_one_turn(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, assistant(1, "one", message_id="m"), assistant(2, "two", message_id="m"))

    assert [(turn.text, turn.entries) for turn in turns] == [("one\n\ntwo", (entry_id(1), entry_id(2)))]


def test_a_tool_call_and_its_result_are_one_turn(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, assistant(1, call("Bash", "c1", command="ls")), result(2, "c1", "a.py", is_error=True))

    assert [(t.tool, t.arguments, t.text, t.is_error, t.entries) for t in turns] == [
        ("Bash", '{"command":"ls"}', "a.py", True, (entry_id(1), entry_id(2)))
    ]


def test_results_of_parallel_calls_find_their_calls_in_any_order(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        assistant(1, call("Read", "c1")),
        assistant(2, call("Grep", "c2")),
        result(3, "c2", "grepped", parent=2),
        result(4, "c1", "was read", parent=1),
    )

    assert [(turn.tool, turn.text, turn.is_live) for turn in turns] == [
        ("Grep", "grepped", True),
        ("Read", "was read", True),
    ]


def test_a_call_that_was_never_answered_is_told_at_the_end(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, assistant(1, call("Bash", "c1")), person(2, "stop"))

    assert [(turn.role, turn.is_answered) for turn in turns] == [(Role.PERSON, True), (Role.TOOL, False)]


def test_a_queued_prompt_that_a_later_entry_repeats_is_told_once(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, queued("and  the docs"), queued("and the docs", second=31), person(1, "and the docs"))

    assert [turn.entries for turn in turns] == [(entry_id(1),)]


def test_a_queued_prompt_that_stands_nowhere_else_is_told_once(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, person(1, "begin"), queued("and the docs"), queued("and the docs", second=31))

    assert [(turn.text, turn.is_prompt) for turn in turns] == [("begin", True), ("and the docs", True)]


def test_a_queued_prompt_that_was_taken_back_was_not_said(tmp_path: Path) -> None:
    back, again = queued("drop the table", "popAll", 31), queued("drop the table", second=32)
    words = [person(1, "begin"), queued("drop the table"), back]

    assert [turn.text for turn in turns_of(tmp_path / "a", *words)] == ["begin"]
    assert [turn.text for turn in turns_of(tmp_path / "b", *words, again)] == ["begin", "drop the table"]
    assert [turn.text for turn in turns_of(tmp_path / "c", *words, person(2, "keep it"))] == ["begin", "keep it"]


def test_a_summary_that_quotes_a_queued_prompt_does_not_replace_it(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, queued("and the docs"), person(1, "and the docs", isCompactSummary=True))

    assert [turn.text for turn in turns] == ["and the docs"]


def test_results_of_our_own_tools_are_left_out(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        assistant(1, call("mcp__plugin_oneiros_mem__recall", "c1", query="relay")),
        result(2, "c1", "remembered words"),
        assistant(3, call("Bash", "c2", command="cd x && oneiros recall relay")),
        result(4, "c2", "remembered words"),
        assistant(5, call("Bash", "c3", command="cat oneiros.toml")),
        result(6, "c3", "model = 'x'"),
    )

    assert [turn.text for turn in turns] == ["model = 'x'"]


def test_an_inline_side_chain_belongs_to_one_sub_agent(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        person(1, "start"),
        person(2, "task", parent=0, isSidechain=True),
        assistant(3, "answer", isSidechain=True),
        assistant(4, "the end", parent=1),
    )

    sides = [turn for turn in turns if turn.role is Role.SUB_AGENT]
    assert [turn.text for turn in sides] == ["task", "answer"]
    assert {turn.agent for turn in sides} == {"sidechain-00000002"}


def test_a_branch_that_a_rewind_left_is_kept_and_marked(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        person(1, "start"),
        assistant(2, "ready"),
        person(3, "go left"),
        assistant(4, "went left"),
        person(5, "go right", parent=2),
        assistant(6, "went right"),
    )

    assert [(turn.text, turn.is_live) for turn in turns] == [
        ("start", True),
        ("ready", True),
        ("go left", False),
        ("went left", False),
        ("go right", True),
        ("went right", True),
    ]


def test_links_through_dropped_records_keep_a_branch_alive(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, person(1, "start"), record("progress", 2), record("system", 3), person(4, "go on"))

    assert [turn.is_live for turn in turns] == [True, True]


def test_a_compacted_session_is_told_whole(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        person(1, "before"),
        record("system", 2, subtype="compact_boundary", parentUuid=None, logicalParentUuid=entry_id(1)),
        person(3, "summary of before", isCompactSummary=True),
        person(4, "after"),
    )

    assert [(turn.text, turn.is_live) for turn in turns] == [("before", True), ("after", True)]


def test_an_entry_written_twice_is_told_once(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session(), *working_session())

    assert [turn.text for turn in turns] == [turn.text for turn in turns_of(tmp_path, *working_session())]


def test_a_circle_of_parents_does_not_hang_the_reading(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, person(1, "a", parent=2, isSidechain=True), person(2, "b", parent=1, isSidechain=True))

    assert len(turns) == 2
