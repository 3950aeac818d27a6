"""What the face reads of the machine, once, and hands down: variables, folders, clock, the person's settings."""

import datetime as dt
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

from memory_server.machine.clock import use_zone
from memory_server.root.paths import MemoryRoot, RootChoice, choose_root, state_home
from memory_server.settings import PersonSettings, person_settings_file, read_person_settings

if TYPE_CHECKING:
    from memory_server.embedding.catalogue import Catalogue
    from oneiros.parts import Part


@dataclass(frozen=True)
class Environment:
    """One run of the program."""

    variables: Mapping[str, str]
    home: Path
    working_folder: Path

    @classmethod
    def of_process(cls) -> "Environment":
        return cls(os.environ, Path.home(), Path.cwd())

    @cached_property
    def person_file(self) -> Path:
        """The person's own settings file, whether it exists or not."""
        return person_settings_file(self.variables, self.home)

    @cached_property
    def person(self) -> PersonSettings:
        person = read_person_settings(self.person_file)
        use_zone(person.time_zone)
        return person

    @cached_property
    def parts(self) -> "tuple[Part, ...]":
        """What plugs into the core on this machine."""
        from oneiros.parts import load_installed_parts

        return load_installed_parts()

    @cached_property
    def choice(self) -> RootChoice:
        """The memory root that is meant, and why."""
        trusted = [Path(root) for root in self.person.trusted_roots]
        return choose_root(self.variables, self.working_folder, self.home, trusted)

    @property
    def own_root(self) -> MemoryRoot:
        """The memory of this account, whether it exists or not."""
        return self.resolve_root(self.home / ".oneiros" / "memory")

    def resolve_root(self, folder: Path) -> MemoryRoot:
        """A memory by its folder, as a person names it."""
        return MemoryRoot((self.working_folder / folder.expanduser()).resolve(), state_home(self.variables, self.home))

    @cached_property
    def claude_folders(self) -> tuple[Path, ...]:
        """Where Claude Code keeps its settings and sessions, each place once: what `$CLAUDE_CONFIG_DIR` names first,
        `~/.claude`, then what it named before.
        """
        from oneiros.light.client_folders import find_named_folder, read_seen_folders

        own, found = self.home / ".claude", dict[Path, Path]()
        seen = [Path(folder) for folder in read_seen_folders(self.variables)]
        is_named = [str(folder) == find_named_folder(self.variables) for folder in seen]
        for folder in [*compress(seen, is_named), own, *seen]:
            if folder == own or folder.is_dir():
                found.setdefault(folder.resolve(), folder)
        return tuple(found.values())

    @property
    def claude_folder(self) -> Path:
        """The one in use."""
        return next((one for one in self.claude_folders if one.is_dir()), self.home / ".claude")

    @property
    def ignored_claude_folder(self) -> str:
        """What `$CLAUDE_CONFIG_DIR` names and is not read: it is no folder, or lies in a repository."""
        from oneiros.light.client_folders import find_named_folder

        named = find_named_folder(self.variables)
        return named if named and Path(named).resolve() not in {one.resolve() for one in self.claude_folders} else ""

    @property
    def hub_cache(self) -> Path:
        """Where model files of the hub lie: `$HF_HUB_CACHE`, `$HF_HOME/hub`, else below `~/.cache`."""
        if named := self.variables.get("HF_HUB_CACHE"):
            return Path(named)
        home = self.variables.get("HF_HOME")
        return (Path(home) if home else self.home / ".cache" / "huggingface") / "hub"

    @property
    def catalogue(self) -> "Catalogue":
        """The models of this machine: those shipped, those that the person added, and the hub's cache."""
        from memory_server.embedding.catalogue import Catalogue

        return Catalogue(self.hub_cache, state_home(self.variables, self.home) / "models")

    def places(self, root: MemoryRoot) -> dict[str, str]:
        """Every place in which oneiros keeps something of this memory or this person, whether it exists yet or not."""
        from oneiros.light.endpoint import runtime_folder

        return {
            "root": str(root.path),
            "derived": str(root.derived_folder),
            "archive": str(root.path / "sessions" / "archive"),
            "state": str(root.state),
            "settings": str(self.person_file),
            "sockets": runtime_folder(self.variables),
            "models": str(self.hub_cache),
        }


def program_version() -> str:
    """The version of the installed program."""
    import importlib.metadata  # as long as all the rest of a short command

    return importlib.metadata.version("oneiros")


def now() -> dt.datetime:
    """The time, aware of its zone."""
    return dt.datetime.now(dt.UTC)


def find_top(folder: Path) -> Path | None:
    """The top of the work tree that a folder lies in; None where it lies in none."""
    with suppress(OSError, ValueError):  # a folder that a client names may be anything
        return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    return None
