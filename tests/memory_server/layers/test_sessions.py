from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memory_server.errors import ContentError
from memory_server.layers.sessions import (
    CompressedSession,
    Section,
    Statement,
    find_session_files,
    find_superseded_files,
    newest_files,
    parse_sections,
    project_name,
    read_session,
    render,
    write_session,
)

SESSION = CompressedSession(
    session_id="394e0229-5fa4-428f-b1eb-e821951d3257",
    title="Why the relay dies: 'timeouts' & more",
    summary="Why the relay dies. Committed 1a2b3c4.",
    sections=(
        Section("Goal", (Statement("find out why", ("79ec060e",)),)),
        Section("Decisions", (Statement("keepalive: every [300] s", ("7335094a", "4eac6e91")),)),
    ),
    project="/srv/app/.git",
    cwd="/srv/app",
    branch="main",
    machine="desk",
    started=datetime(2026, 2, 16, 21, 41, 17, tzinfo=UTC),
    ended=datetime(2026, 2, 16, 22, 24, 25, tzinfo=UTC),
    turns={"person": 3, "tool": 4},
    tokens={"input": 10, "output": 5},
    tools={"Bash": 4},
    files_touched=("src/relay.py",),
    commits=("1a2b3c4 Keep the relay alive",),
    outcome="shipped",
    importance=0.54,
    source_hash="ab12",
)


def test_a_session_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    assert read_session(write_session(tmp_path, SESSION)) == SESSION


def test_the_file_is_named_by_date_title_and_id(tmp_path: Path) -> None:
    path = write_session(tmp_path, SESSION)

    assert path.relative_to(tmp_path).as_posix() == "2026/2026-02-16-why-the-relay-dies-timeouts-more-394e0229.md"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/x/shop/.git", "shop"),
        ("/home/x/shop", "shop"),
        ("D:\\work\\shop", "shop"),
        ("/home/x/shop/src", "shop"),
        ("/home/x/shop/main/.git", "shop"),
        ("/home/x/shop/.bare", "shop"),
        ("/home/x/cli/.worktrees/1", "cli"),
        ("/home/x/cli/.worktrees/x/mend-dates", "cli"),
        ("/home/x/cli/.claude/worktrees/agent-a4ca7529", "cli"),
        ("C:\\Users\\x\\shop\\Repo", "shop"),
        ("/home/x/work", "work"),
        ("/root/work", "work"),
        ("/rooted/work", "rooted"),
        ("C:\\Users\\x\\src", "src"),
        ("/home/x", "x"),
        ("/srv/users/api", "api"),
        ("/tmp/repo", "repo"),
        ("/repo", "repo"),
        ("/home/x/worktrees/mend", "mend"),
        ("/", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_project_is_called_by_a_folder_that_tells_something(folder: str, name: str) -> None:
    assert project_name(folder) == name


def test_project_and_machine_can_be_filtered_by_their_short_names() -> None:
    front = yaml.safe_load(render(SESSION).split("---\n")[1])

    assert (front["project"], front["machine"]) == ("app", "desk")


def test_every_line_of_the_body_ends_with_its_entries() -> None:
    assert SESSION.body == (
        "# Why the relay dies: 'timeouts' & more\n\n"
        "## Goal\n\n- find out why [79ec060e]\n\n"
        "## Decisions\n\n- keepalive: every [300] s [7335094a, 4eac6e91]\n"
    )


def test_a_revision_is_written_once(tmp_path: Path) -> None:
    write_session(tmp_path, SESSION)

    assert write_session(tmp_path, SESSION).exists()
    with pytest.raises(ContentError, match="Write the next revision"):
        write_session(tmp_path, replace(SESSION, outcome="partial"))


def test_the_newest_revision_stands_for_the_session(tmp_path: Path) -> None:
    first = write_session(tmp_path, SESSION)
    second = write_session(tmp_path, replace(SESSION, revision=2, supersedes=first.name))

    assert newest_files(tmp_path) == {SESSION.session_id: second}
    assert find_session_files(tmp_path, SESSION.session_id) == [first, second]


def test_the_head_of_a_revision_as_it_was_written_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_session(tmp_path, SESSION)
    second = write_session(tmp_path, replace(SESSION, revision=2, supersedes=first.name))
    by_hand = (
        second.read_text(encoding="utf-8")
        .replace("    revision: 2\n", "")
        .replace("    branch", "    revision: 3\n    branch")
    )
    third = second.with_name(second.name.replace("-r2", "-r3"))
    third.write_text(by_hand, encoding="utf-8")
    parsed, load = list[str](), yaml.load
    monkeypatch.setattr(yaml, "load", lambda head, Loader: parsed.append(head) or load(head, Loader))  # type: ignore[func-returns-value]  # noqa: N803

    assert find_superseded_files([first, second, third]) == {first, second}
    assert [head in by_hand for head in parsed] == [True]


def test_a_file_that_went_since_it_was_listed_is_of_no_session(tmp_path: Path) -> None:
    first = write_session(tmp_path, SESSION)
    second = write_session(tmp_path, replace(SESSION, revision=2, supersedes=first.name))
    first.unlink()

    assert find_superseded_files([first, second]) == set()


@pytest.mark.parametrize("text", ["", "no frontmatter", "---\n[\n---\n", "---\ntitle: x\n---\nbody\n"])
def test_a_file_that_is_no_session_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "2026" / "x.md"
    path.parent.mkdir()
    path.write_text(text)

    with pytest.raises(ContentError, match=r"x\.md:1: .* Remove the file, then ingest"):
        read_session(path)
    assert newest_files(tmp_path) == {}


LINE = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=60).map(str.strip)


@given(st.lists(LINE.filter(bool), min_size=1, max_size=5))
def test_no_text_breaks_out_of_its_line(texts: list[str]) -> None:
    section = Section("Goal", tuple(Statement(text, ("79ec060e",)) for text in texts))
    body = replace(SESSION, sections=(section,)).body

    assert list(parse_sections(body)) == [section]
