"""How statements stand to topics, and where they go."""

import datetime as dt
import re
from dataclasses import replace

import pytest

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.judge.compare import compare, find_known, find_rival, is_worth_asking, make_correction, wrong_statement
from dream.judge.order import are_turned_round
from dream.proposals.placing import Manner, place_hunk
from dream.records import Candidate, Hunk, Kind, Relation, Update
from dream.topics import Topics
from memory_server.document import LineRange
from tests.dream.house import topics

MAIL = """---
title: Mail
modified: 2025-01-10
---

# Mail

## Relay

The relay listens on port 2525.[^a] It is watched by
Marta.

- Use tabs in config files.
- The backup runs on 10.0.0.4.

## History

- The relay listened on port 25.

[^a]: session 1
"""


def stated(text: str, kind: Kind = Kind.FACT, confidence: float = 0.9) -> Candidate:
    said = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)
    quote = Quote("s", "e", Role.PERSON, said, 0, len(text), text)
    return Candidate(text, kind, (quote,), confidence, "test", "test", project="garden")


@pytest.fixture
def mail() -> Topics:
    return topics(mail=MAIL, deploy="# Deploy\n\nReleases are cut on Tuesdays from the release branch.\n")


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("The relay listens on port 2525.", Relation.KNOWN),
        ("The relay listens on port 2626.", Relation.CONTRADICTS),
        ("The relay has moved to port 2626.", Relation.SUPERSEDES),
        ("The relay no longer listens on port 2525.", Relation.SUPERSEDES),
        ("Never use tabs in config files.", Relation.CONTRADICTS),
        ("The backup runs on 10.0.0.5.", Relation.CONTRADICTS),
        ("Releases are now cut on Fridays from the release branch.", Relation.SUPERSEDES),
        ("The relay keeps mail of the backup host for a week.", Relation.EXTENDS),
        ("Invoices are printed in Leipzig.", Relation.NEW),
    ],
)
def test_a_statement_stands_so_to_the_topics(mail: Topics, text: str, relation: Relation) -> None:
    assert compare(stated(text), mail).relation is relation


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("I spent $43 on books in January.", "I've already spent $28 on books in February."),
        ("The sprint 1 backlog holds 12 stories.", "The sprint 2 backlog now holds 15 stories."),
        ("The upload quota is 20 files per day.", "The upload quota is now 300 files per month."),
        ("The oven in kitchen 2 runs 15 degrees hotter.", "The oven in kitchen 1 runs 5 degrees hotter."),
        ("Server 1 is at 10.0.0.1.", "Server 2 is at 10.0.0.2."),
        ("Answers are cached for 60 seconds.", "Answers are cached for 1 minute."),
        ("Tom owns billing.", "Ines owns search."),
        ("Tom owns billing.", "Ines also owns billing."),
        ("My reading goal is 10 books by March 1.", "I finished my reading challenge of books on March 10."),
    ],
)
def test_what_holds_of_another_period_or_thing_replaces_nothing(known: str, words: str) -> None:
    update = compare(stated(words), topics(notes=f"# Notes\n\n{known}\n"))

    assert update.relation in (Relation.NEW, Relation.EXTENDS)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            "The nightly backup of the billing database goes to Frankfurt.",
            "The nightly backup of the orders database goes to Frankfurt.",
        ),
        (
            "Pull requests against the mobile client need two approvals from senior engineers of the platform group.",
            "Pull requests against the desktop client need two approvals from senior engineers of the platform group.",
        ),
    ],
)
def test_one_other_word_makes_another_statement_and_a_person_is_asked_about_it(known: str, words: str) -> None:
    notes = topics(notes=f"# Notes\n\n- {known}\n")
    rival = find_rival(stated(words), notes)

    assert compare(stated(words), notes).relation is Relation.EXTENDS
    assert rival is not None and rival.statement.text == known and not rival.is_known


def test_what_only_begins_with_new_announces_no_change() -> None:
    notes = topics(notes="# Notes\n\n- Old clients use port 80.\n")

    assert compare(stated("New clients use port 81."), notes).relation is not Relation.SUPERSEDES
    assert compare(stated("Old clients use the new port 81."), notes).relation is Relation.SUPERSEDES


@pytest.mark.parametrize(
    "text",
    [
        "Releases are tagged vX.Y.Z; the changelog is written first.",
        "Invoices go out on Mondays. The printer prints both.",
    ],
)
def test_an_item_of_several_parts_is_known_as_a_whole(text: str) -> None:
    assert compare(stated(text), topics(notes=f"# Notes\n\n- {text}\n")).relation is Relation.KNOWN
    half = text.replace("tagged", "packed").replace("printer", "plotter")
    assert compare(stated(half), topics(notes=f"# Notes\n\n- {text}\n")).relation is not Relation.KNOWN


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("Backups run at 3 and restores at 5.", "Backups run at 5 and restores at 3."),
        ("Backups run at 3 and restores at 5.", "Restores run at 3 and backups at 5."),
        ("We keep 3 backups and 5 restores.", "We keep 5 backups and 3 restores."),
        ("Staging is on 10.0.0.4 and production on 10.0.0.5.", "Staging is on 10.0.0.5 and production on 10.0.0.4."),
        (
            "Tests run before the release, never after the merge.",
            "Tests run after the release, never before the merge.",
        ),
        ("Tests run before the release.", "Tests run after the release."),
        ("Backups start after 5.", "Backups start before 5."),
        ("Ann reviews Tom.", "Tom reviews Ann."),
        ("Tom is reviewed by Ann.", "Ann is reviewed by Tom."),
        ("A calls B.", "B calls A."),
        ("The API uses the worker.", "The worker uses the API."),
        ("Carol may approve what Dave deploys.", "Dave may approve what Carol deploys."),
        ("Ann's manager is Tom.", "Tom's manager is Ann."),
        ("The frontend depends on the backend.", "The backend depends on the frontend."),
        ("We copy from staging to production.", "We copy from production to staging."),
        ("Data is copied from staging to production.", "Data is copied to staging from production."),
        ("Replace npm with pnpm.", "Replace pnpm with npm."),
        ("Ann merges when Tom approves.", "Tom merges when Ann approves."),
        ("Staging is larger than production.", "Production is larger than staging."),
    ],
)
def test_the_same_words_the_other_way_round_are_asked_about(known: str, words: str) -> None:
    notes = topics(notes=f"# Notes\n\n- {known}\n")
    update, rival = compare(stated(words), notes), find_rival(stated(words), notes)

    assert find_known(stated(words), notes) is None
    assert update.relation is Relation.CONTRADICTS and update.place.old_text == f"- {known}\n"
    assert rival is not None and rival.statement.text == known
    assert find_known(stated(known), notes) is not None


def test_a_text_as_long_as_a_book_is_not_compared_by_every_two_of_its_words() -> None:
    filler = " ".join(f"word{number}" for number in range(30_000))

    assert are_turned_round("Ann reviews Tom", "Tom reviews Ann")
    assert not are_turned_round(f"Ann reviews Tom {filler}", f"Tom reviews Ann {filler}")


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("Backups run at 3 and restores at 5.", "Restores run at 5 and backups at 3."),
        ("We keep 3 backups and 5 restores.", "We keep 5 restores and 3 backups."),
        ("The ports 80 and 443 are open.", "The ports 443 and 80 are open."),
        ("The port of Alice is 3, the port of Bob is 5.", "The port of Bob is 5, the port of Alice is 3."),
        ("A release is cut after the tests.", "Tests are cut before a release."),
        ("Tests run after the merge and before the release.", "Tests run before the release and after the merge."),
        ("The limit is 60 seconds and 5 files.", "60 seconds and 5 files is the limit."),
        ("The API calls the worker's hooks.", "The worker's hooks are called by the API."),
        ("The relay listens on port 2525.", "Relay listens on port 2525."),
        ("The service uses Redis and Postgres.", "The service uses Postgres and Redis."),
        ("Lint with ruff, mypy and pytest.", "Lint with pytest, mypy and ruff."),
        ("We deploy to staging and production.", "We deploy to production and staging."),
        ("In staging we deploy with Helm.", "With Helm we deploy in staging."),
        ("On Fridays releases are cut from main.", "From main releases are cut on Fridays."),
        ("When Tom approves, Ann merges.", "Ann merges when Tom approves."),
        ("In CI ruff lints Python.", "Ruff lints Python in CI."),
        ("The admin is the release manager.", "The release manager is the admin."),
    ],
)
def test_the_same_in_another_order_is_known(known: str, words: str) -> None:
    assert find_known(stated(words), topics(notes=f"# Notes\n\n- {known}\n")) is not None


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("The book budget for January is $35.", "I've increased my January book budget to $50."),
        ("The upload quota is 20 files per day.", "The upload quota is now 30 files per day."),
        ("The launch party is planned for January.", "The launch party is now planned for February."),
        ("The application deadline is May 10.", "The application deadline was extended to May 20."),
    ],
)
def test_another_value_of_the_same_period_supersedes(known: str, words: str) -> None:
    assert compare(stated(words), topics(notes=f"# Notes\n\n{known}\n")).relation is Relation.SUPERSEDES


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("The physics tick rate is 20 Hz.", "I changed the tick rate to 30 Hz."),
        ("Builds run on Jenkins.", "We moved the builds from Jenkins to Buildkite."),
        ("Thesis drafts are due on the 1st of each month.", "The drafts are due on the 5th of each month."),
        ("Answers are cached for 60 seconds.", "Answers are cached for 5 minutes."),
        ("Tom owns billing.", "Ines owns billing since Tom left."),
        ("Kofi owns the payments integration.", "Mei took over the payments integration from Kofi."),
        ("The watchdog fires after 8 seconds.", "I raised the watchdog timeout, it fires after 12 seconds."),
    ],
)
def test_what_takes_the_place_of_what_a_topic_says_goes_against_it(known: str, words: str) -> None:
    against = (Relation.CONTRADICTS, Relation.SUPERSEDES)

    assert compare(stated(words), topics(notes=f"# Notes\n\n{known}\n")).relation in against


def test_a_replaced_sentence_leaves_its_neighbours(mail: Topics) -> None:
    place = compare(stated("The relay listens on port 2626."), mail).place

    assert place.target == "topics/mail.md"
    assert place.replaces == LineRange(10, 10)
    assert place.old_text == "The relay listens on port 2525.[^a] It is watched by\n"
    assert (place.kept_before, place.kept_after) == ("", " It is watched by\n")


def test_a_replaced_list_item_keeps_its_sign(mail: Topics) -> None:
    place = compare(stated("The backup runs on 10.0.0.5."), mail).place

    assert (place.kept_before, place.kept_after) == ("- ", "\n")


@pytest.mark.parametrize(
    ("line", "replaced"),
    [
        ("The relay listens on port 2.[^1] It is blue.[^2]", "The relay listens on port 3.[^1] It is blue.[^2]"),
        ("The relay listens on port 2. It is blue.[^2]", "The relay listens on port 3.[^3] It is blue.[^2]"),
    ],
)
def test_what_stays_of_a_line_keeps_its_footnote(line: str, replaced: str) -> None:
    text = f"# A\n\n{line}\n\n---\n[^2]: two\n"
    update = make_correction(stated("The relay listens on port 3."), wrong_statement("a:3", "port 3", topics(a=text)))
    hunk = Hunk("0" * 12, update, update.candidate.text, dt.date(2026, 3, 1))

    after = place_hunk(text, hunk, update.place, Manner(dt.date(2026, 3, 1)), "new")

    label = replaced[28:32]
    assert replaced in after and "\n[^2]: two\n" in after and f"\n{label}: new\n" in after


def test_what_stands_below_history_is_not_compared(mail: Topics) -> None:
    update = compare(stated("The relay listened on port 26."), mail)

    assert "port 25 " not in update.why


def test_an_old_decision_contradicted_without_a_reason_is_drift(mail: Topics) -> None:
    bare = compare(stated("Never use tabs in config files.", Kind.PREFERENCE), mail)
    reasoned = compare(stated("Never use tabs in config files because YAML breaks.", Kind.PREFERENCE), mail)

    assert (bare.relation, reasoned.relation) == (Relation.DRIFT, Relation.CONTRADICTS)


def test_what_no_topic_speaks_of_founds_one(mail: Topics) -> None:
    place = compare(stated("Invoices are printed in Leipzig."), mail).place

    assert (place.target, place.title, place.section) == ("topics/garden/garden.md", "Rules and facts", "Facts")
    own = compare(replace(stated("Invoices are printed in Leipzig.", Kind.RULE), project=""), mail).place
    assert (own.target, own.title, own.section) == ("topics/personal.md", "Personal", "Rules")


@pytest.mark.parametrize("name", ["../../etc/passwd", "topics/../x", "/abs", "a/../../b", "con\nfig", "🎉", ""])
def test_no_name_leads_out_of_topics(mail: Topics, name: str) -> None:
    target = compare(replace(stated("Invoices are printed in Leipzig."), topic=name), mail).place.target

    assert target.startswith("topics/")
    assert ".." not in target
    assert re.fullmatch(r"topics/(\w[\w-]*/){0,3}\w[\w-]*\.md", target)


def test_a_lesson_goes_to_the_lessons(mail: Topics) -> None:
    assert compare(stated("Check first: is the lock held?", Kind.LESSON), mail).place.target == "lessons.md"


def test_a_weak_statement_is_worth_asking_only_against_a_topic(mail: Topics) -> None:
    def worth(text: str) -> tuple[Relation, bool]:
        update: Update = compare(stated(text, confidence=0.3), mail)
        return update.relation, is_worth_asking(update)

    assert worth("Invoices are printed in Leipzig.") == (Relation.NEW, False)
    assert worth("The relay listens on port 2626.") == (Relation.CONTRADICTS, True)


def test_a_statement_that_gives_another_value_says_which() -> None:
    known = topics(notes="# Notes\n\nThe upload quota is 20 files per day.\n")

    assert "the number differs: 30 / 20" in compare(stated("The upload quota is now 30 files per day."), known).why


def test_a_span_of_time_is_nothing_that_a_statement_does_away_with() -> None:
    known = "My accuracy went up to 85% over 2 weeks, after 8 problems."
    update = compare(stated("I trained for the race over 2 weeks in May."), topics(notes=f"# Notes\n\n{known}\n"))

    assert "does away with" not in update.why
