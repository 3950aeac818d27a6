"""What comes back: requests over sessions and errors, counted once where they were made once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crawler.quotes import Quote
from crawler.reading.record import Failure, Reading, Request
from crawler.reading.repeats import (
    MAX_FOUND,
    MOST_HABITS,
    count_failures,
    error_template,
    find_failures,
    find_requests,
    group_errors,
    group_habits,
    is_same_request,
    telling,
)
from crawler.transcripts.turns import Role
from tests.crawler.builders import assistant, call, entry_id, person, result
from tests.crawler.reading.builders import session_of, session_saying


def request(words: str, session: int, *, entry: int | None = None) -> Request:
    number = entry or session
    time = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(number)
    return Request(words, Quote(f"s{session}", entry_id(number), Role.PERSON, time, 0, len(words), words))


def reading(session: int, *requests: Request, project: str = "shop", failures: tuple[Failure, ...] = ()) -> Reading:
    return Reading(f"s{session}", "m", "rules", 1, project, requests=requests, failures=failures)


def sessions_saying(words: str, *numbers: int, project: str = "shop") -> list[Reading]:
    """Readings of sessions in each of which this was asked for."""
    return [reading(number, request(words, number), project=project) for number in numbers]


def name_sessions(groups: list[list[Request]]) -> list[list[str]]:
    return [[one.quote.session_id for one in group] for group in groups]


def test_two_telling_words_in_three_sessions_are_a_habit_the_newest_first() -> None:
    readings = [
        reading(1, request("commit run tests", 1)),
        reading(2, request("commit tests", 2)),
        reading(3, request("all commit tests", 3)),
        reading(4, request("docs tests", 4)),
    ]

    assert name_sessions(group_habits(readings)) == [["s3", "s2", "s1"]]


def test_a_request_in_two_sessions_is_none_yet() -> None:
    assert group_habits(sessions_saying("commit tests", 1, 2)) == []


def test_a_request_of_one_word_comes_back_as_itself_alone() -> None:
    alone = sessions_saying("continue", 1, 2, 3)

    assert name_sessions(group_habits(alone)) == [["s3", "s2", "s1"]]
    assert group_habits([*sessions_saying("continue", 1, 2), *sessions_saying("continue docs", 3)]) == []


def test_what_a_fork_repeats_counts_once() -> None:
    forks = [reading(number, request("commit tests", number, entry=1)) for number in (1, 2, 3)]

    assert group_habits(forks) == []
    assert name_sessions(group_habits([*forks, *sessions_saying("commit tests", 4, 5)])) == [
        ["s5", "s4", "s1", "s2", "s3"]
    ]


def test_what_is_said_often_in_one_session_counts_once() -> None:
    often = [request("commit tests", 1, entry=number) for number in (1, 2, 3, 4)]

    assert group_habits([reading(1, *often), *sessions_saying("commit tests", 2)]) == []


def test_projects_are_counted_apart() -> None:
    readings = [*sessions_saying("commit tests", 1, 2), *sessions_saying("commit tests", 3, project="garden")]

    assert group_habits(readings) == []


def test_the_same_sentences_make_one_habit_whatever_pairs_they_hold() -> None:
    assert len(group_habits(sessions_saying("all commit run tests", 1, 2, 3))) == 1


def test_a_project_is_asked_about_its_most_frequent_habits_only() -> None:
    readings = [
        reading(number, request(f"first{habit} second{habit}", number, entry=habit * 9 + number))
        for habit in range(MOST_HABITS + 4)
        for number in range(1, 4 + (habit == 11))
    ]

    found = group_habits(readings)

    assert len(found) == MOST_HABITS
    assert found[0][0].words == "first11 second11"


def test_short_sentences_of_the_person_are_requests_each_once(tmp_path: Path) -> None:
    long = "and then please go through every single one of the files of the relay, the proxy, the collector " * 2
    session = session_of(
        tmp_path,
        person(1, f"Run the tests. RUN THE TESTS! {long}.\n```\nrun the linter\n```"),
        assistant(2, "Commit the change."),
        person(3, "See https://relay.lan/a and commit the change."),
    )

    found = find_requests(session)

    assert [one.quote.text for one in found] == ["Run the tests.", "See https://relay.lan/a and commit the change."]
    assert [one.words for one in found] == [telling("run tests"), telling("see commit change")]


@pytest.mark.parametrize("line", ["[main 1a2b] run tests", "(run tests)", "{run tests}", "<run tests>"])
def test_a_line_that_looks_like_a_programs_output_is_no_request(line: str) -> None:
    assert find_requests(session_saying(line)) == []


def test_a_session_of_very_many_requests_gives_some_of_them() -> None:
    assert len(find_requests(session_saying(*(f"Mend relay{n} now." for n in range(300))))) == MAX_FOUND


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("commit run tests", "commit run tests", True),
        ("commit run tests", "all commit run tests", True),
        ("commit tests", "commit docs", False),
        ("", "", False),
    ],
)
def test_two_requests_are_the_same_where_most_of_their_words_are(one: str, other: str, same: bool) -> None:
    assert is_same_request(one, other) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Error: port 2525 is taken", "Error: port 80 is taken"),
        ("Error: no module 'relay'", 'error: no module "proxy.mail"'),
        ("fatal: /srv/app/a.py not found", "fatal: /opt/other/b.py not found"),
        ("error in 0xdeadbeef at 1a2b3c4d5e", "error in 0x12 at ffffffff00"),
        ("Error: https://a.lan/x failed", "Error: http://b.lan failed"),
    ],
)
def test_an_error_is_known_again_by_what_does_not_change(one: str, other: str) -> None:
    assert error_template(one) == error_template(other) != ""


def test_failures_stand_once_with_what_then_worked(tmp_path: Path) -> None:
    session = session_of(
        tmp_path,
        person(1, "Go."),
        assistant(2, call("Bash", "c1", command="uv tool upgrade extractor")),
        result(3, "c1", "error: the build of extractor 3 is kept", is_error=True),
        assistant(4, call("Bash", "c2", command="uv tool upgrade extractor")),
        result(5, "c2", "error: the build of extractor 4 is kept", is_error=True),
        assistant(6, call("Bash", "c3", command="uv tool upgrade --reinstall extractor")),
        result(7, "c3", "Installed"),
        assistant(8, call("Read", "c4", file_path="/x")),
        result(9, "c4", "error: the file of readings is missing", is_error=True),
    )

    [failure] = find_failures(session)

    assert (failure.entry, failure.error) == (entry_id(3), "error: the build of extractor 3 is kept")
    assert failure.template == "error: the build of extractor <n> is kept"
    assert failure.worked == "uv tool upgrade --reinstall extractor"


def test_an_error_is_met_again_where_two_sessions_met_it() -> None:
    kept, once = Failure("the build is kept", entry_id(1), "x"), Failure("no route", entry_id(2), "y")
    readings = [reading(1, failures=(kept, kept, once)), reading(2, failures=(kept,))]

    assert count_failures(readings) == {"the build is kept": 2}


def test_errors_of_two_sessions_of_a_project_belong_together_but_those_of_a_fork() -> None:
    met, again = (Failure("the build is kept", entry_id(number), "x") for number in (1, 2))
    elsewhere = reading(4, failures=(again,), project="garden")

    assert list(group_errors([reading(1, failures=(met,)), elsewhere, reading(2, failures=(again,))])) == [
        ("shop", [("s1", met), ("s2", again)])
    ]
    assert list(group_errors([reading(1, failures=(met,)), reading(3, failures=(met,))])) == []
