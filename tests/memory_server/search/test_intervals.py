"""A topic holds in its interval: outside of it it is marked, and decides and replaces nothing."""

import datetime as dt
from pathlib import Path

import pytest

from dream.report.findings import ending_topics
from memory_server.document import Answer, Hit, Interval
from memory_server.faces.answer_text import answer_json, answer_of_json, answer_text
from memory_server.layers.mif import add_duration, parse_frontmatter
from memory_server.layers.topics import topic_heads
from memory_server.layers.validate import validate_root
from memory_server.memory import Memory
from memory_server.settings import MemorySettings
from tests.memories import NOON, new_root, recall, write_session, write_topic

RELAY = "# Mail\n\nThe mail relay listens on port 2525 for the whole house.\n"
TODAY = NOON.date()  # 2026-03-01


@pytest.mark.parametrize(
    ("fields", "interval"),
    [
        ("temporal:\n  validUntil: 2025-12-31", (None, "2025-12-31")),
        ("temporal:\n  valid_from: 2026-04-01T00:00:00Z", ("2026-04-01", None)),
        ("validUntil: 2025-12-31", (None, "2025-12-31")),
        ("modified: 2026-01-01\ncreated: 2020-01-01\ntemporal:\n  ttl: P90D", (None, "2026-04-01")),
        ("created: 2020-01-31\ntemporal:\n  ttl: P1M\n  recordedAt: 2024-01-31", (None, "2024-02-29")),
        ("modified: 2026-01-01\ntemporal:\n  ttl: P1Y2W\n  validUntil: 2026-02-01", (None, "2026-02-01")),
        ("temporal:\n  ttl: P90D", (None, None)),  # from when is not said
        ("modified: 2026-01-01\ntemporal:\n  ttl: ninety days", (None, None)),
        ("temporal:\n  validFrom: 2026-01-01\n  validUntil: 2025-01-01", (None, None)),
    ],
)
def test_a_frontmatter_says_when_a_topic_holds(fields: str, interval: tuple[str | None, str | None]) -> None:
    first, last = (dt.date.fromisoformat(day) if day else None for day in interval)

    assert parse_frontmatter(f"---\n{fields}\n---\n# Mail\n").interval() == Interval(first, last)


@pytest.mark.parametrize("duration", ["P", "90D", "P-1D", "P1.5D", "", "P999999Y", "P99999999D"])
def test_what_is_no_duration_ends_nothing(duration: str) -> None:
    assert add_duration(TODAY, duration) is None


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-03-31", "holds from 2026-04-01"),
        ("2026-04-01", ""),
        ("2026-05-01", ""),
        ("2026-05-02", "held until 2026-05-01"),
    ],
)
def test_both_ends_belong_to_an_interval(day: str, words: str) -> None:
    interval = Interval(dt.date(2026, 4, 1), dt.date(2026, 5, 1))

    assert interval.outside(dt.date.fromisoformat(day)) == words


def answer_with(memory: Memory, **temporal: str) -> Answer:
    """What is answered where a topic of this interval and a session speak of the same."""
    write_topic(memory, "mail", RELAY, id="mail", title="Mail", **({"temporal": temporal} if temporal else {}))
    write_session(memory, "2026-01-10-relay-0a0a0a0a", "The mail relay listens on port 2525 for the whole house.")
    memory.reindex()
    return recall(memory, "on which port does the mail relay listen")


def first_of(answer: Answer, name: str) -> Hit:
    return next(hit for hit in answer.hits if name in hit.path)


def test_a_topic_within_its_interval_decides(memory: Memory) -> None:
    answer = answer_with(memory, validUntil="2026-12-31")

    assert (answer.hits[0].path, answer.hits[0].decides, answer.hits[0].outside) == ("topics/mail.md", True, "")


@pytest.mark.parametrize(
    ("temporal", "words"),
    [({"validUntil": "2025-12-31"}, "held until 2025-12-31"), ({"validFrom": "2026-04-01"}, "holds from 2026-04-01")],
)
def test_a_topic_outside_of_its_interval_is_marked_and_decides_nothing(
    memory: Memory, temporal: dict[str, str], words: str
) -> None:
    answer = answer_with(memory, **temporal)

    topic = first_of(answer, "mail.md")
    assert (topic.outside, topic.decides) == (words, False)
    assert all(hit.replaced_by is None for hit in answer.hits)
    assert words in answer_text(answer, 2_000)
    document = answer_json(answer)
    assert [hit["outside"] for hit in document["hits"] if hit["path"] == "topics/mail.md"] == [words]
    assert answer_of_json({**document, "scores": {}}).hits[answer.hits.index(topic)].outside == words


def test_a_topic_that_holds_stands_before_one_that_held(memory: Memory) -> None:
    write_topic(memory, "relay", RELAY.replace("2525", "2626"), id="relay", title="Relay")

    answer = answer_with(memory, validUntil="2025-12-31")

    assert (answer.hits[0].path, answer.hits[0].decides) == ("topics/relay.md", True)


def test_what_a_topic_superseded_stands_again_when_it_has_ended(memory: Memory) -> None:
    replaces = [{"type": "supersedes", "target": "topics/mail.md"}]
    write_topic(
        memory, "new", "# New\n\nThe mail relay is on port 2626.\n", validUntil="2025-12-31", relationships=replaces
    )

    assert first_of(answer_with(memory), "mail.md").replaced_by is None


def test_validate_names_a_broken_interval(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    known = {"type": "semantic", "created": "2026-01-01"}
    write_topic(root, "a", RELAY, id="a", **known, temporal={"validFrom": "2026-02-01", "validUntil": "2026-01-01"})
    write_topic(root, "b", RELAY, id="b", **known, temporal={"validUntil": "next spring", "ttl": "90 days"})
    write_topic(root, "c", RELAY, id="c", **known, validUntil="soon", ttl="P")

    found = [(one.path, one.line, one.what) for one in validate_root(root, MemorySettings()) if one.path != "MEMORY.md"]

    assert found == [
        ("topics/a.md", 7, "temporal.validUntil (2026-01-01) is before temporal.validFrom (2026-02-01)"),
        ("topics/b.md", 6, "temporal.validUntil is 'next spring', not a date such as 2026-03-07, or a timestamp"),
        ("topics/b.md", 7, "temporal.ttl is '90 days', not a duration such as P7D"),
        ("topics/c.md", 5, "validUntil is 'soon', not a date such as 2026-03-07, or a timestamp"),
        ("topics/c.md", 6, "ttl is 'P', not a duration such as P7D"),
    ]


def test_the_report_names_what_ends_within_a_fortnight(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    for name, last in (("a", "2026-03-15"), ("b", "2026-03-16"), ("c", "2026-02-27"), ("d", "2026-02-01"), ("e", "")):
        write_topic(root, name, RELAY, **({"validUntil": last} if last else {}))

    found = [(finding.path, finding.what) for finding in ending_topics(topic_heads(root), TODAY)]

    assert found == [("topics/c.md", "it held until 2026-02-27"), ("topics/a.md", "it holds until 2026-03-15")]
