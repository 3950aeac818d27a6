"""Sessions of other machines, over a real sshd on the loopback; with a home of its own for each of them."""

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.archive.store import Archive
from memory_server.layers.sessions import newest_files
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.environment import Environment, now
from oneiros.ingest.run import IngestOutcome, Wanted, run_ingest, scan_references
from parts.machines.visits import machines_json, open_register
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    assistant,
    person,
    to_lines,
    working_session,
    write_transcript,
)
from tests.other_machines import OtherMachines
from tests.system.house import House

SECRET = "hunter22x!"


class Person:
    """Somebody at this machine, who has named other ones in their settings."""

    def __init__(self, house: House, net: OtherMachines):
        self.house, self.net = house, net

    @property
    def environment(self) -> Environment:
        variables = {**self.house.variables, "PATH": self.net.variables["PATH"]}
        return Environment(variables, self.house.folder, self.house.folder)

    @property
    def root(self) -> MemoryRoot:
        return self.house.memory_root

    @property
    def archive(self) -> Archive:
        return Archive(self.root.path / "sessions" / "archive")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", "from oneiros.cli.main import run; run()", *arguments]
        variables = dict(self.environment.variables)
        return subprocess.run(
            program, env=variables, cwd=self.house.folder, capture_output=True, text=True, check=False
        )

    def names(self, **machines: str) -> None:
        """Writes the setting: a name, and which of the machines it stands for."""
        entries = [f"{name}={self.net.url(machine)}" for name, machine in machines.items()]
        change_setting(self.environment.person_file, "machines", entries)

    def ingests(self, machine: str = "") -> IngestOutcome:
        return run_ingest(self.environment, self.root, Wanted(machine=machine), now())

    def machines_of(self) -> dict[str, str]:
        """The machine under which each archived session is filed."""
        return {record.session_id: record.machine for record in self.archive.records()}

    def left_in_mirror(self) -> list[Path]:
        return [path for path in self.root.state.rglob("*") if "mirror" in str(path.relative_to(self.root.state))]


@pytest.fixture
def net(house: House) -> Iterator[OtherMachines]:
    with OtherMachines(house.folder / "net", house.folder) as machines:
        machines.add("laptop")
        machines.add("desk")
        yield machines


@pytest.fixture
def someone(house: House, net: OtherMachines) -> Person:
    found = Person(house, net)
    found.names(laptop="laptop", desk="desk")
    return found


def projects(home: Path) -> Path:
    return home / ".claude" / "projects" / "-srv-app"


def printer(*more: str) -> bytes:
    records = [person(21 + number, text, session=OTHER_SESSION) for number, text in enumerate(("It jams.", *more))]
    return to_lines(*records)


def entries(outcome: IngestOutcome) -> int:
    return sum(report.ingest.entries for report in outcome.reports)


def received(outcome: IngestOutcome) -> int:
    return sum(report.ingest.bytes_read for report in outcome.reports)


def test_sessions_of_two_machines_are_archived_under_their_names_and_the_mirror_is_empty(someone: Person) -> None:
    write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    write_transcript(
        projects(someone.net.homes["desk"]), person(21, f"password = '{SECRET}'", session=OTHER_SESSION),
        session=OTHER_SESSION,
    )  # fmt: skip

    outcome = someone.ingests()

    assert outcome.problems == [] and someone.machines_of() == {SESSION: "laptop", OTHER_SESSION: "desk"}
    assert someone.left_in_mirror() == [] and someone.archive.verify() == []
    prompt = "".join(turn.text for turn in someone.archive.turns(OTHER_SESSION))
    assert SECRET not in prompt and "password" in prompt
    text = newest_files(someone.root.sessions)[SESSION].read_text(encoding="utf-8")
    assert "machine: laptop" in text


def test_only_what_was_appended_is_sent_and_nothing_where_nothing_changed(someone: Person) -> None:
    folder = projects(someone.net.homes["laptop"])
    file = write_transcript(folder, *working_session())
    write_transcript(folder, person(21, "It jams.", session=OTHER_SESSION), session=OTHER_SESSION)
    first = someone.ingests("laptop")
    second = someone.ingests("laptop")
    more = to_lines(person(11, "Now do the same for the IPv6 listener."), assistant(12, "Done."))
    with file.open("ab") as stream:
        stream.write(more + b'{"type": "user", "torn')

    third = someone.ingests("laptop")

    assert (entries(first), entries(second), entries(third)) == (11, 0, 2)
    assert (received(second), received(third)) == (0, len(more))
    assert sum(report.ingest.read for report in second.reports) == 0
    assert someone.archive.hash_session(SESSION) == hash_as_local(someone, file)
    rest = to_lines(person(13, "Then merge it."))
    file.write_bytes(file.read_bytes().removesuffix(b'{"type": "user", "torn') + rest)
    assert received(someone.ingests("laptop")) == len(rest)


def hash_as_local(someone: Person, file: Path) -> str:
    """What the archive would hold if the file had lain on this machine."""
    other = replace(someone.environment, home=someone.net.folder)
    root = MemoryRoot(someone.net.folder / "memory", someone.net.folder / "states")
    root.path.mkdir()
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    run_ingest(other, root, Wanted(paths=(file,)), now())
    return Archive(root.path / "sessions" / "archive").hash_session(file.stem)


def test_a_file_that_was_rewritten_is_sent_from_its_start_and_nothing_is_doubled(someone: Person) -> None:
    file = write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    someone.ingests("laptop")
    write_transcript(file.parent, person(1, "Something else stood here."), *working_session()[1:], person(11, "More."))

    outcome = someone.ingests("laptop")

    assert entries(outcome) == 1 and received(outcome) == file.stat().st_size


def test_what_vanished_there_stays_here(someone: Person) -> None:
    file = write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    someone.ingests("laptop")
    before = someone.archive.hash_session(SESSION)
    file.unlink()

    outcome = someone.ingests("laptop")

    assert outcome.problems == [] and someone.archive.hash_session(SESSION) == before


def test_a_machine_keeps_its_id_when_its_name_and_its_address_change(someone: Person) -> None:
    laptop = someone.net.homes["laptop"]
    write_transcript(projects(laptop), *working_session())
    someone.ingests()
    someone.net.move("laptop")
    someone.names(notebook="laptop", desk="desk")
    write_transcript(projects(laptop), person(21, "It jams.", session=OTHER_SESSION), session=OTHER_SESSION)

    outcome = someone.ingests("notebook")

    assert sum(report.ingest.read for report in outcome.reports) == 1
    assert someone.machines_of() == {SESSION: "laptop", OTHER_SESSION: "laptop"}
    assert {one.id: one.name for one in open_register(someone.root).machines} == {"laptop": "notebook", "desk": "desk"}


def test_another_machine_under_a_name_that_is_taken_gets_an_id_of_its_own(someone: Person) -> None:
    write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    someone.ingests("laptop")
    write_transcript(
        projects(someone.net.homes["desk"]), person(21, "It jams.", session=OTHER_SESSION), session=OTHER_SESSION
    )
    someone.names(laptop="desk")

    someone.ingests("laptop")

    assert someone.machines_of() == {SESSION: "laptop", OTHER_SESSION: "laptop-2"}


def test_two_machines_that_exchange_their_addresses_are_told_apart(someone: Person) -> None:
    for name, session in (("laptop", SESSION), ("desk", OTHER_SESSION)):
        home = someone.net.homes[name]
        write_transcript(projects(home), person(1, f"Said at the {name}.", session=session), session=session)
    someone.ingests()
    known = {one.id: one.url for one in open_register(someone.root).machines}
    someone.net.exchange("laptop", "desk")
    for name, session in (("laptop", SESSION), ("desk", OTHER_SESSION)):
        records = person(2, f"More at the {name}.", session=session)
        with (projects(someone.net.homes[name]) / f"{session}.jsonl").open("ab") as stream:
            stream.write(to_lines(records | {"uuid": f"{session[:8]}-0000-4000-8000-000000000002"}))

    outcome = someone.ingests()

    assert (entries(outcome), outcome.problems) == (2, [])
    assert someone.machines_of() == {SESSION: "laptop", OTHER_SESSION: "desk"}
    now_known = {one.id: one.url for one in open_register(someone.root).machines}
    assert now_known == {"laptop": known["desk"], "desk": known["laptop"]}


def test_a_machine_that_does_not_answer_is_named_and_status_says_what_expires_there(someone: Person) -> None:
    file = write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    old = now() - dt.timedelta(days=26)
    os.utime(file, (old.timestamp(), old.timestamp()))
    someone.ingests()
    someone.net.stop("laptop")

    outcome = someone.ingests()

    assert [problem.rule for problem in outcome.problems] == ["machine"]
    assert "laptop cannot be reached (" in str(outcome.problems[0]) and "refused" in str(outcome.problems[0])
    shown = {str(one["name"]): one for one in machines_json(someone.environment, someone.root, now())}
    assert (shown["laptop"]["transcripts"], shown["laptop"]["expiring"]) == (1, 1)
    assert "refused" in str(shown["laptop"]["error"]) and shown["desk"]["error"] == ""
    line = next(line for line in someone.command("status").stdout.splitlines() if "laptop" in line)
    assert "last seen 20" in line and "; 1 transcript, 1 of them expire there this week" in line
    someone.net.start("laptop")
    assert someone.ingests().problems == []


def test_what_start_up_files_say_there_is_passed_over_and_named(someone: Person) -> None:
    write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    noise = "echo Welcome to the laptop; echo oneiros:\n"
    (someone.net.homes["laptop"] / ".bashrc").write_text(noise, encoding="utf-8")

    outcome = someone.ingests("laptop")

    assert entries(outcome) == 10 and outcome.problems == []
    assert machines_json(someone.environment, someone.root, now())[0]["noise"] == "Welcome to the laptop oneiros:"


def test_odd_files_there_are_named_and_everything_beside_them_is_taken_in(someone: Person) -> None:
    folder = projects(someone.net.homes["laptop"])
    write_transcript(folder, *working_session())
    (someone.net.homes["laptop"] / "secret.txt").write_text("root:x", encoding="utf-8")
    (folder / "link.jsonl").symlink_to(someone.net.homes["laptop"] / "secret.txt")
    (folder / "far").symlink_to("/etc")
    (folder / "two\nlines.jsonl").write_bytes(printer())
    (folder / os.fsdecode(b"latin\xe9.jsonl")).write_bytes(printer())
    os.mkfifo(folder / "pipe.jsonl")

    outcome = someone.ingests("laptop")

    assert entries(outcome) == 10
    named = sorted((problem.path.rpartition("/")[2], problem.what) for problem in outcome.problems)
    assert named == [
        ("far", "a link; what it leads to is not read"),
        ("latin\\udce9.jsonl", "its name holds what no path should"),
        ("link.jsonl", "a link; what it leads to is not read"),
        ("pipe.jsonl", "it is no file, whatever its name says"),
        ("two lines.jsonl", "its name holds what no path should"),
    ]


def test_a_refused_key_and_a_host_that_is_not_known_are_said_as_ssh_says_it(someone: Person) -> None:
    known = someone.house.folder / ".ssh" / "known_hosts"
    known.write_text("", encoding="utf-8")

    outcome = someone.ingests("laptop")

    assert "Host key verification failed" in str(outcome.problems[0])
    assert known.read_text(encoding="utf-8") == ""


def test_what_a_prompt_leaves_out_there_is_taken_out_here(someone: Person) -> None:
    file = write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    someone.ingests("laptop")
    with file.open("ab") as stream:
        stream.write(to_lines(person(11, "Not this one.\n#no-memory")))

    someone.ingests("laptop")
    someone.ingests("laptop")

    assert someone.machines_of() == {}


def test_a_batch_that_holds_no_whole_file_goes_on_where_it_ended(
    someone: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = projects(someone.net.homes["laptop"])
    file = write_transcript(folder, *[person(number, f"Prompt {number} " + "x" * 900) for number in range(1, 60)])
    write_transcript(folder, person(61, "It jams.", session=OTHER_SESSION), session=OTHER_SESSION)
    monkeypatch.setattr("parts.machines.fetch.ask.__kwdefaults__", {"batch_bytes": 7_000, "seconds": 60.0})

    outcome = someone.ingests("laptop")

    assert len([report for report in outcome.reports if report.ingest.read]) > 8
    assert entries(outcome) == 60 and someone.archive.hash_session(SESSION) == hash_as_local(someone, file)


# -- references -------------------------------------------------------------------------------------------------------


def references_at(someone: Person, machine: str = "laptop") -> None:
    file = someone.environment.person_file
    table = {"name": "notes", "roots": ["~/0_*"], "endings": [".md"], "tags": ["mine"], "machine": machine}
    change_setting(file, "references", [table])


def copies(someone: Person) -> dict[str, str]:
    folder = someone.root.references
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))}


def test_files_of_another_machine_are_references_and_stay_when_they_vanish_there(someone: Person) -> None:
    notes = someone.net.homes["laptop"] / "0_notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "lease.md").write_text(f"The lease ends in May. password = '{SECRET}'", encoding="utf-8")
    (notes / "sub" / "again.md").write_bytes((notes / "lease.md").read_bytes())
    (notes / "long.md").write_text("x" * 70_000, encoding="utf-8")
    references_at(someone)

    first = scan_references(someone.environment, someone.root)
    second = scan_references(someone.environment, someone.root)

    assert (first.written, first.doubles, first.barren) == (1, 1, [])
    assert any("0_notes/long.md" in text and "longer than 64 KB" in text for text in first.problems)
    held = copies(someone)
    assert list(held) == ["laptop/0_notes/lease.md.md"] and SECRET not in held["laptop/0_notes/lease.md.md"]
    assert "source: laptop:~/0_notes/lease.md" in held["laptop/0_notes/lease.md.md"]
    assert (second.written, second.unchanged) == (0, 1) and someone.left_in_mirror() == []
    (notes / "lease.md").unlink()
    (notes / "sub" / "again.md").write_text("Something new.", encoding="utf-8")
    third = scan_references(someone.environment, someone.root)
    assert (third.written, third.removed) == (1, 0)
    assert list(copies(someone)) == ["laptop/0_notes/lease.md.md", "laptop/0_notes/sub/again.md.md"]
    someone.net.stop("laptop")
    fourth = scan_references(someone.environment, someone.root)
    assert (fourth.removed, fourth.barren) == (0, []) and "laptop cannot be reached" in fourth.problems[0]


def test_a_source_of_which_nothing_comes_ends_an_ingest_with_1(someone: Person) -> None:
    references_at(someone, "desk")

    done = someone.command("ingest", "--machine", "desk")

    assert done.returncode == 1
    assert "~/0_*:1: there is no such folder" in done.stderr
    assert "References: nothing was taken of notes: ~/0_*." in done.stderr


# -- kills ------------------------------------------------------------------------------------------------------------

INGEST = """
import sys
from pathlib import Path
from oneiros.environment import Environment, now
from oneiros.ingest.run import Wanted, run_ingest
import os
from memory_server.root.paths import MemoryRoot
home = Path(os.environ["HOME"])
environment = Environment(os.environ, home, home)
run_ingest(environment, environment.resolve_root(Path(os.environ["ONEIROS_ROOT"])), Wanted(), now())
"""


def test_a_kill_at_either_end_loses_and_doubles_nothing(someone: Person) -> None:
    chance = random.Random(7)
    written = [many_prompts(someone.net.homes[name], start) for name, start in (("laptop", 0), ("desk", 8))]
    files = [file for some in written for file in some]
    hits = 0
    for turn in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", INGEST], env=dict(someone.environment.variables), stderr=subprocess.DEVNULL
        )
        try:
            process.wait(timeout=chance.uniform(0.6, 1.6))
        except subprocess.TimeoutExpired:
            hits += 1
            if turn % 2:
                process.send_signal(signal.SIGKILL)
            else:
                someone.net.break_off()
        process.wait()
        with chance.choice(files).open("ab") as stream:
            number = 3_000 + turn
            session = Path(stream.name).stem
            stream.write(to_lines(person(number, f"Prompt {number}.", session=session)))

    outcome = someone.ingests()

    assert hits > 0 and outcome.problems == [] and someone.left_in_mirror() == []
    assert {file.stem: list_prompts(someone.archive, file.stem) for file in files} == {
        file.stem: [json.loads(line)["message"]["content"] for line in file.read_text("utf-8").splitlines()]
        for file in files
    }


def many_prompts(home: Path, start: int) -> list[Path]:
    found = []
    for number in range(start, start + 8):
        session = f"{number:08x}-1111-4111-8111-111111111111"
        records = [
            person(number * 100 + one, f"Prompt {one}. " + "word" * 100, session=session) for one in range(1, 60)
        ]
        found.append(write_transcript(projects(home), *records, session=session))
    return found


def list_prompts(archive: Archive, session: str) -> list[str]:
    return [turn.text for turn in archive.turns(session)]


# -- the command, and a memory elsewhere ---------------------------------------------------------------------------


def test_the_command_fetches_from_one_machine_and_search_finds_it_by_that_name(someone: Person) -> None:
    write_transcript(projects(someone.net.homes["laptop"]), *working_session())
    write_transcript(
        projects(someone.net.homes["desk"]), person(21, "It jams.", session=OTHER_SESSION), session=OTHER_SESSION
    )
    done = someone.command("ingest", "--machine", "laptop")
    unknown = someone.command("ingest", "--machine", "phone")

    assert "1 session taken in, 10 new entries" in done.stderr and someone.machines_of() == {SESSION: "laptop"}
    assert someone.command("recall", "relay connection", "machine:laptop").returncode == 0
    assert someone.command("recall", "relay connection", "machine:desk").returncode == 1
    assert unknown.returncode == 2 and "there is no machine 'phone'" in unknown.stderr and "laptop" in unknown.stderr
    someone.net.stop("laptop")
    assert someone.command("ingest", "--machine", "laptop").returncode == 1


def test_two_machines_share_one_memory_through_ssh(someone: Person) -> None:
    """The client on the laptop runs `ssh HOST oneiros mcp`; the memory is this house's, the laptop holds none."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "laptop", "version": "1"}}
    payload = {"name": "recall", "arguments": {"query": "which port does the relay listen on"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": payload},
    ]
    someone.house.serve()
    net = someone.net
    net.add("house", variables=someone.house.variables)
    program = f"{sys.executable} -m oneiros.light.relay"
    port = net.url("house").rpartition(":")[2]
    command = ["ssh", "-o", "BatchMode=yes", "-p", port, "127.0.0.1", program]
    with subprocess.Popen(
        command, env=dict(net.variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdin is not None and client.stdout is not None
        for message in messages:
            client.stdin.write(json.dumps(message) + "\n")
            client.stdin.flush()
        answers = [json.loads(client.stdout.readline()) for _ in range(2)]
        client.stdin.close()

    assert "port 2525" in answers[1]["result"]["content"][0]["text"]
