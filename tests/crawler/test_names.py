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


def test_a_repository_that_moved_keeps_its_name_when_another_is_cloned_at_its_old_place(tmp_path: Path) -> None:
    root, old, moved = tmp_path / "root", repository(tmp_path / "a" / "shop"), tmp_path / "b" / "shop"
    take_in(root, old, SESSION)
    moved.parent.mkdir()
    old.rename(moved)
    assert take_in(root, moved, OTHER_SESSION) == "shop"

    repository(old)

    assert take_in(root, old, THIRD_SESSION) == "a-shop"
    names = ProjectNames(settings_in(root).archive)
    assert [names.find(str(folder)) for folder in (moved, old)] == ["shop", "a-shop"]


def test_a_repository_that_moved_is_known_before_anything_of_it_came_in(tmp_path: Path) -> None:
    names, old, moved = ProjectNames(tmp_path / "archive"), repository(tmp_path / "a" / "shop"), tmp_path / "b" / "shop"
    names.settle([str(old)])
    moved.parent.mkdir()
    old.rename(moved)
    repository(old)

    assert names.find(str(moved)) == "shop"
    assert (names.settle([str(moved)]), names.settle([str(old)])) == (
        [],
        [f"the project {old} is called a-shop here, since another folder is called shop"],
    )


def test_a_repository_that_is_cloned_anew_in_its_place_keeps_its_name(tmp_path: Path) -> None:
    names, folder = ProjectNames(tmp_path / "archive"), repository(tmp_path / "a" / "shop")
    names.settle([str(folder)])
    folder.rename(tmp_path / "a" / "shop-old")

    names.settle([str(repository(folder))])

    assert [names.find(str(tmp_path / "a" / name)) for name in ("shop", "shop-old")] == ["shop", "shop-old"]


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


def test_names_that_were_lost_are_those_of_the_sessions_whoever_asks_first(tmp_path: Path) -> None:
    root, first, second = tmp_path / "root", repository(tmp_path / "z" / "shop"), repository(tmp_path / "b" / "shop")
    folders = [str(first), str(second), str(repository(tmp_path / "c" / "shop"))]
    assert (take_in(root, first, OTHER_SESSION), take_in(root, second, SESSION)) == ("shop", "b-shop")
    (settings_in(root).archive / "projects.jsonl").unlink()
    names = ProjectNames(settings_in(root).archive)

    assert [names.find(folder) for folder in folders] == ["shop", "b-shop", "c-shop"]
    names.settle(reversed(folders))

    assert [ProjectNames(settings_in(root).archive).find(folder) for folder in folders] == ["shop", "b-shop", "c-shop"]


def test_of_two_projects_that_an_earlier_archive_has_by_one_name_the_older_keeps_it(tmp_path: Path) -> None:
    root, first, second = tmp_path / "root", repository(tmp_path / "z" / "shop"), repository(tmp_path / "b" / "shop")
    for folder, session in ((first, SESSION), (second, OTHER_SESSION)):
        take_in(root, folder, session)
        (settings_in(root).archive / "projects.jsonl").unlink()
    record = settings_in(root).archive / "sessions" / f"{OTHER_SESSION}.json"
    record.write_bytes(record.read_bytes().replace(b'"called":"b-shop",', b""))
    names = ProjectNames(settings_in(root).archive)

    assert [names.find(str(folder)) for folder in (second, first)] == ["b-shop", "shop"]
    assert names.settle([str(first)]) == [
        f"the project {second} is called b-shop here, since another folder is called shop"
    ]


def test_a_folder_that_comes_back_has_its_name_for_itself(tmp_path: Path) -> None:
    names, away = ProjectNames(tmp_path / "archive"), tmp_path / "unplugged"
    first, other, later = (repository(tmp_path / name / "shop") for name in ("a", "b", "c"))
    names.settle([str(first), str(other)])
    away.mkdir()
    for folder in (first, other):
        folder.rename(away / folder.parent.name)
    names.settle([str(later)])
    assert names.find(str(later)) == "shop"

    (away / "a").rename(first)

    assert [names.find(str(folder)) for folder in (first, later)] == ["shop", "c-shop"]
    remark = f"the project {later} is called c-shop here, since another folder is called shop"
    assert (names.settle([str(first)]), names.settle([str(later)])) == ([remark], [])
    (away / "b").rename(other)
    assert [names.find(str(folder)) for folder in (first, other, later)] == ["shop", "b-shop", "c-shop"]


def test_links_to_a_folder_share_its_name(tmp_path: Path) -> None:
    names, folders = ProjectNames(tmp_path / "archive"), [tmp_path / name / "shop" for name in "abcd"]
    first, second = repository(folders[0]), repository(folders[2])
    for link, folder in ((folders[1], first), (folders[3], second)):
        link.parent.mkdir()
        link.symlink_to(folder)
    names.settle(map(str, folders[1:2]))
    names.settle(map(str, folders))

    assert [names.find(str(folder)) for folder in folders] == ["shop", "shop", "c-shop", "c-shop"]


def test_a_folder_below_none_has_a_number(tmp_path: Path) -> None:
    names, folder = ProjectNames(tmp_path / "archive"), repository(tmp_path / "usr")

    names.settle([str(folder), "/usr"])

    assert [names.find(place) for place in (str(folder), "/usr")] == ["usr", "usr-2"]


def test_a_session_without_a_folder_names_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path)

    ProjectNames(tmp_path / "archive").settle(["", "shop"])

    assert not (tmp_path / "archive").exists()
