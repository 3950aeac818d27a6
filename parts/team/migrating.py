"""A memory of one person's machine as a tenant's, and back: nothing is embedded anew, and everything is counted again.

The files go into the tenant's repository as one commit; its index goes into the rows by COPY, as that of any commit.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from memory_server.document import Layer
from memory_server.errors import ContentError, UsageError
from memory_server.layers.topics import find_sources, read_text
from memory_server.machine.files import make_folder
from memory_server.redaction.redactor import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from parts.team.errors import TeamError
from parts.team.indexing import TenantIndexer
from parts.team.repositories import Files, TeamRepository

VECTORS = Path(".oneiros", "vectors")  # of a root: derived, and worth hours


class NotLevel(TeamError):
    """What was moved is not what is there now."""


@dataclass(frozen=True, slots=True)
class MovedMemory:
    """What was moved, all of it verified."""

    files: int
    passages: int
    commit: str


def move_in(indexer: TenantIndexer, tenant: int, root: MemoryRoot, *, sessions: bool = False) -> MovedMemory:
    """Makes a tenant's memory what a root holds: its topics, and with `sessions` what it says of sessions too.

    Asked again after a kill it goes on. Raises NeedsRepair for a folder without a memory, UsageError for a tenant that
    has another one, ContentError for a file with a secret in it, NotLevel where what stands in the rows afterwards is
    not what the root holds.
    """
    files = collect_files(require_memory(root), sessions=sessions)
    seed_vectors(root.path, indexer.settings.work(tenant))

    def change(repository: TeamRepository) -> Files:
        if not (head := repository.head()):
            return dict(files)
        if repository.holds(files, head):
            return {}  # what a kill cut off is finished
        raise UsageError("the tenant has another memory", remedy="Move into a new tenant, or publish")

    commit = indexer.outbox.accept(tenant, change, f"Move in {len(files)} files")
    loaded = indexer.level(tenant)
    require_level(indexer, tenant)
    return MovedMemory(len(files), loaded.passages if loaded else 0, commit)


def move_out(indexer: TenantIndexer, tenant: int, folder: Path) -> MovedMemory:
    """Writes a tenant's memory into a new folder, as a root that `oneiros` opens.

    Raises UsageError where something is there already, Unfit for a tenant without a commit, NotLevel as `move_in` does.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError("the folder is not empty", where=folder, remedy="Name a new one")
    indexer.level(tenant)
    require_level(indexer, tenant)
    repository = indexer.outbox.repositories.find(tenant)
    commit = repository.newest()
    make_folder(folder)
    repository.check_out(commit, folder)
    seed_vectors(indexer.settings.work(tenant), folder)
    return MovedMemory(len(repository.topics(commit)), 0, commit)


def collect_files(root: MemoryRoot, *, sessions: bool) -> dict[str, bytes]:
    """The files that a team's memory is made of. Raises ContentError for the first ones that hold a secret."""
    redactor, found, bad = Redactor(), dict[str, bytes](), list[str]()
    for source in find_sources(root):
        if source.layer is Layer.TOPIC or (sessions and source.layer is Layer.SESSION):
            text = read_text(root.file(source.path))
            found[source.path] = text.encode()
            if redactor.redact(text).text != text:
                bad.append(source.path)
    if bad:
        raise ContentError(
            f"{', '.join(bad[:5])}{' and others' if len(bad) > 5 else ''}: there is a secret",
            where=root.path,
            remedy="Take it out first: a team's repository forgets nothing",
        )
    return found


def seed_vectors(origin: Path, target: Path) -> None:
    """Copies the vectors of texts from one root's folder to another that has none."""
    if (origin / VECTORS).is_dir() and not (target / VECTORS).exists():
        make_folder(target)
        shutil.copytree(origin / VECTORS, target / VECTORS)


def require_level(indexer: TenantIndexer, tenant: int) -> None:
    """Raises NotLevel where the rows are not what an index made of the newest commit holds."""
    if found := indexer.differences(tenant):
        raise NotLevel("; ".join(found[:5]), remedy="Run `oneiros-team index --rebuild`")
