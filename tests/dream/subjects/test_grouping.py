"""Statements about one thing come together, in topics that a person reads at a glance, always in the same way."""

import random

from dream.subjects.grouping import LEAST, MOST, Item, grouped
from dream.subjects.naming import as_subject, name_of_group

TESTING = [
    *("Run the tests with pytest before a push.", "Tests use real parts, never mocks."),
    *("A slow test is marked slow.", "A bug gets a test that failed before.", "Tests need no network."),
]
RELEASES = [
    *("A release is tagged on main.", "The changelog names each release.", "Release notes are written for users."),
    *("A release needs two approvals.", "Never release on a Friday."),
]


def test_statements_under_two_headings_become_two_topics() -> None:
    items = [Item(text, ("Testing",), "a.md") for text in TESTING]
    items += [Item(text, ("Releases",), "a.md") for text in RELEASES]

    assert grouped(items) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_without_headings_shared_words_tell() -> None:
    mixed = [text for pair in zip(TESTING, RELEASES, strict=True) for text in pair]

    groups = grouped([Item(text, (), str(place)) for place, text in enumerate(mixed)])

    odd = [sum(place % 2 for place in group) for group in groups]
    assert len(groups) == 2 and all(min(odds, len(group) - odds) <= 1 for odds, group in zip(odd, groups, strict=True))


def test_nothing_is_lost_and_no_topic_is_too_large_or_a_single_line() -> None:
    rng = random.Random(7)
    words = [f"word{number}" for number in range(60)]
    for count in (1, 2, 9, 80):
        items = [Item(" ".join(rng.choices(words, k=6)), (f"H{rng.randrange(4)}",), "f.md") for _ in range(count)]

        groups = grouped(items)

        assert sorted(place for group in groups for place in group) == list(range(count))
        assert all(len(group) <= MOST for group in groups)
        assert len(groups) == 1 or all(len(group) >= LEAST for group in groups)
        assert grouped(items) == groups


def test_what_has_nothing_in_common_stays_apart() -> None:
    items = [Item(text, (), "s1", "topics/testing.md") for text in TESTING]

    groups = grouped([*items, Item("Zebras graze at dawn.", (), "s2"), Item("Cheese keeps in wax.", (), "s3")])

    assert groups == [[0, 1, 2, 3, 4], [5], [6]]


def test_what_waits_for_a_topic_stays_in_it_and_draws_its_like() -> None:
    waiting = [Item(text, (), "s1", "topics/testing.md") for text in TESTING[:4]]
    waiting += [Item(text, (), "s2", "topics/releases.md") for text in RELEASES[:4]]

    groups = grouped([*waiting, Item(TESTING[4], (), "s3"), Item(RELEASES[4], (), "s4")])

    assert groups == [[0, 1, 2, 3, 8], [4, 5, 6, 7, 9]]


def test_very_many_statements_are_grouped_by_section() -> None:
    items = [Item(f"Rule {n} of part {n // 20}.", (f"Part {n // 20}",), f"{n // 20}.md") for n in range(1_000)]

    groups = grouped(items)

    assert sorted(place for group in groups for place in group) == list(range(1_000))
    assert all(len({place // 20 for place in group}) == 1 for group in groups)


def test_a_group_is_named_by_its_heading_else_by_the_words_it_shares() -> None:
    under = [Item(text, ("Development", "2. Testing (unit)"), "a.md") for text in TESTING]
    bare = [Item(text, (), "s") for text in RELEASES]

    assert name_of_group(under, under) == "Testing"
    assert name_of_group(under, under, {"testing"}) == "Tests bug"
    assert name_of_group(bare, [*under, *bare]).casefold().startswith("release")


def test_a_heading_that_says_nothing_is_no_subject() -> None:
    assert [as_subject(text) for text in ("Overview", "**Important**", "3", "🔴", "CLAUDE.md")] == [""] * 5
    assert as_subject("1.2 Commit `messages`: how") == "Commit messages"
    assert as_subject("Gliederung der Prüfungen") == "Gliederung der Prüfungen"
