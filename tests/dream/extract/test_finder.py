"""The deterministic extractor: what it takes, and what it leaves."""

from pathlib import Path

import pytest

from dream.compare import compare, is_worth_asking
from dream.extract import find_candidates
from dream.extract.lessons import template_of
from dream.records import Candidate, Kind
from tests.crawler.builders import SESSION, assistant, person
from tests.dream.house import archived, topics


def offered(tmp_path: Path, *texts: str) -> list[Candidate]:
    """The candidates of a session in which a person says these texts that are worth asking about."""
    records = [person(number, text) for number, text in enumerate(texts, start=1)]
    session = archived(tmp_path, {SESSION: records}).session(SESSION)
    return [one for one in find_candidates(session) if is_worth_asking(compare(one, topics()))]


@pytest.mark.parametrize(
    ("text", "kind", "statement"),
    [
        (
            "no, the relay runs on 10.0.0.4, not on 10.0.0.5",
            Kind.CORRECTION,
            "The relay runs on 10.0.0.4, not on 10.0.0.5.",
        ),
        ("From now on use pnpm instead of npm.", Kind.PREFERENCE, "From now on use pnpm instead of npm."),
        ("ok, always run the linter before a push", Kind.PREFERENCE, "Always run the linter before a push."),
        ("remember that Marta owns billing", Kind.FACT, "Marta owns billing."),
        ("we decided to use zstd because gzip is slow", Kind.DECISION, "We decided to use zstd because gzip is slow."),
        ("the nightly job starts at 02:30", Kind.FACT, "The nightly job starts at 02:30."),
        ("The review happens next Friday.", Kind.FACT, "The review happens on 2026-03-06."),
        ("ab jetzt immer pnpm für Pakete nehmen", Kind.PREFERENCE, "Ab jetzt immer pnpm für Pakete nehmen."),
        ("记住 发布 分支 是 release-2", Kind.FACT, "记住 发布 分支 是 release-2."),
        ("No secrets in the repo", Kind.PREFERENCE, "No secrets in the repo."),
        ("no images in the repo please", Kind.PREFERENCE, "No images in the repo please."),
        ("no the relay runs on 10.0.0.4", Kind.CORRECTION, "The relay runs on 10.0.0.4."),
        ("Right-click menus must always have keys.", Kind.PREFERENCE, "Right-click menus must always have keys."),
        ("Wrong logins are kept for 90 days", Kind.FACT, "Wrong logins are kept for 90 days."),
        ("The freeze holds until next Friday", Kind.FACT, "The freeze holds until 2026-03-06."),
        ("quick note for later: the till key is kept in box 4", Kind.FACT, "The till key is kept in box 4."),
        ("the till closes at 22:15, never earlier", Kind.FACT, "The till closes at 22:15, never earlier."),
        ("Staging got a new IP: 172.20.4.18", Kind.FACT, "Staging got a new IP: 172.20.4.18."),
        ("Exports land in s3://acme/raw every night", Kind.FACT, "Exports land in s3://acme/raw every night."),
        ("note to self: logs go to /var/log/till", Kind.FACT, "Logs go to /var/log/till."),
        ("Always quote column names in SQL.", Kind.PREFERENCE, "Always quote column names in SQL."),
        ("pls never squash those commits", Kind.PREFERENCE, "Never squash those commits."),
        ("The exporter writes to /srv/exports/daily", Kind.FACT, "The exporter writes to /srv/exports/daily."),
        ("We moved the wiki from Foo to Bar.", Kind.DECISION, "We moved the wiki from Foo to Bar."),
        ("We pay invoices within 14 days.", Kind.FACT, "We pay invoices within 14 days."),
        ("Ask Ada before touching anything in pay/", Kind.PREFERENCE, "Ask Ada before touching anything in pay/."),
        ("We log to MLflow, not to wandb", Kind.CORRECTION, "We log to MLflow, not to wandb."),
        ("I decided against Redis, nobody knows it", Kind.DECISION, "I decided against Redis, nobody knows it."),
        ("Kofi owns the payments", Kind.FACT, "Kofi owns the payments."),
        ("Please stop adding comments to every line.", Kind.PREFERENCE, "Stop adding comments to every line."),
    ],
)
def test_a_statement_is_taken_in_its_own_words(tmp_path: Path, text: str, kind: Kind, statement: str) -> None:
    (candidate,) = offered(tmp_path, text)

    assert (candidate.kind, candidate.text) == (kind, statement)


def test_two_facts_of_one_sentence_are_offered_one_by_one_with_their_own_words(tmp_path: Path) -> None:
    text = "FYI the relay runs on 10.0.0.4 and the backup runs on 10.0.0.9."

    first, second = offered(tmp_path, text)

    assert (first.text, second.text) == ("The relay runs on 10.0.0.4.", "The backup runs on 10.0.0.9.")
    assert (first.quotes[0].text, second.quotes[0].text) == (text[:30], text[35:])


@pytest.mark.parametrize("between", [", ", " - ", ". "])
def test_what_is_said_right_behind_that_is_wrong_is_a_correction(tmp_path: Path, between: str) -> None:
    (candidate,) = offered(tmp_path, f"the first part is not correct{between}releases use tags to mark the commit")

    assert (candidate.kind, candidate.text) == (Kind.CORRECTION, "Releases use tags to mark the commit.")


@pytest.mark.parametrize(
    "text",
    [
        "is the relay on 10.0.0.4?",
        "if the relay were on 10.0.0.4 we'd see it",
        "the docs say: the relay is on 10.0.0.4",
        "You don't always have to run the linter.",
        "I never said that we use pnpm.",
        "It is not true that Marta owns billing.",
        "the test is failing on port 2525 now",
        "please fix the port in config/relay.toml",
        "yes please",
        "wrong, it's on 10.0.0.4",
        "https://wiki.lan/hooks",
        "Different line lengths around the 10-character threshold.",
        "The page shows the spinner for 10 seconds",
        "Getting timeouts on port 5432",
    ],
)
def test_what_asserts_nothing_for_good_is_left(tmp_path: Path, text: str) -> None:
    assert offered(tmp_path, text) == []


def test_an_assistants_statement_needs_the_persons_yes(tmp_path: Path) -> None:
    statement = "The queue worker is pinned to version 4.2."
    agreed = [assistant(1, statement), person(2, "Exactly.")]
    ignored = [assistant(1, statement), person(2, "Now fix the build.")]

    first = find_candidates(archived(tmp_path / "a", {SESSION: agreed}).session(SESSION))
    second = find_candidates(archived(tmp_path / "b", {SESSION: ignored}).session(SESSION))

    assert [[quote.role.value for quote in candidate.quotes] for candidate in first] == [["assistant", "person"]]
    assert [candidate.text for candidate in second if "queue" in candidate.text] == []


def test_a_yes_to_a_question_confirms_nothing(tmp_path: Path) -> None:
    records = [assistant(1, "The worker is pinned to version 4.2. Shall I upgrade it?"), person(2, "Yes.")]

    assert find_candidates(archived(tmp_path, {SESSION: records}).session(SESSION)) == []


def test_errors_that_differ_in_numbers_paths_and_names_have_one_template() -> None:
    one = template_of("Error: cannot open '/a/b.txt' (line 17, id 3f2a9bc01)")
    other = template_of("error: cannot open '/c/d/e.txt' (line 4, id 99ab77c02)")

    assert one == other
