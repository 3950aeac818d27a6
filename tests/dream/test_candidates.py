"""What readings suggest: their lines, without those that do not last and those that were taken back."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler.quotes import Quote
from crawler.reading.record import Failure, Holds, Line, LineKind, Reading
from crawler.reading.repeats import find_requests, group_habits
from crawler.transcripts.turns import Role
from dream.candidates import find_taken_back, make_candidates, make_lessons
from dream.evidence import Evidence
from dream.judge.gate import Gate
from dream.judge.rejections import Rejections
from dream.records import Candidate, Kind
from memory_server.redaction import Redactor
from tests.crawler.builders import OTHER_SESSION, SESSION, Record, assistant, call, person, result
from tests.dream.builders import quote
from tests.dream.house import archived, quoted, topics

RULE = "Always run the linter before you push."
STATEMENT = "The worker is pinned to version 4.2."
THIRD = "33333333-3333-4333-8333-333333333333"


def suggested(
    folder: Path, records: Sequence[Record], words: str, kind: LineKind = LineKind.RULE, **more: object
) -> list[Candidate]:
    """What becomes of a line that rests on these words of a session."""
    session = archived(folder, {SESSION: records}).session(SESSION)
    line = Line(kind, words, (quoted(session, words),), **more)  # type: ignore[arg-type]  # a builder
    return list(make_candidates(Reading(SESSION, "m", "scripted", 1, "app", lines=(line,)), session))


def test_a_line_becomes_a_candidate_with_its_words_and_project(tmp_path: Path) -> None:
    [candidate] = suggested(tmp_path, [person(1, RULE)], RULE, topic="workflow#pushing")

    assert (candidate.text, candidate.kind, candidate.extractor) == (RULE, Kind.RULE, "scripted")
    assert (candidate.topic, candidate.project) == ("workflow", "app")
    assert [one.text for one in candidate.quotes] == [RULE]


@pytest.mark.parametrize(("holds", "offered"), [(Holds.SURELY, 1), (Holds.PROBABLY, 1), (Holds.NOW, 0)])
def test_what_holds_for_now_is_not_offered(tmp_path: Path, holds: Holds, offered: int) -> None:
    assert len(suggested(tmp_path, [person(1, RULE)], RULE, holds=holds)) == offered


def test_what_holds_surely_comes_before_what_holds_probably(tmp_path: Path) -> None:
    [surely] = suggested(tmp_path / "a", [person(1, RULE)], RULE, holds=Holds.SURELY)
    [probably] = suggested(tmp_path / "b", [person(1, RULE)], RULE, holds=Holds.PROBABLY)

    assert surely.confidence > probably.confidence


def test_an_idea_is_no_candidate(tmp_path: Path) -> None:
    assert suggested(tmp_path, [person(1, "Make a script for that.")], "Make a script for that.", LineKind.IDEA) == []


@pytest.mark.parametrize(
    ("answer", "kind", "roles"),
    [
        ("Now mend the build.", Kind.FINDING, [Role.ASSISTANT]),
        ("Yes, exactly.", Kind.DECISION, [Role.ASSISTANT, Role.PERSON]),
        ("Yes, but only on staging.", Kind.FINDING, [Role.ASSISTANT]),
    ],
)
def test_an_assistants_line_is_a_finding_unless_the_person_agreed(
    tmp_path: Path, answer: str, kind: Kind, roles: list[Role]
) -> None:
    [candidate] = suggested(tmp_path, [assistant(1, STATEMENT), person(2, answer)], STATEMENT, LineKind.DECISION)

    assert candidate.kind is kind
    assert [one.role for one in candidate.quotes] == roles


def test_what_stands_in_an_accepted_plan_is_a_finding(tmp_path: Path) -> None:
    plan = call("ExitPlanMode", "plan", plan=f"# The worker\n\n{STATEMENT}")
    records = [person(1, "Plan it."), assistant(2, plan), result(3, "plan", "User has approved your plan.")]

    [candidate] = suggested(tmp_path, records, STATEMENT, LineKind.DECISION)

    assert candidate.kind is Kind.FINDING


def test_a_finding_in_the_persons_own_words_is_a_fact(tmp_path: Path) -> None:
    [candidate] = suggested(tmp_path, [person(1, STATEMENT)], STATEMENT, LineKind.FINDING)

    assert candidate.kind is Kind.FACT


def test_a_finding_is_offered_behind_the_persons_words(tmp_path: Path) -> None:
    [finding] = suggested(tmp_path / "a", [assistant(1, STATEMENT)], STATEMENT, LineKind.FINDING)
    [fact] = suggested(tmp_path / "b", [person(1, STATEMENT)], STATEMENT, LineKind.FACT)

    assert finding.confidence < fact.confidence


# -- what was taken back ---------------------------------------------------------------------------------------------


def line(text: str, number: int, session: str = SESSION, **more: object) -> Line:
    return Line(LineKind.RULE, text, (quote(text, number, session_id=session),), **more)  # type: ignore[arg-type]


def reading(session: str, *lines: Line, project: str = "app", **more: object) -> Reading:
    return Reading(session, "m", "scripted", 1, project, lines=lines, **more)  # type: ignore[arg-type]


OLD, NEW = "The mail relay listens on port 2525.", "The mail relay listens on port 2526."
RETRACTION = "Pushing needs no linter any more."


@pytest.mark.parametrize(
    ("project", "number", "gone"),
    [("app", 9, {(SESSION, OLD)}), ("app", 0, {(OTHER_SESSION, NEW)}), ("shop", 9, set())],
    ids=["later in the same project", "earlier in the same project", "in another project"],
)
def test_of_two_lines_that_contradict_each_other_the_older_one_of_a_project_is_gone(
    project: str, number: int, gone: set[tuple[str, str]]
) -> None:
    later = reading(OTHER_SESSION, line(NEW, number, OTHER_SESSION), project=project)

    assert find_taken_back([reading(SESSION, line(OLD, 1)), later]) == gone


@pytest.mark.parametrize(("project", "gone"), [("app", {(SESSION, RULE)}), ("shop", set())])
def test_a_line_ends_what_it_says_that_it_takes_back(project: str, gone: set[tuple[str, str]]) -> None:
    ending = line(RETRACTION, 9, OTHER_SESSION, takes_back="The linter is always run before a push.")

    assert find_taken_back([reading(SESSION, line(RULE, 1)), reading(OTHER_SESSION, ending, project=project)]) == gone


def test_a_retraction_ends_nothing_that_was_said_after_it() -> None:
    ending = line(RETRACTION, 1, takes_back=RULE)

    assert find_taken_back([reading(SESSION, ending), reading(OTHER_SESSION, line(RULE, 9, OTHER_SESSION))]) == set()


def test_what_holds_for_now_takes_nothing_back() -> None:
    ending = line(RETRACTION, 9, OTHER_SESSION, takes_back=RULE, holds=Holds.NOW)

    assert find_taken_back([reading(SESSION, line(RULE, 1)), reading(OTHER_SESSION, ending)]) == set()


def test_a_line_that_was_taken_back_is_not_offered(tmp_path: Path) -> None:
    session = archived(tmp_path, {SESSION: [person(1, f"{RULE} {OLD}")]}).session(SESSION)
    lines = [Line(LineKind.RULE, text, (quoted(session, text),)) for text in (RULE, OLD)]

    found = make_candidates(reading(SESSION, *lines), session, gone={(SESSION, OLD)})

    assert [candidate.text for candidate in found] == [RULE]


# -- what comes back -------------------------------------------------------------------------------------------------


def test_a_habit_rests_on_every_session_in_which_it_was_asked_for(tmp_path: Path) -> None:
    wordings = {
        SESSION: "pull in the latest main first",
        OTHER_SESSION: "please pull in latest main",
        THIRD: "first pull in the latest main",
    }
    evidence = archived(
        tmp_path,
        {name: [person(at * 10, text, session=name)] for at, (name, text) in enumerate(wordings.items(), start=1)},
    )
    sessions = {name: evidence.session(name) for name in wordings}
    readings = [reading(name, requests=tuple(find_requests(session))) for name, session in sessions.items()]
    habit = Line(LineKind.HABIT, "Latest main is pulled in first.", (quoted(sessions[THIRD], wordings[THIRD]),))

    [candidate] = make_candidates(reading(THIRD, habit), sessions[THIRD], habits=group_habits(readings))

    assert candidate.kind is Kind.HABIT
    assert {one.session_id: one.text for one in candidate.quotes} == wordings
    assert gate_over(evidence).check(candidate) == ()


def gate_over(evidence: Evidence) -> Gate:
    return Gate(evidence, topics(), Rejections(), Redactor())


CAUSE = "A migration needs a down step because the missing file breaks the rollback."
FAILURE = Failure("error: migration file <path> is missing a down step", "e1", "migration file is missing a down step")


def noted(session: str, number: int, *, failure: Failure = FAILURE, kind: LineKind = LineKind.LESSON) -> Reading:
    """A reading of a session with a failure, and a line about it."""
    said: Quote = quote(CAUSE, number, session_id=session, role=Role.ASSISTANT)
    return reading(session, Line(kind, CAUSE, (said,)), failures=(failure,))


def test_the_same_failure_noted_in_two_sessions_is_a_lesson_of_both() -> None:
    [lesson] = make_lessons([noted(SESSION, 1), noted(OTHER_SESSION, 9)])

    assert (lesson.kind, lesson.text) == (Kind.LESSON, CAUSE)
    assert [one.session_id for one in lesson.quotes] == [OTHER_SESSION, SESSION]  # the newest first


@pytest.mark.parametrize(
    "readings",
    [
        [noted(SESSION, 1)],
        [noted(SESSION, 1), noted(OTHER_SESSION, 1)],
        [noted(SESSION, 1), noted(OTHER_SESSION, 9, failure=Failure("no space left", "e2", "no space left"))],
        [noted(SESSION, 1), noted(OTHER_SESSION, 9, kind=LineKind.FACT)],
    ],
    ids=["one session", "a fork that repeats the entry", "another failure", "no lesson in the other"],
)
def test_anything_less_is_no_lesson(readings: list[Reading]) -> None:
    assert make_lessons(readings) == []


def test_a_lesson_that_was_taken_back_in_one_session_is_none() -> None:
    assert make_lessons([noted(SESSION, 1), noted(OTHER_SESSION, 9)], {(SESSION, CAUSE)}) == []
