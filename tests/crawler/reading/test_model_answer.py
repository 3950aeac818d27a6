"""What a model answered: a claim, of which only what the session shows is kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.quotes import SessionTurns
from crawler.reading.model import MAX_LINES, MAX_OPEN, MAX_QUESTIONS, UnreadableAnswer, parse_readings
from crawler.reading.record import MAX_QUOTES, Holds, LineKind, Outcome, Reading
from crawler.transcripts.turns import Role
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, call, entry_id, person, result
from tests.crawler.reading.builders import RULE, answer, as_json, make_line, session_of, session_saying

JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["session", "lines", "quotes", "entry", "text", "kind", "open", "title", "questions", "proof"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@pytest.fixture
def session(tmp_path: Path) -> SessionTurns:
    return session_of(
        tmp_path,
        person(1, f"Mend the relay. {RULE}"),
        assistant(2, "The relay listens on port 2525."),
        assistant(3, call("Bash", "c1", command="cat notes")),
        result(4, "c1", "Never use tabs."),
    )


def one(session: SessionTurns, *lines: object, **more: Any) -> Reading:
    """The reading of an answer about one session."""
    [reading] = parse_readings(as_json(answer(*lines, **more)), [session])
    return reading


def test_a_line_stands_with_its_words_at_their_places(session: SessionTurns) -> None:
    reading = one(
        session,
        make_line("00000001", "always run the LINTER before a commit", "The linter runs before each commit."),
        title="  Mending\n the relay ",
        outcome="shipped",
        proof="00000004",
        open=["The docs."],
    )

    [line] = reading.lines
    assert (line.kind, line.holds, line.text) == (LineKind.RULE, Holds.SURELY, "The linter runs before each commit.")
    assert (line.quotes[0].entry, line.quotes[0].role) == (entry_id(1), Role.PERSON)
    assert line.quotes[0].text == "Always run the linter before a commit"
    assert (reading.title, reading.outcome, reading.proof) == ("Mending the relay", Outcome.SHIPPED, entry_id(4))
    assert (reading.session_id, reading.project, reading.open) == (SESSION, "shop", ("The docs.",))
    assert (reading.mark, reading.reader, reading.version, reading.unfounded) == ("", "", 0, ())


@pytest.mark.parametrize(
    "quotes",
    [
        [],
        None,
        "Always run the linter",
        [7, None, {}, {"entry": "00000001"}],
        [{"entry": "00000001", "text": "Never run the linter"}],
        [{"entry": "00000001", "text": 5}],
        [{"entry": "00000004", "text": "Never use tabs."}],  # a tool returned it
        [{"entry": "00000001", "text": "…"}],
    ],
)
def test_a_line_none_of_whose_words_is_found_is_kept_apart_as_unfounded(session: SessionTurns, quotes: object) -> None:
    reading = one(session, make_line("1", RULE, "The linter runs.", quotes=quotes), make_line("00000001", RULE))

    assert [line.text for line in reading.lines] == [RULE]
    assert reading.unfounded == ("The linter runs.",)


def test_of_several_quotes_those_that_are_found_stand_each_once(session: SessionTurns) -> None:
    quotes = [
        {"entry": "00000001", "text": RULE},
        {"entry": "00000001", "text": RULE.upper()},
        {"entry": "00000001", "text": "never said"},
        {"text": "listens on port 2525"},
    ]

    [line] = one(session, make_line("", "", RULE, quotes=quotes)).lines

    assert [(quote.entry, quote.text) for quote in line.quotes] == [
        (entry_id(1), RULE),
        (entry_id(2), "listens on port 2525"),
    ]


def test_each_quote_of_a_line_has_its_own_speaker(session: SessionTurns) -> None:
    alone, agreed = one(
        session,
        make_line("00000002", "The relay listens on port 2525."),
        make_line("", "", "It is so.", quotes=[{"text": "listens on port 2525"}, {"text": "Mend the relay"}]),
    ).lines

    assert [quote.role for quote in alone.quotes] == [Role.ASSISTANT]
    assert [quote.role for quote in agreed.quotes] == [Role.ASSISTANT, Role.PERSON]


@pytest.mark.parametrize("value", ["opinion", "", None, 7, ["rule"], {"a": 1}])
def test_unknown_kinds_durations_and_outcomes_become_the_weakest(session: SessionTurns, value: object) -> None:
    reading = one(session, make_line("00000001", RULE, kind=value, holds=value), outcome=value)

    assert (reading.lines[0].kind, reading.lines[0].holds) == (LineKind.FACT, Holds.PROBABLY)
    assert reading.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("proof", ["ffffffff", "", None, 7, ["00000001"], {"entry": "00000001"}])
def test_a_proof_that_is_no_entry_is_none(session: SessionTurns, proof: object) -> None:
    assert one(session, outcome="shipped", proof=proof).proof == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather not.",
        "{}",
        "[1, null, []]",
        "][",
        '[{"session": "1"}',
        '["x"]',
        "[" * 100_000,
        "[" * 9_000 + "]" * 9_000,
    ],
)
def test_an_answer_that_is_no_list_of_objects_cannot_be_read(session: SessionTurns, text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        list(parse_readings(text, [session]))


def test_words_and_fences_around_the_list_do_no_harm(session: SessionTurns) -> None:
    text = f"Here it is:\n```json\n{as_json(answer(make_line('00000001', RULE)))}\n```\nDone."

    assert len(list(parse_readings(text, [session]))) == 1


def test_a_session_passed_over_or_told_twice_or_unknown_is_not_read_so(tmp_path: Path, session: SessionTurns) -> None:
    other = session_of(tmp_path, person(1, "Hello.", session=OTHER_SESSION), session=OTHER_SESSION)
    text = as_json(answer(title="first"), answer(title="second"), answer(session="ffffffff"), answer(session=""))

    assert [(one.session_id, one.title) for one in parse_readings(text, [session, other])] == [(SESSION, "first")]


def test_an_answer_may_name_a_session_by_its_whole_id(session: SessionTurns) -> None:
    text = json.dumps([{**answer(), "session": SESSION}])

    assert [one.session_id for one in parse_readings(text, [session])] == [SESSION]


def test_ten_thousand_lines_are_cut_to_what_a_session_may_hold(session: SessionTurns) -> None:
    plain = [make_line("00000001", RULE, f"{n} {RULE}") for n in range(10_000)]
    much = {"quotes": [{"entry": "00000001", "text": RULE}] * 10_000, "questions": ["why?"] * 10_000}
    wide = make_line("00000001", RULE, "word " * 1_000, **much)

    reading = one(session, wide, *plain, title="word " * 1_000, goal="word " * 1_000, open=["word " * 999] * 99)

    assert len(reading.lines) == MAX_LINES and len(reading.open) == MAX_OPEN
    assert len(reading.title) <= 90 and len(reading.goal) <= 400
    assert (len(reading.lines[0].text), len(reading.lines[0].questions)) == (399, MAX_QUESTIONS)
    assert all(len(kept.quotes) <= MAX_QUOTES for kept in reading.lines)


def test_the_same_statement_twice_is_one_line(session: SessionTurns) -> None:
    assert len(one(session, make_line("00000001", RULE), make_line("00000001", RULE)).lines) == 1


@given(st.lists(JSON, max_size=4))
def test_any_answer_is_read_or_refused_and_a_quote_in_it_is_true(items: list[object]) -> None:
    session = session_saying("00 a b c")
    try:
        readings = list(parse_readings(json.dumps(items), [session]))
    except UnreadableAnswer:
        return

    quotes = [quote for reading in readings for line in reading.lines for quote in line.quotes]
    assert all(quote.text == "00 a b c"[quote.first : quote.end] != "" for quote in quotes)
