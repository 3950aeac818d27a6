"""What the projects of a memory are called where two folders have one name: the first that came in keeps it.

The names are kept beside the archive once decided; where they are lost, or none were kept yet, its sessions tell them.
Only folders that are there stand against each other: what was moved, or lies on another machine, goes by the name that
it had. Where one comes back whose name another has taken since, that other one gets a longer name. One that moved is
known by its inode, so that what is made at its old place afterwards is not taken for it.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import chain, count
from pathlib import Path

import msgspec

from memory_server.layers.sessions import find_project_folder, project_name
from memory_server.machine.files import read_records, replace_file


class NamedFolder(msgspec.Struct, frozen=True):
    """A folder that a project is called by, and what it is called."""

    folder: str
    name: str
    inode: int = 0  # when it was last settled; 0 where that is not known


class ProjectNames:
    """The names of the projects whose sessions an archive holds."""

    def __init__(self, archive: Path):
        self._archive = archive
        self._file = archive / "projects.jsonl"
        self._drafted = dict[str, str]()  # folders and their names, as `NamedFolder`

    def find(self, project: str) -> str:
        """The name of a project, of its identity or folder, as `settle` would give it; empty for none."""
        return _decide_name(self._know(self._read(project)) | self._drafted, project) if project else ""

    def draft(self, project: str) -> str:
        """As `find`; what is drafted later stands against it, and `settle_drafts` keeps it."""
        name = self.find(project)
        if is_present_folder(place := Path(find_project_folder(project))):
            self._drafted[str(place)] = name
        return name

    def settle_drafts(self) -> None:
        """Keeps the names that were drafted."""
        self.settle(self._drafted)

    def settle(self, projects: Iterable[str]) -> list[str]:
        """Keeps the names of projects, the first before the others; a sentence on each new one that is longer."""
        there = [one for one in projects if is_present_folder(Path(find_project_folder(one)))]
        kept, before = self._read(*there), [*read_records(self._file, NamedFolder)]
        if not (kept or there):
            return []
        decided = self._know(kept)
        for project in there:
            decided[find_project_folder(project)] = _decide_name(decided, project)
        inodes = {one.folder: one.inode for one in before}
        inodes |= {place: _find_inode(place) for place in map(find_project_folder, there)}
        named = [NamedFolder(place, name, inodes.get(place, 0)) for place, name in decided.items()]
        if named != before:
            replace_file(self._file, b"".join(msgspec.json.encode(one) + b"\n" for one in named))
        return [
            f"the project {place} is called {name} here, since another folder is called {project_name(place)}"
            for place, name in decided.items()
            if name not in (kept.get(place), project_name(place))
        ]

    def _know(self, kept: dict[str, str]) -> dict[str, str]:
        return _keep_apart(kept or self._of_sessions)

    def _read(self, *projects: str) -> dict[str, str]:
        """The names that are kept, of each project that moved by the folder where it is."""
        places = {_find_inode(place): place for place in map(find_project_folder, projects)}
        kept = read_records(self._file, NamedFolder)
        return {_follow(one, places.get(one.inode, one.folder)): one.name for one in kept}

    @cached_property
    def _of_sessions(self) -> dict[str, str]:
        """What the sessions of the archive call their projects, the oldest first."""
        from crawler.archive.store import Archive  # noqa: PLC0415  20 ms that hardly any question needs

        names = dict[str, str]()
        records = Archive(self._archive).records()
        for record in sorted(records, key=lambda record: (not record.started, record.started)):
            if project := record.project or record.cwd:
                place = find_project_folder(project)
                names[place] = record.called or names.get(place, record.project_name)
        return names


def is_present_folder(folder: Path) -> bool:
    """Whether a folder is there; one that cannot be looked at, as on a disk that went away, is not."""
    try:
        return folder.is_absolute() and folder.is_dir()
    except OSError:
        return False


def _find_inode(folder: str) -> int:
    try:
        return Path(folder).stat().st_ino if Path(folder).is_absolute() else 0
    except OSError:
        return 0


def _follow(known: NamedFolder, place: str) -> str:
    """Where a folder is: at the place that has its inode, if it goes by the same name and is no longer where it was."""
    is_alike = bool(known.inode) and project_name(place) == project_name(known.folder)
    return place if is_alike and _find_inode(known.folder) != known.inode else known.folder


def _is_same(folder: str, other: str) -> bool:
    try:
        return Path(folder).samefile(other)
    except OSError:
        return False


def _decide_name(known: dict[str, str], project: str) -> str:
    """The name of a project among those of folders that are known."""
    place, short = find_project_folder(project), project_name(project)
    if (name := known.get(place)) or not is_present_folder(Path(place)):
        return name or short
    alike = {one: name for one, name in known.items() if project_name(one).casefold() == short.casefold()}
    there = {one: name for one, name in alike.items() if is_present_folder(Path(one))}
    if same := [name for one, name in there.items() if _is_same(one, place)]:
        return same[0]
    gone = [name for one, name in alike.items() if one not in there]
    return _find_free_name(
        place, (short, *gone), [name for one, name in known.items() if one in there or one not in alike]
    )


def _keep_apart(known: dict[str, str]) -> dict[str, str]:
    """The names, with a longer one for the later of two folders that have the same and are both there again."""
    holders, apart = Counter(map(str.casefold, known.values())), dict[str, str]()
    for place, name in known.items():
        if holders[name.casefold()] > 1 and is_present_folder(Path(place)):
            there = {one: other for one, other in apart.items() if is_present_folder(Path(one))}
            rivals = [one for one, other in there.items() if other.casefold() == name.casefold()]
            if not all(_is_same(one, place) for one in rivals):
                same = [other for one, other in there.items() if _is_same(one, place)]
                name = same[0] if same else _find_free_name(place, (), {**known, **apart}.values())
        apart[place] = name
    return apart


def _find_free_name(place: str, wished: Iterable[str], taken: Collection[str]) -> str:
    """The first of the names that are wished, or made of the folders above, or numbered, that no other project has."""
    short, parts, others = project_name(place), Path(place).parts, {name.casefold() for name in taken}
    above = (f"{'-'.join(parts[-depth:-1])}-{short}" for depth in range(2, len(parts)))
    numbered = (f"{short}-{number}" for number in count(2))
    return next(name for name in chain(wished, above, numbered) if name.casefold() not in others)
