"""One ingest, as a person or the daemon wants it: what it reads, and what came of it. Nothing here prints."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from crawler.archive.append import IngestLimits, IngestSettings
from crawler.archive.discovery import FoundFile
from crawler.archive.names import ProjectNames
from crawler.ingest import IngestReport, ingest
from crawler.references import ScanReport, SentFiles, scan
from crawler.sources.agent import AgentSource
from memory_server.errors import Problem, UsageError
from memory_server.escaping import plural
from memory_server.layers.blackboard import RETENTION_DAYS
from memory_server.machine.clock import local_day
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.environment import Environment, now
from oneiros.ingest.forgetting import make_forgetter
from oneiros.ingest.readings import open_readings
from oneiros.ingest.settings import (
    CrawlRoot,
    archive_folder,
    closed_when,
    crawl_roots,
    ingest_settings,
    list_agent_sources,
    list_stores,
    reference_settings,
    store_places,
    this_machine,
)
from oneiros.served import OtherMachines


@dataclass(frozen=True, slots=True)
class Wanted(IngestLimits):
    """What a person asks an ingest for; empty fields leave nothing out."""

    paths: Sequence[Path] = ()
    machine: str = ""  # only this one: a name in the settings, or this machine's
    places: Literal["all", "here", "elsewhere"] = "all"  # folders of this machine, and machines that ssh reaches
    agent: str = ""  # the one whose reader reads the paths; without paths, its stores
    me: str = ""  # a name of the person in a conversation of several


EVERYTHING = Wanted()


@dataclass(slots=True)
class IngestOutcome:
    """The reports of all roots."""

    reports: list[IngestReport] = field(default_factory=list)
    is_barren: bool = False  # whether a source of references gave nothing

    @property
    def problems(self) -> list[Problem]:
        """What somebody may want to mend, each once."""
        return list(dict.fromkeys(problem for report in self.reports for problem in report.problems))


def select_roots(environment: Environment, paths: Sequence[Path], machine: str = "") -> list[CrawlRoot]:
    """The roots to read: those named, each with the machine of the crawl root it lies in, else all (of a machine).

    Raises UsageError for a named path that does not exist.
    """
    known = crawl_roots(environment)
    if not paths:
        return [root for root in known if root.folder.exists() and machine in ("", root.machine)]
    found = []
    for path in paths:
        whole = environment.working_folder / path.expanduser()
        if not whole.exists():
            raise UsageError("there is no such file or folder", where=whole, remedy="Name a transcript or a folder")
        machine = next((root.machine for root in known if whole.is_relative_to(root.folder)), this_machine(environment))
        found.append(CrawlRoot(whole, machine))
    return found


def find_agent_source(environment: Environment, name: str) -> AgentSource:
    """The reader of an agent by its name. Raises UsageError where there is none."""
    known = list_agent_sources(environment)
    if name not in known:
        raise UsageError(f"there is no reader {name!r}", remedy=f"Choose one of: {', '.join(known)}")
    return known[name]


def list_places(environment: Environment, wanted: Wanted) -> list[Path]:
    """Where the reader of an agent looks: at what is named, else at its stores. Raises UsageError where nothing is."""
    if wanted.paths:
        return [one.folder for one in select_roots(environment, wanted.paths)]
    source = find_agent_source(environment, wanted.agent)
    if found := store_places(environment, source):
        return found
    raise UsageError(f"there are no conversations of {source.TITLE} to read", remedy="Name a file or a folder")


def roots_to_follow(environment: Environment, paths: Sequence[Path]) -> list[CrawlRoot]:
    """The folders in which something new may be written: those named, or that hold what is named, else all roots."""
    if not paths:
        stores = (store for _, found in list_stores(environment) for store in found)
        return [*crawl_roots(environment), *(CrawlRoot(store, this_machine(environment)) for store in stores)]
    roots = select_roots(environment, paths)
    return [replace(one, folder=one.folder if one.folder.is_dir() else one.folder.parent) for one in roots]


def run_ingest(
    environment: Environment,
    root: MemoryRoot,
    wanted: Wanted,
    moment: datetime,
    progress: Callable[[int, int], None] = lambda *_: None,
    check: Callable[[], None] = lambda: None,
    compressing: Callable[[int, int], None] = lambda *_: None,
) -> IngestOutcome:
    """Ingests what is new below the wanted paths and compresses what is closed. The indices are the caller's.

    `check` is called now and then; what it raises ends it, and nothing is lost.
    """
    require_memory(root)
    readings = open_readings(root)
    roots, sources = [], list[tuple[AgentSource, list[Path]]]()
    if wanted.agent:
        sources = [(find_agent_source(environment, wanted.agent), list_places(environment, wanted))]
    elif wanted.places != "elsewhere":
        roots = select_roots(environment, wanted.paths, wanted.machine)
        sources = [] if wanted.paths or wanted.machine else list_stores(environment)
    here = this_machine(environment)
    machines = list(dict.fromkeys([*(one.machine for one in roots), *([here] if sources or not roots else [])]))
    outcome = IngestOutcome()
    for report in fetch_sessions(environment, root, wanted, check):
        outcome.reports.append(report)
        check()
    for machine in machines:
        settings = ingest_settings(environment, root, machine)
        report = ingest(
            [one.folder for one in roots if one.machine == machine],
            settings,
            root.sessions,
            readings if machine == machines[-1] else None,  # it looks at the whole archive, whatever was new
            closed_when(environment, root, moment),
            limits=wanted,
            progress=progress,
            compressing=compressing,
            check=check,
            forget_marked=make_forgetter(root, environment.person, settings),
            sources=sources if machine == here else (),
            speakers=frozenset(name.casefold() for name in (*environment.person.speakers, wanted.me) if name),
        )
        outcome.reports.append(report)
    return outcome


def other_machines(environment: Environment) -> OtherMachines | None:
    """What reaches them; None where no part does."""
    return next((part.machines() for part in environment.parts if part.machines), None)


def select_machines(environment: Environment, wanted: Wanted, known: Sequence[str]) -> Sequence[str]:
    """Those of the known other machines that are to be visited. Raises UsageError for the name of one that nothing is
    known of.
    """
    if wanted.machine:
        here = {one.machine for one in crawl_roots(environment)}
        if wanted.machine not in {*known, *here}:
            names = ", ".join(sorted({*here, *known}))
            remedy = f"Known ones: {names}. `oneiros config machines NAME=ssh://user@host` adds one"
            raise UsageError(f"there is no machine {wanted.machine!r} in your settings", remedy=remedy)
        known = [name for name in known if name == wanted.machine]
    return [] if wanted.paths or wanted.agent or wanted.places == "here" else known


def fetch_sessions(
    environment: Environment, root: MemoryRoot, wanted: Wanted, check: Callable[[], None]
) -> Iterator[IngestReport]:
    """Takes in what is new on the machines that are wanted; compressing it is left to the ingest behind it."""

    def take(settings: IngestSettings, sent: Sequence[FoundFile]) -> IngestReport:
        return ingest(
            [],
            settings,
            root.sessions,
            None,
            closed_when(environment, root, now()),
            sent=sent,
            limits=IngestLimits(project=wanted.project, dry_run=wanted.dry_run),
            check=check,
            forget_marked=make_forgetter(root, environment.person, settings),
        )

    machines = other_machines(environment)
    names = select_machines(environment, wanted, machines.name_machines(environment) if machines else ())
    if machines and names:
        yield from machines.fetch_sessions(environment, root, names, take, wanted)


def ingest_all(
    environment: Environment,
    root: MemoryRoot,
    on_ingested: Callable[[str, bool], object],
    check: Callable[[], None] = lambda: None,
    wanted: Wanted = EVERYTHING,
) -> IngestOutcome:
    """Ingests whatever is new, with the settings as they are now, and tells of it as `list_news` says."""
    outcome = run_ingest(replace(environment), root, wanted, now(), check=check)
    for news in list_news(outcome, now()):
        on_ingested(*news)
    return outcome


def is_news(outcome: IngestOutcome) -> bool:
    """Whether an ingest left anything to be indexed."""
    return any(
        report.ingest.entries or report.ingest.marked or (report.compress and report.compress.written)
        for report in outcome.reports
    )


def list_news(outcome: IngestOutcome, moment: datetime) -> Iterator[tuple[str, bool]]:
    """What is to be recorded after an ingest of everything: an empty name, which stands for all, then each session that
    it found to be over and that began lately enough for the next ones to care; with whether it has ended.
    """
    yield "", False
    earliest = local_day(moment - timedelta(days=RETENTION_DAYS)).isoformat()
    for report in outcome.reports:
        if report.compress is not None:
            for session_id, file in zip(report.compress.session_ids, report.compress.written, strict=True):
                if file.name >= earliest:  # a name begins with the date
                    yield session_id, True


def outcome_sentence(outcome: IngestOutcome) -> str:
    """What an ingest did, in one sentence."""
    entries = sum(report.ingest.entries for report in outcome.reports)
    sessions = {session for report in outcome.reports for session in report.ingest.sessions}
    written = sum(len(report.compress.written) for report in outcome.reports if report.compress)
    found = f"; {plural(count, 'problem')}, which `oneiros ingest` names" if (count := len(outcome.problems)) else ""
    taken = f"{entries} new entries in {plural(len(sessions), 'session')}"
    return f"{taken}, {plural(written, 'session')} compressed{found}"


def scan_references(environment: Environment, root: MemoryRoot, wanted: Collection[str] | None = None) -> ScanReport:
    """Brings the references level with the folders that the settings name; those of the `wanted` sources alone."""
    settings, machines = reference_settings(environment), other_machines(environment)
    names = ProjectNames(archive_folder(root))
    settings = replace(settings, name_project=names.draft)
    elsewhere = [one for one in settings.sources if one.machine and (wanted is None or one.name in wanted)]
    with ExitStack() as mirrors:
        sent, problems = dict[str, SentFiles](), list[str]()
        if machines and elsewhere:
            sent, problems = machines.fetch_references(environment, root, elsewhere, mirrors)
        report = scan(settings, root.references, due=wanted, sent=sent)
    names.settle_drafts()
    report.problems[:0] = problems
    return report


def select_sources(environment: Environment, wanted: Wanted) -> list[str] | None:
    """The sources of references that an ingest looks at; None for all."""
    sources = reference_settings(environment).sources
    if wanted.machine:
        return [one.name for one in sources if one.machine == wanted.machine]
    if wanted.paths or wanted.places == "here":
        return ["", *(one.name for one in sources if not one.machine)]
    return None
