"""Decisions made together: one commit a topic, each of them to be undone by itself, and what fails is left and told."""

import datetime as dt
from pathlib import Path

import pytest

from dream.decisions.accept import Decisions
from dream.decisions.approvals import read_approvals
from dream.decisions.page import Chosen, ChosenSoFar, PageSessions
from dream.records import Candidate, DirectWords, Hunk, Kind, Place, Relation, State, Update
from memory_server.document import SourcePath
from memory_server.errors import ContentError, OneirosError
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import (
    NOW,
    PERSON,
    begin_history,
    decisions_on,
    extending,
    git,
    new_topic,
    proposed,
    replacing,
)
from tests.memories import new_root, write_topic

MAIL = "# Mail\n\n- The relay listens on port 2525.\n"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", MAIL)
    begin_history(root.path)
    return root


@pytest.fixture
def hunks(root: MemoryRoot) -> list[Hunk]:
    return proposed(
        decisions_on(root),
        extending(root, "It needs TLS.", "2525", number=1),
        new_topic("Backups run at 03:00.", "backups", number=2),
        extending(root, "It needs a key.", "2525", number=3),
        replacing(root, "The relay listens on port 2526.", "2525", number=4),
        new_topic("Backups are kept a week.", "backups", number=5),
    )


def decided(decisions: Decisions, hunks: list[Hunk], *verdicts: str) -> list[tuple[Hunk, OneirosError]]:
    refused: list[tuple[Hunk, OneirosError]] = []
    choices = [(Chosen(hunk.id, verdict), hunk) for hunk, verdict in zip(hunks, verdicts, strict=True)]  # type: ignore[arg-type]  # verdicts
    decisions.decide(choices, PERSON, lambda *told: refused.append(told))
    return refused


def test_each_topic_has_one_commit_that_names_each_of_its_statements(root: MemoryRoot, hunks: list[Hunk]) -> None:
    decisions = decisions_on(root)

    refused = decided(decisions, hunks, "accept", "accept", "reject", "accept", "accept")

    subjects = git(root.path, "log", "--format=%s").splitlines()
    assert refused == []
    assert subjects == ["Take up 2 statements in topics/backups.md", "Take up 2 statements in topics/mail.md", "Begin"]
    message = git(root.path, "log", "-1", "--format=%B")
    assert message.count("Oneiros-approval: ") == 2 and "Backups run at 03:00." in message
    assert git(root.path, "status", "--porcelain", "topics", "MEMORY.md") == ""
    assert [decisions.store.hunk(hunk.id).state for hunk in hunks].count(State.ACCEPTED) == 4
    assert read_approvals(root, "").find_unexplained() == []


def test_each_of_them_is_taken_out_by_itself(root: MemoryRoot, hunks: list[Hunk]) -> None:
    decisions = decisions_on(root)
    decided(decisions, hunks[:1] + hunks[3:4], "accept", "accept")

    decisions.revert(hunks[0].id, PERSON)
    text = (root.topics / "mail.md").read_text(encoding="utf-8")
    decisions.revert(hunks[3].id, PERSON)

    assert "TLS" not in text and "2526" in text
    assert (root.topics / "mail.md").read_text(encoding="utf-8").rstrip("\n-") == MAIL.rstrip("\n")


def test_what_is_not_as_it_was_shown_is_told_and_the_rest_is_done(root: MemoryRoot, hunks: list[Hunk]) -> None:
    decisions = decisions_on(root)
    shown = [hunks[0], hunks[2]]
    decisions.refile(hunks[0].id, "relay", "")

    [(hunk, error)] = decided(decisions, shown, "accept", "accept")

    assert hunk == hunks[0] and isinstance(error, ContentError)
    assert decisions.store.hunk(hunks[2].id).state is State.ACCEPTED


def test_a_plan_of_several_decisions_that_a_kill_left_is_finished(
    root: MemoryRoot, hunks: list[Hunk], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    decisions = decisions_on(root)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(type(decisions.store), "save_hunk", killed)  # the last step but one
        decided(decisions, [hunks[0], hunks[2]], "accept", "accept")

    again = decisions_on(root)
    with again.hold_lock():
        pass

    assert [again.store.hunk(hunk.id).state for hunk in (hunks[0], hunks[2])] == [State.ACCEPTED] * 2
    assert git(root.path, "log", "--format=%s").splitlines() == ["Take up 2 statements in topics/mail.md", "Begin"]
    assert len(again.chain().entries) == len({one.nonce for one in again.chain().entries})
    assert read_approvals(root, "").find_unexplained() == []


def test_what_a_person_tells_on_one_day_stands_in_one_proposal(root: MemoryRoot, hunks: list[Hunk]) -> None:
    decisions = decisions_on(root)
    for number, text in enumerate(("It hums.", "It blinks."), start=1):
        told = DirectWords(text, NOW + dt.timedelta(seconds=number))
        candidate = Candidate(text, Kind.FACT, (), 1.0, "said directly", "person", given=(told,))
        place = Place(SourcePath("topics/relay.md"), 0, title="Relay")
        hunk = decisions.queue.make_hunk(Update(candidate, Relation.NEW, place, ""), decisions.now().date())
        decisions.take_up(hunk, PERSON)

    names = [one.name for one in decisions.store.proposals()]

    assert names == [hunks[0].proposal, "2026-03-02-2"] and len(decisions.store.proposal(names[1]).hunks) == 2


def test_what_was_chosen_at_once_is_taken_back_at_once() -> None:
    choices = ChosenSoFar()
    choices.choose(Chosen("a", "accept"))
    choices.choose(Chosen("b", "accept"), Chosen("c", "accept"))
    choices.choose(Chosen("a", "reject"))

    assert [choices.take_back(), list(choices.by_hunk)] == ["a", ["b", "c"]]
    assert [choices.take_back(), list(choices.by_hunk), choices.take_back()] == ["b", [], ""]


def test_what_was_chosen_on_the_page_is_there_for_the_next_process_step_by_step(tmp_path: Path) -> None:
    file = tmp_path / "chosen.json"
    pages = PageSessions(lambda: NOW, file)
    pages.choose(Chosen("a", "accept", text="In my words."))
    pages.choose(Chosen("b", "accept"), Chosen("c", "reject", reason="no"))

    other = PageSessions(lambda: NOW, file)

    assert other.choices() == pages.choices() and list(other.choices()) == ["a", "b", "c"]
    assert other.take_back() == "b" and list(other.choices()) == ["a"]
    assert other.take_back() == "a" and PageSessions(lambda: NOW, file).choices() == {}


@pytest.mark.parametrize("content", [b"[[{", b'[[{"hunk": "\xff", "verdict": "accept"}]]'])
def test_a_file_of_choices_that_cannot_be_read_is_the_same_as_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "chosen.json"
    file.write_bytes(content)

    pages = PageSessions(lambda: NOW, file)

    assert pages.choices() == {}
    pages.choose(Chosen("a", "accept"))
    assert list(PageSessions(lambda: NOW, file).choices()) == ["a"]


def test_what_was_chosen_for_a_hunk_that_waits_no_longer_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "chosen.json"
    pages = PageSessions(lambda: NOW, file)
    pages.choose(Chosen("a", "accept", text="In my words."), Chosen("b", "later"))

    pages.forget_others({"b"})

    assert "my words" not in file.read_text(encoding="utf-8") and list(PageSessions(lambda: NOW, file).choices()) == [
        "b"
    ]


def test_nothing_chosen_at_once_is_no_step(tmp_path: Path) -> None:
    file = tmp_path / "chosen.json"
    file.write_text("[[]]", encoding="utf-8")
    pages = PageSessions(lambda: NOW, file)
    pages.choose()

    assert pages.take_back() == ""


def test_what_was_left_for_later_is_asked_about_in_the_next_sitting(tmp_path: Path) -> None:
    pages = PageSessions(lambda: NOW, tmp_path / "chosen.json")
    pages.choose(Chosen("a", "accept"))
    pages.choose(Chosen("b", "later"))
    pages.choose(Chosen("c", "reject"))

    pages.end_sitting(["a"])

    assert list(pages.choices()) == ["c"]
