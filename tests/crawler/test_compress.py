import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.archive import Archive, SessionRecord
from crawler.compress.backends import ExtractiveCompressor
from crawler.compress.extractive import EntryRefs, compress_extractively
from crawler.compress.identifiers import identifiers_of
from crawler.compress.run import ClosedWhen, compress_closed
from crawler.entry import Entry, EntryPart, PartKind
from crawler.facts import facts_of
from crawler.ingest import Ingester
from crawler.turns import join_turns
from memory_server.layers.sessions import CompressedSession, newest_files, read_session
from tests.crawler.builders import (
    SESSION,
    Record,
    assistant,
    entry_id,
    person,
    queued,
    settings_in,
    to_lines,
    working_session,
    write_transcript,
)

LATER = datetime(2026, 3, 5, tzinfo=UTC)
ARGUMENTS = ["command", "content", "description", "file_path", "path", "query", "subject", "todos"]
JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["content", "status"]), inner),
    max_leaves=6,
)
FAILED = EntryPart(PartKind.RESULT, "Error: it was refused", call_id="c1", is_error=True)


def closed(now: datetime = LATER, *, ended: tuple[str, ...] = ()) -> ClosedWhen:
    return ClosedWhen(now, ended=dict.fromkeys(ended, now), process_start=lambda pid: None)


def compress(tmp_path: Path, *records: Record) -> tuple[Archive, CompressedSession]:
    """Ingests and compresses one transcript."""
    write_transcript(tmp_path / "live", *records)
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        compress_closed(ingester.archive, tmp_path / "compressed", ExtractiveCompressor(), closed())
        return ingester.archive, read_session(newest_files(tmp_path / "compressed")[SESSION])


def lines(session: CompressedSession, title: str) -> list[str]:
    return [s.text for section in session.sections if section.title == title for s in section.statements]


@given(st.dictionaries(st.sampled_from(ARGUMENTS), JSON))
def test_a_call_with_arguments_of_any_shape_is_compressed(arguments: dict[str, Any]) -> None:
    told = EntryPart(PartKind.CALL, tool="Write", call_id="c1", arguments=json.dumps(arguments))
    entries = [Entry(id=entry_id(1), parts=(told,)), Entry(id=entry_id(2), parts=(FAILED,))]

    turns = list(join_turns(lambda: entries))

    assert compress_extractively(turns, facts_of(turns), SessionRecord(SESSION)).session_id == SESSION


def test_identifiers_stand_letter_by_letter_with_their_entries() -> None:
    said = "Version 4.2.1 of the relay on 10.0.0.7:2525 answers https://relay.lan/health, with ECONNREFUSED at times."
    done = EntryPart(PartKind.RESULT, "all 9.9.9 fine", call_id="c1")
    entries = [Entry(id=entry_id(1), parts=(EntryPart(PartKind.PROMPT, said),)), Entry(id=entry_id(2), parts=(done,))]

    assert list(identifiers_of(list(join_turns(lambda: entries)))) == [
        ("Addresses: 10.0.0.7:2525, https://relay.lan/health", (entry_id(1),)),
        ("Versions: 4.2.1", (entry_id(1),)),
        ("Error codes: ECONNREFUSED", (entry_id(1),)),
    ]


def test_an_identifier_too_long_for_a_line_is_left_out_rather_than_cut() -> None:
    said = f"See https://relay.lan/{'a' * 90} and 10.0.0.7."
    entry = Entry(id=entry_id(1), parts=(EntryPart(PartKind.PROMPT, said),))

    assert list(identifiers_of(list(join_turns(lambda: [entry])))) == [("Addresses: 10.0.0.7", (entry_id(1),))]


def test_a_digest_tells_goal_decision_error_outcome_and_what_is_open(tmp_path: Path) -> None:
    _, session = compress(tmp_path, *working_session())

    assert lines(session, "Goal") == [
        "The relay in src/relay.py loses its connection after an hour. Please find out why."
    ]
    assert lines(session, "Decisions") == [
        "The cause is the idle timeout of 3600 seconds in the proxy.",
        "I decided to send a keepalive every 300 seconds instead of raising the timeout.",
    ]
    assert lines(session, "Errors and fixes") == [
        "`pytest tests/test_relay.py` failed: ConnectionResetError: [Errno 104] peer closed; then Edit src/relay.py"
    ]
    assert lines(session, "Outcome")[0] == "Committed 1a2b3c4d: Keep the relay alive"
    assert lines(session, "Open items") == ["Remaining: the same for the IPv6 listener on 10.0.0.7."]
    assert lines(session, "Identifiers") == ["Files: src/relay.py"]


def test_the_frontmatter_counts_what_happened(tmp_path: Path) -> None:
    _, session = compress(tmp_path, *working_session())

    assert (session.cwd, session.branch, session.outcome) == ("/srv/app", "main", "shipped")
    assert session.turns == {"assistant": 3, "person": 1, "tool": 3}
    assert session.tools == {"Bash": 2, "Edit": 1}
    assert session.tokens == {"input": 60, "output": 30}
    assert session.commits == ("1a2b3c4d Keep the relay alive",)
    assert session.files_touched == ("src/relay.py",)


def test_every_line_names_entries_that_the_archive_has(tmp_path: Path) -> None:
    archive, session = compress(tmp_path, *working_session(), queued("and mind the IPv6 listener as well please"))

    named = [entry for section in session.sections for s in section.statements for entry in s.entries]
    assert named
    assert all(archive.entry(SESSION, entry).parts for entry in named)


def test_the_same_session_gives_the_same_bytes(tmp_path: Path) -> None:
    _, first = compress(tmp_path / "one", *working_session())
    _, second = compress(tmp_path / "two", *working_session())

    assert first == second


def test_an_abandoned_branch_is_told_as_superseded(tmp_path: Path) -> None:
    _, session = compress(
        tmp_path,
        person(1, "Make the exporter write Parquet files"),
        assistant(2, "Ready when you are with the exporter."),
        person(3, "Use the fastparquet library for the exporter"),
        assistant(4, "I will use fastparquet for writing."),
        person(5, "Use pyarrow for the exporter, fastparquet is unmaintained", parent=2),
        assistant(6, "The exporter writes Parquet with pyarrow."),
    )

    assert "Person: Use the fastparquet library for the exporter" in lines(session, "Superseded")


def test_a_session_in_which_nobody_spoke_gets_no_file(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", {"type": "summary", "summary": "The relay", "leafUuid": "u"})
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        report = compress_closed(ingester.archive, tmp_path / "compressed", ExtractiveCompressor(), closed())

    assert (report.empty, report.written) == (1, [])


def test_a_session_that_is_still_open_is_left_for_later(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        soon = datetime(2026, 3, 1, 11, tzinfo=UTC)
        early = compress_closed(ingester.archive, tmp_path / "c", ExtractiveCompressor(), closed(soon))
        told = compress_closed(ingester.archive, tmp_path / "c", ExtractiveCompressor(), closed(soon, ended=(SESSION,)))

    assert (early.open, early.written, len(told.written)) == (1, [], 1)


def test_a_resumed_session_gets_a_new_revision_and_the_old_file_stays(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    folder = tmp_path / "compressed"
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([path])
        old = compress_closed(ingester.archive, folder, ExtractiveCompressor(), closed()).written[0]
        before = old.read_bytes()
        with path.open("ab") as stream:
            stream.write(to_lines(person(11, "Now do the same for the IPv6 listener")))
        ingester.ingest([path])
        new = compress_closed(ingester.archive, folder, ExtractiveCompressor(), closed()).written[0]

    assert (old.read_bytes(), read_session(new).revision, read_session(new).supersedes) == (before, 2, old.name)
    assert newest_files(folder) == {SESSION: new}


def test_compressing_again_writes_nothing(tmp_path: Path) -> None:
    archive, _ = compress(tmp_path, *working_session())

    report = compress_closed(archive, tmp_path / "compressed", ExtractiveCompressor(), closed(LATER + timedelta(1)))

    assert (report.unchanged, report.written) == (1, [])


def test_a_long_session_stays_within_its_share(tmp_path: Path) -> None:
    records: list[Record] = []
    for number in range(1, 400, 2):
        records.append(person(number, f"Question {number} about module{number} and its port {9000 + number}?"))
        records.append(assistant(number + 1, f"The module{number} listens there because of config{number}. " * 12))
    _, session = compress(tmp_path, *records)

    chars = sum(len(str(record["message"]["content"])) for record in records)
    assert 0.01 < len(session.body) / chars < 0.04


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (person(11, "never mind, forget it"), "abandoned"),
        (person(11, "[Request interrupted by user]"), "partial"),
        (person(11, "thanks"), "shipped"),
    ],
)
def test_the_outcome_follows_from_deeds_and_last_words(tmp_path: Path, last: Record, outcome: str) -> None:
    _, session = compress(tmp_path, *working_session(), last)

    assert session.outcome == outcome


def test_two_entries_that_begin_alike_are_told_apart() -> None:
    refs = EntryRefs(["0000000a-1111", "0000000a-1122", "0000000b-1111"])

    assert [refs.short(entry) for entry in ("0000000a-1111", "0000000a-1122", "0000000b-1111")] == [
        "0000000a-111",
        "0000000a-112",
        "0000000b",
    ]
