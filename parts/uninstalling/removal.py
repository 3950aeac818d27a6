"""What oneiros has written outside of memories, to the byte, and how it goes again.

A memory is never touched, only named. What belongs to others too (models of the hub, the trainer's runs, the program
itself) is named with how to remove it.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_server.machine.files import read_json
from memory_server.root.paths import state_home
from oneiros.claude.setup import Change, Setup
from oneiros.daemon.sockets import end_daemon
from oneiros.environment import Environment
from oneiros.light.endpoint import is_running, runtime_folder


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A folder or file, with all below it."""

    path: Path
    what: str
    files: tuple[tuple[Path, int], ...]  # with their bytes

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.files)


@dataclass(frozen=True, slots=True)
class Removal:
    """All that an uninstall names."""

    goes: tuple[OwnPlace, ...]
    changes: tuple[Change, ...]  # in files of Claude Code, which `oneiros setup` has written to
    stays: tuple[OwnPlace, ...]
    memories: tuple[OwnPlace, ...]
    program: str  # the command that removes the program itself


def plan_removal(environment: Environment) -> Removal:
    """What an uninstall would do. Raises ContentError or UsageError where a file of Claude Code cannot be read."""
    variables, home = environment.variables, environment.home
    own = {
        environment.person_file.parent: "your settings",
        state_home(variables, home): "the state of memories: what you approved and asked, tokens, logs, added models",
        Path(runtime_folder(variables)): "sockets of daemons",
    }
    models = environment.catalogue.hub_folders()
    trainer = Path(variables.get("ONEIROS_TRAINER_HOME") or home / ".cache" / "oneiros-trainer")
    others = {**dict.fromkeys(models, "a model; other programs may use it"), trainer: "models and runs of the trainer"}
    return Removal(
        goes=tuple(_places(own)),
        changes=tuple(Setup.of(environment).undoing()),
        stays=tuple(_places(others)),
        memories=tuple(_places(dict.fromkeys(list_known_roots(environment), "a memory"))),
        program=_program_removal(Path(sys.prefix)),
    )


def remove(removal: Removal, environment: Environment) -> None:
    """Ends the daemons, takes the changes back and deletes what goes. Raises NeedsRepair where a daemon stays."""
    for memory in removal.memories:
        if is_running(str(memory.path)):
            end_daemon(environment.resolve_root(memory.path))
    for change in removal.changes:
        change.do()
    for place in removal.goes:
        if place.path.is_dir() and not place.path.is_symlink():
            shutil.rmtree(place.path)
        else:
            place.path.unlink(missing_ok=True)
        _remove_empty(place.path.parent, environment.home)


def list_known_roots(environment: Environment) -> list[Path]:
    """The memories of this account that exist: the chosen one, those trusted and those used before."""
    roots = {environment.choice.root.path, *map(Path, environment.person.trusted_roots)}
    for mark in state_home(environment.variables, environment.home).glob("*/root.json"):
        roots |= {Path(path) for name, path in read_json(mark, dict[str, str], {}).items() if name == "path"}
    return sorted({root.resolve() for root in roots if (root / "MEMORY.md").is_file()})


def _places(named: Mapping[Path, str]) -> Iterator[OwnPlace]:
    """Those that exist, with their size. What a link leads to is not counted: it is somebody else's."""
    for path, what in named.items():
        if os.path.lexists(path):
            is_folder = path.is_dir() and not path.is_symlink()
            below = sorted(path.rglob("*")) if is_folder else [path]
            files = [file for file in below if file.is_symlink() or not file.is_dir()]
            yield OwnPlace(path, what, tuple((file, file.lstat().st_size) for file in files))


def _program_removal(prefix: Path) -> str:
    """How this program was installed says how it is removed."""
    if prefix.parent.name == "venvs":
        return "pipx uninstall oneiros"
    if prefix.parent.name == "tools":
        return "uv tool uninstall oneiros"
    return f"{prefix}/bin/python -m pip uninstall oneiros"


def _remove_empty(folder: Path, home: Path) -> None:
    """Folders that nothing is left in, up to the home: we may have made them."""
    while folder != home and folder.is_relative_to(home) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
