"""What hooks and the relay decide about roots, on the standard library alone, is what the memory itself decides."""

import os
import subprocess
from pathlib import Path

import pytest

from memory_server.errors import NeedsRepair
from memory_server.root.paths import MemoryRoot, choose_root, state_home
from oneiros.light.endpoint import DaemonUnreachable, find_root, state_folder
from tests.memories import new_root

REFUSED = "not trusted"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    new_root(tmp_path / "home" / ".oneiros" / "memory")
    return tmp_path / "home"


def chosen(variables: dict[str, str], folder: Path, home: Path) -> list[str]:
    """What both say of the root that is meant."""
    config = home / ".config" / "oneiros" / "config.toml"
    trusted = [Path(line.strip(' ",')) for line in config.read_text().splitlines()[1:-1]] if config.exists() else []
    try:
        by_memory = str(choose_root(variables, folder, home, trusted).root.path)
    except NeedsRepair as error:
        by_memory = REFUSED if REFUSED in str(error) else str(error)
    try:
        by_runtime = find_root(variables, str(folder), str(home))
    except DaemonUnreachable as error:
        by_runtime = REFUSED if REFUSED in str(error) else str(error)
    return [by_memory, by_runtime]


def trust(home: Path, *roots: Path) -> None:
    config = home / ".config" / "oneiros" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("trusted_roots = [\n" + "".join(f'  "{root}",\n' for root in roots) + "]\n", encoding="utf-8")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_a_memory_is_found_by_its_real_path(tmp_path: Path, home: Path) -> None:
    project = new_root(tmp_path / "project" / "memory").path
    (tmp_path / "link").symlink_to(tmp_path / "project")
    trust(home, project)

    assert chosen({}, tmp_path / "link", home) == [str(project)] * 2
    assert chosen({}, tmp_path, home) == [str(home / ".oneiros" / "memory")] * 2
    assert chosen({"ONEIROS_ROOT": str(tmp_path / "link" / "memory")}, tmp_path, home) == [str(project)] * 2


@pytest.mark.parametrize("named", ["~", "~/mine", "relative/../mine", "/absolute"])
def test_a_root_that_is_named_is_taken_as_typed(tmp_path: Path, home: Path, named: str) -> None:
    first, second = chosen({"ONEIROS_ROOT": named}, tmp_path, home)

    assert first == second


def test_the_memory_of_a_repository_is_not_trusted_for_being_named(tmp_path: Path, home: Path) -> None:
    memory = new_root(tmp_path / "project" / "memory").path
    git(tmp_path / "project", "init", "--quiet")
    named = {"ONEIROS_ROOT": str(memory)}

    assert chosen(named, tmp_path, home) == [REFUSED] * 2
    trust(home, memory)
    assert chosen(named, tmp_path, home) == [str(memory)] * 2


def test_a_cloned_memory_is_not_trusted_for_being_named(tmp_path: Path, home: Path) -> None:
    origin = new_root(tmp_path / "origin").path
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "-c", "user.name=Eve", "-c", "user.email=eve@localhost", "commit", "--quiet", "-m", "Begin")
    git(tmp_path, "clone", "--quiet", str(origin), "clone")

    assert chosen({"ONEIROS_ROOT": "clone"}, tmp_path, home) == [REFUSED] * 2
    assert chosen({"ONEIROS_ROOT": "origin"}, tmp_path, home) == [str(origin)] * 2  # the person's own repository


@pytest.mark.parametrize("settings", [None, "gitdir: /elsewhere", "[include]\n\tpath = more", '[Remote "origin"]'])
def test_a_repository_that_does_not_say_whose_it_is_counts_as_somebody_elses(
    tmp_path: Path, home: Path, settings: str | None
) -> None:
    memory = new_root(tmp_path / "memory").path
    if settings is None or settings.startswith("["):
        (memory / ".git").mkdir()
    if settings is not None:
        place = memory / ".git" / "config" if (memory / ".git").is_dir() else memory / ".git"
        place.write_text(settings, encoding="utf-8")

    assert chosen({"ONEIROS_ROOT": str(memory)}, tmp_path, home) == [REFUSED] * 2


def test_the_memory_of_the_account_needs_no_trust_wherever_its_repository_is_pushed(home: Path, tmp_path: Path) -> None:
    own = home / ".oneiros" / "memory"
    git(own, "init", "--quiet")
    git(own, "remote", "add", "origin", "elsewhere")

    assert chosen({"ONEIROS_ROOT": str(own)}, tmp_path, home) == [str(own)] * 2


@pytest.mark.parametrize("variables", [{}, {"XDG_STATE_HOME": "/var/state"}, {"XDG_STATE_HOME": "relative"}])
def test_the_state_of_a_root_is_found_at_the_same_place(tmp_path: Path, home: Path, variables: dict[str, str]) -> None:
    root = new_root(tmp_path / "memory").path
    (tmp_path / "link").symlink_to(root)
    all_variables = {"HOME": str(home), **variables}

    for path in (root, tmp_path / "link", tmp_path / "missing", Path(os.fsdecode(b"/not utf-8 \xff"))):
        state = MemoryRoot(path, state_home(all_variables, home)).state
        assert state_folder(all_variables, str(path)) == str(state)
    assert state_folder(all_variables, str(root)) == state_folder(all_variables, str(tmp_path / "link"))


def test_a_name_that_is_taken_over_gives_no_access_to_the_state_of_the_first(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory").path
    first = state_folder({}, str(root))
    root.rename(tmp_path / "aside")
    new_root(root)

    assert state_folder({}, str(root)) != first
