"""Which type a line gets, and that the same archive and reading give the same lines."""

from pathlib import Path

import pytest

from crawler.compress.typed import MAX_LINES, LineType, SessionLine, select_typed_lines
from crawler.facts import gather_facts
from crawler.quotes import Quote, make_quote, session_turns
from crawler.reading.record import RULES, Line, LineKind, Reading
from crawler.transcripts.turns import Turn
from tests.crawler.builders import SESSION, Record, assistant, entry_id, person, turns_of, working_session

DECIDED = "I decided to send a keepalive every 300 seconds instead of raising the timeout."


def lines_of(turns: list[Turn], *lines: Line, reader: str = RULES) -> list[SessionLine]:
    return select_typed_lines(turns, gather_facts(turns), Reading(SESSION, "", reader, 1, "shop", lines=lines))


def types_of(tmp_path: Path, *records: Record) -> dict[str, LineType]:
    return {line.text: line.type for line in lines_of(turns_of(tmp_path, *records))}


def quoted(turns: list[Turn], words: str) -> Quote:
    """Where the session says these words."""
    turn = next(turn for turn in turns if words in turn.text)
    first = turn.text.index(words)
    return make_quote(session_turns(SESSION, "shop", turns), turn, first, first + len(words))


def test_a_working_session_is_told_by_its_types(tmp_path: Path) -> None:
    types = types_of(tmp_path, *working_session())

    assert types[DECIDED] == "decision"
    assert types["The cause is the idle timeout of 3600 seconds in the proxy."] == "lesson"
    assert "topic" in types.values()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("From now on please always run the linter before a commit is made.", LineType.PREFERENCE),
        ("We switched to PostgreSQL rather than keeping SQLite for the shop.", LineType.DECISION),
        ("For search we use Meilisearch, because Elasticsearch needs too much memory.", LineType.DECISION),
        ("The staging server `stage-7` listens on port 8443 behind the proxy.", LineType.FACT),
        ("Every time I deploy I type these commands, so a script for that would help.", LineType.SKILL_IDEA),
    ],
)
def test_what_a_person_says_gets_its_type(tmp_path: Path, words: str, kind: LineType) -> None:
    types = types_of(
        tmp_path, person(1, "Hello there, let us begin with the work."), assistant(2, "Yes."), person(3, words)
    )

    assert types[words] == kind


def test_a_question_is_no_decision_and_a_preference_is_the_persons_alone(tmp_path: Path) -> None:
    types = types_of(
        tmp_path,
        person(1, "Shall we go with PostgreSQL instead of SQLite for the shop database?"),
        assistant(2, "I always write tests first when the code is as old as this."),
    )

    assert "decision" not in types.values() and "preference" not in types.values()


def test_each_line_says_why_and_where_it_is_from(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session())

    lines = lines_of(turns)

    assert lines == lines_of(turns)
    assert all(line.why and line.entries and line.project == "shop" for line in lines)
    assert len({line.text for line in lines}) == len(lines)


def test_a_line_of_a_model_takes_the_place_of_what_signs_say_of_the_same_entry(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session())
    of_model = Line(LineKind.DECISION, "A keepalive is sent every 300 seconds.", (quoted(turns, DECIDED),))

    lines = lines_of(turns, of_model, reader="claude-cli")

    written = next(line for line in lines if line.text == of_model.text)
    assert (written.type, written.why) == (LineType.DECISION, "claude-cli: decision")
    assert (written.project, written.entries, written.time) == ("shop", (entry_id(5),), of_model.quotes[0].time)
    assert DECIDED not in [line.text for line in lines]


def test_what_a_model_passes_over_is_told_by_signs_in_the_order_of_the_session(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session())
    kept = Line(
        LineKind.FINDING, "The proxy cuts an idle relay off.", (quoted(turns, "The cause is the idle timeout"),)
    )

    lines = lines_of(turns, kept, reader="claude-cli")

    places = [next(at for at, turn in enumerate(turns) if line.entries[0] in turn.entries) for line in lines]
    assert places == sorted(places)
    assert [line.text for line in lines if line.text in (kept.text, DECIDED)] == [kept.text, DECIDED]


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (LineKind.DECISION, LineType.DECISION),
        (LineKind.RULE, LineType.PREFERENCE),
        (LineKind.PREFERENCE, LineType.PREFERENCE),
        (LineKind.CORRECTION, LineType.FACT),
        (LineKind.FACT, LineType.FACT),
        (LineKind.FINDING, LineType.LESSON),
        (LineKind.LESSON, LineType.LESSON),
        (LineKind.HABIT, LineType.PREFERENCE),
        (LineKind.IDEA, LineType.SKILL_IDEA),
    ],
)
def test_each_kind_of_line_has_its_type(tmp_path: Path, kind: LineKind, type_: LineType) -> None:
    turns = turns_of(tmp_path, *working_session())

    lines = lines_of(turns, Line(kind, "It is so.", (quoted(turns, DECIDED),)), reader="claude-cli")

    assert next(line.type for line in lines if line.text == "It is so.") == type_


def test_the_reader_that_asks_nobody_adds_no_line_of_its_own(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session())

    assert lines_of(turns, Line(LineKind.RULE, "It is so.", (quoted(turns, DECIDED),))) == lines_of(turns)


def test_a_session_has_no_more_lines_than_it_may(tmp_path: Path) -> None:
    said = [
        person(n, f"We decided on the port {9000 + n} for the server number {n} of the shop.") for n in range(1, 99)
    ]
    turns = turns_of(tmp_path, *said)
    many = [Line(LineKind.FACT, f"It is so, {n}.", (quoted(turns, f"{9000 + n}"),)) for n in range(1, 80)]

    assert len(lines_of(turns)) == MAX_LINES
    assert len(lines_of(turns, *many, reader="claude-cli")) == MAX_LINES
