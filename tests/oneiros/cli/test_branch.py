"""`branch:` from a transcript to an answer: in a digest, in what was said and in the turns."""

import json
import shutil
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, write_transcript
from tests.memories import without_daemon


@pytest.fixture
def environment(tmp_path: Path, founded: Path) -> Environment:
    """A home with two finished conversations, of which one was on a branch of its own."""
    shutil.copytree(founded, tmp_path / "mem")
    folder = tmp_path / ".claude" / "projects" / "-work-app"
    for first, session, branch, port in ((1, SESSION, "main", "2525"), (11, OTHER_SESSION, "fix/Relay", "2526")):
        records = [
            person(first, "Which port does the relay listen on?", session=session, gitBranch=branch),
            assistant(first + 1, f"The relay listens on port {port}.", session=session, gitBranch=branch),
        ]
        write_transcript(folder, *records, session=session)
    made = Environment({"ONEIROS_ROOT": str(tmp_path / "mem")}, tmp_path, tmp_path)
    assert main(["ingest"], made) == 0
    return made


@pytest.mark.parametrize(
    "question",
    [
        ["recall", "which port does the relay listen on", "--branch", "fix/relay"],
        ["recall", "which port does the relay listen on branch:FIX/relay"],
        ["exact", "port", "--raw", "--branch", "fix/relay"],
        ["search", "where does the relay listen", "--branch", "fix/relay"],
    ],
)
def test_a_branch_lets_only_its_sessions_answer(
    environment: Environment, capsys: pytest.CaptureFixture[str], question: list[str]
) -> None:
    capsys.readouterr()
    assert main(without_daemon([*question, "--json"]), environment) == 0

    hits = json.loads(capsys.readouterr().out)["hits"]
    assert hits and all(OTHER_SESSION[:8] in hit["path"] for hit in hits)


def test_a_branch_that_no_session_was_on_is_named_with_those_there_are(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(without_daemon(["recall", "relay branch:mian", "--json"]), environment) == 1

    note = json.loads(capsys.readouterr().out)["note"]
    assert "There is no branch mian; there are main, fix/Relay" in note
