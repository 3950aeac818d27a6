"""Notes of sessions as files: the newest state of each is a source, and what a session knew goes with it."""

import datetime as dt
import json
from fnmatch import fnmatch
from pathlib import Path

import pytest

from memory_server.document import Layer
from memory_server.errors import ContentError
from memory_server.layers.notes import SessionNote, bring_notes_level, older_notes
from memory_server.layers.topics import find_sources, read_document
from memory_server.root.paths import MemoryRoot
from tests.memories import new_root

FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def note(text: str, day: int) -> SessionNote:
    return SessionNote("docs/HANDOFF.md", text, dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC), 4)


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    """A root whose two sessions each knew a state of one note."""
    root = new_root(tmp_path / "mem")
    states = {FIRST: note("The relay takes port 25.", 1), SECOND: note("The relay takes port 2525.", 2)}
    bring_notes_level(root.notes, {FIRST: "1", SECOND: "1"}, lambda name: ("app", [states[name]]))
    return root


def list_notes(root: MemoryRoot) -> list[str]:
    found = [source for source in find_sources(root) if source.layer is Layer.REFERENCE]
    return [read_document(root, source).body.strip() for source in found]


def test_the_newest_state_of_a_note_is_the_source(root: MemoryRoot) -> None:
    [source] = [source for source in find_sources(root) if source.layer is Layer.REFERENCE]

    document = read_document(root, source)

    assert fnmatch(source.path, ".oneiros/notes/app/docs-HANDOFF-????????~20260302T120000~22222222.md")
    assert (document.title, document.kind, document.project) == ("docs/HANDOFF.md", "note", "app")
    assert (document.body.strip(), document.date) == ("The relay takes port 2525.", dt.date(2026, 3, 2))


def test_what_a_session_knew_goes_with_it_and_the_state_before_is_back(root: MemoryRoot) -> None:
    bring_notes_level(root.notes, {FIRST: "1"}, lambda name: ("app", []))

    assert list_notes(root) == ["The relay takes port 25."]
    assert not any("2525" in file.read_text(encoding="utf-8") for file in root.notes.rglob("*.*"))


def test_a_session_is_read_again_only_where_it_changed(root: MemoryRoot) -> None:
    read = []

    def notes_of(name: str) -> tuple[str, list[SessionNote]]:
        read.append(name)
        return "app", [note("The relay takes port 587.", 3)]

    bring_notes_level(root.notes, {FIRST: "2", SECOND: "1"}, notes_of)

    assert (read, list_notes(root)) == ([FIRST], ["The relay takes port 587."])
    assert len(list(root.notes.rglob("*.md"))) == 2


def test_what_a_damaged_session_knew_stays_until_it_can_be_read(root: MemoryRoot) -> None:
    def damaged(name: str) -> tuple[str, list[SessionNote]]:
        raise ContentError("an object is not what it was")

    bring_notes_level(root.notes, {FIRST: "1", SECOND: "2"}, damaged)
    assert list_notes(root) == ["The relay takes port 2525."]

    bring_notes_level(root.notes, {FIRST: "1", SECOND: "2"}, lambda name: ("app", [note("It takes port 587.", 3)]))
    assert list_notes(root) == ["It takes port 587."]


@pytest.mark.parametrize("state", [b"{", b"5", b'["a"]', b"\xff"])
def test_a_state_that_cannot_be_read_costs_a_look_at_all_sessions(root: MemoryRoot, state: bytes) -> None:
    (root.notes / "state.json").write_bytes(state)

    bring_notes_level(root.notes, {FIRST: "1", SECOND: "1"}, lambda name: ("app", [note("It takes port 587.", 3)]))

    assert list_notes(root) == ["It takes port 587."]


@pytest.mark.parametrize("state", [None, json.dumps({FIRST: "1"})])
def test_a_forgotten_note_goes_where_the_state_is_lost_or_of_before(root: MemoryRoot, state: str | None) -> None:
    (root.notes / "state.json").unlink()
    if state:
        (root.notes / "state.json").write_text(state, encoding="utf-8")

    bring_notes_level(root.notes, {FIRST: "1"}, lambda name: ("app", [note("The relay takes port 25.", 1)]))

    assert not any("2525" in file.read_text(encoding="utf-8") for file in root.notes.rglob("*.*"))


def test_a_file_that_is_no_text_any_more_is_written_anew(root: MemoryRoot) -> None:
    for file in root.notes.rglob("*.md"):
        file.write_bytes(b"\xff")

    bring_notes_level(root.notes, {FIRST: "2", SECOND: "1"}, lambda name: ("app", [note("It takes port 25.", 1)]))

    [first] = root.notes.rglob("*~11111111.md")
    assert "It takes port 25." in first.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("商店", "plan.md"), ("仓库", "plan.md")),
        (("app", "планы/plan.md"), ("app", "заметки/plan.md")),
        (("app", "docs/notes.md"), ("app", "docs-notes.md")),
    ],
)
def test_different_notes_are_no_states_of_one(tmp_path: Path, one: tuple[str, str], other: tuple[str, str]) -> None:
    root, noted = new_root(tmp_path / "mem"), {FIRST: one, SECOND: other}

    def notes_of(session_id: str) -> tuple[str, list[SessionNote]]:
        project, path = noted[session_id]
        return project, [SessionNote(path, f"Of {path} in {project}.", None, 1)]

    bring_notes_level(root.notes, {FIRST: "1", SECOND: "1"}, notes_of)

    assert sorted(list_notes(root)) == sorted(f"Of {path} in {project}." for project, path in noted.values())


def test_notes_of_other_names_and_projects_stand_beside_each_other() -> None:
    files = ["a/plan~2~1.md", "a/plan~1~2.md", "b/plan~1~2.md", "a/plan-b~0~1.md"]

    assert older_notes(files) == {"a/plan~1~2.md"}


def test_a_memory_without_sessions_gets_no_folder(tmp_path: Path) -> None:
    bring_notes_level(tmp_path / "notes", {}, lambda name: (name, []))

    assert not (tmp_path / "notes").exists()
