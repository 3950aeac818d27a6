"""The daemon's own files: what a cloned memory has put in their place is neither followed nor written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiros.daemon import daemon_lock
from oneiros.runtime import DaemonUnreachable
from tests.memories import new_root


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    file = tmp_path / "victim"
    file.write_text("precious\n", encoding="utf-8")
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = new_root(tmp_path / "memory").path
    (made / ".oneiros").mkdir()
    return made


def around(root: Path) -> dict[str, str | None]:
    """The files beside a root with their texts; folders without."""
    return {path.name: path.read_text(encoding="utf-8") if path.is_file() else None for path in root.parent.iterdir()}


def symlink(at: Path, victim: Path) -> None:
    at.symlink_to(victim)


def hard_link(at: Path, victim: Path) -> None:
    at.hardlink_to(victim)


def dangling(at: Path, victim: Path) -> None:
    at.symlink_to(victim.with_name("made"))


def pipe(at: Path, _: Path) -> None:
    os.mkfifo(at)


PLANTED = [symlink, hard_link, dangling, pipe]


@pytest.mark.parametrize("plant", PLANTED)
def test_a_lock_that_is_no_file_of_its_own_is_not_taken(
    root: Path, victim: Path, plant: Callable[[Path, Path], None]
) -> None:
    plant(root / ".oneiros" / "daemon.lock", victim)

    with pytest.raises(DaemonUnreachable, match=r"daemon\.lock is no ordinary file"), daemon_lock(root):
        pytest.fail("the lock was taken")

    assert around(root) == {"memory": None, "victim": "precious\n"}


def test_a_derived_folder_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory").path
    (tmp_path / "elsewhere").mkdir()
    (root / ".oneiros").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DaemonUnreachable, match="no folder of its own"), daemon_lock(root):
        pytest.fail("the lock was taken")

    assert list((tmp_path / "elsewhere").iterdir()) == []
