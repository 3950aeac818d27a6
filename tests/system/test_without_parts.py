"""The core by itself: processes that cannot import any part take sessions in, answer, propose and serve."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from memory_server.errors import OneirosError
from oneiros.light.endpoint import is_running
from parts.table import PARTS
from tests.crawler.builders import person, write_transcript
from tests.system.house import House

REFUSE_PARTS = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "parts":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
"""
OF_PARTS = (("chat", "hello"), ("topics", "mv", "1", "mail"), ("key", "passkey"))
STATEMENT = "From now on the quokka server listens on port 9191."


class BareHouse(House):
    """A house whose processes find no part."""

    @property
    def variables(self) -> Mapping[str, str]:
        folder = self.folder / "refuse"
        if not folder.exists():
            folder.mkdir()
            (folder / "sitecustomize.py").write_text(REFUSE_PARTS, encoding="utf-8")
        found = super().variables
        return {**found, "PYTHONPATH": f"{folder}:{found['PYTHONPATH']}"}


@pytest.fixture
def bare() -> Iterator[House]:
    with closing(BareHouse()) as house:
        yield house


def test_no_command_of_a_part_is_listed_and_all_others_are(bare: House) -> None:
    output = bare.command("--help").stdout
    names = {line.split()[0] for line in output.splitlines() if line[:2] == "  "}

    assert names >= {"recall", "search", "exact", "read", "ingest", "dream", "review", "status", "doctor", "serve"}
    assert names & {command.name for part in PARTS for command in part().commands} == set()
    assert [bare.command(*words, check=False).returncode for words in OF_PARTS] == [2, 2, 2]


def test_a_session_is_taken_in_dreamt_of_and_found(bare: House) -> None:
    write_transcript(bare.folder / ".claude" / "projects" / "-srv-zoo", person(1, STATEMENT))

    bare.command("ingest")
    dreamt = bare.command("dream", check=False)
    found = json.loads(bare.command("recall", "quokka server port", "--json").stdout)

    assert dreamt.returncode in (0, 1), dreamt.stderr
    assert any("9191" in hit["passage"] for hit in found["hits"])
    assert is_running(str(bare.root))


def test_a_daemon_answers_over_rest_and_mcp_and_serves_no_page(bare: House) -> None:
    bare.command("serve")

    answer = bare.client.ask("POST", "/api/exact", {"query": "2525"})
    output = json.loads(bare.command("status", "--json").stdout)

    assert answer["hits"][0]["path"] == "topics/mail.md"
    assert output["topics"] == 2
    assert "The relay listens on port 2525." in bare.relay().initialize().text("recall", query="relay port")
    with pytest.raises(OneirosError, match="Not Found"):
        bare.client.ask("GET", "/page/today")


def test_the_person_is_asked_about_a_tool_call_that_may_touch_the_memory(bare: House) -> None:
    call = {"tool_name": "Write", "tool_input": {"file_path": str(bare.root / "topics" / "x.md")}, "cwd": "/"}
    other = {"tool_name": "Write", "tool_input": {"file_path": "/srv/x.txt"}, "cwd": "/"}

    answer = json.loads(bare.hook("PreToolUse", call))

    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert bare.hook("PreToolUse", other) == ""


def test_a_doctor_finds_nothing_that_a_part_would_mend(bare: House) -> None:
    bare.command("reindex")
    done = bare.command("doctor", "--json", check=False)

    assert "unexpectedly" not in done.stderr
    assert json.loads(done.stdout)
