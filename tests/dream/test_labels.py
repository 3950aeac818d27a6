"""How a proposal is matched with what a reader labelled."""

import datetime as dt

import pytest

from benchmarks.labels import Labels, judge_quotes, overlaps
from crawler.quotes import Quote
from crawler.transcripts.turns import Role

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def quote(words: str, entry: str = "e1", session: str = "s1") -> Quote:
    return Quote(session, entry, Role.PERSON, NOW, 0, len(words), words)


def label(words: str, *, durability: int = 3, entry: str | None = "e1", **more: object) -> dict[str, object]:
    row = {"id": words, "corpus": "p", "session": "s1", "entry": entry, "quote": words, "role": "person"}
    return {**row, "durability": durability, **more}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("use pnpm", "please use  PNPM here", True),
        ("the relay runs in Berlin", "the relay runs in Oslo", True),  # a run of more than half
        ("the relay is here", "the backup is there", False),
        ("", "anything", False),
    ],
)
def test_quotes_overlap_where_one_holds_the_other_or_they_share_half(one: str, other: str, same: bool) -> None:
    assert overlaps(one, other) is same


def test_a_verdict_tells_the_highest_durability_and_no_negative_beside_a_label() -> None:
    labels = Labels([label("use pnpm"), label("use pnpm here", durability=1)], [label("use pnpm here please")])

    verdict = judge_quotes([quote("use pnpm here please")], labels)

    assert (verdict.durability, verdict.negatives) == (3, frozenset())
    assert verdict.labels == {"use pnpm", "use pnpm here"}


def test_another_entry_matches_only_where_the_label_names_none_or_it_is_a_place_of_a_habit() -> None:
    habit = label("pull main first", entries=[{"session": "s2", "entry": "e9", "quote": "first pull main"}])
    labels = Labels([label("use pnpm"), label("typed ahead", entry=None), habit], [])

    def found(one: Quote) -> frozenset[str]:
        return judge_quotes([one], labels).labels

    assert found(quote("use pnpm", entry="e2")) == frozenset()
    assert found(quote("typed ahead", entry="e2")) == {"typed ahead"}
    assert found(quote("first pull main", entry="e9", session="s2")) == {"pull main first"}
