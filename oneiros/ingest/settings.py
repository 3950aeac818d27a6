"""What the person's settings say of ingest: which folders, which back end, which limits.

Command line, daemon and doctor all start here, so that they ingest the same sessions.
"""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from pathlib import Path

from crawler.archive.append import IngestSettings
from crawler.archive.choice import Choice, git_common_directory
from crawler.archive.store import Archive
from crawler.archive.waiting import CLEANUP_DAYS, Waiting, cleanup_days, count_waiting
from crawler.closed import ClosedWhen, read_ends, read_markers
from crawler.compress.run import count_uncompressed, read_last_time
from crawler.model.budget import Budget, Price
from crawler.model.client import ModelClient
from crawler.model.table import ModelSettings, build_client
from crawler.references import ReferenceSettings, ReferenceSource, parse_pairs
from crawler.sources.agent import AgentSource
from crawler.transcripts.entry import MOST_AHEAD
from memory_server.completeness import SkipKind, Skipped
from memory_server.errors import ContentError, UsageError
from memory_server.machine.clock import local_day
from memory_server.root.paths import MemoryRoot
from memory_server.settings import ReferenceTable
from oneiros.environment import Environment, now


@dataclass(frozen=True, slots=True)
class CrawlRoot:
    """A folder of transcripts, and the machine on which they were written."""

    folder: Path
    machine: str


def this_machine(environment: Environment) -> str:
    """The name under which this machine's sessions are filed."""
    return environment.person.machine or socket.gethostname() or "localhost"


def crawl_roots(environment: Environment) -> list[CrawlRoot]:
    """The client's own folders on this machine, then those that the settings name; each place once."""
    machine = this_machine(environment)
    roots = [CrawlRoot(folder / "projects", machine) for folder in environment.claude_folders]
    for entry in environment.person.crawl_roots:
        name, separator, folder = entry.partition("=")
        path = Path(folder if separator else entry)
        path = environment.home / path.relative_to("~") if path.parts[:1] == ("~",) else path
        if not path.is_absolute():
            raise UsageError(f"crawl_roots holds {entry!r}", remedy="Give a whole path, or machine=/a/whole/path")
        roots.append(CrawlRoot(path, name if separator else machine))
    return list({root.folder.resolve(): root for root in reversed(roots)}.values())[::-1]


def list_agent_sources(environment: Environment) -> dict[str, AgentSource]:
    """The readers of other agents' conversations, by their names."""
    readers = (source for part in environment.parts if part.sources for source in part.sources())
    return {source.NAME: source for source in readers}


def list_stores(environment: Environment) -> list[tuple[AgentSource, list[Path]]]:
    """Where the other agents that the settings name keep their conversations, as far as they are there."""
    known = list_agent_sources(environment)
    return [
        (known[name], store_places(environment, known[name])) for name in environment.person.agents if name in known
    ]


def store_places(environment: Environment, source: AgentSource) -> list[Path]:
    """Where an agent keeps its conversations, as far as that is there."""
    return [store for store in source.stores(environment.home, environment.variables) if store.exists()]


def archive_folder(root: MemoryRoot) -> Path:
    """Where layer 3 of a memory lies."""
    return root.path / "sessions" / "archive"


def open_archive(root: MemoryRoot) -> Archive:
    """Layer 3 of a memory."""
    return Archive(archive_folder(root), root.hashes)


def ingest_settings(environment: Environment, root: MemoryRoot, machine: str = "") -> IngestSettings:
    """Where an ingest writes, and what it takes, by the person's settings."""
    person = environment.person
    aliases = tuple((old.strip(), new.strip()) for old, _, new in (p.partition("=") for p in person.project_aliases))
    return IngestSettings(
        archive=archive_folder(root),
        state=root.sessions_database,
        hashes=root.hashes,
        machine=machine or this_machine(environment),
        choice=Choice(allow=person.ingest_allow, deny=person.ingest_deny, only=own_project(root, dict(aliases))),
        aliases=aliases,
        deny_words=person.deny_words,
        latest=now() + MOST_AHEAD,
    )


def own_project(root: MemoryRoot, aliases: Mapping[str, str]) -> str:
    """The identity of the project in whose repository a memory lies; empty where it is a repository of its own."""
    repository = git_common_directory(root.path)
    if repository is None or repository.parent == root.path.resolve():
        return ""
    return aliases.get(str(repository), str(repository))


def closed_when(environment: Environment, root: MemoryRoot, moment: datetime) -> ClosedWhen:
    """What this machine knows about which sessions are over."""
    ended = read_ends(root.ended_sessions)
    markers = tuple(mark for folder in environment.claude_folders for mark in read_markers(folder / "sessions"))
    return ClosedWhen(moment, ended, markers, idle_hours=environment.person.idle_hours)


def over_when(environment: Environment, root: MemoryRoot) -> Callable[[str], bool]:
    """Whether a session in the archive is over, by what this machine knows just now."""
    closed, archive = closed_when(environment, root, now()), open_archive(root)
    return lambda session_id: closed.applies(session_id, read_last_time(archive, session_id))


def spending(environment: Environment, root: MemoryRoot, moment: datetime) -> Budget:
    """The money of one run, with what other runs of the day have spent."""
    person = environment.person
    return Budget(
        root.spent,
        today=local_day(moment),
        run_usd=person.budget_run_usd,
        day_usd=person.budget_day_usd,
        day_tokens=person.reader_tokens_day,
    )


def build_model_client(environment: Environment, root: MemoryRoot) -> ModelClient:
    """The client of the model that the settings name as reader. Raises UsageError where they name none."""
    person = environment.person
    for part in environment.parts:
        if person.reader in part.readers:
            return part.readers[person.reader](environment)
    settings = ModelSettings(
        name=person.reader,
        model=person.reader_model,
        url=person.reader_url,
        api_key=environment.variables.get(person.reader_key_variable, ""),
        price=Price(person.reader_usd_in, person.reader_usd_out),
        folder=root.derived_folder / "claude-cli",
    )
    return build_client(settings)


def reference_settings(environment: Environment) -> ReferenceSettings:
    """What of other people's files is indexed as context."""
    person = environment.person
    return ReferenceSettings(
        roots=tuple(environment.home / Path(root).expanduser() for root in person.reference_roots),
        endings=person.reference_endings,
        tags=parse_pairs(person.reference_tags),
        client_folders=environment.claude_folders,
        deny_words=person.deny_words,
        sources=tuple(_build_source(table, environment) for table in person.references),
    )


def _build_source(table: ReferenceTable, environment: Environment) -> ReferenceSource:
    is_here = table.machine in ("", this_machine(environment))
    here = tuple(str(environment.home / root.removeprefix("~/")) for root in table.roots)
    tags = tuple(tag if "=" in tag else f"{tag}=*" for tag in table.tags)
    return ReferenceSource(
        name=table.name,
        roots=here if is_here else table.roots,
        endings=table.endings or environment.person.reference_endings,
        tags=parse_pairs(tags),
        machine="" if is_here else table.machine,
    )


def waiting(environment: Environment, root: MemoryRoot, moment: datetime) -> Waiting:
    """How many sessions in the crawl roots are not archived yet, and how many of this machine's the client deletes
    this week.
    """
    folders: dict[str, list[Path]] = {this_machine(environment): []}
    for one in crawl_roots(environment):
        if one.folder.exists():
            folders.setdefault(one.machine, []).append(one.folder)
    keep_days = min(map(cleanup_days, environment.claude_folders), default=CLEANUP_DAYS)
    stores = {this_machine(environment): list_stores(environment)}
    own, *others = (
        count_waiting(
            places,
            ingest_settings(environment, root, machine),
            now=moment,
            keep_days=keep_days,
            stores=stores.get(machine, ()),
        )
        for machine, places in folders.items()
    )
    return reduce(Waiting.with_other_machine, others, own)


def count_uncompressed_sessions(environment: Environment, root: MemoryRoot, moment: datetime) -> int:
    """How many archived sessions an ingest that was interrupted left without a compressed file."""
    return count_uncompressed(open_archive(root), root.sessions, closed_when(environment, root, moment))


def list_skipped(environment: Environment, root: MemoryRoot, left: Waiting | None = None) -> list[Skipped]:
    """What of the transcripts, and of the folders that the settings name, is not in the archive. `left`: what waits,
    where that was counted just now.
    """
    environment = replace(environment)  # with the settings as they are now
    left = left or waiting(environment, root, now())
    own = {folder / "projects" for folder in environment.claude_folders}
    found = [Skipped(SkipKind.WAITING, "", left.not_archived)] if left.not_archived else []
    found += [
        Skipped(SkipKind.PLACE, str(one.folder))
        for one in crawl_roots(environment)
        if one.folder not in own and not one.folder.exists()
    ]
    if ignored := environment.ignored_claude_folder:
        found.append(Skipped(SkipKind.CLIENT, ignored))
    archive = open_archive(root)
    for session_id in archive.session_ids():
        try:
            is_whole = all(file.is_file() for file in archive.list_objects(archive.record(session_id)))
        except ContentError:
            is_whole = False
        if not is_whole:
            found.append(Skipped(SkipKind.ARCHIVED, session_id))
    return [*found, *left.skipped]
