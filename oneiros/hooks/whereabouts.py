"""Where a session is at work: its project, folder and branch, and whether its person wants quiet there."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from crawler.archive.choice import Projects, covers
from memory_server.language.words import content_words
from memory_server.layers.sessions import project_name
from memory_server.settings import PersonSettings

HEAD = "ref: refs/heads/"
MAX_GIT_CHARS = 4_096


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Read from the files of git, without running it."""

    identity: str = ""  # of the project: its git common directory, else the folder
    words: frozenset[str] = frozenset()  # stems of the folders below the project, and of the branch

    @property
    def project(self) -> str:
        """The project by the name that topics and filters give it; empty where no folder was told."""
        return project_name(self.identity) if self.identity else ""

    def is_quiet(self, person: PersonSettings) -> bool:
        """Whether nothing is to be put before the model here."""
        folder = self.identity.removesuffix("/.git")
        return any(rule.casefold() == self.project.casefold() or covers(rule, folder) for rule in person.muted_projects)

    def muted(self, person: PersonSettings) -> Collection[str]:
        """The sources that hooks do not point to here."""
        rules = (rule.rpartition("=") for rule in person.muted_pointers)
        return frozenset(path for project, _, path in rules if project.casefold() in ("", self.project.casefold()))


def whereabouts(folder: str, person: PersonSettings) -> Whereabouts:
    """Where a session in this folder is at work."""
    if not Path(folder).is_absolute():
        return Whereabouts()
    aliases = {old.strip(): new.strip() for old, _, new in (pair.partition("=") for pair in person.project_aliases)}
    identity = Projects(aliases).of(folder)
    branch, top = branch_and_top(Path(folder))
    below = Path(folder).relative_to(top).as_posix() if top else ""
    return Whereabouts(identity, frozenset(content_words(f"{below} {branch}".replace("/", " "))))


def branch_and_top(folder: Path) -> tuple[str, Path | None]:
    """The branch that a folder's work tree is on, empty where none is checked out, and the top of that tree."""
    for place in (folder, *folder.parents):
        marker = place / ".git"
        try:
            if marker.is_file():
                marker = place / _line_of(marker).removeprefix("gitdir:").strip()
            if marker.is_dir():
                head = _line_of(marker / "HEAD")
                return head.removeprefix(HEAD) if head.startswith(HEAD) else "", place
        except (OSError, ValueError):  # a folder that a client names may be anything
            return "", None
    return "", None


def _line_of(file: Path) -> str:
    """What a small file of git says; a pipe would be waited for."""
    if not file.is_file():
        return ""
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(MAX_GIT_CHARS).strip()
