"""What would found a topic goes to that of its subject: no project, worktree or number names one."""

from dataclasses import replace

from dream.judge.compare import compare
from dream.records import Hunk, Kind, Relation, State, Update
from dream.subjects.assigning import by_subject
from dream.topics import Topics, topics_of
from memory_server.document import SourcePath
from tests.dream.builders import TODAY, candidate, quote
from tests.dream.subjects.test_grouping import RELEASES, TESTING

NOTHING = topics_of({})


def founding(texts: list[str], project: str, first: int = 1, topics: Topics = NOTHING) -> list[Update]:
    """Updates of statements that were said one a session."""
    said = (
        candidate(text, number, quote(text, number, session_id=f"{project}-{number}"), project=project)
        for number, text in enumerate(texts, start=first)
    )
    return [compare(one, topics) for one in said]


def test_an_empty_memory_gets_a_topic_for_each_subject_and_none_for_the_project() -> None:
    updates = by_subject(founding([*TESTING, *RELEASES], "1"), NOTHING, [])

    targets = [update.place.target for update in updates]
    assert len(set(targets[:5])) == len(set(targets[5:])) == 1 and targets[0] != targets[5]
    assert "test" in targets[0] and targets[5].startswith("topics/release")
    assert [update.place.title for update in by_subject(updates, NOTHING, [])] == [u.place.title for u in updates]


def test_what_comes_later_joins_what_waits() -> None:
    first = by_subject(founding(RELEASES[:3], "app"), NOTHING, [])
    waiting = [Hunk(f"{n:012x}", one, one.candidate.text, TODAY, state=State.PENDING) for n, one in enumerate(first)]

    [later] = by_subject(founding(["A release is announced by mail."], "app", 9), NOTHING, waiting)
    [other] = by_subject(founding(["A release is announced by mail."], "web", 9), NOTHING, waiting)

    assert (later.place.target, later.place.title) == (first[0].place.target, first[0].place.title)
    assert other.place.target != first[0].place.target


def test_a_topic_of_that_name_is_joined_unless_it_is_another_projects() -> None:
    [founded] = by_subject(founding(["Releases get tags."], "app"), NOTHING, [])
    path = founded.place.target
    own = topics_of({SourcePath(path.replace("tags", "Tags")): "---\nproject: app\n---\n\n# It\n\nNothing of it.\n"})
    foreign = topics_of({SourcePath(path): "---\nproject: web\n---\n\n# It\n\nNothing of it.\n"})

    [joined] = by_subject(founding(["Releases get tags."], "app", topics=NOTHING), own, [])
    [apart] = by_subject(founding(["Releases get tags."], "app", topics=NOTHING), foreign, [])

    assert (joined.place.target, joined.place.after_line, joined.place.title) == (path.replace("tags", "Tags"), 7, "")
    assert apart.place.target == path.replace("topics/", "topics/app/")


def test_lessons_named_topics_and_what_has_a_place_stay_where_they_are() -> None:
    [update] = founding(["Releases get tags."], "app")
    lesson = replace(update, candidate=replace(update.candidate, kind=Kind.LESSON))
    named = compare(replace(update.candidate, topic="mail"), NOTHING)
    placed = replace(update, relation=Relation.EXTENDS)

    assert by_subject([lesson, named, placed], NOTHING, []) == [lesson, named, placed]
