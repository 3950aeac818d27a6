"""The order of time: words from before what they go against are a question and no update."""

import datetime as dt
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.decisions.accept import Decisions
from dream.judge.compare import compare, find_outdated
from dream.proposals.rendering import hunk_json
from dream.records import Candidate, Kind, Relation, State, Update, Written
from dream.report.findings import Concern, old_decisions
from dream.topics import read_topics
from memory_server.root.paths import MemoryRoot
from oneiros.cli.review import sitting
from tests.dream.builders import NOW, PERSON, candidate, decisions_on, new_topic, proposed, quote
from tests.dream.house import topics
from tests.memories import new_root, write_topic

FOOTNOTED = """---
modified: 2026-06-01
---

# Mail

The relay listens on port 2525.[^a] The backup runs on 10.0.0.4.

[^a]: person in session 8f0e, entry 2019-01-01-x, 2026-02-10
"""


def stated(text: str, day: str, kind: Kind = Kind.FACT) -> Candidate:
    when = dt.datetime.fromisoformat(f"{day}T10:00:00+00:00")
    return Candidate(text, kind, (Quote("s", "e", Role.PERSON, when, 0, len(text), text),), 0.9, "test", "test")


@pytest.mark.parametrize(
    ("text", "day", "relation"),
    [
        ("The relay listens on port 2626.", "2026-02-09", Relation.EARLIER),
        ("The relay has moved to port 2626.", "2026-02-09", Relation.EARLIER),
        ("The relay listens on port 2626.", "2026-02-10", Relation.CONTRADICTS),  # which came first is not known
        ("The relay has moved to port 2626.", "2026-02-11", Relation.SUPERSEDES),
        ("The backup runs on 10.0.0.5.", "2026-03-01", Relation.EARLIER),  # no footnote: the topic's own day
        ("The backup runs on 10.0.0.5.", "2026-06-02", Relation.CONTRADICTS),
        ("The relay listens on port 2525.", "2026-01-01", Relation.KNOWN),
    ],
)
def test_words_from_before_a_line_do_not_go_against_it(text: str, day: str, relation: Relation) -> None:
    assert compare(stated(text, day), topics(mail=FOOTNOTED)).relation is relation


@pytest.mark.parametrize(
    ("day", "relation"), [(dt.date(2026, 2, 9), Relation.EARLIER), (dt.date(2026, 2, 11), Relation.CONTRADICTS)]
)
def test_a_file_last_written_before_a_line_does_not_go_against_it(day: dt.date, relation: Relation) -> None:
    text = "The relay listens on port 2626."
    written = Candidate(text, Kind.FACT, (), 0.9, "test", "test", given=(Written("~/app/CLAUDE.md", 3, text, day),))

    assert compare(written, topics(mail=FOOTNOTED)).relation is relation


def test_a_topic_without_a_date_has_that_of_its_last_commit(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "größe", "# Mail\n\nThe relay listens on port 2525.\n")
    day = "2026-02-10T12:00:00+00:00"
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        variables = {"GIT_COMMITTER_DATE": day, "GIT_AUTHOR_DATE": day, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", str(root.path), *who, *command], check=True, env=variables)

    [topic] = read_topics(root).files

    assert topic.date == dt.date(2026, 2, 10)
    assert (
        compare(stated("The relay listens on port 2626.", "2026-01-01"), read_topics(root)).relation.value == "earlier"
    )


def test_of_two_statements_of_one_subject_the_newer_counts() -> None:
    def update(text: str, day: str) -> Update:
        return compare(stated(text, day), topics(other="# Other\n\nInvoices are printed in Leipzig.\n"))

    updates = [
        update("The mail relay listens on port 2626.", "2026-03-01"),
        update("The mail relay listens on port 2525.", "2026-01-01"),
        update("Backups run on Sundays.", "2026-01-01"),
    ]

    found = find_outdated(updates)

    assert list(found) == [1]
    assert found[1].relation is Relation.EARLIER
    assert "2026-03-01" in found[1].why and "2626" in found[1].why


def test_a_denial_of_something_else_makes_no_question() -> None:
    nothing = topics(other="# Other\n\nInvoices are printed in Leipzig.\n")
    old = stated("The desktop app mounts an encrypted vault at `~/CipherBox` using FUSE-T on macOS.", "2026-01-01")
    new = "Restoring file versions is web-only for now and does not work from the desktop FUSE mount."

    assert find_outdated([compare(old, nothing), compare(stated(new, "2026-03-01"), nothing)]) == {}


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    return new_root(tmp_path / "memory")


def both(root: MemoryRoot) -> Decisions:
    """A queue of an old statement and of a new one that goes against it."""
    decisions = decisions_on(root)
    old, new = (
        new_topic("The relay listens on port 2525.", "mail", 1),
        new_topic("The relay is at port 2626.", "relay", 2),
    )
    day = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    said = candidate(
        "The mail relay listens on port 2525.", 1, quote("The mail relay listens on port 2525.", 1, time=day)
    )
    later = candidate("The mail relay listens on port 2626.", 2)
    proposed(decisions, replace(old, candidate=said), replace(new, candidate=later))
    return decisions


def test_the_older_of_two_waiting_hunks_is_asked_about_and_not_offered(root: MemoryRoot) -> None:
    decisions = both(root)
    hunks = {hunk.text: hunk for hunk in decisions.store.hunks()}

    assert decisions.queue.offer(NOW.date()).questions == 1
    old, new = hunks["The mail relay listens on port 2525."], hunks["The mail relay listens on port 2626."]
    assert (old.state, old.update.relation, hunk_json(old)["relation"]) == (State.FLAGGED, Relation.EARLIER, "earlier")
    assert new.state is State.PENDING
    [finding] = old_decisions([old, new])
    assert finding.part is Concern.DRIFT and "older words say otherwise" in finding.what


@pytest.mark.parametrize(("answer", "state"), [("a", State.ACCEPTED), ("r", State.REJECTED), ("l", State.FLAGGED)])
def test_a_review_asks_whether_older_words_hold(
    root: MemoryRoot, answer: str, state: State, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    decisions = both(root)
    flagged = [hunk for hunk in decisions.store.hunks() if hunk.state is State.FLAGGED]
    answers = {"Take": answer, "Why": "", "Decide": "y"}
    monkeypatch.setattr("builtins.input", lambda question: answers[question.split()[0]])

    sitting.TerminalReview(decisions, None, lambda: PERSON, {}).run(flagged)  # type: ignore[arg-type]  # no turn is opened

    assert "Older words say otherwise. Accept where they hold." in capsys.readouterr().out
    [hunk] = [one for one in decisions.store.hunks() if one.id == flagged[0].id]
    assert hunk.state is state
    assert hunk.reason == ("what came later stands" if state is State.REJECTED else hunk.reason)
