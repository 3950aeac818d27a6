"""Small sessions and topics that were once read wrong, all in one memory: each line of the table was seen by a person.

What needs no file of its own (clients' folders, git that refuses, names that steer a terminal) has its tests elsewhere.
"""

import datetime as dt
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from uuid import UUID

import pytest

from crawler.archive.store import Archive
from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import Record, assistant, call, person, result, write_transcript
from tests.memories import without_daemon

TUESDAY = dt.datetime(2026, 11, 24, 20, tzinfo=dt.UTC)  # noon in Los Angeles
LONG_AGO, FAR_AHEAD = "1970-01-01T00:00:03.000Z", "2099-01-01T00:00:00.000Z"
TOPICS = {
    "nfd": normalize("NFD", "# Zürich\n\nMüller keeps the keys of the Größenlager.\n"),
    "glued": "# 运行\n\n重跑gen-itgc后50条悬空引用清零。\n",
    "underscore": "# Calls\n\nCall foo_bar_baz() before push_back(), since dd08561ab. The ＡＰＩ of Straßenkarten.\n",
    "colon": "---\ntitle: Deploys: when and how\n---\n\nDeploys happen on Thursday.\n",
    "setext": "Harbour\n=======\n\n<!-- not for readers -->\nThe harbour opens at six. %%nor this%%\n",
    "long": f"# Long\n\n{'item00000 ' * 19_999}item19999\n",  # on one line; what is the same is embedded once
    "toml": '+++\ntitle = "Tides"\n+++\n\nThe tide table hangs in the hall.\n',
}


class Case(NamedTuple):
    """A command, and what its output holds and does not hold."""

    arguments: str
    holds: str
    lacks: str = "nothing of the kind"


CASES = (
    Case("exact Müller", "topics/nfd.md"),
    Case(normalize("NFD", "exact Müller"), "topics/nfd.md"),
    Case("exact Zürich", "topics/nfd.md"),
    Case(normalize("NFD", "exact Zürich"), "topics/nfd.md"),
    Case("exact itgc", "topics/glued.md"),
    Case("exact 50条", "topics/glued.md"),
    *(
        Case(f"exact {typed}", "topics/underscore.md")
        for typed in ("foo_bar*", "foo_bar_baz*", "push_b*", "dd08561", "API", "strassenkarten")
    ),
    Case("recall when do deploys happen", "Thursday"),
    Case("read topics/colon.md:5", "Deploys happen on Thursday"),
    Case("exact item19999", "topics/long.md"),
    Case("read topics/long.md:3", "item19999"),
    Case("recall when does the harbour open", "Harbour", "not for readers"),
    Case("recall when does the harbour open", "opens at six", "nor this"),
    Case("recall where is the tide table", "Tides", "+++"),
    Case("recall --project shop how long do refunds take", "five days"),
    Case("recall --project shop where do we keep receipts", "S3"),
    Case("recall what is the queue called", "otter", "lint ok"),
    Case("recall what did I do yesterday", "2026-11-23"),
    Case("recall what did I do on Monday", "2026-11-23"),
    Case("exact manatee", "2026-03-02"),
    Case("exact walrus", "2026-03-02", "1970"),
    Case("exact narwhal", "2026-03-02", "2099"),
    Case("exact httpserver2go", " 1  use HTTPServer2Go in every shop"),  # and not the reply below a title that holds it
    Case("exact ladenstrasse", "die-ladenstrasse-ist-gesperrt"),
    Case("exact nothing-of-the-kind", "Nothing holds", "not archived yet"),  # for all the empty transcript
)


def talk(thing: str, **moments: str) -> list[Record]:
    """Ten statements, a minute apart; `first` and `last` have other times."""
    records = []
    for number in range(10):
        moment = moments.get({0: "first", 9: "last"}.get(number, ""), f"2026-03-02T10:{number:02}:00.000Z")
        say = assistant if number % 2 else person
        records.append(say(number + 1, f"Statement {number}: the {thing} gauge reads {number * 11}.", timestamp=moment))
    return records


def exchange(words: str, reply: str = "Noted.", moment: str = "2026-03-02T10:00:00.000Z", **more: str) -> list[Record]:
    return [person(1, words, timestamp=moment, **more), assistant(2, reply, timestamp=moment, **more)]


def failure(day: str) -> list[Record]:
    """The same error, and the command that worked in its place."""
    moment = f"{day}T10:00:00.000Z"
    worked = "pnpm install --frozen-lockfile && pnpm test"
    return [
        person(1, "Run the checks.", timestamp=moment),
        assistant(2, call("Bash", "e", command="npm test"), timestamp=moment),
        result(3, "e", "Error: Cannot find module 'vitest'", is_error=True, timestamp=moment),
        assistant(4, call("Bash", "f", command=worked), timestamp=moment),
        result(5, "f", "12 passed", timestamp=moment),
        assistant(6, "All pass.", timestamp=moment),
    ]


HOOK = "<user-prompt-submit-hook>lint ok</user-prompt-submit-hook>\nPlease call the queue otter."
RUNBOOK = {"type": "resource", "resource": {"uri": "doc://1", "text": "Restart the heron before the stork."}}
SESSIONS = (
    talk("manatee", last=FAR_AHEAD),
    talk("walrus", first=LONG_AGO),
    talk("narwhal", first=LONG_AGO, last=FAR_AHEAD),
    exchange("The ferry to the island leaves at half past ten.", moment="2026-11-24T06:30:00.000Z"),
    exchange("Lunch is at the harbour.", "Fine.", "2026-11-23T20:00:00.000Z"),
    exchange("We keep receipts in S3.", "Understood.", cwd="C:\\Users\\me\\shop"),
    exchange("Refunds take five days.", "Understood.", cwd="/srv/shop"),
    exchange(HOOK, "The queue is called otter."),
    [person(1, "Read the runbook."), assistant(2, call("mcp__docs__read", "t")), result(3, "t", [RUNBOOK])],
    exchange("The printer's address is 192.168.0.108.", moment="2026-02-02T10:00:00.000Z"),
    exchange("The printer has 192.168.0.115 now, not .108.", moment="2026-03-09T10:00:00.000Z"),
    [
        *exchange("Can the mode go to protect at once?", "No: it must go through monitor first; verified."),
        person(3, "ok", timestamp="2026-03-02T10:01:00.000Z"),
        assistant(4, "I was wrong: five of five direct jumps landed.", timestamp="2026-03-02T10:02:00.000Z"),
    ],
    exchange("use HTTPServer2Go in every shop", "fine"),
    exchange("Die Ladenstraße ist gesperrt.", "Notiert."),
    *(failure(day) for day in ("2026-02-05", "2026-03-05", "2026-11-20")),
)


class Machine:
    """A home with the sessions, and the memory that took them in."""

    def __init__(self, home: Path):
        self.home = home

    def run(self, *arguments: str) -> int:
        variables = {"ONEIROS_ROOT": str(self.home / "mem")}
        return main(without_daemon(arguments), Environment(variables, self.home, self.home))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, founded: Path) -> Iterator[Machine]:
    """In Los Angeles, at noon of a Tuesday."""
    home = tmp_path_factory.mktemp("cases")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "America/Los_Angeles")
        time.tzset()
        for module in ("opening", "cli.ingest", "ingest.settings", "ingest.run", "dreaming"):
            patched.setattr(f"oneiros.{module}.now", lambda: TUESDAY)
        shutil.copytree(founded, home / "mem")
        for name, text in TOPICS.items():
            (home / "mem" / "topics").mkdir(exist_ok=True)
            (home / "mem" / "topics" / f"{name}.md").write_text(text, encoding="utf-8")
        for number, records in enumerate(SESSIONS, start=1):
            folder = str(records[0]["cwd"]).replace("/", "-").replace("\\", "-").replace(":", "-")
            session = str(UUID(int=number << 96 | 4 << 76 | 8 << 60))
            own = [{**record, "sessionId": session, "uuid": f"{number:08}{record['uuid'][8:]}"} for record in records]
            write_transcript(home / ".claude" / "projects" / folder, *own, session=session)
        (home / ".claude" / "projects" / "-srv-app" / "empty.jsonl").touch()
        assert Machine(home).run("ingest") == 0
        yield Machine(home)
    time.tzset()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.arguments)
def test_a_case_is_answered(case: Case, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    command, *words = case.arguments.split(" ")
    options = words[:2] if words[0] == "--project" else []
    machine.run(command, *options, " ".join(words[len(options) :]))

    shown = "".join(capsys.readouterr())
    assert case.holds in shown
    assert case.lacks not in shown


def test_a_head_that_was_mended_is_remarked(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.run("validate")

    assert "topics/colon.md" in capsys.readouterr().out


def test_a_resource_is_read_as_text(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.run("exact", "Restart the heron")

    assert "before the stork" in capsys.readouterr().out


def test_sessions_of_wrong_clocks_are_closed(machine: Machine) -> None:
    archive = Archive(machine.home / "mem" / "sessions" / "archive")
    assert len(list(archive.session_ids())) == len(SESSIONS)
    files = [file.name[:10] for file in (machine.home / "mem" / "sessions" / "compressed").rglob("*.md")]
    assert len(files) == len(SESSIONS)
    assert min(files) == "2026-02-02"
    assert max(files) == "2026-11-23"


def test_what_was_disproved_comes_behind_what_disproved_it(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.run("recall", "can the mode go to protect at once", "--json")
    first = json.loads(capsys.readouterr().out)["hits"][0]
    said = first["passage"]
    assert -1 < said.find("five of five direct jumps") < said.find("dropped at turn") < said.find("monitor first")


def test_what_was_taken_back_is_not_offered(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.run("dream")
    machine.run("review", "--list")

    assert "192.168.0.108." not in capsys.readouterr().out


def test_an_error_that_came_back_is_reported_with_what_worked(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.run("report")

    assert "\n## Errors that came back\n- " in capsys.readouterr().out
    [page] = (machine.home / "mem" / "reports").iterdir()
    told = (
        "“Error: Cannot find module 'vitest'” in 3 sessions of app; "
        "“pnpm install --frozen-lockfile && pnpm test” worked"
    )
    assert told in page.read_text(encoding="utf-8")
