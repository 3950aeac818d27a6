import json
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from crawler.transcripts.injected import is_own_chat
from dream.decisions.presence import person_at_terminal
from memory_server.machine import database
from memory_server.root.forgetting import note_forgetting, sessions_to_forget
from memory_server.root.paths import MemoryRoot, state_home
from memory_server.settings_file import change_setting
from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, working_session, write_transcript
from tests.memories import kept_reading, without_daemon, write_topic

Oneiros = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, founded: Path) -> Path:
    """A home with a memory and one finished conversation."""
    shutil.copytree(founded, tmp_path / "mem")
    write_transcript(tmp_path / ".claude" / "projects" / "-work-app", *working_session())
    return tmp_path


@pytest.fixture
def oneiros(home: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs one command in that home: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(without_daemon(arguments), Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def other_session(home: Path) -> Path:
    records = [
        person(21, "The printer in the hall jams on thick paper.", session=OTHER_SESSION),
        assistant(22, "Its rollers were worn; I ordered the rollers RM1-4840 for it.", session=OTHER_SESSION),
    ]
    return write_transcript(home / ".claude" / "projects" / "-work-app", *records, session=OTHER_SESSION)


def test_what_was_said_is_found_after_one_ingest(oneiros: Oneiros) -> None:
    code, _, err = oneiros("ingest")
    found = json.loads(oneiros("recall", "why does the relay lose its connection", "--json")[1])

    assert code == 0 and "1 of 1 file read" in err
    assert found["hits"][0]["layer"] == "raw" and "11111111" in found["hits"][0]["path"]


def test_recall_by_type_and_project_finds_what_sessions_said_of_it(oneiros: Oneiros) -> None:
    oneiros("ingest")
    question = ("recall", "how is the timeout kept from cutting the relay off", "--type")

    found = json.loads(oneiros(*question, "decision", "--project", "app", "--json")[1])["hits"]

    assert len(found) == 1 and "keepalive every 300 seconds" in found[0]["passage"]
    assert oneiros(*question, "decision", "--project", "shop")[0] == 1
    assert oneiros(*question, "preference")[0] == 1
    assert oneiros(*question, "decision", "--type", "lesson")[0] == 0
    assert oneiros(*question, "decision", "--type", "semantic")[0] == 2


def test_a_type_of_frontmatter_is_a_filter_as_before(oneiros: Oneiros) -> None:
    oneiros("ingest")

    assert oneiros("recall", "relay connection", "--type", "episodic")[0] == 0
    assert oneiros("recall", "relay connection", "--type", "procedural")[0] == 1


def test_an_ingest_says_in_its_first_line_what_it_took_in_and_nothing_of_what_is_not(
    oneiros: Oneiros, home: Path
) -> None:
    first, again = oneiros("ingest")[2].splitlines(), oneiros("ingest")[2].splitlines()
    next((home / ".claude").rglob("*.jsonl")).unlink()

    assert first[:2] == ["1 session taken in, 10 new entries; 1 of 1 file read.", "Sessions: 1 compressed."]
    assert again[:2] == ["Nothing new; 1 unchanged.", "Sessions: 1 unchanged."]
    assert oneiros("ingest")[2].splitlines()[0] == "No transcripts found in ~/.claude/projects."


def test_ingesting_again_does_nothing(oneiros: Oneiros) -> None:
    oneiros("ingest")

    again = json.loads(oneiros("ingest", "--json")[1])

    assert (again["read"], again["unchanged"], again["compressed"]) == (0, 1, [])


def test_a_dry_run_takes_nothing_in(oneiros: Oneiros, home: Path) -> None:
    report = json.loads(oneiros("ingest", "--dry-run", "--json")[1])

    assert (report["read"], report["sessions"]) == (1, [SESSION])
    assert list((home / "mem").rglob("*.zst")) == []


def test_a_path_a_project_and_a_limit_narrow_what_is_read(oneiros: Oneiros, home: Path) -> None:
    path = other_session(home)

    assert json.loads(oneiros("ingest", "--project", "shop", "--json")[1])["read"] == 0
    assert json.loads(oneiros("ingest", str(path), "--json")[1])["sessions"] == [OTHER_SESSION]
    assert json.loads(oneiros("ingest", "--limit", "0", "--json")[1])["read"] == 0


def test_a_path_that_is_not_there_is_the_persons_error(oneiros: Oneiros) -> None:
    code, _, err = oneiros("ingest", "nowhere")

    assert code == 2 and "there is no such file or folder" in err


def test_a_denied_project_and_a_named_machine_come_from_the_settings(oneiros: Oneiros, home: Path) -> None:
    settings = home / ".config" / "oneiros" / "config.toml"
    laptop = home / "synced"
    write_transcript(laptop, *working_session(session=OTHER_SESSION, cwd="/srv/tools"), session=OTHER_SESSION)
    change_setting(settings, "crawl_roots", [f"laptop={laptop}"])
    change_setting(settings, "ingest_deny", ["/srv/app"])

    report = json.loads(oneiros("ingest", "--json")[1])

    assert report["sessions"] == [OTHER_SESSION]
    assert oneiros("recall", "relay connection", "machine:laptop")[0] == 0
    assert oneiros("recall", "relay connection", "machine:desk")[0] == 1


def test_named_references_are_tables_of_the_settings_and_an_empty_one_ends_with_1(oneiros: Oneiros, home: Path) -> None:
    (home / "0_notes").mkdir()
    (home / "0_notes" / "lease.adoc").write_text("The lease of the harbour office ends in May.", encoding="utf-8")
    value = '[{name = "notes", roots = ["~/0_*"], endings = [".adoc"], tags = ["mine"], minutes = 5}]'
    assert oneiros("config", "references", value)[0] == 0

    first = oneiros("ingest", "--json")
    (home / "0_notes" / "lease.adoc").unlink()
    second = oneiros("ingest")

    found = json.loads(first[1])["references"]
    assert (first[0], found["written"], found["refused"], found["barren"]) == (0, 1, {}, [])
    assert second[0] == 1 and f"References: nothing was taken of notes: {home}/0_*." in second[2]
    assert "[[references]]" in (home / ".config" / "oneiros" / "config.toml").read_text(encoding="utf-8")
    assert "notes" in oneiros("config")[1]
    shown = json.loads(oneiros("config", "references", "--json")[1])["references"]
    assert shown[0]["roots"] == ["~/0_*"] and shown[0]["minutes"] == 5


@pytest.mark.parametrize(
    "value",
    [
        '[{name = "notes"}]',
        '[{name = "notes", roots = []}]',
        '[{name = "notes", roots = ["notes"]}]',
        '[{name = "notes", roots = ["~/x"], ending = [".md"]}]',
        '[{name = "notes", roots = ["~/x"], minutes = -1}]',
        '[{name = "notes", roots = ["~/x"]}, {name = "notes", roots = ["~/y"]}]',
        '[{name = "notes", roots = ["~/x"], tags = ["x=re:("]}]',
        "notes",
    ],
)
def test_a_table_that_does_not_fit_is_the_persons_error(oneiros: Oneiros, home: Path, value: str) -> None:
    code, _, err = oneiros("config", "references", value)

    assert code == 2 and "refer" in err
    assert not (home / ".config" / "oneiros" / "config.toml").exists()


def test_a_session_is_read_at_four_depths_that_name_each_next(oneiros: Oneiros) -> None:
    oneiros("ingest")

    line, digest, file, raw = (oneiros("drill", "11111111", "--depth", d)[1] for d in ("line", "digest", "file", "raw"))

    assert line.strip().endswith("more: oneiros drill 11111111 --depth digest")
    assert digest.strip().endswith("oneiros drill 11111111 --depth file")
    assert file.strip().endswith("oneiros drill 11111111 --depth raw")
    assert "ConnectionResetError" in raw


def test_a_conversation_is_exported_whole_by_one_command_and_is_no_source(oneiros: Oneiros) -> None:
    oneiros("ingest")

    page, output = (oneiros("drill", "11111111", "--export", form)[1] for form in ("markdown", "json"))

    exported = json.loads(output)
    turns = exported["turns"]
    assert [turn["number"] for turn in turns] == list(range(1, len(turns) + 1))
    assert {"person", "assistant", "tool"} <= {turn["role"] for turn in turns}
    assert all(f"## {turn['number']}. {turn['role']}" in page for turn in turns)
    assert "ConnectionResetError" in page and any("ConnectionResetError" in turn["text"] for turn in turns)
    assert is_own_chat(page) and is_own_chat(output)


def test_turns_are_found_and_read_by_the_place_of_the_hit(oneiros: Oneiros) -> None:
    oneiros("ingest")

    hit = json.loads(oneiros("exact", "ConnectionResetError", "layer:raw", "--json")[1])["hits"][0]
    code, text, _ = oneiros("read", f"{hit['path']}:{hit['first_line']}")

    assert (hit["layer"], hit["path"]) == ("raw", f"sessions/archive/{SESSION}")
    assert code == 0 and "ConnectionResetError" in text


def test_what_is_forgotten_is_in_no_file_and_stays_out(oneiros: Oneiros, home: Path) -> None:
    path = other_session(home)
    oneiros("ingest")
    oneiros("exact", "RM1-4840", "--raw")

    code, out, output = oneiros("forget", OTHER_SESSION)
    assert output.index("taken out of every file and index") < output.index("Forgotten.")
    path.unlink()

    held = [file for file in (home / "mem").rglob("*") if file.is_file() and b"RM1-4840" in file.read_bytes()]
    assert (code, held) == (0, [])
    assert OTHER_SESSION in out
    assert [file for file in (home / "mem").rglob("*") if OTHER_SESSION in file.name] == []
    assert oneiros("recall", "relay connection")[0] == 0
    other_session(home)
    assert json.loads(oneiros("ingest", "--json")[1])["sessions"] == []


PRIVATE = "From now on always run the xylophone migrations before deploying the billing service."


def holding(home: Path, *words: bytes) -> list[Path]:
    """The files of ours below a home in which one of these words stands, or whose name holds it."""
    files = [path for path in home.rglob("*") if path.is_file() and ".claude" not in path.parts]
    return [path for path in files if any(word in path.read_bytes() + path.name.encode() for word in words)]


def private_session(home: Path, *more: str) -> Path:
    records = [person(40 + number, text, session=OTHER_SESSION) for number, text in enumerate((PRIVATE, *more))]
    return write_transcript(home / ".claude" / "projects" / "-work-app", *records, session=OTHER_SESSION)


def test_a_mark_in_a_prompt_takes_everything_out_and_can_be_undone(oneiros: Oneiros, home: Path) -> None:
    path = private_session(home)
    oneiros("ingest")
    oneiros("dream")
    assert "xylophone" in oneiros("review", "--list", "--json")[1]
    assert oneiros("exact", "xylophone migrations", "--raw")[0] == 0
    path = private_session(home, "I would rather not have that kept.\n#no-memory")

    code, _, err = oneiros("ingest")
    left = holding(home, b"xylophone")
    named = [file.name for file in holding(home, OTHER_SESSION.encode()) if not file.name.startswith("sessions.db")]
    found, hunks = oneiros("exact", "xylophone", "--raw")[0], oneiros("review", "--list", "--json")[1]
    undone, _, output = oneiros("forget", str(path), "--undo")

    assert code == 0 and f"{path}: refused, you excluded or forgot this session" in err
    assert (left, named, found) == ([], [], 1) and "xylophone" not in hunks
    assert undone == 0 and "1 session taken in, 2 new entries" in output
    assert oneiros("exact", "xylophone migrations", "--raw")[0] == 0


def test_a_mark_is_obeyed_after_a_kill_in_the_middle(
    oneiros: Oneiros, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private_session(home)
    oneiros("ingest")
    oneiros("exact", "xylophone migrations", "--raw")
    private_session(home, "#no-memory")

    for place in ("oneiros.ingest.forgetting.forget", "oneiros.cli.ingest.brought_level"):
        with monkeypatch.context() as killed:
            killed.setattr(place, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            assert oneiros("ingest")[0] == 130
    oneiros("ingest")

    assert holding(home, b"xylophone") == []


def test_a_forgetting_that_was_interrupted_is_told_and_goes_on(
    oneiros: Oneiros, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = private_session(home)
    oneiros("ingest")
    oneiros("exact", "xylophone migrations", "--raw")
    with monkeypatch.context() as killed:
        killed.setattr("memory_server.memory.Memory.reindex", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        assert oneiros("forget", path.stem)[0] == 130
    assert f"1 session not forgotten whole yet: oneiros forget {path.stem[:8]}" in oneiros("status", "--json")[1]

    assert oneiros("forget", path.stem[:8])[0] == 0

    assert holding(home, b"xylophone") == []
    assert "not forgotten" not in oneiros("status", "--json")[1]


def test_a_forgetting_says_that_another_program_keeps_words_and_is_done_by_the_same_command(
    oneiros: Oneiros, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.1)
    path = private_session(home)
    oneiros("ingest")
    oneiros("exact", "xylophone migrations", "--raw")
    [asked] = {file.with_name("state.db") for file in holding(home, b"xylophone") if "state.db" in file.name}

    with kept_reading(asked, "query"):
        code, out, err = oneiros("forget", path.stem)
        assert holding(home, b"xylophone")

    assert code == 3 and "another program reads" in err and "Forgotten." not in out + err
    assert f"`oneiros forget {path.stem[:8]}`" in err
    assert f"1 session not forgotten whole yet: oneiros forget {path.stem[:8]}" in oneiros("status", "--json")[1]
    assert oneiros("forget", path.stem[:8])[0] == 0 and holding(home, b"xylophone") == []


def test_forgetting_lists_what_still_holds_the_session(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")
    topic = home / "mem" / "topics" / "relay.md"
    topic.write_text(f"# Relay\n\nIt needs a keepalive.[^1]\n\n[^1]: session {SESSION}\n", encoding="utf-8")
    git = ["git", "-C", str(home / "mem"), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "Keep sessions"], check=True)

    plan = json.loads(oneiros("forget", SESSION, "--dry-run", "--json")[1])

    assert plan["topics"] == ["topics/relay.md"] and plan["commits"][0].endswith("Keep sessions")
    transcript = home / ".claude" / "projects" / "-work-app" / f"{SESSION}.jsonl"
    assert plan["transcripts"] == [str(transcript)]
    assert f"transcript {transcript}  (stays: it is the client's own)" in oneiros("forget", SESSION, "--dry-run")[1]
    assert not plan["forgotten"] and oneiros("drill", SESSION)[0] == 0


def test_nothing_is_forgotten_where_nobody_can_be_asked(oneiros: Oneiros, monkeypatch: pytest.MonkeyPatch) -> None:
    oneiros("ingest")
    monkeypatch.setattr("oneiros.cli.consent.person_at_terminal", partial(person_at_terminal, ask=lambda _: ""))

    code, _, err = oneiros("forget", SESSION)

    assert code == 2 and "Nothing of this was decided" in err
    assert oneiros("drill", SESSION)[0] == 0


def test_nothing_is_forgotten_while_another_process_owns_the_memory(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")

    with FileLock(home / "mem" / ".oneiros" / "lock"):
        code, _, err = oneiros("forget", SESSION)

    assert code == 3 and "writes the indices of this memory" in err
    assert oneiros("drill", SESSION)[0] == 0


def test_nothing_comes_back_while_another_process_owns_the_memory(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")
    oneiros("forget", SESSION)

    with FileLock(home / "mem" / ".oneiros" / "lock"):
        code, _, err = oneiros("forget", SESSION, "--undo")
        is_there = oneiros("drill", SESSION)[0] == 0

    assert code == 3 and "writes the indices of this memory" in err and not is_there
    assert oneiros("forget", SESSION, "--undo")[0] == 0 == oneiros("drill", SESSION)[0]


def test_what_comes_back_waits_no_longer_to_be_forgotten(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")
    oneiros("forget", SESSION)
    root = Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home).choice.root
    note_forgetting(root, [SESSION])  # as a kill leaves it

    assert oneiros("forget", SESSION, "--undo")[0] == 0
    assert not sessions_to_forget(root)


def test_a_damaged_archive_is_a_finding(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")
    assert oneiros("archive", "verify")[0] == 0
    next((home / "mem").rglob("*.zst")).write_bytes(b"damage")

    code, out, _ = oneiros("archive", "verify")

    assert code == 1 and "damaged" in out


def test_ingest_says_why_it_refused_a_file_and_what_to_do_about_an_odd_one(oneiros: Oneiros, home: Path) -> None:
    folder = home / ".claude" / "projects" / "-work-app"
    (folder / "codex.jsonl").write_text('{"type":"session_meta","payload":{"originator":"codex"}}\n', encoding="utf-8")
    (folder / "odd\x1b[2J.jsonl").symlink_to("/nowhere")

    code, _, err = oneiros("ingest")
    again = oneiros("ingest", "--json")

    assert code == again[0] == 1
    assert f"{folder}/codex.jsonl: refused, written by Codex." in err
    assert f"{folder}/odd\\u001b[2J.jsonl:1: it is a link that leads nowhere. Remove it" in err
    assert [problem["what"] for problem in json.loads(again[1])["problems"]] == ["it is a link that leads nowhere"]
    assert oneiros("recall", "why does the relay lose its connection")[0] == 0


def test_a_damaged_record_keeps_no_other_session_from_being_found(oneiros: Oneiros, home: Path) -> None:
    oneiros("ingest")
    (home / "mem" / "sessions" / "archive" / "sessions" / f"{SESSION}.json").write_bytes(b"{")
    other_session(home)

    code, _, err = oneiros("ingest")

    assert code == 1 and "the archive's record of this session cannot be read" in err
    assert oneiros("exact", "RM1-4840", "--raw")[0] == 0
    assert json.loads(oneiros("dream", "--json")[1])["sessions"] == 1


def test_redact_shows_what_would_go_and_leaves_the_file(oneiros: Oneiros, home: Path) -> None:
    file = home / "notes.txt"
    file.write_text("one\npassword = 'hunter22x!'\n", encoding="utf-8")

    code, out, _ = oneiros("redact", "--dry-run", "notes.txt")

    assert (code, out) == (0, "notes.txt:2: secret, 10 characters\n")
    assert "hunter22x" in file.read_text(encoding="utf-8")


def test_status_and_doctor_say_what_is_not_archived_yet(oneiros: Oneiros) -> None:
    before = json.loads(oneiros("status", "--json")[1])
    checks = {one["check"]: one for one in json.loads(oneiros("doctor", "--json")[1])["checks"]}
    oneiros("ingest")
    after = json.loads(oneiros("status", "--json")[1])

    assert (before["not_archived"], before["expiring"], after["not_archived"]) == (1, 0, 0)
    assert checks["archive"]["repair"] == "oneiros ingest"
    assert after["sources"]["raw"] == 1


def test_a_project_is_known_by_the_name_that_claude_gave_its_folder(oneiros: Oneiros) -> None:
    assert "1 of 1 file would be read" not in oneiros("ingest", "--project", "-srv-shop", "--dry-run")[2]
    assert "1 of 1 file would be read" in oneiros("ingest", "--project", "-srv-app", "--dry-run")[2]


def test_status_tells_who_reads_sessions_how_many_wait_and_what_today_has_taken(oneiros: Oneiros) -> None:
    oneiros("ingest")
    by_rules = oneiros("status")[1]
    for key, value in {"reader": "openai-url", "reader_url": "http://127.0.0.1:9/v1"}.items():
        oneiros("config", key, value)

    found = json.loads(oneiros("status", "--json")[1])["readings"]
    output = oneiros("status")[1]

    assert "readings  1 session, 0 of them by a model; reader: rules, which offer little." in by_rules
    assert (
        "readings  1 session, 0 of them by a model; reader: openai-url, 1 wait; 0 of 100,000 tokens today\n" in output
    )
    assert list(found) == [
        *("reader", "by_model", "by_rules", "waiting", "tokens_today", "tokens_a_day", "usd_today", "stopped"),
    ]


@pytest.mark.parametrize("reader", ["rules", "anthropic"])
def test_status_names_a_damaged_ledger_of_what_was_paid(oneiros: Oneiros, home: Path, reader: str) -> None:
    oneiros("ingest")
    oneiros("config", "reader", reader)
    ledger = MemoryRoot(home / "mem", state_home({}, home)).spent
    ledger.parent.mkdir(parents=True, exist_ok=True)
    ledger.write_bytes(b"\0\0\0")

    code, status, _ = oneiros("status")

    named = f"stopped: {ledger}: what was paid on which day cannot be read, so no model is asked. Mend the file"
    assert code == 0 and named in status
    assert json.loads(oneiros("readings", "--json")[1])["tokens_today"] is None
    assert "stopped   " in oneiros("readings")[1]


def test_the_status_of_a_project_counts_nothing_of_others(oneiros: Oneiros, home: Path) -> None:
    write_topic(MemoryRoot(home / "mem", home / "state"), "app/relay", "# Relay\n\n- It hums.\n", project="App")
    write_topic(MemoryRoot(home / "mem", home / "state"), "shop/till", "# Till\n\n- It rings.\n", project="shop")
    (home / "mem" / "lessons.md").write_text("# Lessons\n\n## app\n\n- Look first.\n", encoding="utf-8")
    oneiros("ingest")
    oneiros("dream")
    proposed = json.loads(oneiros("review", "--json", "--project", "app")[1])["hunks"]

    found = json.loads(oneiros("status", "--project", "app", "--json")[1])

    assert found == {
        "project": "app",
        "topics": 1,
        "lessons": 1,
        "sessions": 1,
        "by_model": 0,
        "waiting": 0,
        "queued": 0,
        "last_session": found["last_session"],
        "proposed": len(proposed),
    }
    assert "topics    1, and 1 lesson\n" in oneiros("status", "--project", "app")[1]
    assert oneiros("status", "--project", "garden") == (1, oneiros("status", "--project", "garden")[1], "")


def test_a_memory_in_a_projects_repository_takes_in_that_project_alone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = home / "app"
    (app / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(app)], check=True)
    projects = home / ".claude" / "projects"
    own = [person(31, "The lamp is green.", session=OTHER_SESSION, cwd=str(app / "src"))]
    write_transcript(projects / "-app", *own, session=OTHER_SESSION)
    environment = Environment({"ONEIROS_ROOT": str(app / "memory")}, home, app)
    main(["init"], environment)
    capsys.readouterr()

    main(["ingest", "--json"], environment)

    report = json.loads(capsys.readouterr().out)
    assert report["sessions"] == [OTHER_SESSION]
    assert [one["reason"] for one in report["refused"]] == [f"this memory is of the project {app / '.git'}"]


def test_ingest_where_no_memory_is_makes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["ingest"], Environment({"ONEIROS_ROOT": str(home / "none")}, home, home))

    assert code == 3 and "oneiros init" in capsys.readouterr().err
    assert not (home / "none").exists()


def test_following_goes_with_neither_a_dry_run_nor_a_limit(oneiros: Oneiros) -> None:
    assert oneiros("ingest", "--follow", "--dry-run")[0] == 2
    assert oneiros("ingest", "--follow", "--limit", "1")[0] == 2


def test_references_answer_only_where_nothing_else_does_or_when_asked(oneiros: Oneiros, home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    (project / "README.md").write_text("# Shop\n\nThe relay of the shop is a Zebra-77.\n", encoding="utf-8")
    change_setting(home / ".config" / "oneiros" / "config.toml", "reference_roots", [str(project)])
    oneiros("ingest")

    alone = json.loads(oneiros("exact", "Zebra-77", "--json")[1])
    beside = json.loads(oneiros("exact", "relay", "--json")[1])

    assert [hit["layer"] for hit in alone["hits"]] == ["reference"]
    assert "reference" not in [hit["layer"] for hit in beside["hits"]] and beside["hits"]


def test_references_of_two_repositories_of_one_name_stand_apart_and_keep_their_names(
    oneiros: Oneiros, home: Path
) -> None:
    folders = [home / parent / "shop" for parent in "ab"]
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
        (folder / "README.md").write_text(f"# Shop\n\nThe shop {folder} has a relay.\n", encoding="utf-8")
    settings = home / ".config" / "oneiros" / "config.toml"
    change_setting(settings, "reference_roots", [str(folder) for folder in folders])
    oneiros("ingest")
    change_setting(settings, "reference_roots", [str(folder) for folder in reversed(folders)])

    oneiros("ingest")

    copies = (home / "mem").rglob("references/*shop/*.md")
    told = {path.parent.name: path.read_text(encoding="utf-8") for path in copies}
    assert str(folders[0]) in told["shop"] and str(folders[1]) in told["b-shop"]
