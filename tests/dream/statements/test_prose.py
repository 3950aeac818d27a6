"""Which text is the person's own, how it is cut to be quoted, and what a plain yes is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.spoken import prose_regions
from memory_server.language.cues import is_agreement
from memory_server.language.sentences import clause_spans, sentence_spans


@pytest.mark.parametrize(
    "foreign",
    [
        "```\nport = 2525\n```",
        "> The relay listens on port 2525.",
        "$ relay --port 2525",
        "2026-03-01 10:22:07 INFO relay listens on port 2525",
        'Traceback (most recent call last):\n  File "relay.py", line 3, in <module>\nOSError: port 2525',
        "+ port: 2525\n- port: 2424",
        "| port | 2525 |\n|---|---|\n| host | relay |",
    ],
)
def test_what_was_pasted_is_no_prose(foreign: str) -> None:
    assert prose_regions(foreign) == []


def test_behind_words_that_announce_a_document_everything_is_the_document() -> None:
    text = "Please read this.\nthe wiki says:\n\nThe relay listens on port 2525.\n\nAlways restart it."

    assert [text[first:end] for first, end in prose_regions(text)] == ["Please read this.\nthe wiki says:\n"]


def test_prose_around_a_code_block_stays() -> None:
    text = "Keep the port at 2525.\n```\nx = 1\n```\nAnd name the relay mx1."

    assert [text[first:end].strip() for first, end in prose_regions(text)] == [
        "Keep the port at 2525.",
        "And name the relay mx1.",
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One thing. another thing", ["One thing.", "another thing"]),
        ("Use e.g. port 2525. It works.", ["Use e.g. port 2525.", "It works."]),
        ("- Use port 2525\n- Keep 10.0.0.7", ["Use port 2525", "Keep 10.0.0.7"]),
        ("a line that a terminal\nbroke in two", ["a line that a terminal\nbroke in two"]),
        ("Write `a. b` here. Then stop", ["Write `a. b` here.", "Then stop"]),
        ("端口是2525。不要改。", ["端口是2525。", "不要改。"]),
    ],
)
def test_prose_is_cut_into_sentences(text: str, sentences: list[str]) -> None:
    assert [text[first:end] for first, end in sentence_spans(text)] == sentences


@given(st.text(alphabet=st.sampled_from("aB1 .,;:!?\n-`\"'>#|*()éд。"), max_size=120))
def test_spans_lie_in_the_text_in_order_and_never_overlap(text: str) -> None:
    position = 0
    for first, end in sentence_spans(text):
        assert position <= first < end <= len(text)
        inner = first
        for start, stop in clause_spans(text, first, end):
            assert inner <= start <= stop <= end
            inner = stop
        position = end


@pytest.mark.parametrize("text", ["yes", "Yes, exactly.", "that's right", "Agreed!", "genau", "是的", "sounds good"])
def test_a_plain_yes_agrees(text: str) -> None:
    assert is_agreement(text)


@pytest.mark.parametrize(
    "text", ["yes, but only on staging", "yes?", "no", "ok", "yes and then push", "maybe", "yes, if the tests pass", ""]
)
def test_a_yes_with_a_reserve_does_not_agree(text: str) -> None:
    assert not is_agreement(text)
