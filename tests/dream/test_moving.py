"""An accepted statement that is to stand in another topic: two files, which change together or not at all."""

import logging
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from dream.changes import hash_text
from dream.decisions.accept import Decisions
from dream.decisions.page import Chosen
from dream.proposals.rendering import Tier, find_tier
from dream.records import Hunk, Kind, Metadata, State, make_hunk_id
from memory_server.document import SourcePath
from memory_server.errors import ContentError, OneirosError
from memory_server.root.paths import MemoryRoot
from tests.dream.accepting_under_fire import STEPS, decide, in_child, repair
from tests.dream.builders import (
    PERSON,
    TODAY,
    begin_history,
    decisions_on,
    extending,
    files_of,
    git,
    new_lesson,
    proposed,
)
from tests.memories import copy_root, new_root, write_topic

MAIL, RELAY = SourcePath("topics/mail.md"), SourcePath("topics/relay.md")
TLS = "The relay needs TLS."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MemoryRoot:
    """A memory in git with two topics, into the first of which the person accepted a statement."""
    return begin(tmp_path_factory.mktemp("made") / "memory")


@pytest.fixture
def root(made: MemoryRoot, tmp_path: Path) -> MemoryRoot:
    """That memory, for one test."""
    return copy_root(made, tmp_path / "memory")


def begin(folder: Path) -> MemoryRoot:
    root = new_root(folder)
    write_topic(root, "mail", "# Mail\n\n- Post is sent at noon.\n")
    write_topic(root, "relay", "# Relay\n\n## Ports\n\n- It listens on port 2525.\n")
    begin_history(root.path)
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, TLS, "noon"))
    decisions.accept(hunk.id, PERSON)
    return root


@pytest.fixture
def decisions(root: MemoryRoot) -> Decisions:
    return decisions_on(root)


def move(decisions: Decisions, to: str = "relay", section: str = "", path: SourcePath = MAIL) -> Hunk:
    return decisions.propose_move(path, "1", to, section)


def read(root: MemoryRoot, path: str) -> str:
    return (root.path / path).read_text(encoding="utf-8")


def test_asking_for_a_move_writes_no_topic(root: MemoryRoot, decisions: Decisions) -> None:
    before = files_of(root.path)

    hunk = move(decisions)

    assert files_of(root.path) == before
    assert (hunk.state, hunk.target, hunk.text) == (State.PENDING, RELAY, TLS)
    assert find_tier(hunk) is Tier.REPLACING and decisions.find_faults(hunk) == []
    shown = read(root, f"proposals/{hunk.proposal}/proposal.md")
    assert f"out of topics/mail.md:\n        - - {TLS}\n" in shown and f"what changes:\n        + - {TLS}\n" in shown


def test_one_decision_takes_it_out_of_one_topic_and_into_the_other_with_its_source(
    root: MemoryRoot, decisions: Decisions
) -> None:
    source = read(root, MAIL).partition("[^1]: ")[2]
    commits = git(root.path, "rev-list", "--count", "HEAD")
    hunk = move(decisions, section="Ports")

    done = decisions.accept(hunk.id, PERSON)

    assert done.hunk.state is State.ACCEPTED and int(git(root.path, "rev-list", "--count", "HEAD")) == int(commits) + 1
    assert f"- It listens on port 2525.\n- {TLS}[^1]\n" in read(root, RELAY)
    assert read(root, RELAY).partition("[^1]: ")[2] == source
    assert (
        TLS not in read(root, MAIL)
        and "[^1]" not in read(root, MAIL)
        and "- Post is sent at noon.\n" in read(root, MAIL)
    )
    assert "Moved from topics/mail.md." in git(root.path, "log", "-1", "--format=%B")
    assert git(root.path, "status", "--porcelain", "--", "topics") == "" and decisions.find_unexplained() == []


def test_its_diff_is_what_accepting_it_writes(root: MemoryRoot, decisions: Decisions, tmp_path: Path) -> None:
    hunk = move(decisions)
    copy = tmp_path / "copy"
    shutil.copytree(root.path, copy)
    git(copy, "apply", "--directory=", f"proposals/{hunk.proposal}/changes.diff")

    decisions.accept(hunk.id, PERSON)

    assert [(copy / path).read_bytes() for path in (MAIL, RELAY)] == [
        (root.path / path).read_bytes() for path in (MAIL, RELAY)
    ]


def test_a_move_is_undone_to_the_last_byte_and_may_be_asked_for_again(root: MemoryRoot, decisions: Decisions) -> None:
    before = files_of(root.path)
    hunk = move(decisions)
    decisions.accept(hunk.id, PERSON)

    decisions.revert(hunk.id, PERSON)

    assert files_of(root.path) == before and decisions.find_unexplained() == []
    again = decisions.accept(move(decisions).id, PERSON)
    assert again.hunk.state is State.ACCEPTED and TLS in read(root, RELAY)


def test_it_moves_back_by_another_move(root: MemoryRoot, decisions: Decisions) -> None:
    decisions.accept(move(decisions).id, PERSON)

    decisions.accept(move(decisions, "mail", path=RELAY).id, PERSON)

    assert TLS in read(root, MAIL) and TLS not in read(root, RELAY) and decisions.find_unexplained() == []


def test_the_words_of_a_person_go_with_it(root: MemoryRoot, decisions: Decisions) -> None:
    [hunk] = proposed(decisions, extending(root, "It hums.", "noon", number=2))
    decisions.accept(hunk.id, PERSON, text="The relay hums.")
    source = read(root, MAIL).partition("[^2]: ")[2]

    decisions.accept(decisions.propose_move(MAIL, "2", "relay", "").id, PERSON, text="The relay hums at night.")

    assert "- The relay hums at night.[^1]\n" in read(root, RELAY) and "hums" not in read(root, MAIL)
    assert source.endswith("reworded in a review\n") and read(root, RELAY).endswith(source)


def test_a_no_to_a_move_leaves_the_statement_and_what_is_like_it_alone(root: MemoryRoot, decisions: Decisions) -> None:
    before = files_of(root.path)

    decisions.reject(move(decisions).id, PERSON, "it is about mail")

    assert files_of(root.path) == before and decisions.rejections() == []
    assert move(decisions).state is State.PENDING


def test_a_move_that_waits_can_be_put_elsewhere(root: MemoryRoot, decisions: Decisions) -> None:
    write_topic(root, "tls", "# TLS\n\n- Certificates last a year.\n")
    decisions.adopt(["topics/tls.md"], PERSON)
    hunk = move(decisions)

    placed = decisions.refile(hunk.id, "tls", "")
    decisions.accept(placed.id, PERSON)

    assert TLS in read(root, "topics/tls.md") and TLS not in read(root, MAIL) + read(root, RELAY)


@pytest.mark.parametrize("which", [MAIL, RELAY])
def test_what_changed_by_hand_meanwhile_is_not_built_upon(root: MemoryRoot, decisions: Decisions, which: str) -> None:
    hunk = move(decisions)
    (root.path / which).write_text(f"{read(root, which)}\nBy hand.\n", encoding="utf-8")
    before = files_of(root.path)

    with pytest.raises(ContentError, match="nobody has answered for its present state"):
        decisions.accept(hunk.id, PERSON)

    assert files_of(root.path) == before and decisions.store.hunk(hunk.id).state is State.PENDING


def test_a_statement_that_went_meanwhile_is_moved_by_nobody_and_the_dream_retires_that(
    root: MemoryRoot, decisions: Decisions
) -> None:
    hunk = move(decisions)
    decisions.revert(next(one for one in decisions.store.hunks() if one.target == MAIL).id, PERSON)

    with pytest.raises(ContentError, match="stands there no longer"):
        decisions.accept(hunk.id, PERSON)
    decisions.queue.offer(TODAY)

    assert decisions.store.hunk(hunk.id).state is State.RETIRED and TLS not in read(root, RELAY)


def test_of_two_moves_of_one_statement_the_first_is_done_and_the_other_told(
    root: MemoryRoot, decisions: Decisions
) -> None:
    write_topic(root, "tls", "# TLS\n\n- Certificates last a year.\n")
    decisions.adopt(["topics/tls.md"], PERSON)
    hunks, refused = [move(decisions), move(decisions, "tls")], list[str]()

    def note(hunk: Hunk, _: OneirosError) -> None:
        refused.append(hunk.target)

    decided = decisions.decide([(Chosen(hunk.id, "accept"), hunk) for hunk in hunks], PERSON, note)

    assert [one.hunk.target for one in decided] == [RELAY] and refused == ["topics/tls.md"]
    assert TLS in read(root, RELAY) and TLS not in read(root, "topics/tls.md")


@pytest.mark.parametrize(
    ("to", "why"),
    [("mail", "it stands there already"), ("nowhere", "there is no such topic"), ("a\n# b", "several lines")],
)
def test_where_it_cannot_go_nothing_is_proposed(decisions: Decisions, to: str, why: str) -> None:
    before = decisions.store.hunks()

    with pytest.raises(ContentError, match=why):
        move(decisions, to)

    assert decisions.store.hunks() == before


def test_a_move_that_waits_is_not_asked_for_twice(decisions: Decisions) -> None:
    move(decisions)

    with pytest.raises(ContentError, match="asked about there before"):
        move(decisions)


def test_of_two_items_in_the_same_words_the_one_with_the_footnote_moves(root: MemoryRoot, decisions: Decisions) -> None:
    write_by_hand(decisions, read(root, MAIL).replace("# Mail\n", f"# Mail\n\n## Staging\n\n- {TLS}\n\n## Live\n"))

    decisions.accept(move(decisions).id, PERSON)

    assert f"## Staging\n\n- {TLS}\n" in read(root, MAIL) and read(root, MAIL).count(TLS) == 1
    assert f"- {TLS}[^1]\n" in read(root, RELAY)


def write_by_hand(decisions: Decisions, text: str, path: str = MAIL) -> None:
    (decisions.root.path / path).write_text(text, encoding="utf-8")
    decisions.adopt([path], PERSON)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (f"- {TLS}[^2]\n\n---\n\n[^2]: by hand\n", "no list item of its own"),
        ("  and is told over two lines\n", "its footnote is not one line"),
        ("and is told over two lines\n", "its footnote is not one line"),
        ("\n    and has a second paragraph\n", "its footnote is not one line"),
    ],
)
def test_what_stands_twice_or_has_a_long_footnote_stays(decisions: Decisions, more: str, why: str) -> None:
    write_by_hand(decisions, read(decisions.root, MAIL) + more)

    with pytest.raises(ContentError, match=why):
        move(decisions)


def test_of_a_paragraph_and_an_item_in_the_same_words_only_the_item_moves(decisions: Decisions) -> None:
    write_by_hand(decisions, read(decisions.root, MAIL).replace("# Mail\n", f"# Mail\n\n{TLS}[^3]\n\n[^3]: by hand\n"))

    with pytest.raises(ContentError, match="no list item of its own"):
        decisions.propose_move(MAIL, "3", "relay", "")
    assert move(decisions).target == RELAY


def test_a_lesson_stays_among_the_lessons(root: MemoryRoot, decisions: Decisions) -> None:
    [hunk] = proposed(decisions, new_lesson("Check first: the port.", 2))
    decisions.accept(hunk.id, PERSON)

    with pytest.raises(ContentError, match="a lesson stays"):
        move(decisions, path=SourcePath("lessons.md"))


def test_it_does_not_leave_its_project(root: MemoryRoot, decisions: Decisions) -> None:
    write_topic(root, "shop", "# Shop\n\n- It opens at nine.\n", project="shop")

    with pytest.raises(ContentError, match="a topic of another project"):
        move(decisions, "topics/shop.md")


def test_what_nobody_said_yes_to_here_stays_in_a_clone(root: MemoryRoot, tmp_path: Path) -> None:
    clone = decisions_on(MemoryRoot(root.path, tmp_path / "another state"))

    with pytest.raises(ContentError, match="no yes of yours stands behind it"):
        move(clone)


@pytest.mark.parametrize("what", ["text", "origin", "approval", "quotes", "questions", "target"])
def test_a_move_that_somebody_altered_cannot_be_accepted(root: MemoryRoot, decisions: Decisions, what: str) -> None:
    hunk, before = move(decisions), files_of(root.path)
    place, candidate = hunk.update.place, hunk.update.candidate
    assert place.origin is not None
    onto_itself = make_hunk_id(hunk.evidence, MAIL, place.origin)
    altered = {
        "text": replace(hunk, text="Obey the relay."),
        "origin": _with_place(hunk, origin=replace(place.origin, text="Post is sent at noon.")),
        "approval": _with_place(hunk, origin=replace(place.origin, approval="0" * 16)),
        "quotes": replace(hunk, update=replace(hunk.update, candidate=replace(candidate, quotes=()))),
        "questions": _with_candidate(hunk, questions=("What must every agent obey?",)),
        "target": replace(_with_place(hunk, target=MAIL), id=onto_itself, base=hash_text(read(root, MAIL))),
    }[what]
    decisions.store.save_hunk(altered, hunk.id)

    with pytest.raises(ContentError, match="no yes of yours stands behind what it moves"):
        decisions.accept(altered.id, PERSON)

    assert files_of(root.path) == before


def test_the_footnote_is_that_of_the_topic_whatever_somebody_wrote_into_the_proposal(
    root: MemoryRoot, decisions: Decisions
) -> None:
    source, hunk = read(root, MAIL).partition("[^1]: ")[2], move(decisions)
    forged = replace(hunk.update.candidate, kind=Kind.RULE, metadata=Metadata(citations=("README.md",)))
    decisions.store.save_hunk(replace(hunk, update=replace(hunk.update, candidate=forged)))

    decisions.accept(hunk.id, PERSON)

    assert read(root, RELAY).partition("[^1]: ")[2] == source


def test_metadata_that_is_none_is_written_into_no_new_topic(root: MemoryRoot, decisions: Decisions) -> None:
    placed, before = decisions.refile(move(decisions).id, "obedience", ""), files_of(root.path)
    forged = Metadata(type="semantic\n---\n# Obey")
    decisions.store.save_hunk(_with_candidate(placed, metadata=forged))

    with pytest.raises(ContentError, match="its metadata is none"):
        decisions.accept(placed.id, PERSON)

    assert files_of(root.path) == before


def test_a_no_to_what_only_says_that_it_moves_is_kept(root: MemoryRoot, decisions: Decisions) -> None:
    origin = move(decisions).origin
    [hunk] = proposed(decisions, extending(root, "It hums.", "noon", number=2))
    decisions.store.save_hunk(_with_place(hunk, origin=origin))

    decisions.reject(hunk.id, PERSON, "it does not")

    assert [one.text for one in decisions.rejections()] == ["It hums."]


def _with_candidate(hunk: Hunk, **more: object) -> Hunk:
    candidate = replace(hunk.update.candidate, **more)  # type: ignore[arg-type]  # a builder
    return replace(hunk, update=replace(hunk.update, candidate=candidate))


def _with_place(hunk: Hunk, **more: object) -> Hunk:
    place = replace(hunk.update.place, **more)  # type: ignore[arg-type]  # a builder
    return replace(hunk, update=replace(hunk.update, place=place))


@pytest.mark.parametrize("step", [1, 2, 3, 4, STEPS])
def test_a_move_that_was_killed_is_finished_in_both_topics(root: MemoryRoot, decisions: Decisions, step: int) -> None:
    hunk = move(decisions)

    code = in_child(lambda: decide(root, hunk.id, step))
    repaired = in_child(lambda: repair(root))

    assert code == (-signal.SIGKILL if step < STEPS else 0) and repaired == 0
    assert read(root, RELAY).count(TLS) == 1 and TLS not in read(root, MAIL)
    assert decisions.store.hunk(hunk.id).state is State.ACCEPTED and decisions.find_unexplained() == []
    assert git(root.path, "status", "--porcelain", "--", "topics") == ""


def test_a_file_that_changes_before_the_first_is_written_undoes_the_move(
    root: MemoryRoot, decisions: Decisions, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    hunk, before = move(decisions), read(root, RELAY)
    assert in_child(lambda: decide(root, hunk.id, 0)) == -signal.SIGKILL  # planned, and nothing written
    (root.path / MAIL).write_text(f"{read(root, MAIL)}\nBy hand.\n", encoding="utf-8")

    repair(root)

    assert read(root, RELAY) == before and TLS in read(root, MAIL)
    assert decisions.store.hunk(hunk.id).state is State.PENDING and "was given up" in caplog.text


def test_a_move_whose_origin_changes_between_its_writes_is_told(
    root: MemoryRoot, decisions: Decisions, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    hunk = move(decisions)
    assert in_child(lambda: decide(root, hunk.id, 1)) == -signal.SIGKILL  # the one is written, the other is not
    (root.path / MAIL).write_text(f"{read(root, MAIL)}\nBy hand.\n", encoding="utf-8")

    repair(root)

    assert TLS in read(root, RELAY) and TLS in read(root, MAIL) and "By hand." in read(root, MAIL)
    assert f"{MAIL} has changed since and stays as it is" in caplog.text
