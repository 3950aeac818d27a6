"""What is written down elsewhere, taken into this memory: files as a proposal, databases of others as references.

A store of another memory never becomes a topic unasked: a database is copied as references, which can be found and
decide nothing; a folder of Markdown that is named is read like any other files, and offered.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crawler.archive.names import ProjectNames
from dream.evidence import Evidence
from dream.judge.reader import ReaderRun
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.errors import NeedsRepair, UsageError
from memory_server.machine.files import replace_file
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import read_memory_settings
from oneiros.dreaming import bring_level, build_dream, build_dream_reader, open_decisions
from oneiros.environment import Environment, now
from oneiros.ingest.settings import archive_folder, open_archive
from parts.taking_over.duplicates import Embed, make_embedder
from parts.taking_over.foreign_stores import read_pages
from parts.taking_over.instructions import InstructionReader, Instructions, find_folders
from parts.taking_over.takeover import TakenOver, Takeover

MEASURED = "all-MiniLM-L6-v2"  # the model whose cosines tell what says the same; see RESULTS.md
DATABASES = (".db", ".sqlite", ".sqlite3")


@dataclass(slots=True)
class Imported:
    """What an import found and did."""

    found: Instructions
    taken: TakenOver
    filed: ReaderRun = field(default_factory=ReaderRun)  # by a reader, where there is one
    references: list[str] = field(default_factory=list)  # written, relative to the memory
    seconds: float = 0.0
    looked_in: Sequence[Path] = ()  # where no path was named
    gone: Mapping[str, Path] = field(default_factory=dict)  # projects whose folder is not there, likewise


def import_files(
    environment: Environment,
    paths: Sequence[Path],
    *,
    with_others: bool,
    dry: bool,
    project: str = "",
    on_filing: Callable[[], None] = lambda: None,
) -> Imported:
    """Reads the files that are named, or those of the home and of the projects in the transcripts, and offers them:
    with a project those of it alone. `on_filing` is called before a reader is asked where they go.
    """
    begun = time.monotonic()
    decisions = open_decisions(environment)
    names = ProjectNames(archive_folder(decisions.root))
    reader = InstructionReader(environment.home, with_others=with_others, name_project=names.draft)
    databases = [path for path in paths if path.suffix.lower() in DATABASES]
    for path in paths:
        place = environment.working_folder / path.expanduser()
        if not place.exists():
            raise UsageError(f"there is no {path}", remedy="Name a file or a folder")
        if path not in databases:
            reader.read_named(place)
    looked_in, gone = ((), {}) if paths else read_known(environment, decisions.root, reader, names)
    takeover = Takeover(
        decisions,
        Evidence(open_archive(decisions.root), environment.home),
        Redactor(environment.person.deny_words),
        now=now,
        embed=choose_embedder(environment, decisions.root),
    )
    files = [one for one in reader.found.files if not project or one.project.casefold() == project.casefold()]
    imported = Imported(reader.found, takeover.run(files, dry=dry), looked_in=looked_in)
    imported.gone = {name: place for name, place in gone.items() if project.casefold() in ("", name.casefold())}
    if imported.taken.proposal:
        names.settle_drafts()
    if imported.taken.proposal and (dream_reader := build_dream_reader(environment, decisions.root, project)):
        on_filing()
        imported.filed = build_dream(environment, decisions, dream_reader).file_waiting()
        imported.taken.updates = [one.update for one in decisions.store.proposal(imported.taken.proposal).hunks]
    for path in databases:
        imported.references += _as_references(environment, decisions.root, environment.working_folder / path, dry=dry)
    imported.seconds = time.monotonic() - begun
    return imported


def choose_embedder(environment: Environment, root: MemoryRoot) -> Embed | None:
    """The vectors of the memory's model, loaded when first asked for; None where it is not the measured one."""
    try:
        files = environment.catalogue.find(read_memory_settings(root.settings).model)
    except NeedsRepair:
        return None
    return make_embedder(lambda: OnnxEngine(files)) if files.card.name == MEASURED else None


def read_known(
    environment: Environment, root: MemoryRoot, reader: InstructionReader, names: ProjectNames
) -> tuple[Sequence[Path], Mapping[str, Path]]:
    """Reads the files of the home, and of the projects whose sessions the archive holds; these places, and by project
    the folders that are not there, of which only Claude's notes are read.
    """
    records = open_archive(root).records()
    folders, gone = find_folders({record.project: record.cwd for record in records}, names.draft)
    for client in environment.claude_folders:
        reader.read_client(client, {**gone, **folders})
    for project, folder in folders.items():
        if not environment.home.is_relative_to(folder):  # a session in `/` makes no project of all that lies below
            reader.read_project(folder, project)
    return [*environment.claude_folders, *folders.values()], gone


def _as_references(environment: Environment, root: MemoryRoot, file: Path, *, dry: bool) -> list[str]:
    """Copies what another memory's database says, masked, beside the other references; their paths."""
    redactor = Redactor(environment.person.deny_words)
    pages = read_pages(file)
    for name, text in pages.items():
        if not dry:
            replace_file(root.references / name, redactor.redact(text).text)
    if pages and not dry:
        bring_level(environment)
    return [root.relative(root.references / name) for name in pages]
