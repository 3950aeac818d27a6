"""What the projects of a memory are called where two folders have one name: the first that came in keeps it.

The names are kept beside the archive once decided. Only folders that are there stand against each other: what was
moved, or lies on another machine, goes by the name that it had.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from memory_server.layers.sessions import find_project_folder, project_name
from memory_server.machine.files import read_records, replace_file


class NamedFolder(msgspec.Struct, frozen=True):
    """A folder that a project is called by, and what it is called."""

    folder: str
    name: str


class ProjectNames:
    """The names of the projects whose sessions an archive holds."""

    def __init__(self, archive: Path):
        self._file = archive / "projects.jsonl"

    def exists(self) -> bool:
        """Whether any was decided."""
        return self._file.exists()

    def find(self, project: str) -> str:
        """The name of a project, of its identity or folder, as `settle` would give it; empty for none."""
        return _decide_name(self._read(), project) if project else ""

    def settle(self, projects: Iterable[str]) -> list[str]:
        """Keeps the names of projects, the first before the others; a sentence on each new one that is longer."""
        known = self._read()
        decided = dict(known)
        for project in projects:
            if is_there(Path(place := find_project_folder(project))):
                decided[place] = _decide_name(decided, project)
        if decided != known:
            lines = (msgspec.json.encode(NamedFolder(place, name)) + b"\n" for place, name in decided.items())
            replace_file(self._file, b"".join(lines))
        return [
            f"the project {place} is called {name} here, since another folder is called {project_name(place)}"
            for place, name in decided.items()
            if place not in known and name != project_name(place)
        ]

    def _read(self) -> dict[str, str]:
        return {one.folder: one.name for one in read_records(self._file, NamedFolder)}


def is_there(folder: Path) -> bool:
    """Whether a folder is there; one that cannot be looked at, as on a disk that went away, is not."""
    try:
        return folder.is_dir()
    except OSError:
        return False


def _is_same(folder: Path, other: Path) -> bool:
    try:
        return folder.samefile(other)
    except OSError:
        return False


def _decide_name(known: dict[str, str], project: str) -> str:
    """The name of a project among those of folders that are known."""
    place, short = Path(find_project_folder(project)), project_name(project)
    if (name := known.get(str(place))) or not is_there(place):
        return name or short
    alike = {Path(one): name for one, name in known.items() if project_name(one).casefold() == short.casefold()}
    there = {one: name for one, name in alike.items() if is_there(one)}
    if same := [name for one, name in there.items() if _is_same(one, place)]:
        return same[0]
    taken = {name.casefold() for name in (*there.values(), *(known[one] for one in known if Path(one) not in alike))}
    gone = [name for one, name in alike.items() if one not in there]
    above = [f"{'-'.join(place.parts[-depth:-1])}-{short}" for depth in range(2, len(place.parts))]
    free = (name for name in (short, *gone, *above) if name.casefold() not in taken)
    return next(free, "-".join(place.parts[1:]))
