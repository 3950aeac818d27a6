"""Writing files: whole or not at all, for their owner alone, and nothing left behind."""

import os
from pathlib import Path

import pytest

from memory_server.machine.files import append_line, read_json, replace_file


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.md"
    replace_file(file, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(file, "new")

    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"page.md": "old"}


def test_a_text_that_cannot_be_encoded_leaves_no_temporary_file(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        replace_file(tmp_path / "page.md", "\ud800")

    assert list(tmp_path.iterdir()) == []


def test_a_new_file_and_the_folders_above_it_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        replace_file(tmp_path / "a" / "b" / "page.md", "new")
    finally:
        os.umask(before)

    places = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "page.md"]
    assert [place.stat().st_mode & 0o777 for place in places] == [0o700, 0o700, 0o600]


def test_a_file_keeps_its_rights(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o664)

    replace_file(file, "new")

    assert file.stat().st_mode & 0o777 == 0o664


def test_a_link_is_replaced_or_where_it_is_the_persons_own_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("old", encoding="utf-8")
    for name in ("of a clone", "of a person"):
        (tmp_path / name).symlink_to(victim)

    replace_file(tmp_path / "of a clone", "new")
    assert victim.read_text(encoding="utf-8") == "old"
    replace_file(tmp_path / "of a person", "new", follow=True)

    assert victim.read_text(encoding="utf-8") == "new" and (tmp_path / "of a person").is_symlink()


@pytest.mark.parametrize(
    ("before", "after"), [("", "b\n"), ("a\n", "a\nb\n"), ("a", "a\nb\n"), ('{"torn', '{"torn\nb\n')]
)
def test_a_line_is_never_merged_into_the_one_before_it(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "lines"
    file.write_text(before, encoding="utf-8")

    append_line(file, b"b")

    assert file.read_text(encoding="utf-8") == after


def test_no_line_is_added_to_what_is_no_file_of_its_own(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("old", encoding="utf-8")
    (tmp_path / "symlink").symlink_to(victim)
    (tmp_path / "dangling").symlink_to(tmp_path / "made")
    (tmp_path / "hard link").hardlink_to(victim)
    os.mkfifo(tmp_path / "pipe")

    for name in ("symlink", "dangling", "hard link", "pipe"):
        with pytest.raises(OSError):
            append_line(tmp_path / name, b"new")

    assert victim.read_text(encoding="utf-8") == "old" and not (tmp_path / "made").exists()


@pytest.mark.parametrize("content", [b"", b'{"job"', b'{"job": 1}', b'{"job": "\xff"}', b'{"job": ' + b"[" * 100_000])
def test_a_damaged_file_of_json_is_the_same_as_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "state.json"
    missing = read_json(file, dict[str, str], {"none": ""})
    file.write_bytes(content)

    assert missing == read_json(file, dict[str, str], {"none": ""}) == {"none": ""}
