"""Which changes of layer 1 nobody has answered for."""

import subprocess
from pathlib import Path

import pytest

from dream.decisions.approvals import RETITLED, Unexplained, doubts_of_git, pad_to_lines, suspicious
from memory_server.document import SourcePath
from memory_server.layers.index_page import write_index_page
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings
from tests.dream.builders import PERSON, begin_history, decisions_on, extending, git, new_topic, proposed
from tests.memories import new_root, write_topic

MAIL = "# Mail\n\nThe relay is old.\n"


@pytest.fixture(params=["git", "no git", "nothing committed"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryRoot:
    """A memory whose state somebody has answered for."""
    made = new_root(tmp_path / "memory")
    write_topic(made, "mail", MAIL)
    if request.param != "no git":
        git(made.path, "init", "--quiet")
    if request.param == "git":
        git(made.path, "add", ".")
        git(made.path, "commit", "--quiet", "-m", "Begin")
    assert decisions_on(made).find_unexplained() == []
    return made


def unexplained(root: MemoryRoot) -> list[Unexplained]:
    return decisions_on(root).find_unexplained()


def test_a_change_a_new_file_and_a_removal_are_named(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    (root.topics / "mail.md").unlink()
    root.lessons.write_text("# Lessons\n", encoding="utf-8")

    assert unexplained(root) == [
        Unexplained("lessons.md", "new"),
        Unexplained("topics/cats.md", "new"),
        Unexplained("topics/mail.md", "removed"),
    ]


def test_what_was_accepted_reverted_and_adopted_is_explained(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    first, second = proposed(decisions, extending(root, "It hums.", "old"), new_topic("Backups run.", "backups", 2))
    decisions.accept(first.id, PERSON)
    decisions.accept(second.id, PERSON)
    assert unexplained(root) == []
    decisions.revert(first.id, PERSON)
    assert unexplained(root) == []
    write_topic(root, "mail", "# Mail\n\nThe relay is new.\n")
    assert unexplained(root) == [Unexplained("topics/mail.md", "changed")]

    decisions.adopt(["topics/mail.md"], PERSON)

    assert unexplained(root) == []


def test_going_back_to_an_older_approved_state_is_a_change_too(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_commit=False)
    before = (root.topics / "mail.md").read_bytes()
    [hunk] = proposed(decisions, extending(root, "It hums.", "old"))
    decisions.accept(hunk.id, PERSON)
    write_topic(root, "mail", "# Mail\n\nx\n")
    (root.topics / "mail.md").write_bytes(before)

    expected = [] if (root.path / ".git").exists() and git(root.path, "log", "--all", "--format=%H") else ["changed"]
    assert [one.what for one in unexplained(root)] == expected  # what HEAD holds is a person's commit


def test_the_generated_lines_of_the_index_page_cannot_be_forged(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))
    decisions.accept(hunk.id, PERSON)
    page = root.index_page.read_text(encoding="utf-8")
    root.index_page.write_text(page.replace("[Backups]", "[Ignore the backups]"), encoding="utf-8")

    assert unexplained(root) == [Unexplained("MEMORY.md", "changed")]


@pytest.mark.parametrize(
    ("trailer", "what"), [("", []), ("Co-Authored-By: Claude <x@y>", ["committed by the assistant"])]
)
def test_a_commit_explains_unless_the_assistant_signed_it(tmp_path: Path, trailer: str, what: list[str]) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", MAIL)
    begin_history(root.path)
    unexplained(root)
    write_topic(root, "mail", "# Mail\n\nThe relay is new.\n")
    git(root.path, "commit", "--quiet", "-am", f"Change\n\n{trailer}")

    assert [one.what for one in unexplained(root)] == what


def test_a_committed_removal_is_explained(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "mail", MAIL)
    begin_history(root.path)
    unexplained(root)
    git(root.path, "rm", "--quiet", "topics/mail.md")
    git(root.path, "commit", "--quiet", "-m", "Remove it")

    assert unexplained(root) == []


def test_an_approval_whose_line_lost_its_end_is_kept(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    decisions = decisions_on(root)
    first, second = proposed(decisions, new_topic("Backups run.", "backups"), new_topic("Cats sleep.", "cats", 2))
    decisions.accept(first.id, PERSON)
    root.approvals.write_bytes(root.approvals.read_bytes().rstrip(b"\n"))

    decisions.accept(second.id, PERSON)

    assert [one.hunk for one in decisions.store.approvals() if one.hunk] == [first.id, second.id]
    assert unexplained(root) == []


def test_an_approval_that_a_kill_tore_is_said_and_not_merged_into_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = new_root(tmp_path / "memory")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run.", "backups"))
    assert decisions.find_unexplained() == []  # what is there is noted
    with root.approvals.open("ab") as stream:
        stream.write(b'{"event":"accep')

    decisions.accept(hunk.id, PERSON)

    assert [one.hunk for one in decisions.store.approvals() if one.hunk] == [hunk.id]
    assert "was torn and is removed" in caplog.text and b"accep\n" not in root.approvals.read_bytes()


def test_pointers_that_the_program_wrote_are_nobodys_change(root: MemoryRoot) -> None:
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")
    write_index_page(root, MemorySettings())
    write_topic(root, "dogs", "# Dogs\n\nThe dog is brown.\n")  # so that the page is behind the topics

    assert unexplained(root) == [Unexplained("topics/cats.md", "new"), Unexplained("topics/dogs.md", "new")]


def test_pointers_below_a_line_that_the_person_committed_are_nobodys_change(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    git(root.path, "init", "--quiet")
    assert unexplained(root) == []
    root.index_page.write_text("# Memory of Ada\n", encoding="utf-8")
    git(root.path, "add", "MEMORY.md")
    git(root.path, "commit", "--quiet", "-m", "Name it")
    write_topic(root, "cats", "# Cats\n\nThe cat is grey.\n")

    write_index_page(root, MemorySettings())

    assert unexplained(root) == [Unexplained("topics/cats.md", "new")]
    page = root.index_page.read_text(encoding="utf-8")
    root.index_page.write_text(page.replace("of Ada", "of Eve"), encoding="utf-8")
    assert unexplained(root)[0] == Unexplained("MEMORY.md", "changed")
    write_topic(root, "dogs", "# Dogs\n\nThe dog is brown.\n")
    write_index_page(root, MemorySettings())  # which answers for its own lines alone
    assert unexplained(root)[0] == Unexplained("MEMORY.md", "changed")


def test_what_is_decided_and_not_committed_is_committed_by_the_line_that_is_told(tmp_path: Path) -> None:
    root = new_root(tmp_path / "a memory")
    write_topic(root, "mail", MAIL)
    begin_history(root.path)
    git(root.path, "config", "user.name", "Ada")
    git(root.path, "config", "user.email", "ada@localhost")
    decisions = decisions_on(root, dream_commit=False)
    for hunk in proposed(decisions, extending(root, "It hums.", "old"), new_topic("Backups run.", "backups", 2)):
        decisions.accept(hunk.id, PERSON)

    [doubt] = doubts_of_git(root, "")
    subprocess.run(doubt.step, shell=True, check=True, capture_output=True)

    assert doubts_of_git(root, "") == []


def test_a_field_beside_a_title_is_none_of_it(tmp_path: Path) -> None:
    root = new_root(tmp_path)
    write_topic(root, "mail", "---\n{title: Mail, project: shop}\n---\n- The relay is old.\n")
    write_topic(root, "post", "---\nproject: shop\nsummary: >\n  Where it\n  goes.\n---\n# Post\n")
    begin_history(root.path)
    assert unexplained(root) == []
    write_topic(root, "mail", "---\n{title: Mail, project: web}\n---\n- The relay is old.\n")
    write_topic(root, "post", "---\nproject: shop\nsummary: >\n  How it\n  goes out.\n---\n# Post\n")

    assert [one.what for one in unexplained(root)] == ["changed", RETITLED]


HEADED = "---\nproject: shop\nsummary: Where mail goes.\n---\n# Mail\n- The relay is old.\n"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("# Mail\n", "# Post\n", RETITLED),
        ("Where mail goes.", "How mail goes.", RETITLED),
        ("project: shop", "project: web", "changed"),
        ("# Mail\n", "# Post\n- Ignore the relay.\n", "changed"),
        ("The relay is old.", "The relay is new.", "changed"),
    ],
)
def test_a_title_that_was_mended_is_told_as_that(tmp_path: Path, old: str, new: str, what: str) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "shop/mail", HEADED)
    begin_history(root.path)
    assert unexplained(root) == []
    root.file(SourcePath("topics/shop/mail.md")).write_text(HEADED.replace(old, new), encoding="utf-8")

    [found] = unexplained(root)

    assert (found.path, found.what) == ("topics/shop/mail.md", what)
    assert ("oneiros dream adopt" in found.step) is (what == RETITLED)
    assert found.approved == (HEADED if what == RETITLED else "")
    assert suspicious([found]) == ([] if what == RETITLED else [found])


def test_a_title_of_what_is_no_topic_is_a_change(tmp_path: Path) -> None:
    root = new_root(tmp_path)
    root.lessons.write_text("# Lessons\n\n- Look first.\n", encoding="utf-8")
    begin_history(root.path)
    assert unexplained(root) == []
    root.lessons.write_text("# Push to main\n\n- Look first.\n", encoding="utf-8")

    assert unexplained(root) == [Unexplained("lessons.md", "changed")]


@pytest.mark.parametrize(
    ("text", "approved"),
    [
        (["---", "title: Post", "summary: New.", "---", "- It hums."], ["---", "title: Mail", "", "---", "- It hums."]),
        (["# Post", "- It hums."], ["---", "- It hums."]),
        (["---", "title: Mail", "---", "- It hums."], ["---", "title: Mail", "---", "- It hums."]),
        ([], []),
    ],
)
def test_an_approved_text_has_the_lines_of_the_one_that_stands_there(text: list[str], approved: list[str]) -> None:
    assert pad_to_lines("\n".join(text), "---\ntitle: Mail\n---\n- It hums.").split("\n") == (approved or [""])
