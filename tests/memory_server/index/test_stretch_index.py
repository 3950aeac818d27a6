"""What was said, cut and joined to stretches."""

from hypothesis import given
from hypothesis import strategies as st

from memory_server.index.raw import ArchivedTurn
from memory_server.index.stretch_index import REQUEST_CHARS, STRETCH_CHARS, Stretch, split_stretches


def you(text: str) -> ArchivedTurn:
    return ArchivedTurn("person", text, spoken=text, is_person=True)


def reply(text: str) -> ArchivedTurn:
    return ArchivedTurn("assistant", text, spoken=text)


def tool(text: str) -> ArchivedTurn:
    return ArchivedTurn("tool Bash", text)


def texts(stretches: list[Stretch]) -> list[str]:
    return [stretch.text for stretch in stretches]


def test_the_replies_to_a_request_stand_with_it_and_tools_are_left_out() -> None:
    turns = [you("Why does the relay hang?"), reply("I look."), tool("port 25 refused"), reply("The port was closed.")]

    (stretch,) = split_stretches(turns)

    assert stretch.text == "you: Why does the relay hang?\nI look.\nThe port was closed."
    assert (stretch.turns.first, stretch.turns.last) == (1, 4)
    assert stretch.request == "Why does the relay hang?"


def test_a_new_request_begins_a_new_stretch_however_short_the_last_one_is() -> None:
    stretches = split_stretches(
        [reply("Hello."), you("Open the port."), reply("Done."), you("And\n\nclose it."), reply("Ok.")]
    )

    assert texts(stretches) == ["Hello.", "you: Open the port.\nDone.", "you: And\n\nclose it.\nOk."]
    assert [stretch.request for stretch in stretches] == ["", "Open the port.", "And close it."]


def test_a_long_reply_is_cut_and_every_part_knows_the_request() -> None:
    stretches = split_stretches([you("Explain it."), reply("All the words of a plan. " * 100)])

    assert len(stretches) > 3
    assert {stretch.request for stretch in stretches} == {"Explain it."}
    assert [stretch.turns.first for stretch in stretches[1:]] == [2] * (len(stretches) - 1)


def test_a_session_of_tools_alone_has_no_stretch() -> None:
    assert split_stretches([tool("ok"), tool("ok")]) == []


WORDS = st.lists(st.text("abc", min_size=1, max_size=9), max_size=300).map(" ".join)
TURNS = st.lists(st.builds(lambda make, text: make(text), st.sampled_from([you, reply, tool]), WORDS), max_size=8)


@given(TURNS)
def test_nothing_that_was_said_is_lost_or_said_twice(turns: list[ArchivedTurn]) -> None:
    stretches = split_stretches(turns)

    shown = [word for stretch in stretches for word in stretch.text.split() if word != "you:"]
    assert shown == [word for turn in turns for word in turn.spoken.split()]
    assert all(len(stretch.text) <= STRETCH_CHARS + len("you: ") for stretch in stretches)
    assert all(len(stretch.request) <= REQUEST_CHARS for stretch in stretches)
