import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.documents import MAX_BYTES
from crawler.references import ReferenceSettings, ScanReport, scan
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


def test_the_clients_own_memory_files_are_a_source(tmp_path: Path) -> None:
    notes = tmp_path / ".claude" / "projects" / "-work-app" / "memory"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("Use tabs.", encoding="utf-8")
    (notes.parent / "session.jsonl").write_text("{}", encoding="utf-8")

    scan(replace(settings_for(), client_folder=tmp_path / ".claude"), tmp_path / "copies")

    assert copies(tmp_path / "copies") == ["claude-code/projects/-work-app/memory/MEMORY.md.md"]
