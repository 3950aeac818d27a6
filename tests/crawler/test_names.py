"""What the projects of a memory are called."""

from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.names import ProjectNames
from tests.crawler.builders import OTHER_SESSION, SESSION, settings_in, working_session, write_transcript

THIRD_SESSION = "33333333-3333-4333-8333-333333333333"


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    return folder


def take_in(root: Path, folder: Path, session: str) -> str:
    """What the project of a session in a folder is called, and what is remarked."""
    write_transcript(root.parent / "transcripts", *working_session(session=session, cwd=str(folder)), session=session)
    with Ingester(settings_in(root)) as ingester:
        ingester.ingest([root.parent / "transcripts"])
        return ingester.archive.record(session).project_name


def test_a_second_repository_of_one_name_is_a_project_of_its_own(tmp_path: Path) -> None:
    first, second = repository(tmp_path / "a" / "shop"), repository(tmp_path / "b" / "shop")
    (first / "packages").mkdir()
    root = tmp_path / "root"

    assert take_in(root, first / "packages", SESSION) == "shop"
    assert take_in(root, second, OTHER_SESSION) == "b-shop"

    names = ProjectNames(settings_in(root).archive)
    assert [names.find(str(folder)) for folder in (first, first / ".git", second, second / ".git")] == [
        "shop",
        "shop",
        "b-shop",
        "b-shop",
    ]
    assert (names.find("/gone/shop/.git"), names.find("")) == ("shop", "")


def test_a_repository_that_moved_keeps_its_name(tmp_path: Path) -> None:
    root, first = tmp_path / "root", repository(tmp_path / "a" / "shop")
    take_in(root, first, SESSION)
    first.rename(tmp_path / "shop")

    assert take_in(root, tmp_path / "shop", OTHER_SESSION) == "shop"


def test_what_an_archive_holds_already_keeps_its_name(tmp_path: Path) -> None:
    root, first, second = tmp_path / "root", repository(tmp_path / "z" / "shop"), repository(tmp_path / "b" / "shop")
    take_in(root, first, SESSION)
    (settings_in(root).archive / "projects.jsonl").unlink()  # as before names were kept

    assert take_in(root, second, OTHER_SESSION) == "b-shop"
    assert ProjectNames(settings_in(root).archive).find(str(first)) == "shop"


def test_a_folder_that_cannot_be_looked_at_ends_no_ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, shut, is_dir = tmp_path / "root", repository(tmp_path / "a" / "shop"), Path.is_dir
    take_in(root, shut, SESSION)

    def refuse(folder: Path) -> bool:
        if folder == shut:
            raise PermissionError(13, "Permission denied", str(folder))
        return is_dir(folder)

    monkeypatch.setattr(Path, "is_dir", refuse)
    overlong = f"/srv/{'n' * 300}"

    assert take_in(root, Path(overlong), OTHER_SESSION) == "n" * 300
    assert take_in(root, repository(tmp_path / "b" / "shop"), THIRD_SESSION) == "shop"
    names = ProjectNames(settings_in(root).archive)
    assert [names.find(str(folder)) for folder in (shut, overlong)] == ["shop", "n" * 300]


def test_a_folder_that_cannot_be_compared_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ProjectNames(tmp_path / "archive")
    names.settle([str(repository(tmp_path / "a" / "shop"))])

    def lose(folder: Path, other: Path) -> bool:
        raise OSError(116, "Stale file handle", str(folder))

    monkeypatch.setattr(Path, "samefile", lose)

    assert names.find(str(repository(tmp_path / "b" / "shop"))) == "b-shop"
