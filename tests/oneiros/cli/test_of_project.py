"""`--project`: what commands show, offer and write is that project's alone."""

import json
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.memories import write_topic
from tests.oneiros.cli.test_importing import Oneiros, environment_in, home, oneiros

__all__ = ["home", "oneiros"]  # the fixtures of the import's tests: a home with a project and rules of the person's own


@pytest.fixture
def environment(home: Path) -> Environment:
    web = home / "src" / "web"
    (web / ".git").mkdir(parents=True)
    (web / "CLAUDE.md").write_text("# Web\n\n- Pages have titles.\n- Links are checked.\n", encoding="utf-8")
    found = environment_in(home)
    for project in ("app", "web"):
        text = f"# Ports\n\n- The {project} listens on port 2525.\n- See [more](gone.md).\n"
        write_topic(found.choice.root, f"{project}/ports", text, project=project)
    return found


def test_an_import_and_a_review_are_of_one_project(oneiros: Oneiros, environment: Environment) -> None:
    folders = [str(environment.home / "src" / name) for name in ("app", "web")]
    assert oneiros("import", "--project", "app", *folders)[1] == "topics/app/testing.md  3 statements\n"
    assert oneiros("import", *folders)[1] == "topics/web/web.md  2 statements\n"

    def listed(*arguments: str) -> list[str]:
        return [line.split()[2] for line in oneiros("review", "--list", *arguments)[1].splitlines()]

    assert set(listed("--project", "Web")) == {"topics/web/web.md"} and len(listed("--project", "app")) == 3
    assert len(listed()) == 5


def test_topics_reports_and_exports_are_of_one_project(
    oneiros: Oneiros, environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["dream", "adopt", "topics/app/ports.md", "topics/web/ports.md"], environment)
    capsys.readouterr()

    assert [one["path"] for one in json.loads(oneiros("topics", "--project", "web", "--json")[1])["topics"]] == [
        "topics/web/ports.md"
    ]
    report = json.loads(oneiros("report", "--project", "web", "--json")[1])["findings"]
    assert {one["path"] for one in report if one["part"] == "dead links and pointers"} == {"topics/web/ports.md"}
    oneiros("export", "--approved", "rows.jsonl", "--project", "web")
    rows = (environment.working_folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(row)["topic"] for row in rows} == {"web/ports"}
    assert oneiros("export", "--mif", "bundle", "--project", "web")[0] == 0
    assert [path.name for path in (environment.working_folder / "bundle").rglob("*.md")] == ["ports.md"]


def test_what_is_told_goes_to_the_project_that_is_named(oneiros: Oneiros, environment: Environment) -> None:
    main(["dream", "adopt", "topics/app/ports.md", "topics/web/ports.md"], environment)

    oneiros("remember", "The relay needs TLS.", "--project", "web", "--topic", "Ports")
    code, _, error = oneiros("wrong", "ports:7", "The app listens on port 2626.", "--project", "app")

    root = environment.choice.root
    assert code == 0, error
    assert "The relay needs TLS." in (root.topics / "web" / "ports.md").read_text(encoding="utf-8")
    assert "2626" in (root.topics / "app" / "ports.md").read_text(encoding="utf-8")
