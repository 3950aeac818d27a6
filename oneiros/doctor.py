"""`oneiros doctor`: every check proves itself by doing, and names the repair where it cannot. Then a memory's health.

Health is what doctor, validate and report find, as a score and what was taken off it, each with its reason: a rule of
thumb for the person, who sees every part of it; no hook puts it before a model.
"""

import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from dream.blame import count_citations
from dream.decisions.approvals import Doubt, doubts_in_words, doubts_of_git, list_approved_files
from dream.decisions.repository import find_repository, require_git, require_rest
from dream.decisions.unsigned import ASK_AGAIN
from dream.report.findings import Concern, Finding
from memory_server.completeness import UNINDEXED, SkipKind, count_skipped
from memory_server.embedding.catalogue import DEFAULT_MODEL, PACKAGED_MODEL, make_download_command, reads
from memory_server.errors import ContentError, OneirosError, Problem
from memory_server.escaping import escape_line, plural
from memory_server.index.indices import NotOwner
from memory_server.inspection import Comparison
from memory_server.language.languages import NAMES, detect_language
from memory_server.layers.topics import shorten_text, topic_heads
from memory_server.layers.validate import ValidationRule
from memory_server.lifecycle.gc import GcWanted
from memory_server.machine.database import is_locked, is_read_only
from memory_server.machine.files import find_refusal
from memory_server.memory import Memory
from memory_server.reading import read_lines
from memory_server.root.state import states_without_root
from oneiros.checks import Check, make_failure, ok, warning
from oneiros.claude.checks import check_client
from oneiros.claude.files import ClaudeFiles
from oneiros.client import Client, DaemonLost
from oneiros.dreaming import build_decisions, make_review
from oneiros.environment import Environment, now
from oneiros.ingest.settings import list_skipped, open_archive, waiting
from oneiros.opening import open_memory

LEAST_SQLITE = (3, 40, 0)
SAMPLE = 50  # passages that are searched for by themselves
LANGUAGE_SAMPLE = 300  # passages by which its language is told
OF_INDICES = ("ledger", "words", "meaning")  # checks that a run under way upsets
REBUILD = "oneiros reindex --rebuild"
WHOLE = 100
REASON_CHARS = 160
NAMED_ELSEWHERE = ("memory", "disk")  # checks of doctor whose warnings validate and report name one by one
# points of each finding, and of all of its kind at most; what loses or misleads weighs more than what is old. Two parts
# of report do not count: problems of MEMORY.md, which validate tells, and changes, of which doctor has the doubts
COSTS = {
    "failed checks": (25, 50),
    "warnings": (3, 15),
    "doubts about approved files": (5, 15),
    "problems of files": (1, 15),
    Concern.CONTRADICTION: (3, 15),
    Concern.DRIFT: (1, 5),
    Concern.EVIDENCE: (1, 10),
    Concern.PROPOSALS: (1, 5),
    Concern.STALE: (1, 5),
    Concern.LINKS: (1, 5),
    Concern.QUERIES: (1, 5),
    Concern.USE: (1, 5),
    Concern.INDEX: (5, 20),
}


@dataclass(frozen=True, slots=True)
class Deduction:
    """What was taken off for one kind of finding."""

    points: int
    what: str  # how many there are, and the first of them
    step: str  # what to do about that one


@dataclass(frozen=True, slots=True)
class Health:
    """A memory as it stands."""

    deductions: tuple[Deduction, ...]  # the largest first
    fading: int = 0  # sessions and episodes that a run of gc would let fade
    sources: int = 0  # of so many

    @property
    def score(self) -> int:
        """0 to 100."""
        return max(0, WHOLE - sum(one.points for one in self.deductions))


def examine(environment: Environment) -> Iterator[tuple[str, Check]]:
    """The findings of all checks in order, by their names; where no memory can be opened, of the first alone."""
    yield from _run_check("python and sqlite", lambda: [_platform()])
    yield from _run_check("settings", lambda: _settings(environment))
    try:
        memory = open_memory(environment)
    except OneirosError as error:
        yield "memory", make_failure(_format_error(error), error.remedy)
        return
    with memory:
        checks: dict[str, Callable[[], Iterable[Check]]] = {
            "memory": lambda: [_files(memory)],
            "state": lambda: _state(memory),
            "model": lambda: [_model(memory)],
            "language": lambda: [language_check(memory)],
            "ledger": lambda: [_ledger(memory)],
            "disk": lambda: [_disk(environment, memory)],
            "words": lambda: [_words(memory)],
            "meaning": lambda: [_meaning(environment, memory)],
            "read": lambda: [_reading(memory)],
            "git": lambda: [_git(memory)],
            "approval": lambda: _approval(memory),
            "archive": lambda: _archive(environment, memory),
            **{
                name: partial(check, environment, memory.root)
                for part in environment.parts
                for name, check in part.checks
            },
            "claude code": lambda: check_client(
                ClaudeFiles(environment.home, environment.working_folder, environment.claude_folder), memory.root
            ),
        }
        for name, check in checks.items():
            for _, finding in _run_check(name, check):
                yield name, finding if finding.state != "failed" else _judge_failure(memory, name, finding)


def _run_check(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[tuple[str, Check]]:
    try:
        for finding in check():
            yield name, finding
    except OneirosError as error:
        yield name, make_failure(_format_error(error), error.remedy)
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, sqlite3.Error) and is_locked(error):
            what = f"another process writes just now, so this was not proved ({error})"
            yield name, warning(what, "oneiros doctor, when that one is done")
            return
        refusal = find_refusal(error, None)
        yield name, make_failure(str(error), refusal.remedy if refusal else f"Run `{REBUILD}`; it loses no knowledge")


def _judge_failure(memory: Memory, name: str, finding: Check) -> Check:
    """What failed; where nobody may write, or another process writes the indices just now, that proves nothing."""
    if is_read_only(memory.root.derived_folder):
        return warning(f"the memory can only be read, so this was not proved ({finding.detail})", "Look at its rights")
    if name in OF_INDICES and _is_written(memory):
        return warning(
            f"an index run is under way ({finding.detail})", "Ask again when `oneiros status` says it is done"
        )
    return finding


def _is_written(memory: Memory) -> bool:
    """Whether another process writes the indices just now; not where they are too damaged to tell."""
    with suppress(OneirosError):
        is_at_it = memory.upkeep.changes().unfinished or memory.upkeep.is_embedding()
        return bool(memory.owner() and not memory.indices.is_owner and is_at_it)
    return False


def _format_error(error: OneirosError) -> str:
    return f"{error.where}: {error.what}" if error.where is not None else error.what


def _platform() -> Check:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table t using fts5(x, tokenize='porter unicode61 remove_diacritics 2')")
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        return make_failure(f"SQLite {sqlite3.sqlite_version}", f"Use a Python with SQLite {least}")
    python = ".".join(map(str, sys.version_info[:3]))
    return ok(f"Python {python}, SQLite {sqlite3.sqlite_version} with FTS5")


def _settings(environment: Environment) -> Iterator[Check]:
    where = environment.person_file if environment.person_file.exists() else "defaults"
    yield ok(f"{where}; {len(environment.person.trusted_roots)} trusted memories")
    if ignored := environment.choice.ignored:
        yield ok(f"{ignored} answers nothing here, it may be somebody else's; if it is to: oneiros trust {ignored}")


def _state(memory: Memory) -> Iterator[Check]:
    yield ok(str(memory.root.state))
    for folder, path in states_without_root(memory.root.states):
        what = f"{folder} is of a memory that is no longer at {path}"
        yield warning(what, "Open that memory where it lies now, or remove the folder")


def _files(memory: Memory) -> Check:
    is_level = memory.upkeep.changes().is_empty  # a run that is due writes the pointers too, and is told as such
    problems = [one for one in memory.validate() if is_level or one.rule != ValidationRule.TOPIC_UNLISTED]
    if problems:
        return warning(
            f"{memory.root.path}: {plural(len(problems), 'problem')}, first {problems[0]}", "oneiros validate"
        )
    return ok(f"{memory.root.path}: every file is as it should be")


def _model(memory: Memory) -> Check:
    near, other, far = (
        one.vector
        for one in memory.engine().embed(["The cat sat on the mat.", "A cat is sitting on a mat.", "Tax law of 1923."])
    )
    name = f"{memory.model.card.name}, {memory.model.reason}"
    if abs(float(np.linalg.norm(near)) - 1) > 1e-3 or float(near @ other) <= float(near @ far):
        return make_failure(f"{name}: its vectors make no sense", "oneiros init --download, or reinstall")
    return ok(f"{name}: embeds, {len(near)} dimensions{_other_model(memory)}")


def _other_model(memory: Memory) -> str:
    """What to try in the place of the packaged model, and how; empty where another one was chosen."""
    if memory.model.card.name != PACKAGED_MODEL:
        return ""
    card = memory.catalogue.card(DEFAULT_MODEL)
    fetch = "" if memory.catalogue.here(card) else f"{make_download_command(card)}, then "
    return f"; {card.name} may answer better: {fetch}oneiros model --try {card.name}"


def language_check(memory: Memory) -> Check:
    """Whether the model reads the language that most of the memory is in."""
    language = detect_language(passage for _, passage in memory.indices.ledger.sample(LANGUAGE_SAMPLE))
    card, name = memory.model.card, NAMES.get(language, "")
    if not language or reads(card, language):
        return ok(f"{card.name} reads {name}" if language else "it cannot be told from what is indexed")
    fit = memory.catalogue.find_smallest(language)
    what = f"most of this memory is {name}, which {card.name} was not trained on: it finds little by meaning"
    if fit is None:
        return warning(what, "oneiros model --list, and add one that reads it: oneiros model --add FOLDER")
    fetch = "" if memory.catalogue.here(fit) else f"{make_download_command(fit)}, then "
    return warning(what, f"{fetch}oneiros model --try {fit.name}, then oneiros model {fit.name}")


def _ledger(memory: Memory) -> Check:
    if problems := memory.inspect().damage():
        return make_failure(problems[0], REBUILD)
    return ok("whole, and the keyword index agrees with the text")


def _disk(environment: Environment, memory: Memory) -> Check:
    changes = memory.upkeep.changes()
    if behind := count_skipped(one for one in memory.upkeep.list_skipped(changes) if one.kind in UNINDEXED):
        return _judge_behind(environment, memory, behind)
    return ok(f"{plural(changes.unchanged, 'file')}, all indexed as they are")


def _words(memory: Memory) -> Check:
    if unfound := memory.inspect().unfound(SAMPLE):
        return make_failure(f"{unfound} passages are not found by their words", REBUILD)
    return ok("sampled passages are found by their own words")


def _meaning(environment: Environment, memory: Memory) -> Check:
    counts = memory.inspect().counts()
    if left := max(0, counts["searchable"] - counts["semantic"]):
        return _judge_behind(environment, memory, f"{left} passages are not indexed by meaning yet")
    found = _compare_indices(environment, memory)
    if found is None:
        return warning("another process owns the semantic index, so it was not compared", "")
    if found.wrong:
        return make_failure(f"{found.wrong} passages differ between ledger and semantic index", REBUILD)
    if found.unreached:
        return make_failure(f"{found.unreached} of {SAMPLE} vectors do not find themselves", REBUILD)
    by = "a scan, without a daemon"
    with suppress(DaemonLost):
        by = Client.of(environment).ask("GET", "/api/indexing")["semantic"]
    sampled = ", and sampled ones find themselves" if by == "ChromaDB" else ""  # there is nothing to ask without it
    return ok(f"all {found.held} vectors are held{sampled}; answered by {by}")


def _judge_behind(environment: Environment, memory: Memory, behind: str) -> Check:
    """What is not indexed yet; nothing is wrong where another process is at it, as far as that one says."""
    if memory.indices.is_owner or not (owner := memory.owner()):
        return warning(behind, "oneiros reindex")
    with suppress(DaemonLost):
        state = Client.of(environment).ask("GET", "/api/indexing")
        if state["error"] or state["paused"]:
            return warning(behind, "oneiros model --resume" if state["paused"] else "oneiros status says why")
    return ok(f"{behind}; {owner} is at it")


def _compare_indices(environment: Environment, memory: Memory) -> Comparison | None:
    """The comparison by whoever owns the root: this process, or the daemon; None where neither does."""
    with suppress(NotOwner):
        memory.own()
        return memory.inspect().compare_indices(SAMPLE)
    with suppress(DaemonLost):
        found = Client.of(environment).ask("GET", f"/api/compare?sample={SAMPLE}")
        return Comparison(found["held"], found["wrong"], found["unreached"])
    return None


def _reading(memory: Memory) -> Check:
    unreadable = 0
    for head in topic_heads(memory.root):
        try:
            read_lines(memory.root, head.path, 1, None)  # as `read` does; a check is no use of a topic
        except ContentError:
            unreadable += 1
    if unreadable:
        return warning(f"{unreadable} topics cannot be read", "oneiros validate")
    return ok("every topic can be read back")


def _git(memory: Memory) -> Check:
    """Whether what is decided would be committed now."""
    path = memory.root.path
    if not memory.person.dream_commit:
        return ok("what you decide is not committed: dream_commit is false")
    require_git(path)
    repository = find_repository(path)
    if repository is None:
        return warning(
            "what you decide is not committed: no git repository is there", f"git init {shlex.quote(str(path))}"
        )
    require_rest(repository)
    return ok("what you decide is committed" + ("" if repository.head() else "; nothing is yet"))


def _approval(memory: Memory) -> Iterator[Check]:
    """Whether a person has answered for every approved file as it stands, the chain of decisions is whole, and a
    decision could be committed.
    """
    found, unsigned = build_decisions(memory.root, memory.person).doubts()
    chain = [Doubt(unsigned.trouble, ASK_AGAIN)] if unsigned.trouble else []
    left = doubts_of_git(memory.root, memory.person.signing_key) if memory.person.dream_commit else []
    doubts = [*doubts_in_words(found), *chain, *left]
    if not doubts:
        yield ok("every approved file is as you accepted, adopted or committed it")
    yield from (warning(doubt.what, doubt.step) for doubt in doubts)
    if repository := find_repository(memory.root.path):
        repository.require_unfiltered([*list_approved_files(memory.root)])


def _archive(environment: Environment, memory: Memory) -> Iterator[Check]:
    """Whether sessions of this machine would be lost when the client cleans up."""
    left = waiting(environment, memory.root, now())
    skipped = list_skipped(environment, memory.root, left)
    lines = [one for one in skipped if one.kind is SkipKind.LINE]  # there is nothing to mend
    closed = [one for one in skipped if one.kind not in (SkipKind.LINE, SkipKind.WAITING)]
    if left.not_archived:
        count = plural(left.not_archived, "transcript")
        yield warning(f"{count} not archived yet, {left.expiring} expiring this week", "oneiros ingest")
    if closed:
        first = next((f"; first {escape_line(one.where)}" for one in closed if one.where), "")
        yield warning(f"{count_skipped(closed)}{first}", f"oneiros {closed[0].remedy}")
    if not left.not_archived and not closed:
        left_out = f", but {left.left_out} that you left out" if left.left_out else ""
        lost = f"; {count_skipped(lines)}, first {escape_line(lines[0].where)}" if lines else ""
        held = plural(len(open_archive(memory.root).session_ids()), "session")
        yield ok(f"{held}; none of {left.of} is missing{left_out}{lost}")


def measure_health(environment: Environment) -> Health:
    """The findings of doctor, validate and report as a score, and what gc would do; nothing is written.

    Raises as `open_memory` does.
    """
    with open_memory(environment) as memory:
        problems, findings = memory.validate(), make_review(memory).findings
        plan = memory.aging().plan(count_citations(memory.root), GcWanted(fade_days=memory.person.fade_days))
    taken = list_deductions(list(examine(environment)), problems, findings)
    return Health(taken, len(plan.changes), len(plan.steps))


def list_deductions(
    checks: Sequence[tuple[str, Check]], problems: Sequence[Problem], findings: Sequence[Finding]
) -> tuple[Deduction, ...]:
    """What is taken off for findings of doctor, validate and report, the largest first; nothing counts twice."""
    found = list(_list_findings(checks, problems, findings))
    taken = []
    for kind, (each, most) in COSTS.items():
        if mine := [(what, step) for its, what, step in found if its == kind]:
            what = shorten_text(escape_line(f"{len(mine)} {kind}: {mine[0][0]}"), REASON_CHARS)
            taken.append(Deduction(min(each * len(mine), most), what, escape_line(mine[0][1])))
    return tuple(sorted(taken, key=lambda one: -one.points))


def _list_findings(
    checks: Sequence[tuple[str, Check]], problems: Sequence[Problem], findings: Sequence[Finding]
) -> Iterator[tuple[str, str, str]]:
    """Each finding once: its kind, what it is, what to do."""
    for name, check in checks:
        if check.state == "failed":
            yield "failed checks", f"{name}: {check.detail}", check.repair
        elif check.state == "warning" and name == "approval":
            yield "doubts about approved files", check.detail, check.repair
        elif check.state == "warning" and name not in NAMED_ELSEWHERE:
            yield "warnings", f"{name}: {check.detail}", check.repair
    for problem in problems:
        if problem.rule != ValidationRule.POINTER_DEAD:  # of Concern.LINKS
            yield "problems of files", f"{problem.path}:{problem.line}: {problem.what}", problem.remedy
    for finding in findings:
        yield finding.part, f"{finding.place}: {finding.what}" if finding.place else finding.what, finding.step
