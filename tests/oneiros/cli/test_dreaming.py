"""`dream`, `review`, `report` and `export` as commands: what they print, their keys, and their exit codes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import OTHER_SESSION, SESSION, assistant, person, write_transcript

Oneiros = Callable[..., tuple[int, str, str]]
RULE = "From now on always run the database migrations before deploying the billing service."


@pytest.fixture(scope="module")
def spoken_home(tmp_path_factory: pytest.TempPathFactory, founded: Path) -> Path:
    """A home whose one conversation, taken in, holds a rule; to be copied."""
    home = tmp_path_factory.mktemp("said")
    shutil.copytree(founded, home / "mem")
    folder = home / ".claude" / "projects" / "-work-app"
    write_transcript(folder, person(1, RULE), assistant(2, "Understood."), session=SESSION)
    assert main(["ingest"], environment_in(home)) == 0
    return home


@pytest.fixture
def oneiros(tmp_path: Path, spoken_home: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs commands in a home of the test's own."""
    shutil.copytree(spoken_home, tmp_path, dirs_exist_ok=True)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments), environment_in(tmp_path))
        out, error = capsys.readouterr()
        return code, out, error

    return run


def environment_in(home: Path) -> Environment:
    return Environment({"ONEIROS_ROOT": str(home / "mem"), "XDG_RUNTIME_DIR": str(home)}, home, home)


def test_a_dream_names_its_proposal_and_the_next_step(oneiros: Oneiros) -> None:
    code, out, error = oneiros("dream")

    assert code == 0 and out.startswith("proposals/") and out.endswith("/proposal.md\n")
    assert "1 session read" in error and ", 1 new hunk.\n1 proposed. " in error and "Decide: oneiros review" in error
    nothing = oneiros("dream")[2]
    assert nothing == "No new session; nothing new is proposed.\n"
    assert "rules" not in error.casefold() + nothing.casefold()


def test_a_dream_that_finds_nothing_says_who_read(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("dream")
    talk = (person(1, "How are you?", session=OTHER_SESSION), assistant(2, "Well.", session=OTHER_SESSION))
    write_transcript(tmp_path / ".claude" / "projects" / "-work-app", *talk, session=OTHER_SESSION)
    oneiros("ingest")

    error = oneiros("dream")[2]

    assert "1 session read" in error
    assert "Rules read them, which offer little. `oneiros config reader claude-cli` has Claude read." in error


def test_a_hunk_says_why_and_what_decisions_do_to_it(oneiros: Oneiros) -> None:
    oneiros("dream")
    [hunk] = json.loads(oneiros("review", "--json")[1])["hunks"]

    code, out, _ = oneiros("dream", "why", hunk["id"][:6])

    assert code == 0 and out.startswith(f"{hunk['id']}  ")
    text = f"{hunk['kind']}: 0 accepted, 0 rejected; rules: 0 accepted, 0 rejected: +0.00 to its log-odds"
    assert out.splitlines()[-1] == f"  your decisions: {text}"
    keys = ["id", "confidence", "why", "comparison", "decisions", "shift"]
    assert list(json.loads(oneiros("dream", "why", hunk["id"], "--json")[1])) == keys
    assert oneiros("dream", "unlearn")[0] == 0


def test_the_keys_of_the_json_answers_are_these(oneiros: Oneiros) -> None:
    dreamt = json.loads(oneiros("dream", "--json")[1])
    assert list(dreamt) == [
        *("sessions", "left", "candidates", "refused", "unworthy", "found", "filed", "questions", "offer", "problems"),
        "seconds",
    ]
    assert list(dreamt["filed"]) == list(dreamt["questions"]) == ["statements", "left", "stopped"]
    [hunk] = json.loads(oneiros("review", "--json")[1])["hunks"]
    assert list(hunk) == [
        *("id", "proposal", "state", "target", "kind", "relation", "text", "confidence", "why", "extractor"),
        *("replaces", "moved_from", "reason", "warnings", "quotes", "given", "metadata", "agent_inferred"),
    ]
    assert list(hunk["quotes"][0]) == ["session", "entry", "role", "time", "first", "end", "text"]
    review = json.loads(oneiros("report", "--json")[1])
    assert list(review) == [
        "week",
        "day",
        "findings",
        "offered",
        "accepted",
        "rejected",
        "asked",
        "kinds",
        "told",
        "file",
    ]
    assert list(review["findings"][0]) == ["part", "path", "line", "what", "step"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["review", "--list"], 1),
        (["review"], 2),
        (["dream", "apply", "2026-01-01-1"], 1),
        (["dream", "apply", "../../etc"], 1),
        (["dream", "revert", "ffff"], 1),
        (["dream", "blame", "lessons"], 2),
        (["dream", "blame", "lessons:999"], 2),
        (["dream", "blame", "lessons:1"], 2),
        (["dream", "blame", "lessons:3"], 1),
        (["dream", "--sessions", "0"], 2),
        (["report"], 0),
        (["export"], 2),
    ],
)
def test_exit_codes_tell_nothing_found_from_wrong_use(oneiros: Oneiros, arguments: list[str], code: int) -> None:
    assert oneiros(*arguments)[0] == code


def test_a_report_is_one_screen_and_a_file(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("dream")

    _, out, error = oneiros("report")

    [file] = (tmp_path / "mem" / "reports").iterdir()
    assert len(out.splitlines()) <= 24 and "waiting for a decision" in out and str(file) in error
    assert "oneiros review" in file.read_text(encoding="utf-8")


def test_an_export_holds_what_was_approved_and_no_proposal(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("dream")

    assert oneiros("export", "--approved", "out.jsonl")[0] == 0

    assert "migrations" not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_forgetting_a_session_takes_what_was_proposed_of_it_along(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("dream")

    assert oneiros("forget", SESSION)[0] == 0

    left = [path.read_bytes() for path in (tmp_path / "mem").rglob("*") if path.is_file() and ".git" not in path.parts]
    assert not any(b"database migrations" in text for text in left)
    assert oneiros("review", "--list")[0] == 1
