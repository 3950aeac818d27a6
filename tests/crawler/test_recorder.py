"""Which type a line gets, and that the same archive gives the same lines."""

from pathlib import Path

import pytest

from crawler.facts import facts_of
from crawler.recorder import DigestType, digest_lines
from tests.crawler.builders import assistant, person, turns_of, working_session


def types_of(tmp_path: Path, *records: object) -> dict[str, str]:
    turns = turns_of(tmp_path, *records)  # type: ignore[arg-type]  # records of the builders
    return {line.text: line.type for line in digest_lines(turns, facts_of(turns), "shop")}


def test_a_working_session_is_told_by_its_types(tmp_path: Path) -> None:
    types = types_of(tmp_path, *working_session())

    assert types["I decided to send a keepalive every 300 seconds instead of raising the timeout."] == "decision"
    assert types["The cause is the idle timeout of 3600 seconds in the proxy."] == "lesson"
    assert "topic" in types.values()


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("From now on please always run the linter before a commit is made.", DigestType.PREFERENCE),
        ("We switched to PostgreSQL rather than keeping SQLite for the shop.", DigestType.DECISION),
        ("The staging server `stage-7` listens on port 8443 behind the proxy.", DigestType.FACT),
        ("Every time I deploy I type these commands, so a script for that would help.", DigestType.SKILL_IDEA),
    ],
)
def test_what_a_person_says_gets_its_type(tmp_path: Path, said: str, kind: DigestType) -> None:
    types = types_of(
        tmp_path, person(1, "Hello there, let us begin with the work."), assistant(2, "Yes."), person(3, said)
    )

    assert types[said] == kind


def test_a_question_is_no_decision_and_a_preference_is_the_persons_alone(tmp_path: Path) -> None:
    types = types_of(
        tmp_path,
        person(1, "Shall we go with PostgreSQL instead of SQLite for the shop database?"),
        assistant(2, "I always write tests first when the code is as old as this."),
    )

    assert "decision" not in types.values() and "preference" not in types.values()


def test_each_line_says_why_and_where_it_is_from(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, *working_session())

    lines = digest_lines(turns, facts_of(turns), "shop")

    assert lines == digest_lines(turns, facts_of(turns), "shop")
    assert all(line.why and line.entries and line.project == "shop" for line in lines)
    assert len({line.text for line in lines}) == len(lines)
