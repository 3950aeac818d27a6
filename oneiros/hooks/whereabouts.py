"""Where a session is at work: its project, folder and branch, and whether its person wants quiet there."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from crawler.archive.choice import Projects, covers
from crawler.archive.names import ProjectNames
from memory_server.layers.sessions import folder_name, project_name
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.founding import is_example


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Read from the files of git, without running it."""

    identity: str = ""  # of the project: its git common directory, else the folder
    project: str = ""  # by the name that topics and filters give it; empty where no folder was told

    def holds(self, project: str) -> bool:
        """Whether what belongs to a project, or to none, holds here."""
        return project.casefold() in ("", self.project.casefold())

    def is_quiet(self, person: PersonSettings) -> bool:
        """Whether nothing is to be put before the model here."""
        folder = self.identity.removesuffix("/.git")
        called = (self.project, project_name(folder), folder_name(folder))
        names = [name.casefold() for name in called]
        return any(rule.casefold() in names or covers(rule, folder) for rule in person.muted_projects)

    def list_muted(self, person: PersonSettings) -> Collection[str]:
        """The sources that hooks do not point to here."""
        rules = (rule.rpartition("=") for rule in person.muted_pointers)
        return frozenset(path for project, _, path in rules if project.casefold() in ("", self.project.casefold()))


def locate_project(folder: str, root: MemoryRoot, person: PersonSettings) -> str:
    """The project in which whoever stands in a folder is told an answer; empty for none.

    The example memory is asked from anywhere: a clone of this program may have any name.
    """
    return "" if is_example(root) else whereabouts(folder, root, person).project


def name_project(root: MemoryRoot, project: str) -> str:
    """What a project is called in a memory, by its identity or folder; empty for none."""
    return ProjectNames(root.path / "sessions" / "archive").find(project)


def whereabouts(folder: str, root: MemoryRoot, person: PersonSettings) -> Whereabouts:
    """Where a session in this folder is at work."""
    if not Path(folder).is_absolute():
        return Whereabouts()
    aliases = {old.strip(): new.strip() for old, _, new in (pair.partition("=") for pair in person.project_aliases)}
    identity = Projects(aliases).identify(folder)
    return Whereabouts(identity, name_project(root, identity))
