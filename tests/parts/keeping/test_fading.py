"""`gc`, `keep`, `archive prune`: what search holds of a session fades and comes back; turns go to a file and back."""

import datetime as dt
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from memory_server.lifecycle.use import UseLog
from memory_server.machine.database import connect
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot, state_home
from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, working_session, write_transcript
from tests.memories import without_daemon, write_source

Oneiros = Callable[..., tuple[int, str, str]]
QUESTION = "which rollers were ordered for the printer in the hall"
NOW = dt.datetime(2026, 3, 2, 12, 0, tzinfo=dt.UTC)


class Clock:
    """The time of every command, to be set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> dt.datetime:
        return self.now


class Typed(io.StringIO):
    """What a person types on a terminal, or reads there."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    commands = ("parts.keeping.commands.gc", "parts.keeping.commands.archive", "oneiros.cli.ingest")
    for module in ("oneiros.opening", "oneiros.dreaming", *commands):
        monkeypatch.setattr(f"{module}.now", made)

    def replace_now(file: Path, content: bytes) -> None:
        replace_file(file, content)
        os.utime(file, (made.now.timestamp(), made.now.timestamp()))

    monkeypatch.setattr("crawler.archive.store.replace_file", replace_now)
    return made


@pytest.fixture
def home(tmp_path: Path, founded: Path, clock: Clock) -> Path:
    """A home with a memory of two finished conversations."""
    shutil.copytree(founded, tmp_path / "mem")
    folder = tmp_path / ".claude" / "projects" / "-work-app"
    write_transcript(folder, *working_session())
    records = [
        person(21, "The printer in the hall jams on thick paper.", session=OTHER_SESSION),
        assistant(22, "Its rollers were worn; I ordered the rollers RM1-4840 for it.", session=OTHER_SESSION),
    ]
    write_transcript(folder, *records, session=OTHER_SESSION)
    return tmp_path


@pytest.fixture
def oneiros(home: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(without_daemon(arguments), Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def levels(oneiros: Oneiros, *options: str) -> dict[str, int]:
    """By session the level that a dry run would give it."""
    return {
        step["session"]: step["level"]
        for step in json.loads(oneiros("gc", "--dry-run", "--json", *options)[1])["steps"]
    }


def found(oneiros: Oneiros, *options: str) -> list[str]:
    return [hit["path"] for hit in json.loads(oneiros("recall", QUESTION, "--json", *options)[1])["hits"]]


def root_of(home: Path) -> MemoryRoot:
    """The memory of that home, with the state that its commands use."""
    return MemoryRoot(home / "mem", state_home({}, home))


def files_of(home: Path) -> dict[str, str]:
    """Every file of sessions by its hash."""
    files = [path for path in (home / "mem" / "sessions").rglob("*") if path.is_file()]
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_what_nobody_uses_fades_is_found_by_raw_and_comes_back(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    whole, before = found(oneiros), files_of(home)
    assert OTHER_SESSION in whole[0]
    assert levels(oneiros) == {}
    clock.now += dt.timedelta(days=600)

    assert levels(oneiros) == {SESSION: 3, OTHER_SESSION: 3}
    assert oneiros("gc", "--yes")[0] == 0
    assert levels(oneiros) == {}

    faded = found(oneiros, "--limit", "1")
    assert not any("archive" in path for path in faded)
    assert any(OTHER_SESSION[:8] in path for path in found(oneiros, "--raw"))
    [exact] = json.loads(oneiros("exact", "ConnectionResetError", "--raw", "--agent", "claude", "--json")[1])["hits"]
    assert "[Errno 104] peer closed" in exact["passage"] and SESSION in exact["path"]
    assert files_of(home) == before
    assert "RM1-4840" in oneiros("drill", OTHER_SESSION, "--depth", "raw")[1]

    assert oneiros("gc", "undo")[0] == 0
    assert found(oneiros) == whole
    assert oneiros("gc", "undo")[0] == 1


def test_what_the_last_run_of_gc_let_fade_comes_back_without_being_embedded_again(
    oneiros: Oneiros, home: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    oneiros("ingest")
    whole = found(oneiros)
    clock.now += dt.timedelta(days=600)
    oneiros("gc", "--yes")

    with monkeypatch.context() as patch:
        for place in ("build", "stretch_index"):
            patch.setattr(f"memory_server.index.{place}.fill_cache", pytest.fail)
        assert oneiros("gc", "undo")[0] == 0

    assert found(oneiros) == whole


def test_vectors_of_what_faded_go_with_what_is_forgotten(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    def count_vectors() -> int:
        [keys] = (home / "mem" / ".oneiros" / "vectors").glob("*/keys.db")
        with closing(connect(keys)) as connection:
            return int(connection.execute("select count(*) from row").fetchone()[0])

    oneiros("ingest")
    whole = count_vectors()
    clock.now += dt.timedelta(days=600)
    oneiros("gc", "--yes")
    faded = count_vectors()
    oneiros("forget", OTHER_SESSION)

    assert faded == whole > count_vectors()


@pytest.mark.parametrize(
    "question",
    [
        "was RM1-4840 ordered for the printer in the hall",
        "which toner was ordered for the printer in the hall, RM1-4840",
    ],
)
def test_a_name_that_stands_in_a_faded_session_alone_is_found(
    oneiros: Oneiros, home: Path, clock: Clock, question: str
) -> None:
    oneiros("ingest")
    found(oneiros)
    clock.now += dt.timedelta(days=600)
    assert oneiros("gc", "--yes")[0] == 0
    third = "33334444-5555-4666-8777-888899990000"
    records = [
        person(31, "Which toner was ordered for the printer in the hall?", session=third),
        assistant(32, "I ordered the toner for the printer in the hall last week.", session=third),
    ]
    write_transcript(home / ".claude" / "projects" / "-work-app", *records, session=third)
    oneiros("ingest")

    answer = json.loads(oneiros("recall", question, "--json")[1])

    assert any(OTHER_SESSION in hit["path"] and "RM1-4840" in hit["passage"] for hit in answer["hits"][:2])
    assert "has faded" in answer["note"]
    assert "has faded" not in json.loads(oneiros("recall", "which toner for the printer", "--json")[1])["note"]


def test_an_old_session_counts_from_its_ingest(oneiros: Oneiros, clock: Clock) -> None:
    clock.now += dt.timedelta(days=600)
    oneiros("ingest")
    oneiros("drill", SESSION)

    assert levels(oneiros) == {}
    assert "would fade" not in oneiros("report", "--all")[1]
    assert levels(oneiros, "--older-than", "90") == {SESSION: 1, OTHER_SESSION: 1}
    clock.now += dt.timedelta(days=59)
    assert levels(oneiros) == {}
    clock.now += dt.timedelta(days=541)
    assert levels(oneiros) == {SESSION: 2, OTHER_SESSION: 3}


def test_gc_asks_and_changes_nothing_where_nobody_can_answer(
    oneiros: Oneiros, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    oneiros("ingest")
    found(oneiros)
    clock.now += dt.timedelta(days=600)

    code, shown, said = oneiros("gc")
    assert code == 2 and OTHER_SESSION[:8] in shown
    assert "nothing was changed" in said and "--yes" in said
    assert len(levels(oneiros)) == 2

    for answer, left in (("n\n", 2), ("y\n", 0)):
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdin", Typed(answer))
            patch.setattr("sys.stderr", Typed())
            oneiros("gc")
        assert len(levels(oneiros)) == left


def test_gc_asks_nobody_about_json(oneiros: Oneiros, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    oneiros("ingest")
    found(oneiros)
    clock.now += dt.timedelta(days=600)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdin", Typed("y\n"))
        patch.setattr("sys.stderr", Typed())
        code, shown, _ = oneiros("gc", "--json")

    assert (code, shown) == (2, "")
    assert len(levels(oneiros)) == 2
    assert json.loads(oneiros("gc", "--json", "--yes")[1])["done"]
    assert levels(oneiros) == {}


def test_what_is_kept_while_gc_asks_does_not_fade(
    oneiros: Oneiros, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    oneiros("ingest")
    found(oneiros)
    clock.now += dt.timedelta(days=600)
    monkeypatch.setattr("parts.keeping.commands.gc.confirm", lambda *_, **__: oneiros("keep", SESSION[:8]))

    _, _, said = oneiros("gc")

    assert "1 of 2 sessions and episodes change." in said
    assert levels(oneiros) == {}
    oneiros("keep", SESSION[:8], "--off")
    assert [*levels(oneiros)] == [SESSION]


def test_an_index_made_anew_fades_the_same(oneiros: Oneiros, clock: Clock) -> None:
    oneiros("ingest")
    clock.now += dt.timedelta(days=600)
    oneiros("gc", "--yes")
    before = found(oneiros), found(oneiros, "--raw")

    oneiros("reindex", "--rebuild")

    assert (found(oneiros), found(oneiros, "--raw")) == before


def test_what_was_opened_kept_or_cited_stays(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    oneiros("drill", OTHER_SESSION, "--depth", "raw")
    clock.now += dt.timedelta(days=200)

    assert levels(oneiros) == {SESSION: 2, OTHER_SESSION: 1}
    oneiros("gc", "--yes")
    assert OTHER_SESSION in found(oneiros)[0]

    oneiros("keep", SESSION[:8])
    assert levels(oneiros) == {SESSION: 0}
    oneiros("keep", SESSION[:8], "--off")
    assert levels(oneiros) == {}
    note = f"A fact.[^1]\n\n[^1]: person in session {SESSION}, entry 00000001, 2026-03-01\n"
    write_source(home / "mem", "topics/relay.md", note)
    assert levels(oneiros) == {SESSION: 0}


def test_without_the_log_of_use_nothing_is_old(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    clock.now += dt.timedelta(days=600)
    found(oneiros)
    clock.now += dt.timedelta(days=600)
    assert levels(oneiros)
    root_of(home).state_database.unlink()

    assert levels(oneiros) == {}


def test_a_session_that_goes_on_is_whole_again(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    clock.now += dt.timedelta(days=600)
    oneiros("gc", "--yes")
    more = [person(31, "The rollers for the printer in the hall came.", session=OTHER_SESSION)]
    file = home / ".claude" / "projects" / "-work-app" / f"{OTHER_SESSION}.jsonl"
    file.write_bytes(file.read_bytes() + b"".join(json.dumps(one).encode() + b"\n" for one in more))

    oneiros("ingest")

    assert OTHER_SESSION in found(oneiros)[0]


def test_what_ended_goes_to_the_attic_unchanged_and_back(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    path = "episodes/2026/2026-02-01-note-0a1b2c3d.md"
    text = "The guest network ends in March.\n"
    file = write_source(home / "mem", path, text, type="episodic", temporal={"validUntil": "2026-02-20"})
    before, exchange = file.read_bytes(), file.with_suffix(".exchange.txt")
    exchange.write_text("When does it end? In March.\n", encoding="utf-8")
    oneiros("ingest")

    assert oneiros("gc", "--yes")[0] == 0
    attic = home / "mem" / "sessions" / "attic" / path
    assert (attic.read_bytes(), file.exists()) == (before, False)
    assert (attic.with_suffix(".exchange.txt").exists(), exchange.exists()) == (True, False)
    assert "guest network" not in oneiros("recall", "guest network")[1]

    oneiros("gc", "undo")
    assert (file.read_bytes(), attic.exists()) == (before, False)
    assert exchange.exists() and not attic.with_suffix(".exchange.txt").exists()


def test_what_a_long_old_source_says_is_told_before_it_fades(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    lines = "".join(f"- The host number {number} serves the disk of rack {number * 7}.\n" for number in range(150))
    hosts = write_source(home / "mem", "episodes/2026/2026-01-01-hosts-0a1b2c3d.md", lines, created="2026-01-01")
    write_source(
        home / "mem", "episodes/2026/2026-01-01-mail-0a1b2c3e.md", lines, created="2026-01-01", summary="Racks."
    )
    write_source(home / "mem", "episodes/2026/2026-01-01-door-0a1b2c3f.md", "The door sticks.\n", created="2026-01-01")
    before = files_of(home)
    oneiros("ingest")
    oneiros("recall", "which rack")
    clock.now += dt.timedelta(days=600)

    output = oneiros("gc", "--yes")[1].splitlines()

    summaries = {
        line.split("/")[-1]: output[place + 2 :][:1] for place, line in enumerate(output) if "episodes/" in line
    }
    assert summaries["2026-01-01-hosts-0a1b2c3d.md"][0].startswith("      The host number")
    assert len(summaries["2026-01-01-hosts-0a1b2c3d.md"][0]) <= 506
    assert summaries["2026-01-01-mail-0a1b2c3e.md"] == ["      Racks."]
    assert "The door sticks." not in "".join(output)
    assert "never used" in output[1] and hosts.exists() and before.items() <= files_of(home).items()


def test_what_is_forgotten_leaves_no_mark_and_no_use(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    oneiros("drill", OTHER_SESSION, "--depth", "raw")
    clock.now += dt.timedelta(days=600)
    oneiros("gc", "--yes")

    assert oneiros("forget", OTHER_SESSION)[0] == 0

    root, mark = root_of(home), OTHER_SESSION[:8]
    files = [path for path in (*root.state.rglob("*"), *root.path.rglob("*")) if path.is_file()]
    held = [path.name for path in files if mark.encode() in path.read_bytes() or mark in path.name]
    assert held == []
    assert SESSION.encode() in root.marks.read_bytes()


def test_doctor_and_hooks_count_as_no_use(oneiros: Oneiros, home: Path) -> None:
    (home / "mem" / "topics" / "known.md").write_text(f"# Known\n\n{QUESTION}\n", encoding="utf-8")
    oneiros("reindex")
    oneiros("doctor")

    log = UseLog(root_of(home).state_database, lambda: NOW.date())
    assert log.uses() == {}
    found(oneiros)
    assert log.uses()
    log.close()


# -- prune and restore -------------------------------------------------------------------------------------------


def archived(home: Path) -> dict[str, str]:
    """Records and objects of the archive, by their hashes."""
    folder = home / "mem" / "sessions" / "archive"
    files = [*folder.glob("sessions/*.json"), *folder.glob("objects/*/*.zst")]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_old_turns_go_to_a_file_that_drill_names_and_come_back_bit_for_bit(
    oneiros: Oneiros,
    home: Path,
    clock: Clock,
) -> None:
    oneiros("ingest")
    clock.now += dt.timedelta(days=800)
    before, file = archived(home), home / "old.tar.zst"
    drilled = oneiros("drill", SESSION, "--depth", "raw")
    found = oneiros("exact", "ConnectionResetError", "--raw")[1]

    dry = json.loads(oneiros("archive", "prune", "--older-than", "700", "--dry-run", "--json")[1])
    assert (sorted(dry["sessions"]), dry["done"], archived(home)) == ([SESSION, OTHER_SESSION], False, before)
    assert oneiros("archive", "prune", "--older-than", "700")[0] == 2
    code, _, output = oneiros("archive", "prune", "--older-than", "700", "--to", str(file))

    assert (code, archived(home), file.stat().st_mode & 0o777) == (0, {}, 0o600), output
    code, _, output = oneiros("drill", SESSION, "--depth", "raw")
    assert code == 1 and str(file) in output and f"moved out on {clock.now:%Y-%m-%d}" in output
    assert oneiros("drill", SESSION, "--depth", "digest")[0] == 0

    assert oneiros("archive", "restore", str(file))[0] == 0
    assert archived(home) == before
    assert oneiros("drill", SESSION, "--depth", "raw") == drilled
    assert oneiros("exact", "ConnectionResetError", "--raw")[1] == found
    assert "2 are there already" in oneiros("archive", "restore", str(file))[2]


def test_what_is_cited_kept_young_or_small_stays(oneiros: Oneiros, home: Path, clock: Clock) -> None:
    oneiros("ingest")
    assert json.loads(oneiros("archive", "prune", "--older-than", "700", "--json")[1])["sessions"] == []
    clock.now += dt.timedelta(days=800)
    note = f"A fact.[^1]\n\n[^1]: person in session {SESSION}, entry 00000001, 2026-03-01\n"
    write_source(home / "mem", "topics/relay.md", note)

    assert oneiros("archive", "prune")[0] == 2
    oneiros("config", "archive_max_mb", "1")
    assert json.loads(oneiros("archive", "prune", "--json")[1])["sessions"] == []
    older = ("archive", "prune", "--older-than", "700", "--dry-run", "--json")
    assert json.loads(oneiros(*older)[1])["sessions"] == [OTHER_SESSION]
    oneiros("keep", OTHER_SESSION)
    assert json.loads(oneiros(*older)[1])["sessions"] == []


def test_a_file_of_another_archive_and_what_was_forgotten_stay_out(
    oneiros: Oneiros,
    home: Path,
    clock: Clock,
) -> None:
    oneiros("ingest")
    clock.now += dt.timedelta(days=800)
    file = home / "old.tar.zst"
    oneiros("archive", "prune", "--older-than", "700", "--to", str(file))
    oneiros("forget", OTHER_SESSION)

    assert oneiros("archive", "restore", str(file))[0] == 0
    assert Archive(home / "mem" / "sessions" / "archive").session_ids() == [SESSION]

    (home / "mem" / "sessions" / "archive" / "pruned.jsonl").unlink()
    code, _, output = oneiros("archive", "restore", str(file))
    assert code == 1 and "nothing was exported from this archive" in output
