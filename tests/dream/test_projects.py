"""A project is a border: what is filed, compared, replaced, turned down and learnt stays within it."""

import datetime as dt
from contextlib import closing
from dataclasses import replace

import pytest

from crawler.reading.record import Failure, Holds, Line, LineKind, Reading
from dream.candidates import make_lessons
from dream.judge.compare import compare, find_outdated, wrong_statement
from dream.judge.filing import choose_place, make_path, make_title
from dream.judge.rejections import Rejections
from dream.records import Candidate, Kind, Place, Rejection, Relation, Update
from dream.report.findings import contradictions
from dream.topics import LESSONS, Topics, build_topics
from memory_server.document import SourcePath
from memory_server.errors import UsageError
from tests.dream.builders import NOW, candidate, quote
from tests.dream.house import topics

SHOP = "---\nproject: shop\n---\n# Ports\n- The relay listens on port 2525.\n"
APP = "---\nproject: app\n---\n# Mail\n- The mail relay listens on port 2525.\n"
OWN = "# Habits\n\n- Commits are small.\n"


def make_candidate(text: str, project: str, kind: Kind = Kind.FACT) -> Candidate:
    return replace(candidate(text, 1, kind=kind), project=project)


@pytest.fixture
def memory() -> Topics:
    return topics(**{"shop/ports": SHOP, "app/mail": APP, "habits": OWN})


@pytest.mark.parametrize(
    ("text", "project", "relation", "target"),
    [
        ("The relay listens on port 2626.", "shop", Relation.CONTRADICTS, "topics/shop/ports.md"),
        ("The relay listens on port 2626.", "Shop", Relation.CONTRADICTS, "topics/shop/ports.md"),
        ("The relay listens on port 2626.", "web", Relation.NEW, "topics/web/web.md"),
        ("The relay listens on port 2626.", "", Relation.NEW, "topics/personal.md"),
        ("The relay listens on port 2525.", "web", Relation.NEW, "topics/web/web.md"),
        ("Commits are small.", "web", Relation.KNOWN, "topics/web/web.md"),
        ("Commits are never small.", "web", Relation.CONTRADICTS, "topics/habits.md"),
    ],
)
def test_a_statement_is_compared_with_its_project_and_the_persons_own(
    memory: Topics, text: str, project: str, relation: Relation, target: str
) -> None:
    found = compare(make_candidate(text, project), memory)

    assert (found.relation, found.place.target) == (relation, target)
    assert project == "" or not ({"shop", "app"} - {project.casefold()}) & set(found.why.split("/"))


def test_a_topic_is_named_within_its_project(memory: Topics) -> None:
    named = replace(make_candidate("Ports are fixed.", "app"), topic="Ports", section="Mail")

    assert choose_place(named, memory.limit_to_project("app")).target == "topics/app/ports.md"
    assert (
        choose_place(replace(named, project="shop"), memory.limit_to_project("shop")).target == "topics/shop/ports.md"
    )
    assert choose_place(replace(named, topic="mail"), memory.limit_to_project("app")).target == "topics/app/mail.md"


def test_a_memory_that_is_one_projects_has_no_folders(memory: Topics) -> None:
    inside = replace(topics(ports="# Ports\n- The relay listens on port 2525.\n"), has_folders=False)

    assert (
        choose_place(replace(make_candidate("Ports are fixed.", "shop"), topic="Hosts"), inside).target
        == "topics/hosts.md"
    )
    assert compare(make_candidate("The relay listens on port 2626.", "shop"), inside).relation is Relation.CONTRADICTS


def test_lessons_stand_below_their_project() -> None:
    lessons = build_topics(
        {LESSONS: "# Lessons\n\n- Check first: is it on?\n\n## shop\n- Check first: is the relay on?\n"}
    )

    place = choose_place(
        make_candidate("Check first: is the lock held?", "app", Kind.LESSON), lessons.limit_to_project("app")
    )

    assert (place.target, place.section) == ("lessons.md", "app")
    assert [one.text for one in lessons.limit_to_project("app").files[0].statements] == ["Check first: is it on?"]
    assert len(lessons.limit_to_project("shop").files[0].statements) == 2


def test_lessons_of_one_project_are_all_compared_and_only_there() -> None:
    text = "---\nproject: shop\n---\n# Lessons\n\n## Mail\n- Check first: is the relay on?\n"
    lessons = build_topics({LESSONS: text})

    assert [one.text for one in lessons.limit_to_project("shop").files[0].statements] == [
        "Check first: is the relay on?"
    ]
    assert lessons.limit_to_project("app").files[0].statements == ()
    place = choose_place(
        make_candidate("Check first: is the lock held?", "app", Kind.LESSON), lessons.limit_to_project("app")
    )
    assert (place.title, place.after_line) == ("", 4), "the file is there"


def test_older_words_of_another_project_stay() -> None:
    def update(text: str, project: str, day: int) -> Update:
        words = quote(text, time=dt.datetime(2026, 3, day, tzinfo=dt.UTC))
        made = replace(candidate(text, 1, words), project=project)
        return Update(made, Relation.NEW, Place(SourcePath("topics/x.md"), 0), "")

    old, new = "The relay listens on port 2525.", "The relay listens on port 2626."

    assert find_outdated([update(old, "shop", 1), update(new, "app", 2)]) == {}
    assert list(find_outdated([update(old, "shop", 1), update(new, "shop", 2)])) == [0]
    assert list(find_outdated([update(old, "shop", 1), update(new, "", 2)])) == [0]


def test_a_no_in_one_project_is_none_in_another() -> None:
    no = Rejection("1", "topics/shop/x.md", "Tests run in the container.", "", NOW, (), (), "shop")
    with closing(Rejections([no])) as rejections:
        assert rejections.knows(make_candidate("Tests run in the container.", "shop"))
        assert not rejections.knows(make_candidate("Tests run in the container.", "app"))


def test_the_report_holds_no_project_against_another() -> None:
    held = topics(**{"shop/ports": SHOP, "app/ports": APP.replace("2525", "2626")})
    same = topics(**{"shop/ports": SHOP, "shop/mail": SHOP.replace("2525", "2626")})

    assert list(contradictions(held)) == [] and len(list(contradictions(same))) == 1


def lesson_reading(session: str, project: str) -> Reading:
    """A session in which the relay's lock was found to be held."""
    words = quote("The relay fails while its lock is held.", session_id=session, entry=session)
    line = Line(LineKind.LESSON, words.text, (words,), Holds.SURELY)
    failure = Failure("lock held", session, "relay: lock is held")
    return Reading(session, "", "claude-cli", 1, project, lines=(line,), failures=(failure,))


def test_an_error_of_two_projects_makes_no_lesson() -> None:
    assert len(make_lessons([lesson_reading("a", "shop"), lesson_reading("b", "shop")])) == 1
    assert make_lessons([lesson_reading("a", "shop"), lesson_reading("b", "app")]) == []


@pytest.mark.parametrize(
    ("name", "project", "target", "title"),
    [
        ("Radio/Audio player", "shop", "topics/shop/radio-audio-player.md", "Radio/Audio player"),
        ("app/mail", "shop", "topics/shop/app-mail.md", "Mail"),
        ("shop/mail", "shop", "topics/shop/mail.md", "Mail"),
        ("topics/shop/mail.md", "Shop", "topics/shop/mail.md", "Mail"),
        ("work/mail", "", "topics/work/mail.md", "Mail"),
        ("git-hooks", "shop", "topics/shop/git-hooks.md", "Git hooks"),
        ("lessons", "shop", "topics/shop/lessons.md", "Lessons"),
        ("lessons", "", "lessons.md", "Lessons"),
    ],
)
def test_no_name_leads_out_of_a_project(name: str, project: str, target: str, title: str) -> None:
    assert (make_path(name, project), make_title(name)) == (target, title)


def test_a_line_that_is_wrong_is_of_the_very_file_that_is_named() -> None:
    both = topics(mail="# Mail\n\n- Mail is read at noon.\n", **{"shop/mail": SHOP.replace("Ports", "Mail")})

    found = wrong_statement("topics/mail.md:3", "Mail is read at one.", both, "shop")

    assert found.topic.path == "topics/mail.md"


def test_a_line_that_is_wrong_is_named_by_a_topic_of_the_project_without_its_folder(memory: Topics) -> None:
    def place(name: str, project: str) -> str:
        found = wrong_statement(name, "The relay listens on port 2626.", memory, project)
        return found.topic.path

    assert place("ports:5", "shop") == place("shop/ports:5", "") == place("topics/shop/ports.md:5", "app")
    assert place("habits:3", "shop") == "topics/habits.md"
    with pytest.raises(UsageError, match="no topic named 'ports'"):
        place("ports:5", "app")
