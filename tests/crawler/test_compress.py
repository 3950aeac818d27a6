import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.archive.append import Ingester
from crawler.archive.store import Archive, SessionRecord
from crawler.closed import ClosedWhen
from crawler.compress.duties import MIN_CUT, decision, greatest_cut, list_identifiers
from crawler.compress.extractive import MIN_CHARS, condense_session, shorten_ids
from crawler.compress.run import compress_closed
from crawler.facts import gather_facts
from crawler.quotes import find_quote, session_turns
from crawler.reading.record import Line, LineKind, Readings
from crawler.reading.rules import read_by_rules
from crawler.transcripts.entry import Entry, EntryPart, PartKind
from crawler.transcripts.turns import join_turns
from memory_server.layers.sessions import CompressedSession, newest_files, read_session
from tests.crawler.builders import (
    SESSION,
    Record,
    assistant,
    call,
    entry_id,
    person,
    queued,
    result,
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
        compress_closed(ingester.archive, tmp_path / "compressed", Readings(tmp_path / "readings"), closed())
        return ingester.archive, read_session(newest_files(tmp_path / "compressed")[SESSION])


def lines(session: CompressedSession, title: str) -> list[str]:
    return [s.text for section in session.sections if section.title == title for s in section.statements]


@given(st.dictionaries(st.sampled_from(ARGUMENTS), JSON))
def test_a_call_with_arguments_of_any_shape_is_compressed(arguments: dict[str, Any]) -> None:
    call_part = EntryPart(PartKind.CALL, tool="Write", call_id="c1", arguments=json.dumps(arguments))
    entries = [Entry(id=entry_id(1), parts=(call_part,)), Entry(id=entry_id(2), parts=(FAILED,))]

    turns = list(join_turns(lambda: entries))

    facts, session = gather_facts(turns), session_turns(SESSION, "shop", turns)
    reading = read_by_rules(session, turns, facts, "")
    assert condense_session(turns, facts, SessionRecord(SESSION), reading).session_id == SESSION


def test_identifiers_stand_letter_by_letter_with_their_entries() -> None:
    text = "Version 4.2.1 of the relay on 10.0.0.7:2525 answers https://relay.lan/health, with ECONNREFUSED at times."
    done = EntryPart(PartKind.RESULT, "all 9.9.9 fine", call_id="c1")
    entries = [Entry(id=entry_id(1), parts=(EntryPart(PartKind.PROMPT, text),)), Entry(id=entry_id(2), parts=(done,))]

    assert [(line.text, line.entries) for line in list_identifiers(list(join_turns(lambda: entries)))] == [
        ("Addresses: https://relay.lan/health, 10.0.0.7:2525", (entry_id(1),)),
        ("Versions: 4.2.1", (entry_id(1),)),
        ("Error codes: ECONNREFUSED", (entry_id(1),)),
    ]


def test_an_identifier_too_long_for_a_line_is_left_out_rather_than_cut() -> None:
    text = f"See https://relay.lan/{'a' * 90} and 10.0.0.7."
    entry = Entry(id=entry_id(1), parts=(EntryPart(PartKind.PROMPT, text),))

    assert [line.text for line in list_identifiers(list(join_turns(lambda: [entry])))] == ["Addresses: 10.0.0.7"]


@given(st.lists(st.integers(0, 900), max_size=30), st.integers(0, 6_000))
def test_texts_are_cut_at_the_greatest_length_that_fits(sizes: list[int], room: int) -> None:
    def together(cut: int) -> int:
        return sum(min(size, cut) for size in sizes)

    cut = greatest_cut(sizes, room)

    assert cut >= MIN_CUT
    assert cut == MIN_CUT or together(cut) <= room
    assert together(cut) == sum(sizes) or together(cut + 1) > room


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


def test_each_request_stands_with_the_reply_that_settled_it(tmp_path: Path) -> None:
    _, session = compress(
        tmp_path,
        person(1, "How is the duplicate check of the relay started?"),
        assistant(2, "Let me look at the tasks of this repository first."),
        assistant(3, "A git hook would slow every commit down, so there is a task:\n```\nmise run dup\n```"),
        assistant(4, "Let me know whether that is what you want to have."),
        person(5, "And which port does it report its findings to?"),
        assistant(6, "It reports to port 9100 of the local collector."),
        person(7, "Good. Then please write that down for the others."),
        assistant(8, "Both are written down in docs/checks.md for the others."),
    )

    assert lines(session, "Key exchanges") == [
        "A git hook would slow every commit down, so there is a task: `mise run dup`",
        "Asked: And which port does it report its findings to? → It reports to port 9100 of the local collector.",
    ]
    assert lines(session, "Outcome") == [
        "Asked: Then please write that down for the others. → Both are written down in docs/checks.md for the others."
    ]


def test_what_the_person_chose_stands_with_the_options_that_lost(tmp_path: Path) -> None:
    options = [{"label": "Lazy rotation"}, {"label": "Immediate rotation"}]
    question = {"question": "When a share is revoked, is its key rotated at once?", "options": options}
    free = {"question": "Which of the two listeners comes first?", "options": [{"label": "IPv4"}, {"label": "IPv6"}]}
    answers = f'"{question["question"]}"="Lazy rotation", "{free["question"]}"="whichever is quicker to test"'
    _, session = compress(
        tmp_path,
        person(1, "Let us plan how a share is revoked in the vault."),
        assistant(2, call("AskUserQuestion", "c1", questions=[question, free])),
        result(3, "c1", f"User has answered your questions: {answers}. You can now continue."),
        assistant(4, "The plan of revoking a share stands in docs/shares.md."),
    )

    assert lines(session, "Decisions") == [
        "When a share is revoked, is its key rotated at once? Chosen: Lazy rotation (not: Immediate rotation)",
        "Which of the two listeners comes first? Chosen: whichever is quicker to test",
    ]


def test_a_command_that_worked_where_another_of_its_program_failed_is_told(tmp_path: Path) -> None:
    asides = [record for n in range(10, 80, 2) for record in (person(n, f"{n} aside"), assistant(n + 1, f"{n} fine"))]
    _, session = compress(
        tmp_path,
        person(1, "Install the extractor from my working copy, please."),
        assistant(2, call("Bash", "c1", command="cd /srv/app && uv tool upgrade extractor 2>&1 | tail -3")),
        result(3, "c1", "error: the build is kept", is_error=True),
        *asides,
        assistant(90, call("Bash", "c2", command="uv tool upgrade --reinstall extractor")),
        result(91, "c2", "Installed 1 executable"),
    )

    assert lines(session, "Errors and fixes") == [
        "`uv tool upgrade extractor` failed: error: the build is kept; then `uv tool upgrade --reinstall extractor`"
    ]


def test_a_task_is_open_as_the_last_list_leaves_it(tmp_path: Path) -> None:
    names = ("Find the stale socket", "Restart the relay", "Tell the others of it")
    first = [{"content": name, "status": "pending"} for name in names]
    last = [{"content": names[0], "status": "completed"}, {"content": names[1], "status": "in_progress"}]
    _, session = compress(
        tmp_path,
        person(1, "The relay hangs on a stale socket, please mend it."),
        assistant(2, call("TodoWrite", "c1", todos=first)),
        result(3, "c1", "Todos have been modified"),
        assistant(4, call("TodoWrite", "c2", todos=last)),
        result(5, "c2", "Todos have been modified"),
    )

    assert lines(session, "Open items") == ["Restart the relay"]


def test_a_task_with_a_number_is_open_until_an_update_ends_it(tmp_path: Path) -> None:
    _, session = compress(
        tmp_path,
        person(1, "The relay hangs on a stale socket, please mend it."),
        assistant(2, call("TaskCreate", "c1", subject="Find the stale socket")),
        result(3, "c1", "Task #1 created successfully: Find the stale socket"),
        assistant(4, call("TaskCreate", "c2", subject="Restart the relay")),
        result(5, "c2", "Task #2 created successfully: Restart the relay"),
        assistant(6, call("TaskUpdate", "c3", taskId="1", status="completed")),
        result(7, "c3", "Updated task #1 status"),
    )

    assert lines(session, "Open items") == ["Restart the relay"]


def test_a_digest_names_settings_and_secrets_and_never_a_secrets_value(tmp_path: Path) -> None:
    value = "ghp_" + "a1B2" * 9
    _, session = compress(
        tmp_path,
        person(1, f"The release job needs RELEASE_TOKEN={value} or it gets no checks."),
        assistant(2, "The job reads `RELEASE_TOKEN` from the secrets, and `push_sessions` is a boolean."),
    )

    assert "RELEASE_TOKEN" in session.body and "push_sessions" in session.body
    assert value not in session.body


def test_a_session_of_very_many_short_requests_keeps_to_its_size(tmp_path: Path) -> None:
    records = [person(n, f"Please go on with the relay's step number {n} of the list") for n in range(1, 400)]
    _, session = compress(tmp_path, *records)

    assert len(session.body) < 2 * MIN_CHARS


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
        report = compress_closed(ingester.archive, tmp_path / "compressed", Readings(tmp_path / "readings"), closed())

    assert (report.empty, report.written) == (1, [])


def test_a_session_that_is_still_open_is_left_for_later(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        soon = datetime(2026, 3, 1, 11, tzinfo=UTC)
        early = compress_closed(ingester.archive, tmp_path / "c", Readings(tmp_path / "readings"), closed(soon))
        told = compress_closed(
            ingester.archive, tmp_path / "c", Readings(tmp_path / "readings"), closed(soon, ended=(SESSION,))
        )

    assert (early.open, early.written, len(told.written)) == (1, [], 1)


def test_a_resumed_session_gets_a_new_revision_and_the_old_file_stays(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    folder = tmp_path / "compressed"
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([path])
        old = compress_closed(ingester.archive, folder, Readings(tmp_path / "readings"), closed()).written[0]
        before = old.read_bytes()
        with path.open("ab") as stream:
            stream.write(to_lines(person(11, "Now do the same for the IPv6 listener")))
        ingester.ingest([path])
        new = compress_closed(ingester.archive, folder, Readings(tmp_path / "readings"), closed()).written[0]

    assert (old.read_bytes(), read_session(new).revision, read_session(new).supersedes) == (before, 2, old.name)
    assert newest_files(folder) == {SESSION: new}


def read_by_a_model(archive: Archive, readings: Readings, *lines: tuple[str, str]) -> None:
    """Keeps a model's reading of the session: lines that say something of words of its."""
    turns = list(archive.turns(SESSION))
    session = session_turns(SESSION, "app", turns)
    noted = [
        Line(LineKind.RULE, text, (quote,))
        for text, words in lines
        if (quote := find_quote(session, "", words)) is not None
    ]
    plain = read_by_rules(session, turns, gather_facts(turns), archive.hash_session(SESSION))
    readings.save(msgspec.structs.replace(plain, reader="claude-cli", goal="Mend the relay.", lines=tuple(noted)))


def test_a_session_that_a_model_read_later_gets_the_next_revision_with_what_is_proved(tmp_path: Path) -> None:
    rule = "Always run the linter before a commit."
    records = [*working_session(), person(11, rule)]
    archive, before = compress(tmp_path, *records)
    readings, folder = Readings(tmp_path / "readings"), tmp_path / "compressed"
    read_by_a_model(archive, readings, (rule, rule), ("Never run the linter before a commit.", rule))

    [written] = compress_closed(archive, folder, readings, closed()).written
    again = compress_closed(archive, folder, readings, closed())

    after = read_session(written)
    assert (before.revision, before.compressor, after.revision, after.compressor) == (1, "extractive", 2, "claude-cli")
    assert (lines(after, "Goal"), rule in lines(after, "Decisions")) == (["Mend the relay."], True)
    assert "Never run the linter" not in after.body and "Never run the linter" not in after.summary
    assert (again.written, again.unchanged) == ([], 1)


def test_a_session_that_grew_behind_a_models_reading_is_read_by_rules_again(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    readings, folder = Readings(tmp_path / "readings"), tmp_path / "compressed"
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([path])
        read_by_a_model(ingester.archive, readings)
        [first] = compress_closed(ingester.archive, folder, readings, closed()).written
        with path.open("ab") as stream:
            stream.write(to_lines(person(11, "Now do the same for the IPv6 listener")))
        ingester.ingest([path])
        [second] = compress_closed(ingester.archive, folder, readings, closed()).written
        mark = ingester.archive.hash_session(SESSION)

    assert [read_session(one).compressor for one in (first, second)] == ["claude-cli", "extractive"]
    reading = readings.load(SESSION)
    assert reading is not None and (reading.is_by_model, reading.mark) == (False, mark)


def test_a_session_compressed_by_a_version_without_readings_is_read_and_its_file_stays(tmp_path: Path) -> None:
    archive, before = compress(tmp_path, *working_session())
    readings, folder = Readings(tmp_path / "readings"), tmp_path / "compressed"
    readings.forget([SESSION])

    reports = [compress_closed(archive, folder, readings, closed()) for _ in range(2)]

    assert [(report.written, report.unchanged) for report in reports] == [([], 1), ([], 1)]
    assert readings.load(SESSION) is not None
    assert read_session(newest_files(folder)[SESSION]) == before


def test_compressing_again_writes_nothing(tmp_path: Path) -> None:
    archive, _ = compress(tmp_path, *working_session())

    report = compress_closed(
        archive, tmp_path / "compressed", Readings(tmp_path / "readings"), closed(LATER + timedelta(1))
    )

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
    refs = shorten_ids(["0000000a-1111", "0000000a-1122", "0000000b-1111"])

    assert [refs[entry] for entry in ("0000000a-1111", "0000000a-1122", "0000000b-1111")] == [
        "0000000a-111",
        "0000000a-112",
        "0000000b",
    ]


OFFER = "Which bundler shall it be?\n\n- **A. Webpack** has more plugins\n- **B. Vite** starts at once\n- **C. Parcel**"


@pytest.mark.parametrize(
    ("answer", "decided"),
    [
        ("ok, let's do vite", "ok, let's do vite (of: Webpack has more plugins; Vite starts at once; Parcel)"),
        ("b", "Vite starts at once (b)"),
        ("a and c please", "Webpack has more plugins; Parcel (a and c please)"),
        ("C) but not before the release", "Parcel (C) but not before the release)"),
        ("a plugin is missing in all of them", ""),
        ("let's do that later", ""),
        ("d", ""),
        ("do you use vite yourself?", ""),
    ],
)
def test_an_answer_is_a_decision_where_it_takes_what_was_offered(answer: str, decided: str) -> None:
    assert decision(answer, [OFFER, "Vite is what I would take."]) == decided


def test_a_list_of_a_reply_that_asks_nothing_offers_nothing() -> None:
    assert decision("2", ["Done:\n1. The relay listens.\n2. The tests pass."]) == ""


def test_a_decision_stands_among_the_decisions_before_what_came_of_it(tmp_path: Path) -> None:
    _, session = compress(
        tmp_path,
        person(1, "How do we bundle the page of the relay?"),
        assistant(2, OFFER),
        person(3, "ok, let's do vite"),
        assistant(4, "The page of the relay is bundled by Vite now."),
        person(5, "Thanks, and which port does the relay listen on?"),
        assistant(6, "It listens on port 2525."),
    )

    (line,) = lines(session, "Decisions")
    assert line.startswith(
        "Decided: ok, let's do vite (of: Webpack has more plugins; Vite starts at once; Parcel) → The"
    )
