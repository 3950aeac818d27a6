"""Visits the person's other machines: what is new there is fetched, taken in, and leaves the mirror again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial

import filelock
import msgspec

from crawler.archive.append import ArchiveReport, Ingester, IngestLimits, IngestSettings
from crawler.ingest import IngestReport
from crawler.references import ReferenceSettings, ReferenceSource, SentFiles
from crawler.transcripts.tail import FileState
from memory_server.errors import NeedsRepair, Problem, UsageError
from memory_server.root.paths import MemoryRoot
from memory_server.root.state import make_state
from oneiros.environment import Environment, now
from oneiros.ingest.settings import ingest_settings, reference_settings, this_machine
from oneiros.served import MachineState, Take
from parts.machines.addresses import Address, parse_address
from parts.machines.fetch import Delivery, ask
from parts.machines.mirror import Mirror
from parts.machines.register import KnownMachine, Register
from parts.machines.sessions import build_wanted_transcripts, make_found_file
from parts.machines.wanted import Known, WantedRoot, build_wanted_root

LOCK_SECONDS = 10.0  # how long to wait for another visit
MOST_TRIES = 3  # times in one visit, where it turns out to be another machine than was asked


def addresses(environment: Environment) -> list[Address]:
    """The machines of the settings. Raises UsageError where two have one name."""
    found = [parse_address(entry) for entry in environment.person.machines]
    if len({one.name for one in found}) < len(found):
        raise UsageError("machines names one machine twice", remedy="Give each a name of its own")
    return found


def name_machines(environment: Environment) -> list[str]:
    """The names of these machines."""
    return [address.name for address in addresses(environment)]


def fetch_sessions(
    environment: Environment, root: MemoryRoot, names: Sequence[str], take: Take, limits: IngestLimits
) -> Iterator[IngestReport]:
    """Has what is new of the transcripts of these machines taken in."""
    try:
        for address in (one for one in addresses(environment) if one.name in names):
            with visiting(root) as register:
                visit = Visit(environment, root, register, address)
                yield from visit.transcripts(partial(ingest_settings, environment, root), take, limits)
    except MachinesBusy as error:
        problem = Problem(str(error.where), 1, error.what, error.remedy, "machine")
        yield IngestReport(ArchiveReport(problems=[problem]), None)


def fetch_references(
    environment: Environment, root: MemoryRoot, sources: Sequence[ReferenceSource], mirrors: ExitStack
) -> tuple[dict[str, SentFiles], list[str]]:
    """What the machines of these sources send of them, by their names, and what went wrong."""
    known = {address.name: address for address in addresses(environment)}
    settings, found, problems = reference_settings(environment), dict[str, SentFiles](), list[str]()
    try:
        with visiting(root) as register:
            for number, source in enumerate(sources):
                if source.machine not in known:
                    problems.append(f"references {source.name}: there is no machine {source.machine} in your settings.")
                    continue
                mirror = mirrors.enter_context(Mirror(root.state / f"mirror-{number}"))
                visit = Visit(environment, root, register, known[source.machine])
                machine, delivery = visit.ask(mirror, partial(_build_roots, source, settings, root))
                found[source.name] = SentFiles(machine, [file for file in delivery.files if file.is_whole])
                problems += map(str, delivery.problems)
    except MachinesBusy as error:
        return {}, [str(error)]
    return found, problems


def _build_roots(
    source: ReferenceSource, settings: ReferenceSettings, root: MemoryRoot, machine: str
) -> list[WantedRoot]:
    return [build_wanted_root(source, settings, root.references, machine)]


def level_files(settings: IngestSettings) -> dict[str, FileState]:
    """The files of a machine of which only what is new is wanted, with how far each was read."""
    with Ingester(settings) as ingester:
        return ingester.level_files()


def open_register(root: MemoryRoot) -> Register:
    """What is known of the machines whose sessions a memory holds."""
    return Register(root.state / "machines.json")


def machines_json(environment: Environment, root: MemoryRoot, moment: datetime) -> list[MachineState]:
    """How the machines of the settings stand, for `status`: as they were when they were last seen."""
    register, found = open_register(root), list[MachineState]()
    for address in addresses(environment):
        known = register.find_machine(address) or KnownMachine("", address.name, address.url, "")
        found.append(
            {
                "name": address.name,
                "id": known.id,
                "url": address.url,
                "error": known.error,
                "tried": known.tried,
                "seen": known.seen,
                "noise": known.noise,
                "transcripts": known.transcripts(),
                "expiring": known.expiring(moment),
            }
        )
    return found


@contextmanager
def visiting(root: MemoryRoot) -> Iterator[Register]:
    """What is known of the machines, with no other visit beside this one."""
    make_state(root)
    lock = filelock.FileLock(root.state / "machines.lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        remedy = "Wait for it; what is new there comes with it"
        raise MachinesBusy("another ingest is fetching from your machines", where=root.state, remedy=remedy) from error
    try:
        yield open_register(root)
    finally:
        lock.release()


class MachinesBusy(NeedsRepair):
    """Another process visits the machines just now."""


class Visit:
    """One machine, asked for what is new. Use within `visiting`."""

    def __init__(self, environment: Environment, root: MemoryRoot, register: Register, address: Address):
        self._environment = environment
        self._folder = root.state
        self._register = register
        self._address = address

    def ask(self, mirror: Mirror, roots_of: Callable[[str], Sequence[WantedRoot]]) -> tuple[str, Delivery]:
        """The machine's id, and its answer to what is wanted of the machine of that id; the id is empty where a machine
        that was never reached does not answer.
        """
        for _ in range(MOST_TRIES):
            known = self._register.find_by_url(self._address)
            answer = ask(self._address, roots_of(known.id) if known else (), mirror, self._environment.variables)
            moment = now().isoformat(timespec="seconds")
            if not answer.mark:
                break
            met = self._register.identify(self._address, answer.mark, [this_machine(self._environment)])
            met = msgspec.structs.replace(met, seen=moment, noise=answer.noise)
            is_another = known is None or met.id != known.id  # it was not asked for its own files
            known = met
            self._register.note(met)
            if not is_another:
                break
            mirror.empty()
            answer = Delivery(lost="another machine answers at that address each time")
        if known and answer.days:
            known = msgspec.structs.replace(known, days=answer.days, cleanup_days=answer.cleanup_days)
        if known:
            self._register.note(msgspec.structs.replace(known, tried=moment, error=answer.lost))
        if answer.lost:
            answer.problems.append(self._make_problem(answer))
        return known.id if known else "", answer

    def transcripts(
        self,
        settings_of: Callable[[str], IngestSettings],
        take: Take,
        limits: IngestLimits,
    ) -> Iterator[IngestReport]:
        """Takes in what is new of the transcripts there, a mirror full at a time."""
        level: dict[str, FileState] = {}
        passed: dict[str, Known] = {}  # what was sent in this visit and not noted; it would be sent again and again

        def build_roots(machine: str) -> list[WantedRoot]:
            nonlocal level
            level = level_files(settings_of(machine))
            root = build_wanted_transcripts(level, machine, since=limits.since, limit=limits.limit)
            return [msgspec.structs.replace(root, known={**root.known, **passed})]

        with Mirror(self._folder / "mirror") as mirror:
            while True:
                machine, answer = self.ask(mirror, build_roots)
                report = IngestReport(ArchiveReport(is_dry_run=limits.dry_run), None)
                if answer.files:
                    report = take(settings_of(machine), [make_found_file(sent, machine) for sent in answer.files])
                    mirror.empty()
                report.ingest.problems += answer.problems
                yield report
                if answer.lost or not answer.is_cut or limits.limit is not None:
                    return
                before, after = level, level_files(settings_of(machine))
                for sent in answer.files:
                    old, new = (states.get(f"{machine}:{sent.path}") for states in (before, after))
                    if new is None or (old and not sent.is_whole and old.offset == new.offset):
                        passed[sent.path] = Known(sent.inode, sent.size, sent.changed_ns, is_settled=True)

    def _make_problem(self, answer: Delivery) -> Problem:
        what = f"{self._address.name} {'broke off' if answer.mark else 'cannot be reached'} ({answer.lost})"
        remedy = f"Try `ssh -o BatchMode=yes {self._address.url} true`; nothing is lost, and the next ingest goes on"
        return Problem(self._address.url, 1, what, remedy, "machine")
