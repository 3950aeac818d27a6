"""`import`: what it prints, its keys and exit codes, and a whole file or topic taken at a key."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawler.archive.names import ProjectNames
from crawler.archive.store import Archive
from crawler.model.client import Completion, LimitReached, Prompt
from dream.decisions.presence import Consent, How
from dream.judge.reader import DreamReader
from dream.proposals.rendering import waiting_for_person
from memory_server.redaction import Redactor
from oneiros.cli.main import main
from oneiros.cli.review.sitting import TerminalReview
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment
from parts.taking_over import importing
from tests.crawler.builders import OTHER_SESSION, person, write_transcript

Oneiros = Callable[..., tuple[int, str, str]]
RULES = "# App\n\n## Testing\n\n- Run the tests before a push.\n- Tests need no network.\n- Tests use real parts.\n"
NOTES = """# Notes

## Releases

- A release is tagged on main.
- Release notes are for users.
- A release needs two approvals.
- Nobody cuts a release on a Friday.
- A release is announced by mail.
"""


@pytest.fixture
def home(tmp_path: Path, founded: Path) -> Path:
    """A home with a project that one conversation is about, and a rule of the person's own."""
    shutil.copytree(founded, tmp_path / "mem")
    app = tmp_path / "src" / "app"
    (app / ".git").mkdir(parents=True)
    (app / "CLAUDE.md").write_text(RULES, encoding="utf-8")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("- Commit messages are short.\n", encoding="utf-8")
    write_transcript(tmp_path / ".claude" / "projects" / "-app", person(1, "Hello there", cwd=str(app)))
    return tmp_path


def environment_in(home: Path) -> Environment:
    return Environment({"ONEIROS_ROOT": str(home / "mem"), "XDG_RUNTIME_DIR": str(home)}, home, home)


@pytest.fixture
def oneiros(home: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments), environment_in(home))
        out, error = capsys.readouterr()
        return code, out, error

    return run


def test_without_a_path_the_files_of_home_and_projects_are_offered(oneiros: Oneiros) -> None:
    oneiros("ingest")

    code, out, error = oneiros("import")

    assert code == 0 and "topics/app/testing.md  3 statements\n" in out
    assert error.startswith("2 files read in ") and ", 4 statements; 4 offered.\n" in error
    assert "4 offered" in error and "Decide: oneiros review" in error
    code, _, error = oneiros("import")
    assert code == 1 and "Nothing new; 2 files read" in error and "4 known or offered before.\n" in error


def test_where_no_file_is_found_the_places_are_named_that_were_looked_in(oneiros: Oneiros, home: Path) -> None:
    (home / ".claude" / "CLAUDE.md").unlink()

    code, _, error = oneiros("import")

    assert (
        code == 1
        and error.startswith("No file read.\n")
        and f"Looked in {home / '.claude'}. In this folder: oneiros import ." in error
    )
    assert "Looked in" not in oneiros("import", "src")[2]


def test_of_a_project_that_is_not_there_claudes_notes_are_read_and_what_is_left_out_is_named(
    oneiros: Oneiros, home: Path
) -> None:
    notes = home / ".claude" / "projects" / "-app" / "memory" / "notes.md"
    notes.parent.mkdir()
    notes.write_text(NOTES, encoding="utf-8")
    oneiros("ingest")
    (home / "src").rename(home / "moved")

    _, out, error = oneiros("import", "--dry-run")
    elsewhere = oneiros("import", "moved/app")

    assert "topics/app/releases.md  5 statements\n" in out
    assert f"Not there: {home / 'src' / 'app'}. Of these projects only Claude's own notes are read." in error
    assert json.loads(oneiros("import", "--json")[1])["gone"] == [str(home / "src" / "app")]
    assert "topics/app/testing.md  3 statements\n" in elsewhere[1] and "Not there" not in elsewhere[2]
    assert "Not there" not in oneiros("import", "--project", "other")[2]


def test_a_session_above_the_home_makes_no_project_of_all_that_lies_below(oneiros: Oneiros, home: Path) -> None:
    write_transcript(
        home / ".claude" / "projects" / "-", person(1, "Hello", cwd=str(home.parent)), session=OTHER_SESSION
    )
    (home / "AGENTS.md").write_text("- Never found by way of a folder above.\n", encoding="utf-8")
    oneiros("ingest")

    assert "2 files read" in oneiros("import")[2]


def test_a_dry_run_shows_the_statements_and_offers_nothing(oneiros: Oneiros, home: Path) -> None:
    code, out, _ = oneiros("import", "--dry-run", "src/app")

    assert code == 0 and "  Tests need no network.\n" in out
    assert not (home / "mem" / "proposals").exists() or oneiros("review", "--list")[0] == 1


def test_the_keys_of_the_json_answer_are_these(oneiros: Oneiros) -> None:
    found = json.loads(oneiros("import", "--json", "src")[1])

    assert list(found) == [
        *("files", "statements", "left_out", "known", "duplicates", "changed", "refused", "refused_at", "proposal"),
        *("offered", "hunks", "others", "problems", "references", "gone", "seconds"),
    ]
    assert found["offered"] == 3
    assert list(found["hunks"][0]) == ["target", "title", "relation", "text", "written"]
    assert found["hunks"][0]["written"] == ["~/src/app/CLAUDE.md:5"]


def test_a_path_that_is_not_there_is_a_usage_error(oneiros: Oneiros) -> None:
    code, _, error = oneiros("import", "nowhere.md")

    assert code == 2 and "there is no nowhere.md" in error


def test_a_database_of_another_memory_comes_in_as_references(oneiros: Oneiros, home: Path) -> None:
    with sqlite3.connect(home / "claude-mem.db") as database:
        database.execute("create table observations (project text, text text, created_at text)")
        database.execute("insert into observations values ('app', 'The relay listens on 2526.', '2026-03-01')")

    code, out, _ = oneiros("import", "claude-mem.db")

    assert (code, out) == (0, ".oneiros/references/claude-mem/app.md\n")
    assert "relay listens on 2526" in (home / "mem" / out.strip()).read_text(encoding="utf-8")
    assert oneiros("import", "src/app/.git")[0] == 1


def test_a_long_statement_that_waits_is_listed_with_an_ellipsis(oneiros: Oneiros, home: Path) -> None:
    long = f"- Use the recorded answers in the tests of {'the relay and of ' * 8}the printer.\n"
    (home / "src" / "app" / "CLAUDE.md").write_text(f"# App\n\n## Testing\n\n{long}", encoding="utf-8")
    oneiros("import", "src")

    [line] = oneiros("review", "--list")[1].splitlines()

    assert line.endswith("…") and "Use the recorded answers" in line


@pytest.mark.parametrize("key", ["f", "a"])
def test_a_key_takes_a_whole_topic(oneiros: Oneiros, home: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    (home / "src" / "app" / "AGENTS.md").write_text(NOTES, encoding="utf-8")
    oneiros("import", "src")
    decisions = open_decisions(environment_in(home))
    hunks = waiting_for_person(decisions.store.hunks())
    first = [hunk for hunk in hunks if hunk.target == hunks[0].target]
    assert 1 < len(first) < len(hunks)
    answers = typed(key, "q", "y")
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    sitting = TerminalReview(decisions, Archive(home / "none"), lambda: Consent(How.WORD), {})

    sitting.run(hunks)

    accepted = len(first) if key == "f" else 1
    assert (sitting.accepted, sitting.skipped) == (accepted, len(hunks) - accepted)
    page = (home / "mem" / "proposals" / hunks[0].proposal / "proposal.md").read_text(encoding="utf-8")
    assert f"8 hunks, {8 - accepted} open" in page


def typed(*answers: str) -> Iterator[str]:
    yield from answers


def test_a_reader_files_what_is_imported_or_it_is_said_who_did_not(
    oneiros: Oneiros, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str] = []

    def ask(_: Prompt) -> Completion:
        if not answers:
            raise LimitReached("the day's tokens are spent")
        return Completion(answers.pop())

    monkeypatch.setattr(importing, "build_dream_reader", lambda *_: DreamReader(ask, Redactor(())))
    _, out, output = oneiros("import", str(home / "src" / "app"))
    assert out == "topics/app/testing.md  3 statements\n"
    assert "3 statements left where first filed, until the next dream: the day's tokens are" in output

    answers.append('{"topics": [{"name": "Pushes", "summary": "What comes first."}], "statements": {"1": ["Pushes"]}}')
    (home / "src" / "app" / "CLAUDE.md").write_text(f"{RULES}- Tests are quick.\n", encoding="utf-8")
    _, out, output = oneiros("import", str(home / "src" / "app"))

    assert "is asked where what waits goes" in output and answers == []
    listed = [line.split()[2] for line in oneiros("review", "--list")[1].splitlines()]
    assert sorted(listed) == ["topics/app/pushes.md", *["topics/app/testing.md"] * 3]


def test_two_repositories_of_one_name_have_topics_of_their_own(oneiros: Oneiros, home: Path) -> None:
    kept = home / "mem" / "sessions" / "archive" / "projects.jsonl"
    for parent, text in (("a", "- Tests need 4 workers.\n"), ("b", "- Tests need 8 workers.\n")):
        (home / "work" / parent / "shop" / ".git").mkdir(parents=True)
        (home / "work" / parent / "shop" / "CLAUDE.md").write_text(text, encoding="utf-8")

    looked = oneiros("import", str(home / "work"), "--dry-run")[1]
    assert "topics/shop/" in looked and "topics/b-shop/" in looked and not kept.exists()
    found = oneiros("import", str(home / "work"))[1]

    assert "topics/shop/" in found and "topics/b-shop/" in found
    names = ProjectNames(kept.parent)
    assert [names.find(str(home / "work" / parent / "shop")) for parent in "ba"] == ["b-shop", "shop"]
