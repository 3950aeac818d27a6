"""The files in which a person wrote things down are found where they lie, and nothing is read out of their folder."""

import subprocess
from pathlib import Path

import pytest

from parts.taking_over.instructions import MAX_BYTES, InstructionReader, find_folders
from tests.crawler.builders import person, write_transcript


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def write(file: Path, text: str = "- Use uv for installs.\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def git(folder: Path, *arguments: str, email: str = "ada@localhost") -> None:
    names = ("-c", "user.name=A", "-c", f"user.email={email}")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def names(reader: InstructionReader) -> list[tuple[str, str]]:
    return [(file.shown, file.project) for file in reader.found.files]


def test_of_a_project_its_rules_notes_and_decisions_are_read(home: Path) -> None:
    app = home / "src" / "app"
    for name in ("CLAUDE.md", "pkg/AGENTS.md", ".claude/rules/style.md", "docs/adr/1.md", "docs/other.md", "README.md"):
        write(app / name)
    git(app, "init", "-q")
    write(app / ".gitignore", "CLAUDE.local.md\n")
    write(app / "CLAUDE.local.md")
    reader = InstructionReader(home)

    reader.read_project(app, "app")

    found = ["CLAUDE.local.md", "CLAUDE.md", ".claude/rules/style.md", "pkg/AGENTS.md", "docs/adr/1.md"]
    assert names(reader) == [(f"~/src/app/{name}", "app") for name in found]
    assert [file.is_decision for file in reader.found.files] == [False] * 4 + [True]


def test_of_the_home_the_persons_own_and_claudes_notes_are_read(home: Path) -> None:
    app = home / "src" / "my_app"
    app.mkdir(parents=True)
    for name in ("CLAUDE.md", "rules/a.md", "projects/-gone/memory/old.md", "projects/-gone/memory/MEMORY.md"):
        write(home / ".claude" / name)
    slug = str(app).replace("/", "-").replace("_", "-")
    write(home / ".claude" / "projects" / slug / "memory" / "user.md")
    reader = InstructionReader(home)

    reader.read_client(home / ".claude", {"my_app": app})

    assert sorted(names(reader)) == [
        ("~/.claude/CLAUDE.md", ""),
        *sorted(
            [(f"~/.claude/projects/{slug}/memory/user.md", "my_app"), ("~/.claude/projects/-gone/memory/old.md", "")]
        ),
        ("~/.claude/rules/a.md", ""),
    ]


def test_notes_of_a_folder_with_a_name_of_its_own_are_of_the_project_in_its_transcripts(home: Path) -> None:
    app = home / "src" / "app"
    app.mkdir(parents=True)
    named = home / ".claude-work" / "projects" / "the-app"  # as CLAUDE_CODE_PROJECT_DIR_NAME calls it
    write(named / "memory" / "user.md")
    write_transcript(named, person(1, "Hello.", cwd=str(app / "src")))
    reader = InstructionReader(home)

    reader.read_client(home / ".claude-work", {"app": app})

    assert names(reader) == [("~/.claude-work/projects/the-app/memory/user.md", "app")]


def test_notes_of_a_project_inside_another_are_its_own(home: Path) -> None:
    outer, inner = home / "src", home / "src" / "app"
    inner.mkdir(parents=True)
    named = home / ".claude-work" / "projects" / "the-app"
    write(named / "memory" / "user.md")
    write_transcript(named, person(1, "Hello.", cwd=str(inner / "lib")))
    reader = InstructionReader(home)

    reader.read_client(home / ".claude-work", {"src": outer, "app": inner})

    assert names(reader) == [("~/.claude-work/projects/the-app/memory/user.md", "app")]


def test_imports_are_followed_inside_the_folder_alone(home: Path) -> None:
    write(home / "secret.md")
    app = home / "app"
    write(app / "CLAUDE.md", "Read @docs/style.md and @../secret.md and @~/secret.md, never `@docs/code.md`.\n")
    write(app / "docs" / "style.md", "See @../CLAUDE.md\n")
    write(app / "docs" / "code.md")
    reader = InstructionReader(home)

    reader.read_project(app, "app")

    assert names(reader) == [("~/app/CLAUDE.md", "app"), ("~/app/docs/style.md", "app")]
    assert [problem.what for problem in reader.found.problems] == ["it leads out of ~/app"] * 2


def test_links_that_lead_out_are_refused_and_a_double_is_read_once(home: Path) -> None:
    outside = write(home / "outside.md")
    app = home / "app"
    write(app / "AGENTS.md")
    (app / "CLAUDE.md").symlink_to("AGENTS.md")
    (app / "CLAUDE.local.md").symlink_to(outside)
    (app / "z.md").symlink_to(app / "nowhere.md")
    reader = InstructionReader(home)

    reader.read_named(app)

    assert len(reader.found.files) == 1
    assert {problem.path for problem in reader.found.problems} == {"~/app/CLAUDE.local.md", "~/app/z.md"}


def test_what_is_no_text_or_too_large_is_named(home: Path) -> None:
    (home / "notes").mkdir(parents=True)
    (home / "notes" / "a.md").write_bytes(b"\xff\xfe- Use uv.\n")
    (home / "notes" / "b.md").write_bytes(b"- Use\0uv.\n")
    write(home / "notes" / "c.md", "x" * (MAX_BYTES + 1))
    write(home / "notes" / "d.md")
    reader = InstructionReader(home)

    reader.read_named(home / "notes")

    assert names(reader) == [("~/notes/d.md", "notes")]
    assert [problem.path for problem in reader.found.problems] == [f"~/notes/{name}.md" for name in "abc"]


def test_what_somebody_else_committed_is_read_only_when_asked_for(home: Path) -> None:
    app = home / "app"
    write(app / "CLAUDE.md")
    write(app / "AGENTS.md")
    git(app, "init", "-q")
    git(app, "config", "user.email", "ada@localhost")
    git(app, "add", "CLAUDE.md")
    git(app, "commit", "-qm", "a", email="ada@localhost")
    git(app, "add", "AGENTS.md")
    git(app, "commit", "-qm", "b", email="bob@localhost")
    own, every = InstructionReader(home), InstructionReader(home, with_others=True)

    own.read_project(app, "app")
    every.read_project(app, "app")

    assert names(own) == [("~/app/CLAUDE.md", "app")] and own.found.others == ["~/app/AGENTS.md"]
    assert len(every.found.files) == 2 and every.found.others == []


def test_only_projects_that_are_still_there_have_a_folder(tmp_path: Path) -> None:
    (tmp_path / "app" / ".git").mkdir(parents=True)
    known = {str(tmp_path / "app" / ".git"): str(tmp_path / "app" / "pkg"), "/gone": "/gone", "": "relative"}
    known |= dict.fromkeys([f"/srv/{'n' * 300}"], "/srv")

    there, gone = find_folders(known)

    assert there == {"app": tmp_path / "app"} and gone["gone"] == Path("/gone")
