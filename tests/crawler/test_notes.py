"""Notes: what a session last knew of a file that is one by its name."""

from pathlib import Path

import pytest

from crawler.notes import find_notes
from tests.crawler.builders import Record, assistant, call, result, turns_of

HANDOFF = "/srv/app/docs/HANDOFF.md"


def called(number: int, tool: str, shown: str = "done", *, is_error: bool = False, **arguments: object) -> list[Record]:
    """A call of a tool and what came back."""
    name = f"c{number}"
    return [assistant(number, call(tool, name, **arguments)), result(number + 1, name, shown, is_error=is_error)]


def write(number: int, content: str, path: str = HANDOFF, *, is_error: bool = False) -> list[Record]:
    return called(number, "Write", file_path=path, content=content, is_error=is_error)


def notes(tmp_path: Path, *records: Record) -> list[tuple[str, str, int]]:
    return [(note.path, note.text, note.turn) for note in find_notes(turns_of(tmp_path, *records))]


def test_a_note_is_what_was_written_with_its_later_edits(tmp_path: Path) -> None:
    edit = called(3, "Edit", file_path=HANDOFF, old_string="port 25", new_string="port 2525")
    several = [{"old_string": "relay", "new_string": "mail relay"}, {"old_string": "takes", "new_string": "has"}]
    more = called(5, "MultiEdit", file_path=HANDOFF, edits=several)

    found = notes(tmp_path, *write(1, "The relay takes port 25."), *edit, *more)

    assert found == [("docs/HANDOFF.md", "The mail relay has port 2525.", 3)]


@pytest.mark.parametrize("mark", ["→", "\t"])
def test_a_note_is_read_as_the_file_stood_without_what_the_client_adds(tmp_path: Path, mark: str) -> None:
    shown = (
        f"     1{mark}# Plan\n     2{mark}\n     3{mark}Ship it.\n\n<system-reminder>\nbe careful\n</system-reminder>"
    )

    assert notes(tmp_path, *called(1, "Read", shown, file_path="/srv/app/PLAN.md")) == [
        ("PLAN.md", "# Plan\n\nShip it.", 1)
    ]


def test_a_part_of_a_file_is_no_note_and_takes_none_away(tmp_path: Path) -> None:
    part = called(3, "Read", "     7→of it", file_path=HANDOFF, offset=7)

    assert notes(tmp_path, *part) == []
    assert notes(tmp_path, *write(1, "All of it."), *part) == [("docs/HANDOFF.md", "All of it.", 2)]


def test_an_edit_of_what_is_not_there_means_that_the_file_was_another(tmp_path: Path) -> None:
    edit = called(3, "Edit", file_path=HANDOFF, old_string="elsewhere", new_string="x")

    assert notes(tmp_path, *write(1, "All of it."), *edit) == []


def test_a_call_that_failed_and_a_file_that_is_too_long_leave_nothing(tmp_path: Path) -> None:
    failed, long = write(1, "All of it.", is_error=True), write(3, "word " * 20_000, "/srv/app/PLAN.md")

    assert notes(tmp_path, *failed, *long) == []


@pytest.mark.parametrize("edits", [5, "all", [5], [{"old_string": 5}], [{"old_string": "", "new_string": "x"}]])
def test_edits_that_are_none_leave_no_note_and_break_nothing(tmp_path: Path, edits: object) -> None:
    odd = called(3, "MultiEdit", file_path=HANDOFF, edits=edits)

    assert notes(tmp_path, *write(1, "All of it."), *odd)[1:] == []


@pytest.mark.parametrize(
    ("path", "is_note"),
    [
        ("/srv/app/CLAUDE.md", True),
        ("/srv/app/.planning/STATE.md", True),
        ("/srv/app/docs/adr/0004-queues.md", True),
        ("/home/me/.claude/projects/-srv-app/memory/feedback_style.md", True),
        ("/srv/app/decisions.txt", True),
        ("/srv/app/README.md", False),
        ("/home/me/.claude/skills/review/SKILL.md", False),
        ("/srv/app/src/plan.py", False),
        ("/home/me/notes/app/storage.md", False),
        ("C:\\plans\\app\\storage.md", False),
        ("/home/me/oneiros-memory/topics/storage.md", False),
        ("/home/me/mem/topics/plan.md", False),
        ("/home/me/app/plans/storage.md", True),
    ],
)
def test_a_file_is_a_note_by_its_name(tmp_path: Path, path: str, is_note: bool) -> None:
    assert bool(notes(tmp_path, *write(1, "Some words.", path))) == is_note


def test_the_folder_of_a_session_makes_no_note_of_what_lies_in_it(tmp_path: Path) -> None:
    records = [
        assistant(1, call("Write", "c1", file_path="/srv/notes/README.md", content="Some words."), cwd="/srv/notes"),
        result(2, "c1", "done", cwd="/srv/notes"),
    ]

    assert notes(tmp_path, *records) == []
