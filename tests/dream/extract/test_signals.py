"""What is worth proposing by itself, and what is only said in passing."""

import pytest

from dream.extract.signals import FAIR, Signal, signal_of
from dream.records import Kind
from dream.statements.acts import Clause, clauses_in


def surest(text: str) -> Signal | None:
    """The surest signal of a text."""
    before: Clause | None = None
    found = []
    for clause in clauses_in(text):
        signal = signal_of(clause, before)
        before = clause
        found += [signal] if signal else []
    return max(found, key=lambda signal: signal.confidence, default=None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("please use snake_case for all column names", Kind.PREFERENCE),
        ("don't put secrets in the repo", Kind.PREFERENCE),
        ("Team rule: two approvals before merging.", Kind.PREFERENCE),
        ("For commit messages, follow Conventional Commits.", Kind.PREFERENCE),
        ("Tests must not touch the network.", Kind.PREFERENCE),
        ("When you open a PR, tag me.", Kind.PREFERENCE),
        ("I want you to ask before installing packages", Kind.PREFERENCE),
        ("nobody may restart db2.example.net during the day", Kind.PREFERENCE),
        ("we've switched from Jenkins to GitHub Actions", Kind.DECISION),
        ("Truncated storage is simpler and better.", Kind.DECISION),
        ("You're wrong, the queue is FIFO.", Kind.CORRECTION),
        ("That is not right. The limit is 500 requests per minute.", Kind.CORRECTION),
        ("The cron for invoices fires at 4am every weekday.", Kind.FACT),
        ("Priya is the contact for billing questions.", Kind.FACT),
        ("My name is Karl.", Kind.FACT),
        ("(we use libgit for bare repositories)", Kind.FACT),
        ("We should add the request id to every log line.", Kind.DECISION),
        ("My thinking here is we drop the duplicate index", Kind.DECISION),
        ("Now we have an agreement that forks share one id", Kind.DECISION),
        ("the issue was /etc/relay.toml had the old host", Kind.FACT),
        ("the delay is fixed by setting RELAY_NO_DNS", Kind.FACT),
        ("From what we've observed the importer skips empty folders", Kind.FACT),
        ("I would like to use one client id for staging and production", Kind.PREFERENCE),
        ("We are billed per seat.", Kind.FACT),
        ("Heads up: the VPN gateway changed to vpn2.corp.example", Kind.FACT),
    ],
)
def test_what_holds_for_good_is_sure_enough(text: str, kind: Kind) -> None:
    signal = surest(text)

    assert signal is not None
    assert signal.kind is kind
    assert signal.confidence >= FAIR


@pytest.mark.parametrize(
    "text",
    [
        "don't forget to push the branch",
        "I want you to run the tests before we continue",
        "nobody can explain why the test fails",
        "we've moved to the next task",
        "my branch is 3 commits behind",
        "we are using the wrong branch",
        "the server runs on my laptop right now",
        "please don't add the file to the commit",
        "for this PR, use the squash button",
        "You don't always have to run the linter before pushing.",
        "the e2e tests are failing in CI because of port 2525",
        "Non-Go files are skipped, see the comment",
        "We should fix any of these comments",
        "the error was gone after a restart",
    ],
)
def test_what_holds_for_the_hour_is_not(text: str) -> None:
    signal = surest(text)

    assert signal is None or signal.confidence < FAIR
