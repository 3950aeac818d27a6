"""The daemon's own files: what a cloned memory has put in their place is neither followed nor written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from oneiros.daemon.sockets import take_daemon_lock, write_state
from oneiros.light.endpoint import DaemonUnreachable, daemon_state, ensure_state, spawn, state_folder
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
@pytest.mark.parametrize("name", ["", "daemon.lock"])
def test_a_lock_that_leads_elsewhere_is_not_taken(
    root: Path, victim: Path, name: str, plant: Callable[[Path, Path], None]
) -> None:
    place = root / ".oneiros" / name
    if not name:
        place.rmdir()
    plant(place, victim)

    with pytest.raises(NeedsRepair):
        take_daemon_lock(root)

    assert around(root) == {"memory": None, "victim": "precious\n"}


def test_a_daemon_says_why_it_does_not_start_on_a_memory_that_leads_elsewhere(root: Path, tmp_path: Path) -> None:
    (root / "sessions").symlink_to(tmp_path)

    with pytest.raises(DaemonUnreachable, match="sessions: a link is not followed"):
        spawn(os.environ, str(root), 30.0)


def test_links_in_the_places_of_an_earlier_layout_are_not_followed(root: Path, victim: Path) -> None:
    state = state_folder(os.environ, str(root))
    for name in ("daemon.json.new", "daemon.log"):
        (root / ".oneiros" / name).symlink_to(victim)

    ensure_state(state)
    write_state(Path(state), port=1)

    assert daemon_state(state)["port"] == 1
    assert around(root) == {"memory": None, "victim": "precious\n"}
