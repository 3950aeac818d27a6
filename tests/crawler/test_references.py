import json
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.references import MAX_BYTES, ReferenceSettings, ReferenceSource, ScanReport, scan
from memory_server.layers.mif import parse_frontmatter


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def settings_for(*roots: Path, endings: tuple[str, ...] = (".md", ".py", ".docx")) -> ReferenceSettings:
    return ReferenceSettings(roots, endings)


def copies(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def counts(report: ScanReport) -> tuple[int, int, int, int]:
    return report.written, report.moved, report.removed, report.unchanged


def test_documents_and_code_become_redacted_copies_that_name_their_file(project: Path, tmp_path: Path) -> None:
    (project / "README.md").write_text("# Shop\n\npassword = 'hunter22x!'\n", encoding="utf-8")
    (project / "pay.py").write_text("def pay(): ...\n", encoding="utf-8")

    scan(settings_for(project), tmp_path / "copies")

    assert copies(tmp_path / "copies") == ["shop/README.md.md", "shop/pay.py.md"]
    readme = parse_frontmatter((tmp_path / "copies/shop/README.md.md").read_text(encoding="utf-8"))
    assert "hunter22x" not in readme.body and readme.fields["source"] == str(project / "README.md")
    assert "```py\ndef pay(): ...\n```" in (tmp_path / "copies/shop/pay.py.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["node_modules/x.md", "build/x.md", "vendor/x.md", "photo.png", "archive.zip", "long.md", "empty.md"]
)
def test_built_vendored_foreign_and_long_files_are_left_out(project: Path, tmp_path: Path, name: str) -> None:
    file = project / name
    file.parent.mkdir(exist_ok=True)
    file.write_text({"long.md": "x" * (MAX_BYTES + 1), "empty.md": ""}.get(name, "text"), encoding="utf-8")

    scan(settings_for(project), tmp_path / "copies")

    assert copies(tmp_path / "copies") == []


def test_what_git_ignores_is_left_out(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("secret.md\n", encoding="utf-8")
    for name in ("secret.md", "open.md"):
        (project / name).write_text("text", encoding="utf-8")

    scan(settings_for(project), tmp_path / "copies")

    assert copies(tmp_path / "copies") == ["shop/open.md.md"]


def test_a_moved_file_is_not_a_new_one_and_a_deleted_one_disappears(project: Path, tmp_path: Path) -> None:
    (project / "a.md").write_text("first", encoding="utf-8")
    (project / "b.md").write_text("second", encoding="utf-8")
    first = scan(settings_for(project), tmp_path / "copies")

    (project / "a.md").rename(project / "c.md")
    (project / "b.md").unlink()
    second = scan(settings_for(project), tmp_path / "copies")

    assert (counts(first), counts(second)) == ((2, 0, 0, 0), (0, 1, 1, 0))
    assert copies(tmp_path / "copies") == ["shop/c.md.md"]


def test_an_unchanged_file_is_left_and_a_changed_one_read_again(project: Path, tmp_path: Path) -> None:
    (project / "a.md").write_text("first", encoding="utf-8")
    scan(settings_for(project), tmp_path / "copies")
    again = scan(settings_for(project), tmp_path / "copies")
    (project / "a.md").write_text("another", encoding="utf-8")

    assert counts(again) == (0, 0, 0, 1)
    assert counts(scan(settings_for(project), tmp_path / "copies")) == (1, 0, 0, 0)


def test_tags_come_by_name_and_by_text(project: Path, tmp_path: Path) -> None:
    (project / "deploy.md").write_text("systemctl restart", encoding="utf-8")
    tagged = replace(settings_for(project), tags=(("ops", "deploy*"), ("linux", "re:systemctl"), ("other", "x*")))

    scan(tagged, tmp_path / "copies")

    text = (tmp_path / "copies/shop/deploy.md.md").read_text(encoding="utf-8")
    assert parse_frontmatter(text).texts("tags") == ("linux", "ops")


def test_a_word_document_is_read_and_a_broken_one_reported(project: Path, tmp_path: Path) -> None:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'<w:document xmlns:w="{namespace}"><w:p><w:r><w:t>The lease ends in May.</w:t></w:r></w:p></w:document>'
    with zipfile.ZipFile(project / "lease.docx", "w") as package:
        package.writestr("word/document.xml", body)
    (project / "broken.docx").write_bytes(b"no package")

    report = scan(settings_for(project), tmp_path / "copies")

    assert "The lease ends in May." in (tmp_path / "copies/shop/lease.docx.md").read_text(encoding="utf-8")
    assert len(report.problems) == 1 and "broken.docx" in report.problems[0]


def test_the_memory_files_of_every_folder_of_the_client_are_a_source(tmp_path: Path) -> None:
    folders = tuple(tmp_path / name for name in (".claude", "work"))
    for folder in folders:
        written(folder / "CLAUDE.md", f"Of {folder.name}.")

    scan(replace(settings_for(), client_folders=folders), tmp_path / "copies")

    held = [file.read_text(encoding="utf-8") for file in (tmp_path / "copies").rglob("*.md")]
    assert sorted(text.rpartition("\n\n")[2].strip() for text in held) == ["Of .claude.", "Of work."]


def test_the_clients_own_memory_files_are_a_source(tmp_path: Path) -> None:
    notes = tmp_path / ".claude" / "projects" / "-work-app" / "memory"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("Use tabs.", encoding="utf-8")
    (notes.parent / "session.jsonl").write_text("{}", encoding="utf-8")

    scan(replace(settings_for(), client_folders=(tmp_path / ".claude",)), tmp_path / "copies")

    assert copies(tmp_path / "copies") == ["claude-code/projects/-work-app/memory/MEMORY.md.md"]


# -- named sources ----------------------------------------------------------------------------------------------------


def named(*sources: ReferenceSource) -> ReferenceSettings:
    return replace(settings_for(), sources=sources)


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_source_takes_its_own_endings_from_every_folder_that_fits_its_pattern(tmp_path: Path) -> None:
    for name in ("0_notes/a.adoc", "0_plans/b.adoc", "1_old/c.adoc", "0_notes/d.md"):
        written(tmp_path / name, f"text of {name}")
    source = ReferenceSource("own", (f"{tmp_path}/0_*",), (".adoc",), tags=(("mine", "*"), ("plan", "b*")))

    scan(named(source), tmp_path / "copies")

    assert copies(tmp_path / "copies") == ["0_notes/a.adoc.md", "0_plans/b.adoc.md"]
    front = parse_frontmatter((tmp_path / "copies/0_plans/b.adoc.md").read_text(encoding="utf-8"))
    assert front.texts("tags") == ("mine", "plan")


def test_one_content_under_two_paths_is_kept_once_until_the_first_is_gone(tmp_path: Path) -> None:
    first, second = (written(tmp_path / name / "x.md", "The lease ends in May.") for name in ("a", "b"))
    settings = named(ReferenceSource("own", (f"{tmp_path}/a", f"{tmp_path}/b"), (".md",)))

    report = scan(settings, tmp_path / "copies")

    assert (report.written, report.doubles) == (1, 1) and copies(tmp_path / "copies") == ["a/x.md.md"]
    again = scan(settings, tmp_path / "copies")
    assert (again.written, again.unchanged, again.doubles) == (0, 1, 1)
    first.unlink()
    scan(settings, tmp_path / "copies")
    assert copies(tmp_path / "copies") == ["b/x.md.md"]
    assert str(second) in (tmp_path / "copies/b/x.md.md").read_text(encoding="utf-8")


def test_folders_of_one_name_do_not_take_each_others_place(tmp_path: Path) -> None:
    for parent in ("here", "there"):
        written(tmp_path / parent / "notes" / "x.md", f"said {parent}")
    source = ReferenceSource("own", (f"{tmp_path}/here/notes", f"{tmp_path}/there/notes"), (".md",))

    report = scan(named(source), tmp_path / "copies")

    assert report.written == 2 and len(copies(tmp_path / "copies")) == 2
    assert counts(scan(named(source), tmp_path / "copies")) == (0, 0, 0, 2)


def test_what_was_written_in_a_notebook_is_kept_without_its_results(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Lease\n", "It ends in May."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"data": {"image/png": "A" * 200_000}}]},
    ]
    written(tmp_path / "n" / "lease.ipynb", json.dumps({"cells": cells}))
    written(tmp_path / "n" / "broken.ipynb", "{")
    source = ReferenceSource("own", (f"{tmp_path}/n",), (".ipynb",))

    report = scan(named(source), tmp_path / "copies")

    text = (tmp_path / "copies/n/lease.ipynb.md").read_text(encoding="utf-8")
    assert "It ends in May.\n\n```\nprint(1)\n```" in text and "AAAA" not in text
    assert len(report.problems) == 1 and "broken.ipynb" in report.problems[0]


def test_what_is_refused_is_named_with_its_reason_and_so_is_a_source_that_gives_nothing(tmp_path: Path) -> None:
    written(tmp_path / "n" / "long.md", "x" * (MAX_BYTES + 1))
    (tmp_path / "n" / "link.md").symlink_to(tmp_path / "n" / "long.md")
    sources = (
        ReferenceSource("own", (f"{tmp_path}/n",), (".md",)),
        ReferenceSource("far", (f"{tmp_path}/none*",), (".md",)),
    )

    report = scan(named(*sources), tmp_path / "copies")

    assert report.refused == {"a link": [f"{tmp_path}/n/link.md"], "longer than 64 KB": [f"{tmp_path}/n/long.md"]}
    assert report.problems == [f"{tmp_path}/none*: there is no such folder."]
    assert [what.split(":")[0] for what in report.barren] == ["nothing was taken of own", "nothing was taken of far"]


def test_a_source_that_is_not_due_stays_as_it_was(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name / "x.md", f"text of {name}")
    settings = named(*(ReferenceSource(name, (f"{tmp_path}/{name}",), (".md",)) for name in ("a", "b")))
    scan(settings, tmp_path / "copies")
    for name in ("a", "b"):
        (tmp_path / name / "x.md").unlink()

    report = scan(settings, tmp_path / "copies", due=["a"])

    assert (report.removed, copies(tmp_path / "copies")) == (1, ["b/x.md.md"])
    scan(named(), tmp_path / "copies")
    assert copies(tmp_path / "copies") == []
