"""The intake as this person has set it up: which folders, which back end, which limits.

Command line, daemon and doctor all start here, so that they take in the same sessions. Nothing here prints.
"""

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from crawler.archive.append import IngestProgress, IngestSettings
from crawler.archive.choice import Choice, git_common_directory
from crawler.archive.waiting import Waiting, cleanup_days, count_waiting
from crawler.closed import note_end, read_ends, read_markers
from crawler.compress.backends import BackEndSettings, Compressor, ExtractiveCompressor, build_client
from crawler.compress.extractive import MAX_CHARS
from crawler.compress.model.budget import Budget, Price
from crawler.compress.model.compressor import ModelClient, ModelCompressor
from crawler.compress.model.prompt import INSTRUCTIONS, PROMPT_CHARS
from crawler.compress.run import ClosedWhen
from crawler.ingest import IntakeReport, take_in
from crawler.references import ReferenceSettings, ScanReport, pairs_of, scan
from crawler.transcripts.tail import is_uuid
from memory_server.errors import Problem, UsageError
from memory_server.layers.blackboard import KEPT_DAYS
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.environment import Environment
from oneiros.ingest.forgetting import forgetter_of
from oneiros.ingest.trainer_client import TrainerClient, machines_of
from oneiros.ingest.trainer_compressor import TrainerModelClient


@dataclass(frozen=True, slots=True)
class CrawlRoot:
    """A folder of transcripts, and the machine on which they were written."""

    folder: Path
    machine: str


@dataclass(slots=True)
class Wanted:
    """What a person asks an ingest for; empty fields leave nothing out."""

    paths: Sequence[Path] = ()
    project: str = ""
    since: datetime | None = None
    limit: int | None = None
    dry_run: bool = False


@dataclass(slots=True)
class IngestOutcome:
    """The reports of all roots, and what paid back ends have cost or may cost."""

    reports: list[IntakeReport] = field(default_factory=list)
    spent_usd: float = 0.0
    estimate_usd: float = 0.0  # the most that the sessions read can cost

    @property
    def problems(self) -> list[Problem]:
        """What somebody may want to mend, each once."""
        return list(dict.fromkeys(problem for report in self.reports for problem in report.problems))


def this_machine(environment: Environment) -> str:
    """The name under which this machine's sessions are filed."""
    return environment.person.machine or socket.gethostname() or "localhost"


def crawl_roots(environment: Environment) -> list[CrawlRoot]:
    """The client's own folder on this machine, then the folders that the settings name."""
    machine = this_machine(environment)
    roots = [CrawlRoot(environment.home / ".claude" / "projects", machine)]
    for entry in environment.person.crawl_roots:
        name, separator, folder = entry.partition("=")
        path = Path(folder if separator else entry)
        path = environment.home / path.relative_to("~") if path.parts[:1] == ("~",) else path
        if not path.is_absolute():
            raise UsageError(f"crawl_roots holds {entry!r}", remedy="Give a whole path, or machine=/a/whole/path")
        roots.append(CrawlRoot(path, name if separator else machine))
    return roots


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


def roots_to_follow(environment: Environment, paths: Sequence[Path]) -> list[CrawlRoot]:
    """The folders in which something new may be written: those named, or that hold what is named, else all roots."""
    if not paths:
        return crawl_roots(environment)
    roots = roots_wanted(environment, paths)
    return [replace(one, folder=one.folder if one.folder.is_dir() else one.folder.parent) for one in roots]


def archive_folder(root: MemoryRoot) -> Path:
    """Where layer 3 of a memory lies."""
    return root.path / "sessions" / "archive"


def ingest_settings(environment: Environment, root: MemoryRoot, machine: str = "") -> IngestSettings:
    """Where an ingest writes, and what it takes, by the person's settings."""
    person = environment.person
    aliases = tuple((old.strip(), new.strip()) for old, _, new in (p.partition("=") for p in person.project_aliases))
    return IngestSettings(
        archive=archive_folder(root),
        state=root.derived / "ingest.sqlite",
        machine=machine or this_machine(environment),
        choice=Choice(allow=person.ingest_allow, deny=person.ingest_deny, only=own_project(root, dict(aliases))),
        aliases=aliases,
        deny_words=person.deny_words,
    )


def own_project(root: MemoryRoot, aliases: Mapping[str, str]) -> str:
    """The identity of the project in whose repository a memory lies; empty where it is a repository of its own."""
    repository = git_common_directory(root.path)
    if repository is None or repository.parent == root.path.resolve():
        return ""
    return aliases.get(str(repository), str(repository))


def ends_file(root: MemoryRoot) -> Path:
    """Where the ends of sessions are noted that the client told."""
    return root.ended


def note_event(root: MemoryRoot, event: str, told: object, now: datetime) -> bool:
    """Takes note of what a hook was told; True where a session has ended, so that there is something to take in."""
    session_id = told.get("session_id") if isinstance(told, dict) else None
    if event != "SessionEnd" or not isinstance(session_id, str) or not is_uuid(session_id):
        return False
    note_end(ends_file(root), session_id, now)
    return True


def closed_when(environment: Environment, root: MemoryRoot, now: datetime) -> ClosedWhen:
    """What this machine knows about which sessions are over."""
    ended = read_ends(ends_file(root))
    markers = tuple(read_markers(environment.home / ".claude" / "sessions"))
    return ClosedWhen(now, ended, markers, idle_hours=environment.person.idle_hours)


def spending(environment: Environment, root: MemoryRoot, now: datetime) -> Budget:
    """The money of one run, with what other runs of the day have spent."""
    person = environment.person
    limits = {"run_usd": person.budget_run_usd, "day_usd": person.budget_day_usd}
    return Budget(root.spent, today=now.date(), **limits)


def compressor_of(environment: Environment, root: MemoryRoot, budget: Budget) -> Compressor:
    """The back end of the person's settings."""
    if environment.person.compressor == "extractive":
        return ExtractiveCompressor()
    return ModelCompressor(model_client_of(environment, root), budget, pause=time.sleep)


def model_client_of(environment: Environment, root: MemoryRoot) -> ModelClient:
    """The client of the model that the settings name as compressor. Raises UsageError where they name none."""
    person = environment.person
    if person.compressor == "trainer":
        return TrainerModelClient(TrainerClient(machines_of(environment.variables)))
    settings = BackEndSettings(
        name=person.compressor,
        model=person.compressor_model,
        url=person.compressor_url,
        api_key=environment.variables.get(person.compressor_key_variable, ""),
        price=Price(person.compressor_usd_in, person.compressor_usd_out),
        folder=root.derived / "claude-cli",
    )
    return build_client(settings)


def run_ingest(
    environment: Environment,
    root: MemoryRoot,
    wanted: Wanted,
    now: datetime,
    progress: Callable[[IngestProgress], None] | None = None,
    check: Callable[[], None] = lambda: None,
) -> IngestOutcome:
    """Takes in what is new below the wanted paths and compresses what is closed. The indices are the caller's.

    `check` is called now and then; what it raises ends the intake, and nothing is lost.
    """
    require_memory(root)
    budget = spending(environment, root, now)
    compressor = compressor_of(environment, root, budget)
    roots = roots_wanted(environment, wanted.paths)
    machines = list(dict.fromkeys(one.machine for one in roots)) or [this_machine(environment)]
    outcome = IngestOutcome()
    for machine in machines:
        settings = ingest_settings(environment, root, machine)
        report = take_in(
            [one.folder for one in roots if one.machine == machine],
            settings,
            root.sessions,
            compressor if machine == machines[-1] else None,  # it looks at the whole archive, whatever was new
            closed_when(environment, root, now),
            since=wanted.since,
            limit=wanted.limit,
            project=wanted.project,
            dry_run=wanted.dry_run,
            progress=progress,
            check=check,
            forget_marked=forgetter_of(root, environment.person, settings),
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


def is_news(outcome: IngestOutcome) -> bool:
    """Whether an intake left anything to be indexed."""
    return any(
        report.ingest.entries or report.ingest.marked or (report.compress and report.compress.written)
        for report in outcome.reports
    )


def news_of(outcome: IngestOutcome, now: datetime) -> Iterator[tuple[str, bool]]:
    """What is to be recorded after an intake of everything: an empty name, which stands for all, then each session that
    it found to be over and that began lately enough for the next ones to care; with whether it has ended.
    """
    yield "", False
    earliest = (now - timedelta(days=KEPT_DAYS)).date().isoformat()
    for report in outcome.reports:
        if report.compress is not None:
            for session_id, file in zip(report.compress.session_ids, report.compress.written, strict=True):
                if file.name >= earliest:  # a name begins with the date
                    yield session_id, True


def outcome_sentence(outcome: IngestOutcome) -> str:
    """What an intake did, in one sentence."""
    entries = sum(report.ingest.entries for report in outcome.reports)
    sessions = {session for report in outcome.reports for session in report.ingest.sessions}
    written = sum(len(report.compress.written) for report in outcome.reports if report.compress)
    spent = f", {outcome.spent_usd:.2f} USD spent" if outcome.spent_usd else ""
    found = f"; {count} problems, which `oneiros ingest` names" if (count := len(outcome.problems)) else ""
    return f"{entries} new entries in {len(sessions)} sessions, {written} sessions compressed{spent}{found}"


def reference_settings(environment: Environment) -> ReferenceSettings:
    """What of other people's files is indexed as context."""
    person = environment.person
    return ReferenceSettings(
        roots=tuple(environment.home / Path(root).expanduser() for root in person.reference_roots),
        endings=person.reference_endings,
        tags=pairs_of(person.reference_tags),
        client_folder=environment.home / ".claude",
        deny_words=person.deny_words,
    )


def scan_references(environment: Environment, root: MemoryRoot) -> ScanReport:
    """Brings the references level with the project folders that the settings name."""
    return scan(reference_settings(environment), root.references)


def waiting(environment: Environment, root: MemoryRoot, now: datetime) -> Waiting:
    """How many sessions of this machine are not archived yet, and how many of them the client deletes this week."""
    machine = this_machine(environment)
    folders = [one.folder for one in crawl_roots(environment) if one.machine == machine and one.folder.exists()]
    keep_days = cleanup_days(environment.home / ".claude")
    return count_waiting(folders, ingest_settings(environment, root, machine), now=now, keep_days=keep_days)
