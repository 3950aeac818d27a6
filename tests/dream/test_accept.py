"""Accept, reject, revert, adopt: the files, the commits, and what is refused."""

import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dream.decisions.page import Chosen
from dream.records import State
from dream.topics import read_topics
from memory_server.errors import ContentError, NeedsRepair
from memory_server.layers.validate import validate_root
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import (
    PERSON,
    begin_history,
    decisions_on,
    extending,
    files_of,
    git,
    new_topic,
    proposed,
    replacing,
)
from tests.memories import new_root, search_exact, write_topic

MAIL = "# Mail\n\n- The relay listens on port 2525.\n- It runs on the old server.\n"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A memory in a repository of its own, with one topic that a person committed."""
    made = new_root(tmp_path / "memory")
    write_topic(made, "mail", MAIL, id="mail", type="semantic", created="2026-01-01", modified="2026-01-01")
    begin_history(made.path)
    return made


def test_an_accepted_correction_takes_the_place_of_the_old_line(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))

    decided = decisions.accept(hunk.id, PERSON)

    text = (root.topics / "mail.md").read_text(encoding="utf-8")
    assert "- The relay listens on port 2526.[^1]" in text and "2525" not in text
    assert text.endswith("\n\n---\n[^1]: you, 2026-03-01, session 11111111\n")
    assert decided.hunk.state is State.ACCEPTED
    assert git(root.path, "status", "--porcelain", "--", "topics", "MEMORY.md") == ""
    assert git(root.path, "rev-parse", "HEAD").strip() == decided.commit


def test_what_was_accepted_is_found_at_once(memory: Memory) -> None:
    write_topic(memory, "mail", MAIL)
    decisions = decisions_on(memory.root)
    [hunk] = proposed(decisions, replacing(memory.root, "The relay listens on port 2526.", "2525"))

    decisions.accept(hunk.id, PERSON)
    memory.upkeep.refresh()

    assert [hit.path for hit in search_exact(memory, "2526").hits] == ["topics/mail.md"]


def test_a_new_topic_gets_frontmatter_and_a_pointer(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))

    decisions.accept(hunk.id, PERSON)

    text = (root.topics / "backups.md").read_text(encoding="utf-8")
    assert text == "# Backups\n- Backups run at 03:00.[^1]\n\n---\n[^1]: you, 2026-03-01, session 11111111\n"
    assert "(topics/backups.md)" in root.index_page.read_text(encoding="utf-8")
    changed = git(root.path, "show", "--name-only", "--format=", "HEAD").split()
    assert changed == ["MEMORY.md", "topics/backups.md"]


def test_a_commit_takes_nothing_else_along(root: MemoryRoot) -> None:
    (root.path / "staged.txt").write_text("half done\n", encoding="utf-8")
    git(root.path, "add", "staged.txt")
    (root.path / "loose.txt").write_text("later\n", encoding="utf-8")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))

    decisions.accept(hunk.id, PERSON)

    assert git(root.path, "show", "--name-only", "--format=", "HEAD").split() == ["MEMORY.md", "topics/mail.md"]
    status = git(root.path, "status", "--porcelain").splitlines()
    assert "A  staged.txt" in status and "?? loose.txt" in status


@pytest.mark.parametrize("state", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge"])
def test_nothing_is_accepted_in_the_middle_of_a_merge(root: MemoryRoot, state: str) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    before = files_of(root.path)
    (root.path / ".git" / state).mkdir()

    with pytest.raises(NeedsRepair):
        decisions.accept(hunk.id, PERSON)

    assert files_of(root.path) == before and decisions.store.hunk(hunk.id).state is State.PENDING


def refused_by_git(root: MemoryRoot, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own way to try another account's repository


def without_git(root: MemoryRoot, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("PATH", "/nonexistent")


def locked_by_a_crash(root: MemoryRoot, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("dream.decisions.repository.LOCK_SECONDS", 0.1)
    (root.path / ".git" / "index.lock").touch()


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (refused_by_git, "dubious ownership"),
        (without_git, "git cannot be run"),
        (locked_by_a_crash, "If none is, remove that file"),
    ],
)
def test_nothing_is_changed_where_git_could_not_commit_it(
    root: MemoryRoot,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[MemoryRoot, pytest.MonkeyPatch], None],
    words: str,
) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    before = files_of(root.path)
    with monkeypatch.context() as patch:
        happens(root, patch)

        with pytest.raises(NeedsRepair, match=words):
            decisions.accept(hunk.id, PERSON)

    (root.path / ".git" / "index.lock").unlink(missing_ok=True)
    assert files_of(root.path) == before and decisions.store.hunk(hunk.id).state is State.PENDING
    assert git(root.path, "status", "--porcelain", "--", "topics") == ""


def test_a_lock_of_git_that_goes_at_once_is_waited_for(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    lock = root.path / ".git" / "index.lock"
    lock.touch()
    threading.Timer(0.2, lock.unlink).start()

    assert decisions.accept(hunk.id, PERSON).commit


def test_what_git_refuses_midway_is_finished_before_anything_else_is_decided(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    wanted = extending(root, "It needs TLS.", "old server")
    not_wanted = extending(root, "It is blue.", "old server", number=2)
    accepted, rejected = proposed(decisions, wanted, not_wanted)
    branch = git(root.path, "symbolic-ref", "HEAD").strip()
    lock = root.path / ".git" / f"{branch}.lock"
    lock.touch()
    decided: list[str] = []

    decisions.decide(
        [(Chosen(accepted.id, "accept"), accepted), (Chosen(rejected.id, "reject"), rejected)],
        PERSON,
        lambda hunk, _: decided.append(hunk.id),
    )

    assert decided == [accepted.id, rejected.id] and decisions.store.hunk(rejected.id).state is State.PENDING
    lock.unlink()
    decisions.reject(rejected.id, PERSON, "")
    assert decisions.store.hunk(accepted.id).state is State.ACCEPTED
    assert decisions.store.hunk(rejected.id).state is State.REJECTED
    assert git(root.path, "status", "--porcelain", "--", "topics") == ""


def test_that_nothing_was_committed_is_said_with_its_reason(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    shutil.rmtree(root.path / ".git")

    decided = decisions.accept(hunk.id, PERSON)

    assert decisions.commit_in_words(decided.commit).endswith(f"no git repository is there: git init {root.path}")


def test_a_topic_with_a_broken_head_is_written_into_below_it(root: MemoryRoot) -> None:
    head = "---\ntitle: Mail: the relay\nmodified: 2026-01-01\n---\n"
    file = root.topics / "mail.md"
    file.write_text(head + file.read_text(encoding="utf-8").rpartition("---\n")[2], encoding="utf-8")
    git(root.path, "commit", "--quiet", "--all", "--message", "a broken head")
    decisions = decisions_on(root)
    [topic] = read_topics(root).files
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))

    decisions.accept(hunk.id, PERSON)

    assert (topic.title, len(topic.statements)) == ("Mail: the relay", 2)
    text = file.read_text(encoding="utf-8")
    assert text.startswith(head) and "2526" in text


def test_without_commits_where_the_setting_says_so(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_commit=False)
    head = git(root.path, "rev-parse", "HEAD")
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))

    decided = decisions.accept(hunk.id, PERSON)

    assert decided.commit == "" and git(root.path, "rev-parse", "HEAD") == head
    assert "It needs TLS." in (root.topics / "mail.md").read_text(encoding="utf-8")


def test_in_a_repository_without_a_commit_yet(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    git(root.path, "init", "--quiet")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))

    decided = decisions.accept(hunk.id, PERSON)

    assert git(root.path, "log", "--format=%H").split() == [decided.commit]


def test_inside_a_project_messages_hold_no_quotes(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    root = new_root(tmp_path / "memory")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))

    decisions.accept(hunk.id, PERSON)

    message = git(tmp_path, "log", "-1", "--format=%B")
    assert "03:00" not in message and hunk.quotes[0].entry in message
    assert "memory/topics/backups.md" in git(tmp_path, "show", "--name-only", "--format=", "HEAD")


def test_reverting_restores_every_byte(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    before = files_of(root.path)
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))
    decisions.accept(hunk.id, PERSON)

    decided = decisions.revert(hunk.id, PERSON)

    assert files_of(root.path) == before
    assert decided.hunk.state is State.REVERTED and decided.commit


def test_reverting_the_only_hunk_of_a_topic_removes_the_topic(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    before = files_of(root.path)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))
    decisions.accept(hunk.id, PERSON)

    decisions.revert(hunk.id, PERSON)

    assert files_of(root.path) == before


def test_reverting_leaves_what_was_accepted_later(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    first, second = proposed(
        decisions,
        replacing(root, "The relay listens on port 2526.", "2525", number=1),
        extending(root, "It needs TLS.", "old server", number=2),
    )
    decisions.accept(first.id, PERSON)
    decisions.accept(second.id, PERSON)

    decisions.revert(first.id, PERSON)

    text = (root.topics / "mail.md").read_text(encoding="utf-8")
    assert "port 2525." in text and "2526" not in text and "It needs TLS.[^2]" in text
    assert text.count("[^") == 2


def test_a_topic_edited_and_committed_meanwhile_keeps_the_edit(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))
    file = root.topics / "mail.md"
    file.write_text(
        file.read_text(encoding="utf-8").replace("# Mail\n", "# Mail\n\nAsk Ada first.\n"), encoding="utf-8"
    )
    git(root.path, "commit", "--quiet", "-am", "Name who to ask")

    decisions.accept(hunk.id, PERSON)

    text = file.read_text(encoding="utf-8")
    assert "Ask Ada first." in text and "2526" in text and "2525" not in text


def test_a_hunk_whose_old_text_has_gone_is_refused(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))
    file = root.topics / "mail.md"
    file.write_text(file.read_text(encoding="utf-8").replace("2525", "2600"), encoding="utf-8")
    git(root.path, "commit", "--quiet", "-am", "Move the relay")

    with pytest.raises(ContentError, match="fits no longer"):
        decisions.accept(hunk.id, PERSON)

    assert "2600" in file.read_text(encoding="utf-8")


def test_a_file_that_nobody_answered_for_is_not_built_upon(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    file = root.topics / "mail.md"
    decisions.find_unexplained()
    file.write_text(file.read_text(encoding="utf-8") + "- Nobody said this.\n", encoding="utf-8")

    with pytest.raises(ContentError, match="nobody has answered"):
        decisions.accept(hunk.id, PERSON)

    decisions.adopt(["topics/mail.md"], PERSON)
    assert decisions.accept(hunk.id, PERSON).commit


@pytest.mark.parametrize("link", ["mail.md", "."])
def test_a_link_in_the_place_of_a_target_is_refused(root: MemoryRoot, tmp_path: Path, link: str) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    outside = tmp_path / "outside"
    (root.topics / link).resolve().rename(outside)
    (root.topics / link if link != "." else root.topics).symlink_to(outside)

    with pytest.raises(ContentError, match="symlink"):
        decisions.accept(hunk.id, PERSON)


def test_a_reworded_hunk_keeps_what_was_proposed(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))

    decisions.accept(hunk.id, PERSON, text="It needs TLS 1.3.")

    assert "It needs TLS 1.3.[^1]" in (root.topics / "mail.md").read_text(encoding="utf-8")
    assert decisions.store.approvals()[-1].suggested == "It needs TLS."


def test_a_secret_is_not_written_by_rewording(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))

    with pytest.raises(ContentError, match="secret"):
        decisions.accept(hunk.id, PERSON, text="The key is AKIAIOSFODNN7EXAMPLF for the relay.")


def test_a_denied_word_is_written_by_no_decision(root: MemoryRoot) -> None:
    decisions = decisions_on(root, deny_words=("Project Heron",))
    hunks = proposed(decisions, extending(root, "It needs TLS.", "old server"))

    with pytest.raises(ContentError, match="secret"):
        decisions.accept(hunks[0].id, PERSON, text="It needs TLS for project heron.")
    decided = decisions.reject(hunks[0].id, PERSON, "Project Heron is over.")

    assert decided.hunk.reason == "[redacted:denied] is over."


def test_nothing_is_decided_twice(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "old server"))
    decisions.reject(hunk.id, PERSON, "wrong")

    with pytest.raises(ContentError, match="rejected already"):
        decisions.accept(hunk.id, PERSON)


def test_replaced_text_stays_in_the_history_where_the_setting_says_so(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_history="topic")
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))
    before = files_of(root.path)

    decisions.accept(hunk.id, PERSON)

    text = (root.topics / "mail.md").read_text(encoding="utf-8")
    assert "## History\n\n- Until 2026-03-01: The relay listens on port 2525.\n\n---\n[^1]: " in text
    decisions.revert(hunk.id, PERSON)
    assert files_of(root.path) == before


def test_an_accepted_memory_is_valid(memory: Memory) -> None:
    write_topic(memory, "mail", MAIL, id="mail", type="semantic", created="2026-01-01")
    decisions = decisions_on(memory.root, dream_history="topic")
    updates = [
        replacing(memory.root, "The relay listens on port 2526.", "2525", number=1),
        extending(memory.root, "It needs TLS.", "old server", number=2),
        new_topic("Backups run at 03:00.", "backups", number=3),
    ]
    for hunk in proposed(decisions, *updates):
        decisions.accept(hunk.id, PERSON)

    assert validate_root(memory.root, memory.settings) == []


def test_a_footnote_that_its_statement_leaves_goes_to_the_one_in_its_place(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    updates = [new_topic("Mail is red.", "post", 11)]
    for number, (text, after) in enumerate([("Mail is blue.", "red"), ("Mail is green.", "blue")], start=12):
        [hunk] = proposed(decisions, *updates)
        decisions.accept(hunk.id, PERSON)
        updates = [extending(root, text, after, "post", number)]
    [hunk] = proposed(decisions, *updates)
    decisions.accept(hunk.id, PERSON)
    before = (root.topics / "post.md").read_bytes()

    [hunk] = proposed(decisions, replacing(root, "Mail is black.", "blue", "post", 14))
    decisions.accept(hunk.id, PERSON)

    text = (root.topics / "post.md").read_text(encoding="utf-8")
    assert "- Mail is red.[^1]\n- Mail is black.[^2]\n- Mail is green.[^3]\n" in text
    assert re.findall(r"(?m)^\[\^(\d)\]:", text) == ["1", "2", "3"]
    decisions.revert(hunk.id, PERSON)
    assert (root.topics / "post.md").read_bytes() == before
