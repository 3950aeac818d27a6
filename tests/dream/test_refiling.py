"""A hunk put by a person into another topic or section, before they decide about it."""

from pathlib import Path

import pytest

from dream.decisions.accept import Decisions
from dream.judge.filing import find_nearest_topic, list_names
from dream.records import Kind, Relation, State
from dream.topics import read_topics
from memory_server.errors import ContentError
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import PERSON, decisions_on, new_topic, proposed, replacing
from tests.memories import new_root

MAIL = "# Mail\n\n## Relay\n\n- The relay listens on port 2525.\n"
GIT = "# Git\n\n- Commits are short.\n"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    root = new_root(tmp_path / "memory")
    for name, text in (("shop/mail", f"---\nproject: shop\n---\n\n{MAIL}"), ("git", GIT)):
        file = root.topics / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def decisions(root: MemoryRoot) -> Decisions:
    return decisions_on(root)


def text_of(root: MemoryRoot, path: str) -> str:
    return (root.path / path).read_text(encoding="utf-8")


def test_it_is_accepted_in_the_section_that_the_person_named(decisions: Decisions, root: MemoryRoot) -> None:
    [hunk] = proposed(decisions, new_topic("It needs TLS.", "shop/shop", project="shop"))

    placed = decisions.refile(hunk.id, "mail", "Relay")
    decisions.accept(placed.id, PERSON)

    assert (placed.target, placed.state, placed.proposal) == ("topics/shop/mail.md", State.PENDING, hunk.proposal)
    assert "- The relay listens on port 2525.\n- It needs TLS.[^1]\n" in text_of(root, "topics/shop/mail.md")
    assert [one.id for one in decisions.store.hunks()] == [placed.id] and decisions.find_faults(placed) == []
    page = (root.path / "proposals" / hunk.proposal / "proposal.md").read_text(encoding="utf-8")
    assert placed.id in page and hunk.id not in page


def test_a_new_topic_is_founded_in_the_folder_of_the_project(decisions: Decisions, root: MemoryRoot) -> None:
    [hunk] = proposed(decisions, new_topic("It needs TLS.", "shop/shop", project="shop"))

    placed = decisions.refile(hunk.id, "Front end", "")

    assert (placed.target, placed.update.place.title) == ("topics/shop/front-end.md", "Front end")
    assert placed.update.relation is Relation.NEW


def test_what_would_replace_a_line_replaces_nothing_elsewhere(decisions: Decisions, root: MemoryRoot) -> None:
    [hunk] = proposed(decisions, replacing(root, "The relay listens on 2526.", "2525", "shop/mail", project="shop"))

    placed = decisions.refile(hunk.id, "ports", "")
    decisions.accept(placed.id, PERSON)

    assert "2525" in text_of(root, "topics/shop/mail.md") and "2526" in text_of(root, "topics/shop/ports.md")


def test_the_persons_own_topic_is_named_by_its_path(decisions: Decisions) -> None:
    [hunk] = proposed(decisions, new_topic("Commits are signed.", "shop/shop", project="shop"))

    own = decisions.refile(hunk.id, "topics/git", "")

    assert (own.target, own.update.candidate.project) == ("topics/git.md", "")


@pytest.mark.parametrize("name", ["shop/mail", "topics/shop/mail.md"])
def test_no_topic_of_another_project_is_reached(decisions: Decisions, name: str) -> None:
    [hunk] = proposed(decisions, new_topic("Mails are short.", "web/web", project="web"))

    assert decisions.refile(hunk.id, name, "").target == "topics/web/shop-mail.md"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "topics/../../x"])
def test_no_name_leads_out_of_the_topics(decisions: Decisions, name: str) -> None:
    [hunk] = proposed(decisions, new_topic("It needs TLS.", "shop/shop", project="shop"))

    assert decisions.refile(hunk.id, name, "").target.startswith("topics/")


@pytest.mark.parametrize("name", ["a\n## b", "na\u202eme", "x" * 81])
@pytest.mark.parametrize("is_section", [False, True])
def test_a_name_that_is_none_is_refused_and_nothing_moves(decisions: Decisions, name: str, is_section: bool) -> None:
    [hunk] = proposed(decisions, new_topic("It needs TLS.", "shop/shop", project="shop"))

    with pytest.raises(ContentError):
        decisions.refile(hunk.id, "mail" if is_section else name, name if is_section else "")

    assert decisions.store.hunk(hunk.id) == hunk


def test_what_was_asked_about_there_before_is_not_asked_again(decisions: Decisions) -> None:
    [first] = proposed(decisions, new_topic("It needs TLS.", "shop/mail", project="shop"))
    decisions.reject(first.id, PERSON, "no")
    hunk = decisions.queue.make_hunk(new_topic("It needs TLS.", "shop/shop", project="shop"), decisions.now().date())

    with pytest.raises(ContentError, match="asked about there before"):
        decisions.make_refiled(hunk, "mail", "")


def test_a_lesson_stays_among_the_lessons(decisions: Decisions) -> None:
    [hunk] = proposed(decisions, new_topic("Check first: the port.", "shop/shop", kind=Kind.LESSON))

    with pytest.raises(ContentError, match=r"lessons\.md"):
        decisions.refile(hunk.id, "mail", "")


def test_the_topics_of_the_project_are_offered_with_their_sections_and_the_persons_own(root: MemoryRoot) -> None:
    topics = read_topics(root)

    assert list_names("shop", topics) == {"mail": ["Relay"], "topics/git.md": []}
    assert list_names("", topics) == {"git": []} and list_names("web", topics) == {"topics/git.md": []}


def test_the_nearest_topic_shares_words_and_is_of_the_same_project(root: MemoryRoot) -> None:
    topics = read_topics(root)
    nearest = find_nearest_topic("The relay needs TLS.", "shop", topics)

    assert nearest is not None and nearest.path == "topics/shop/mail.md"
    assert find_nearest_topic("The relay needs TLS.", "web", topics) is None
    assert find_nearest_topic("Commits mention the issue.", "shop", topics) is None
