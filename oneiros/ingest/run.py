"""One ingest, as a person or the daemon wants it: what it reads, and what came of it. Nothing here prints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from crawler.archive.append import IngestProgress
from crawler.compress.extractive import MAX_CHARS
from crawler.compress.model.budget import Price
from crawler.compress.model.prompt import INSTRUCTIONS, PROMPT_CHARS
from crawler.ingest import IngestReport, ingest
from crawler.references import ScanReport, scan
from crawler.sources.table import SOURCES
from memory_server.errors import Problem, UsageError
from memory_server.layers.blackboard import KEPT_DAYS
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.environment import Environment, now
from oneiros.ingest.forgetting import forgetter_of
from oneiros.ingest.settings import (
    CrawlRoot,
    closed_when,
    compressor_of,
    crawl_roots,
    ingest_settings,
    reference_settings,
    spending,
    stores_of,
    this_machine,
)


@dataclass(slots=True)
class Wanted:
    """What a person asks an ingest for; empty fields leave nothing out."""

    paths: Sequence[Path] = ()
    project: str = ""
    since: datetime | None = None
    limit: int | None = None
    dry_run: bool = False
    agent: str = ""  # the one whose reader reads the paths; without paths, its stores
    me: str = ""  # a name of the person in a conversation of several


@dataclass(slots=True)
class IngestOutcome:
    """The reports of all roots, and what paid back ends have cost or may cost."""

    reports: list[IngestReport] = field(default_factory=list)
    spent_usd: float = 0.0
    estimate_usd: float = 0.0  # the most that the sessions read can cost

    @property
    def problems(self) -> list[Problem]:
        """What somebody may want to mend, each once."""
        return list(dict.fromkeys(problem for report in self.reports for problem in report.problems))


def roots_wanted(environment: Environment, paths: Sequence[Path]) -> list[CrawlRoot]:
    """The roots to read: those named, each with the machine of the crawl root it lies in, else all of them.

    Raises UsageError for a named path that does not exist.
    """
    known = crawl_roots(environment)
    if not paths:
        return [root for root in known if root.folder.exists()]
    found = []
    for path in paths:
        whole = environment.working_folder / path.expanduser()
        if not whole.exists():
            raise UsageError("there is no such file or folder", where=whole, remedy="Name a transcript or a folder")
        machine = next((root.machine for root in known if whole.is_relative_to(root.folder)), this_machine(environment))
        found.append(CrawlRoot(whole, machine))
    return found


def places_of(environment: Environment, wanted: Wanted) -> list[Path]:
    """Where the reader of an agent looks: at what is named, else at its stores. Raises UsageError where nothing is."""
    if wanted.paths:
        return [one.folder for one in roots_wanted(environment, wanted.paths)]
    source = SOURCES[wanted.agent]
    if found := [store for store in source.stores(environment.home, environment.variables) if store.exists()]:
        return found
    raise UsageError(f"there are no conversations of {source.TITLE} to read", remedy="Name a file or a folder")


def roots_to_follow(environment: Environment, paths: Sequence[Path]) -> list[CrawlRoot]:
    """The folders in which something new may be written: those named, or that hold what is named, else all roots."""
    if not paths:
        stores = (store for found in stores_of(environment).values() for store in found)
        return [*crawl_roots(environment), *(CrawlRoot(store, this_machine(environment)) for store in stores)]
    roots = roots_wanted(environment, paths)
    return [replace(one, folder=one.folder if one.folder.is_dir() else one.folder.parent) for one in roots]


def run_ingest(
    environment: Environment,
    root: MemoryRoot,
    wanted: Wanted,
    moment: datetime,
    progress: Callable[[IngestProgress], None] | None = None,
    check: Callable[[], None] = lambda: None,
) -> IngestOutcome:
    """Ingests what is new below the wanted paths and compresses what is closed. The indices are the caller's.

    `check` is called now and then; what it raises ends it, and nothing is lost.
    """
    require_memory(root)
    budget = spending(environment, root, moment)
    compressor = compressor_of(environment, root, budget)
    if wanted.agent:
        roots, sources = [], {wanted.agent: places_of(environment, wanted)}
    else:
        roots = roots_wanted(environment, wanted.paths)
        sources = {} if wanted.paths else stores_of(environment)
    here = this_machine(environment)
    machines = list(dict.fromkeys([*(one.machine for one in roots), *([here] if sources else ())])) or [here]
    outcome = IngestOutcome()
    for machine in machines:
        settings = ingest_settings(environment, root, machine)
        report = ingest(
            [one.folder for one in roots if one.machine == machine],
            settings,
            root.sessions,
            compressor if machine == machines[-1] else None,  # it looks at the whole archive, whatever was new
            closed_when(environment, root, moment),
            since=wanted.since,
            limit=wanted.limit,
            project=wanted.project,
            dry_run=wanted.dry_run,
            progress=progress,
            check=check,
            forget_marked=forgetter_of(root, environment.person, settings),
            sources=sources if machine == here else {},
            speakers=frozenset(name.casefold() for name in (*environment.person.speakers, wanted.me) if name),
        )
        outcome.reports.append(report)
    outcome.spent_usd = budget.spent_in_run
    outcome.estimate_usd = most_it_costs(environment, outcome)
    return outcome


def most_it_costs(environment: Environment, outcome: IngestOutcome) -> float:
    """The most that compressing the sessions of a run can cost: every prompt as long as it may be, asked twice."""
    person = environment.person
    sessions = sum(len(report.ingest.sessions) for report in outcome.reports)
    read = sum(report.ingest.bytes_read for report in outcome.reports)
    price = Price(person.compressor_usd_in, person.compressor_usd_out)
    if person.compressor == "extractive" or not sessions:
        return 0.0
    prompts = min(read, sessions * PROMPT_CHARS) + sessions * (len(INSTRUCTIONS) + MAX_CHARS)
    return 2 * price.estimate(prompts, sessions * (MAX_CHARS // 2 + 500))


def ingest_all(
    environment: Environment,
    root: MemoryRoot,
    on_ingested: Callable[[str, bool], object],
    check: Callable[[], None] = lambda: None,
) -> IngestOutcome:
    """Ingests whatever is new, with the settings as they are now, and tells of it as `news_of` says."""
    outcome = run_ingest(replace(environment), root, Wanted(), now(), check=check)
    for told in news_of(outcome, now()):
        on_ingested(*told)
    return outcome


def is_news(outcome: IngestOutcome) -> bool:
    """Whether an ingest left anything to be indexed."""
    return any(
        report.ingest.entries or report.ingest.marked or (report.compress and report.compress.written)
        for report in outcome.reports
    )


def news_of(outcome: IngestOutcome, moment: datetime) -> Iterator[tuple[str, bool]]:
    """What is to be recorded after an ingest of everything: an empty name, which stands for all, then each session that
    it found to be over and that began lately enough for the next ones to care; with whether it has ended.
    """
    yield "", False
    earliest = (moment - timedelta(days=KEPT_DAYS)).date().isoformat()
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
    spent = f", {outcome.spent_usd:.2f} USD spent" if outcome.spent_usd else ""
    found = f"; {count} problems, which `oneiros ingest` names" if (count := len(outcome.problems)) else ""
    return f"{entries} new entries in {len(sessions)} sessions, {written} sessions compressed{spent}{found}"


def scan_references(environment: Environment, root: MemoryRoot) -> ScanReport:
    """Brings the references level with the project folders that the settings name."""
    return scan(reference_settings(environment), root.references)
