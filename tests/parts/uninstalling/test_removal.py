"""What an uninstall names and removes: every byte outside of the memories that oneiros has written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from oneiros.light.endpoint import ensure_private, runtime_folder
from parts.uninstalling.removal import list_known_roots, plan_removal
from tests.memories import new_root, write_topic

Oneiros = Callable[..., tuple[int, str, str]]


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A person's home as it was before oneiros came, with a file of their client."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").write_text("# Mine\n", encoding="utf-8")
    (home / "run").mkdir()
    return Environment({"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")}, home, home)


@pytest.fixture
def oneiros(environment: Environment, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments), Environment(environment.variables, environment.home, environment.working_folder))
        out, error = capsys.readouterr()
        return code, out, error

    return run


@pytest.fixture
def used(environment: Environment, oneiros: Oneiros) -> Path:
    """That home after a memory was made, asked and set up; the root."""
    root = new_root(environment.own_root.path).path
    write_topic(root, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    assert oneiros("exact", "--no-daemon", "2525")[0] == 0
    assert oneiros("setup", "--auto-dream-off", "--dream-skill", "--yes")[0] == 0
    assert oneiros("config", "idle_minutes", "5")[0] == 0
    ensure_private(runtime_folder(environment.variables))
    (Path(runtime_folder(environment.variables)) / "0123456789abcdef.start").touch(0o600)
    return root


def files_of(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def outside(home: Path, root: Path) -> dict[str, bytes]:
    """The files of a home that do not belong to a memory."""
    return {name: content for name, content in files_of(home).items() if not (home / name).is_relative_to(root)}


def test_every_byte_outside_of_the_memory_is_named(environment: Environment, oneiros: Oneiros, used: Path) -> None:
    code, out, _ = oneiros("uninstall", "--dry-run", "--json")

    removal = json.loads(out)
    named = {file["path"]: file["bytes"] for place in removal["goes"] for file in place["files"]}
    changed = " ".join(removal["changes"])
    written = outside(environment.home, used)
    assert code == 0 and len(written) >= 8
    for name, content in written.items():
        path = str(environment.home / name)
        assert named.get(path) == len(content) or path in changed, path


def test_a_dry_run_removes_nothing(environment: Environment, oneiros: Oneiros, used: Path) -> None:
    before = files_of(environment.home)

    _, out, _ = oneiros("uninstall", "--dry-run")

    assert files_of(environment.home) == before
    assert f"{used}  (a memory)" in out and "The program goes by: " in out


def test_an_uninstall_leaves_the_memory_and_no_other_byte(
    environment: Environment, oneiros: Oneiros, used: Path
) -> None:
    memory = files_of(used)

    code, _, error = oneiros("uninstall", "--yes")

    assert code == 0, error
    assert files_of(used) == memory
    assert outside(environment.home, used) == {".claude/CLAUDE.md": b"# Mine\n"}
    left = sorted(str(path.relative_to(environment.home)) for path in environment.home.iterdir())
    assert left == [".claude", ".oneiros", "run"]


def test_without_a_terminal_or_a_yes_nothing_is_removed(environment: Environment, oneiros: Oneiros, used: Path) -> None:
    before = files_of(environment.home)

    code, _, error = oneiros("uninstall")

    assert code == 2 and "--dry-run" in error
    assert files_of(environment.home) == before


def test_what_others_may_use_is_named_and_stays(environment: Environment, oneiros: Oneiros, used: Path) -> None:
    model = environment.hub_cache / "models--BAAI--bge-small-en-v1.5" / "blobs" / "weights"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"x" * 1000)

    assert [place.bytes for place in plan_removal(environment).stays] == [1000]
    oneiros("uninstall", "--yes")

    assert model.exists()


def test_memories_are_known_by_trust_and_by_use(environment: Environment, oneiros: Oneiros, used: Path) -> None:
    trusted = new_root(environment.home / "work" / "memory").path
    assert oneiros("trust", str(trusted))[0] == 0

    again = Environment(environment.variables, environment.home, environment.home)

    assert list_known_roots(again) == [used, trusted]


def test_a_link_in_place_of_a_folder_goes_and_what_it_leads_to_stays(
    environment: Environment, oneiros: Oneiros, used: Path
) -> None:
    settings, elsewhere = environment.person_file.parent, environment.home / "dotfiles"
    settings.rename(elsewhere)
    settings.symlink_to(elsewhere)

    assert oneiros("uninstall", "--yes")[0] == 0

    assert not settings.is_symlink() and (elsewhere / "config.toml").exists()
