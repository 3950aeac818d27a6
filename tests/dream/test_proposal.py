"""Proposals on disk: what is asked, how often, in which order, and what happens when topics change."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from dream.records import Relation, State
from memory_server.errors import ContentError
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import PERSON, TODAY, decisions_on, extending, git, new_topic, proposed, quote, replacing
from tests.memories import new_root, write_topic

MAIL = "# Mail\n\n- The relay listens on port 2525.\n- It runs on the old server.\n"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    made = new_root(tmp_path / "memory")
    write_topic(made, "mail", MAIL)
    return made


def test_a_proposal_says_what_on_which_words_and_how_to_read_on(root: MemoryRoot) -> None:
    [hunk] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))

    page = (root.path / "proposals" / "2026-03-02-1" / "proposal.md").read_text(encoding="utf-8")

    assert f"## {hunk.id} (pending)" in page and "topics/mail.md: fact, supersedes, sure" in page
    assert "      The relay listens on port 2526.\n        in these words: you, 2026-03-01 10:00\n" in page
    assert "oneiros drill 11111111 --entry 00000001" in page
    assert "- - The relay listens on port 2525." in page


def test_git_applies_the_diff_of_a_proposal(root: MemoryRoot) -> None:
    git(root.path, "init", "--quiet")
    updates = [
        replacing(root, "The relay listens on port 2526.", "2525", number=1),
        extending(root, "It needs TLS.", "old server", number=2),
        new_topic("Backups run at 03:00.", "backups", number=3),
    ]
    proposed(decisions_on(root), *updates)

    git(root.path, "apply", "proposals/2026-03-02-1/changes.diff")

    text = (root.topics / "mail.md").read_text(encoding="utf-8")
    assert "2526" in text and "2525" not in text and "- It needs TLS." in text
    assert "03:00" in (root.topics / "backups.md").read_text(encoding="utf-8")


def test_the_same_evidence_is_never_asked_twice(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    update = extending(root, "It needs TLS.", "old server")
    [hunk] = proposed(decisions, update)
    decisions.reject(hunk.id, PERSON, "wrong")

    assert decisions.queue.add([update], TODAY) == []
    assert decisions.store.hunk(hunk.id).state is State.REJECTED


def test_a_fork_of_a_session_does_not_ask_again(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    proposed(decisions, new_topic("Backups run at 03:00."))
    copied = quote("Backups run at 03:00.", session_id="33333333-3333-4333-8333-333333333333")

    assert decisions.queue.add([new_topic("Backups run at 03:00.", quotes=(copied,))], TODAY) == []


def test_the_same_statement_said_twice_is_one_hunk(root: MemoryRoot) -> None:
    updates = [
        extending(root, text, "old server", number=n) for n, text in enumerate(["It needs TLS.", "it needs TLS"])
    ]

    assert len(proposed(decisions_on(root), *updates)) == 1


def test_a_day_holds_so_many_hunks_the_best_first_and_the_rest_waits(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_hunks_a_day=2)
    updates = [extending(root, f"Fact {n} holds.", "old server", number=n, confidence=n / 10) for n in range(1, 6)]
    decisions.queue.add(updates, TODAY)

    first = decisions.queue.offer(TODAY)
    again = decisions.queue.offer(TODAY)
    next_day = decisions.queue.offer(TODAY + dt.timedelta(days=1))

    assert (first.offered, first.queued, again.offered, next_day.offered) == (2, 3, 0, 2)
    assert [hunk.text for hunk in decisions.store.proposal(first.proposal).hunks] == ["Fact 5 holds.", "Fact 4 holds."]
    assert [hunk.text for hunk in decisions.store.queue()] == ["Fact 1 holds."]


def test_what_is_wrong_in_a_topic_comes_before_what_is_missing(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_hunks_a_day=1)
    updates = [
        extending(root, "It needs TLS.", "old server", number=1, confidence=0.9),
        replacing(root, "The relay listens on port 2526.", "2525", number=2, confidence=0.7),
    ]
    decisions.queue.add(updates, TODAY)

    offer = decisions.queue.offer(TODAY)

    assert [hunk.update.relation for hunk in decisions.store.proposal(offer.proposal).hunks] == [Relation.SUPERSEDES]


def test_hunks_that_a_review_left_undecided_expire_and_do_not_come_back(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_hunks_a_day=2, dream_expiry_days=10)
    updates = [extending(root, f"Fact {n} holds.", "old server", number=n) for n in (1, 2, 3)]
    decisions.queue.add(updates, TODAY)
    offered = decisions.queue.offer(TODAY)
    decided, left = decisions.store.proposal(offered.proposal).hunks
    decisions.reject(decided.id, PERSON, "")

    offer = decisions.queue.offer(TODAY + dt.timedelta(days=11))

    assert (offer.expired, offer.offered) == (1, 1)  # what waited behind them was shown to nobody, and is offered
    assert decisions.store.hunk(left.id).state is State.EXPIRED
    assert decisions.queue.add(updates, TODAY) == []


def test_a_person_who_never_reviews_loses_nothing_and_is_not_buried(root: MemoryRoot) -> None:
    decisions = decisions_on(root, dream_hunks_a_day=2, dream_expiry_days=10)
    decisions.queue.add([extending(root, f"Fact {n} holds.", "old server", number=n) for n in range(1, 10)], TODAY)

    offers = [decisions.queue.offer(TODAY + dt.timedelta(days=day)) for day in range(60)]

    assert [offer.offered for offer in offers[:4]] == [2, 2, 2, 0] and sum(offer.expired for offer in offers) == 0
    assert [hunk.is_open for hunk in decisions.store.hunks()] == [True] * 9


def test_a_hunk_follows_its_line_when_the_topic_changes(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, extending(root, "It needs TLS.", "port 2525"))
    write_topic(root, "mail", "# Mail\n\nNew words.\n\nMore of them.\n\n" + MAIL.removeprefix("# Mail\n\n"))

    decisions.queue.offer(TODAY)

    moved = decisions.store.hunk(hunk.id)
    assert moved.state is State.PENDING and moved.update.place.after_line == 7


@pytest.mark.parametrize(
    "text",
    ["# Mail\n\n- The relay was sold.\n", "# Mail\n\n- The relay listens on port 2526.\n", None],
    ids=["the old text has gone", "it is said already", "the topic has gone"],
)
def test_a_hunk_that_fits_no_longer_is_retired(root: MemoryRoot, text: str | None) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, replacing(root, "The relay listens on port 2526.", "2525"))
    (root.topics / "mail.md").unlink()
    if text is not None:
        write_topic(root, "mail", text)

    offer = decisions.queue.offer(TODAY)

    assert offer.retired == 1 and decisions.store.hunk(hunk.id).state is State.RETIRED


@pytest.mark.parametrize(
    "name", ["../outside", "topics/../../outside", ".hidden", "a\nb", "a\u202eb", "MAIL", "x" * 200, "a/../b", ""]
)
def test_a_target_that_is_no_plain_name_is_not_proposed(root: MemoryRoot, name: str) -> None:
    assert proposed(decisions_on(root), new_topic("Backups run at 03:00.", name)) == []


def test_what_a_reviewer_reads_is_escaped(root: MemoryRoot) -> None:
    proposed(decisions_on(root), extending(root, "It \x1b[2Jneeds \u202eTLS.", "old server"))

    page = (root.path / "proposals" / "2026-03-02-1" / "proposal.md").read_text(encoding="utf-8")

    assert "\x1b" not in page and "\u202e" not in page and "\\u001b[2Jneeds \\u202eTLS." in page


def test_forgetting_a_session_takes_its_hunks_out_of_every_file(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    other = quote("Backups run at 03:00.", 5, session_id="33333333-3333-4333-8333-333333333333")
    first, second, third = proposed(
        decisions,
        extending(root, "It needs TLS.", "old server", number=1),
        extending(root, "It needs a key.", "old server", number=2),
        new_topic("Backups run at 03:00.", "backups", number=5, quotes=(other,)),
    )
    decisions.accept(first.id, PERSON)
    decisions.reject(second.id, PERSON, "no")

    decisions.forget([first.quotes[0].session_id])

    left = [path.read_text(encoding="utf-8") for path in (root.path / "proposals").rglob("*") if path.is_file()]
    assert not any(word in text for text in left for word in ("11111111-", "needs TLS", "needs a key"))
    assert [hunk.id for hunk in decisions.store.hunks()] == [third.id]


def test_what_was_taken_back_is_retired_where_nobody_has_decided(root: MemoryRoot) -> None:
    texts = ["Backups run at 03:00.", "Archives are kept.", "Logs are kept.", "The press runs.", "The till is open."]
    updates = [new_topic(text, f"topic{number}", number) for number, text in enumerate(texts, start=1)]
    decisions = decisions_on(root)
    accepted, rejected, pending = proposed(decisions, *updates[:3])
    decisions.accept(accepted.id, PERSON)
    decisions.reject(rejected.id, PERSON, "no")
    queued, other = decisions.queue.add(updates[3:], TODAY)

    decisions.queue.withdraw([quote(text, number) for number, text in enumerate(texts[:4], start=1)], TODAY)

    states = {name: decisions.store.hunk(name).state for name in (accepted.id, rejected.id, pending.id)}
    assert states == {accepted.id: State.ACCEPTED, rejected.id: State.REJECTED, pending.id: State.RETIRED}
    assert decisions.store.hunk(queued.id).state is State.RETIRED
    assert [hunk.id for hunk in decisions.store.queue()] == [other.id]
    page = (root.path / "proposals" / pending.proposal / "proposal.md").read_text(encoding="utf-8")
    assert f"{pending.id} (retired)" in page


def test_what_was_taken_back_is_not_asked_again(root: MemoryRoot) -> None:
    decisions, update = decisions_on(root), new_topic("Backups run at 03:00.", "backups")
    decisions.queue.add([update], TODAY)
    decisions.queue.withdraw(update.candidate.quotes, TODAY)

    assert decisions.queue.add([update], TODAY) == []
    assert decisions.queue.offer(TODAY).offered == 0


def test_words_beside_what_was_taken_back_stay_on_offer(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))

    decisions.queue.withdraw([quote("And logs are kept.", 1, first=40, end=58)], TODAY)

    assert decisions.store.hunk(hunk.id).state is State.PENDING


def test_what_goes_against_an_old_decision_is_flagged_and_not_offered(root: MemoryRoot) -> None:
    decisions = decisions_on(root)
    update = replace(replacing(root, "The relay listens on port 2526.", "2525"), relation=Relation.DRIFT)

    [hunk] = proposed(decisions, update)

    assert hunk.state is State.FLAGGED and decisions.store.proposals() == []
    assert decisions.accept(hunk.id, PERSON).hunk.state is State.ACCEPTED  # where the person says that it holds
    assert decisions.store.hunk(hunk.id).state is State.ACCEPTED


@pytest.mark.parametrize("odd", [b"[" * 100_000, b'[{"id":"\xff"}]'])
@pytest.mark.parametrize("name", ["queue.json", "2026-03-02-1/hunks.json", "rejected.jsonl"])
def test_a_file_of_proposals_that_somebody_made_unreadable_is_named(root: MemoryRoot, name: str, odd: bytes) -> None:
    store = decisions_on(root).store
    proposed(decisions_on(root), new_topic("Backups run at 03:00.", "backups"))
    (root.path / "proposals" / name).write_bytes(odd + b"\n")

    with pytest.raises(ContentError, match=r"(queue|hunks|rejected)\.json"):
        store.hunks(), store.queue(), store.rejections()
