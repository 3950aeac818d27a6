import multiprocessing
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.archive.append import Ingester, IngestLimits, IngestSettings
from crawler.archive.choice import Choice
from crawler.archive.discovery import find_transcripts
from crawler.archive.files import HEAD_BYTES
from crawler.archive.store import Archive
from crawler.transcripts.tail import TailState, Verdict
from memory_server.errors import NeedsRepair
from tests.crawler.builders import (
    OTHER_SESSION,
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


@pytest.fixture
def ingester(tmp_path: Path) -> Iterator[Ingester]:
    with Ingester(settings_in(tmp_path / "root")) as one:
        yield one


def state_of(archive: Archive) -> dict[str, str]:
    return {session_id: archive.hash_session(session_id) for session_id in archive.session_ids()}


def texts(archive: Archive, session_id: str = SESSION) -> list[str]:
    return [turn.text for turn in archive.turns(session_id)]


def test_an_ingest_again_does_nothing(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())

    first, second = ingester.ingest([tmp_path / "live"]), ingester.ingest([tmp_path / "live"])

    assert (first.read, first.entries, second.read, second.unchanged, second.entries) == (1, 10, 0, 1, 0)


def test_a_projects_folder_that_is_a_link_is_read_once_by_its_real_path(ingester: Ingester, tmp_path: Path) -> None:
    disk, projects = tmp_path / "disk" / "app", tmp_path / "projects"
    write_transcript(disk, *working_session())
    projects.mkdir()
    for name, place in (
        ("-srv-app", disk),
        ("again", disk),
        ("loop", projects),
        ("above", tmp_path),
        ("gone", disk / "x"),
    ):
        (projects / name).symlink_to(place)

    report = ingester.ingest([projects])

    assert (report.files, report.entries) == (1, 10)
    assert ingester.find_sessions(disk) == [SESSION]


def test_a_link_is_told_where_it_is_not_followed_or_leads_nowhere(ingester: Ingester, tmp_path: Path) -> None:
    client, laptop, disk = tmp_path / "client", tmp_path / "projects" / "laptop", tmp_path / "disk"
    for folder in (client / "projects" / "-a", client / "plugins", laptop / "-b", disk / "-c"):
        folder.mkdir(parents=True)
    links = {
        client / "projects" / "followed": disk,
        client / "projects" / "gone": tmp_path / "x",
        client / "projects" / "-a" / "deeper": tmp_path,
        client / "plugins" / "own": tmp_path,
        laptop / "followed": disk / "-c",
        laptop / "-b" / "read": disk / "-c",
        laptop / "-b" / "deeper": tmp_path,
    }
    for link, target in links.items():
        link.symlink_to(target)

    problems = ingester.ingest([client, laptop]).problems

    assert sorted((Path(one.path).relative_to(tmp_path).as_posix(), one.what) for one in problems) == [
        ("client/projects/-a/deeper", "a link to a folder is not followed here"),
        ("client/projects/gone", "this link leads nowhere"),
        ("projects/laptop/-b/deeper", "a link to a folder is not followed here"),
    ]


def test_a_transcript_below_a_folder_with_two_names_is_read_once(ingester: Ingester, tmp_path: Path) -> None:
    file = write_transcript(tmp_path / "disk" / "-a", *working_session())
    (tmp_path / "home").symlink_to(tmp_path / "disk")

    report = ingester.ingest([tmp_path / "home", tmp_path / "disk"])

    assert report.files == 1 and file.exists()


def test_lines_that_hold_no_record_are_counted_over_all_reads_of_a_file(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    for lines in (b"torn {\n[1]\n", b'{"half": \n' + to_lines(person(11, "one more thing"))):
        with path.open("ab") as stream:
            stream.write(lines)
        ingester.ingest([path])

    with closing(TailState(tmp_path / "root" / ".oneiros" / "sessions.db", "localhost")) as tail:
        assert [state.unread for state in tail.files().values()] == [3]


@pytest.mark.parametrize(("wanted", "entries"), [("the-app", 10), ("app", 10), ("-srv-app", 10), ("projects", 0)])
def test_a_project_is_meant_by_the_name_that_the_client_gave_its_folder(
    ingester: Ingester, tmp_path: Path, wanted: str, entries: int
) -> None:
    write_transcript(tmp_path / "projects" / "the-app", *working_session())  # as CLAUDE_CODE_PROJECT_DIR_NAME says

    assert ingester.ingest([tmp_path / "projects"], limits=IngestLimits(project=wanted)).entries == entries


def test_an_append_reads_the_new_bytes_only(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([path])
    added = to_lines(person(11, "one more thing"))
    with path.open("ab") as stream:
        stream.write(added)

    report = ingester.ingest([path])

    assert (report.bytes_read, report.entries) == (len(added), 1)
    assert texts(ingester.archive)[-1] == "one more thing"


def test_a_rewritten_file_is_read_again_and_nothing_is_kept_twice(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([path])
    path.write_bytes(to_lines(person(90, "a new first line"), *working_session()))

    report = ingester.ingest([path])

    assert report.entries == 1
    assert len(texts(ingester.archive)) == 8


def test_a_rewrite_in_the_middle_is_noticed_though_more_was_appended(ingester: Ingester, tmp_path: Path) -> None:
    start, end = (person(n, f"{n} " + "words " * 14_000) for n in (1, 5))
    path = write_transcript(tmp_path / "live", start, person(3, "an old line"), end)
    ingester.ingest([path])
    with path.open("r+b") as stream:  # the inode stays
        stream.write(to_lines(start, person(4, "a newer one"), end, person(7, "and more")))

    ingester.ingest([path])

    assert [text for text in texts(ingester.archive) if len(text) < 100] == ["an old line", "a newer one", "and more"]


def test_a_truncated_file_keeps_its_archive(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([path])
    before = state_of(ingester.archive)
    path.write_bytes(to_lines(*working_session()[:2]))

    ingester.ingest([path])

    assert state_of(ingester.archive) == before


def test_a_deleted_file_keeps_its_archive_and_is_counted_once(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([tmp_path / "live"])
    before = state_of(ingester.archive)
    path.unlink()

    reports = [ingester.ingest([tmp_path / "live"]) for _ in range(2)]

    assert [report.gone for report in reports] == [1, 0]
    assert state_of(ingester.archive) == before


GROWING = to_lines(
    *working_session(), queued("and the docs – présentées"), person(12, "日本語のメモ"), person(13, "end")
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(min_value=0, max_value=len(GROWING)), min_size=1, max_size=5))
def test_a_file_that_grew_in_steps_is_archived_as_if_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("grow")
    path = folder / "live" / f"{SESSION}.jsonl"
    path.parent.mkdir()
    with Ingester(settings_in(folder / "grown")) as grown:
        for step, cut in enumerate([*sorted(cuts), len(GROWING)]):
            path.write_bytes(GROWING[:cut])
            grown.ingest([path])
            with Ingester(settings_in(folder / f"fresh-{step}")) as fresh:
                fresh.ingest([path])
                assert state_of(grown.archive) == state_of(fresh.archive)


def test_deleting_the_state_leads_to_the_same_archive(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    fork(tmp_path / "live")
    settings = settings_in(tmp_path / "root")
    with Ingester(settings) as first:
        first.ingest([tmp_path / "live"])
        before = state_of(first.archive)
    for path in settings.state.parent.iterdir():
        path.unlink()

    with Ingester(settings) as second:
        report = second.ingest([tmp_path / "live"])
        assert (report.entries, state_of(second.archive)) == (0, before)


def fork(folder: Path) -> Path:
    """A copy of the working session under another id, with one prompt more; the younger file."""
    copied = working_session(session=OTHER_SESSION)
    path = write_transcript(folder, *copied, person(50, "in the fork", session=OTHER_SESSION), session=OTHER_SESSION)
    os.utime(path, (2_000_000_000, 2_000_000_000))
    return path


def test_entries_that_a_fork_copied_are_kept_once(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    fork(tmp_path / "live")

    report = ingester.ingest([tmp_path / "live"])

    assert report.copies == 10
    assert texts(ingester.archive, OTHER_SESSION) == ["in the fork"]


def test_a_sub_agents_file_belongs_to_its_session(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    agent = tmp_path / "live" / SESSION / "subagents" / "agent-a1b2.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(to_lines(person(30, "look for it", agentId="a1b2"), assistant(31, "found", agentId="a1b2")))

    ingester.ingest([tmp_path / "live"])

    assert ingester.archive.session_ids() == [SESSION]
    assert [(t.role, t.agent, t.text) for t in ingester.archive.turns(SESSION) if t.agent] == [
        ("sub-agent", "a1b2", "look for it"),
        ("sub-agent", "a1b2", "found"),
    ]


def test_a_denied_project_is_refused_and_allowed_later(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    denied = settings_in(tmp_path / "root", choice=Choice(deny=("/srv/app",)))
    with Ingester(denied) as ingester:
        report = ingester.ingest([path])
        assert [refusal.verdict for refusal in report.refused] == [Verdict.DENIED]
        assert ingester.archive.session_ids() == []

    with Ingester(settings_in(tmp_path / "root")) as ingester:
        assert ingester.ingest([path]).entries == 10


def test_a_mark_in_a_prompt_keeps_the_session_out_for_good(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([path])
    with path.open("ab") as stream:
        stream.write(to_lines(person(11, "Please, no notes of this:\n#oneiros:off")))

    first = ingester.ingest([path])
    ingester.forget(SESSION)
    second, third = ingester.ingest([path]), ingester.ingest([path])

    assert [refusal.verdict for refusal in first.refused] == [Verdict.EXCLUDED]
    assert first.marked == {SESSION} and second.marked == set()
    assert (third.unchanged, ingester.archive.session_ids()) == (1, [])


def test_a_session_that_is_marked_from_its_start_leaves_no_byte(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session(), queued("#No-Memory"))

    first, second = ingester.ingest([path]), ingester.ingest([path])

    assert [refusal.reason for refusal in first.refused] == [
        "you excluded or forgot this session; `oneiros forget --undo` with this path takes it in again"
    ]
    assert (second.unchanged, list((tmp_path / "root").rglob("*.zst"))) == (1, [])


def test_a_mark_counts_again_behind_the_moment_at_which_one_was_undone(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session(), person(11, "#no-memory"))
    ingester.ingest([path])
    files = find_transcripts([path]).files

    assert ingester.readmit(files, datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC)) == [path]
    back = ingester.ingest([path])
    with path.open("ab") as stream:
        stream.write(to_lines(person(40, "#no-memory")))
    out = ingester.ingest([path])

    assert (back.entries, back.marked, out.marked) == (11, set(), {SESSION})
    assert ingester.readmit(files, datetime(2026, 3, 1, 11, tzinfo=UTC)) == []  # it was not forgotten yet


def test_a_mark_in_a_tools_output_excludes_nothing(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", assistant(1, call("Read", "c")), result(2, "c", "write #oneiros:off here"))

    assert ingester.ingest([tmp_path / "live"]).refused == []


def test_a_session_of_our_own_compressor_is_not_taken_in(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", person(1, "<oneiros-task compress>\nSummarise."), assistant(2, "A summary."))

    report = ingester.ingest([tmp_path / "live"])

    assert [refusal.verdict for refusal in report.refused] == [Verdict.OWN]


@pytest.mark.parametrize(("prompt", "taken"), [("Warmup", 0), ("Warmup the oven", 1)])
def test_a_sub_agent_that_is_only_warmed_up_is_not_taken_in(
    ingester: Ingester, tmp_path: Path, prompt: str, taken: int
) -> None:
    records = [person(11, prompt, isSidechain=True, agentId="a1"), assistant(12, "Ready.", isSidechain=True)]
    write_transcript(tmp_path / "live", person(1, "Plain words."), assistant(2, "Yes."))
    (tmp_path / "live" / "agent-a1.jsonl").write_bytes(to_lines(*records))

    ingester.ingest([tmp_path / "live"])

    assert len(ingester.archive.sources(SESSION)) == 1 + taken


@pytest.mark.parametrize(
    "broken", ['"content": "[REDACTED, "x": 1', '"content": "the key is "[MASKED]" here"', "[REDACTED]", "cut her"]
)
def test_lines_that_a_redaction_broke_are_lost_alone_and_counted(
    ingester: Ingester, tmp_path: Path, broken: str
) -> None:
    records = [
        person(1, "First words."),
        assistant(2, "One."),
        person(3, "x"),
        assistant(4, "Two."),
        person(5, "Last."),
    ]
    file = write_transcript(tmp_path / "live", *records)
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[2] = broken if broken.startswith("[") else lines[2][: lines[2].index('"content"')] + broken
    file.write_text("\n".join(lines), encoding="utf-8")

    report = ingester.ingest([tmp_path / "live"])

    assert [bad.line for bad in report.bad_lines] == [3]
    assert [turn.text for turn in ingester.archive.turns(SESSION)] == ["First words.", "One.", "Two.", "Last."]
    assert all(turn.is_live for turn in ingester.archive.turns(SESSION))


def test_a_byte_order_mark_costs_no_line(ingester: Ingester, tmp_path: Path) -> None:
    file = write_transcript(tmp_path / "live", person(1, "First words."), assistant(2, "One."))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())

    report = ingester.ingest([tmp_path / "live"])

    assert (report.entries, report.bad_lines) == (2, [])


def test_another_tools_file_is_refused_with_a_reason_and_not_opened_again(ingester: Ingester, tmp_path: Path) -> None:
    path = tmp_path / "live" / "codex.jsonl"
    path.parent.mkdir()
    path.write_bytes(to_lines({"type": "session_meta", "payload": {"originator": "codex_cli_rs"}}))

    first, second = ingester.ingest([path]), ingester.ingest([path])

    assert [(r.path, r.reason) for r in first.refused] == [(path, "written by Codex")]
    assert (second.read, second.unchanged) == (0, 1)


def test_claude_codes_own_memory_and_tool_results_are_not_looked_at(ingester: Ingester, tmp_path: Path) -> None:
    for folder in ("memory", "tool-results"):
        write_transcript(tmp_path / "live" / folder, *working_session())

    assert ingester.ingest([tmp_path / "live"]).files == 0


def test_a_forgotten_session_does_not_come_back_in_any_file(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    ingester.ingest([path])

    assert ingester.forget(SESSION)
    fork(tmp_path / "live")
    ingester.ingest([tmp_path / "live"])

    assert ingester.archive.session_ids() == [OTHER_SESSION]
    assert texts(ingester.archive, OTHER_SESSION) == ["in the fork"]


def test_no_secret_reaches_the_disk_from_any_field(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    nested = {"env": [{"TOKEN": secret}], "note": f"x {secret}"}
    write_transcript(
        tmp_path / "live",
        person(1, f"use {secret}", cwd=f"/srv/{secret}", gitBranch=f"fix-{secret}"),
        assistant(2, f"I use {secret}", call("Bash", "c", command=f"curl -H 'x: {secret}'", nested=nested)),
        result(3, "c", f"token {secret}", {"type": "text", "text": f"also {secret}"}),
        queued(f"and {secret}"),
        {"type": "custom-title", "customTitle": f"About {secret}", "sessionId": SESSION},
        person(4, f"ask Initech about {secret}"),
    )

    with Ingester(settings_in(tmp_path / "root", deny_words=("initech",))) as ingester:
        report = ingester.ingest([tmp_path / "live"])
        kept = repr([list(ingester.archive.entries(SESSION)), ingester.archive.record(SESSION)])

    written = b"".join(path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file())
    assert report.secrets >= 8
    assert secret not in kept
    assert secret.encode() not in written
    assert "initech" not in kept.lower()


def test_a_dry_run_counts_and_writes_nothing(ingester: Ingester, tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())

    report = ingester.ingest([tmp_path / "live"], limits=IngestLimits(dry_run=True))

    assert (report.read, report.entries, ingester.archive.session_ids()) == (1, 10, [])
    assert ingester.ingest([tmp_path / "live"]).entries == 10


def test_since_limit_and_project_choose_files(ingester: Ingester, tmp_path: Path) -> None:
    old = write_transcript(tmp_path / "live", *working_session())
    os.utime(old, (1_000_000_000, 1_000_000_000))
    other = working_session(session=OTHER_SESSION, cwd="/srv/other")
    for item in other:
        item["uuid"] = item["uuid"].replace("-4000-", "-4001-")
    write_transcript(tmp_path / "live", *other, session=OTHER_SESSION)

    late = IngestLimits(datetime(2025, 1, 1, tzinfo=UTC), dry_run=True)
    assert ingester.ingest([tmp_path], limits=late).sessions == {OTHER_SESSION}
    assert ingester.ingest([tmp_path], limits=IngestLimits(project="app", dry_run=True)).sessions == {SESSION}
    assert ingester.ingest([tmp_path], limits=IngestLimits(limit=1)).sessions == {SESSION}
    assert ingester.ingest([tmp_path], limits=IngestLimits(limit=1)).sessions == {OTHER_SESSION}


def test_progress_is_told_file_by_file(ingester: Ingester, tmp_path: Path) -> None:
    size = write_transcript(tmp_path / "live", *working_session()).stat().st_size
    seen: list[tuple[int, int]] = []

    ingester.ingest([tmp_path / "live"], progress=lambda *step: seen.append(step))

    assert seen == [(size, size)]


def ingest_all(settings: IngestSettings, folder: Path) -> None:
    with Ingester(settings) as ingester:
        ingester.ingest([folder])


def test_two_ingesters_at_once_do_no_harm(tmp_path: Path) -> None:
    for number in range(12):
        session = f"{number:08x}-1111-4111-8111-111111111111"
        records: list[Record] = working_session(session=session)
        for item in records:
            item["uuid"] = item["uuid"].replace("-4000-", f"-4{number:03x}-")
        write_transcript(tmp_path / "live", *records, session=session)
    settings = settings_in(tmp_path / "root")
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=ingest_all, args=(settings, tmp_path / "live")) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)

    ingest_all(settings_in(tmp_path / "alone"), tmp_path / "live")

    assert [process.exitcode for process in both] == [0, 0]
    assert state_of(Archive(settings.archive)) == state_of(Archive(tmp_path / "alone" / "sessions" / "archive"))
    assert Archive(settings.archive).verify() == []


def test_an_ingester_that_waits_too_long_says_what_to_do(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())
    with (
        Ingester(settings_in(tmp_path / "root")) as first,
        Ingester(settings_in(tmp_path / "root", lock_seconds=0.01)) as second,
        first._hold_lock(),
        pytest.raises(NeedsRepair, match="Wait for it"),
    ):
        second.ingest([tmp_path / "live"])


def test_a_cut_window_is_enough_to_notice_a_rewrite_of_the_same_size(ingester: Ingester, tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", person(1, "the first words"))
    ingester.ingest([path])
    path.write_bytes(to_lines(person(2, "the other words", parent=0)))

    assert ingester.ingest([path]).entries == 1
    assert HEAD_BYTES >= 16 * 1024
    assert ingester.archive.entry(SESSION, entry_id(1)).parts[0].text == "the first words"
