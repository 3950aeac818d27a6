"""`oneiros doctor`: every check proves itself by doing, and names the repair where it cannot."""

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dream.decisions.approvals import doubts_in_words
from memory_server.document import Layer
from memory_server.errors import ContentError, OneirosError
from memory_server.index.indices import NotOwner
from memory_server.inspection import Comparison
from memory_server.layers.validate import ValidationRule
from memory_server.machine.repair import refusal_of
from memory_server.memory import Memory
from memory_server.root.state import states_without_root
from oneiros.claude.checks import check_client
from oneiros.claude.files import ClaudeFiles
from oneiros.client import Client, DaemonLost
from oneiros.dreaming import decisions_on
from oneiros.environment import Environment, now
from oneiros.ingest.chosen import waiting

LEAST_SQLITE = (3, 40, 0)
SAMPLE = 50  # passages that are searched for by themselves


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    check: str
    state: str  # ok, warning, failed
    detail: str
    repair: str = ""


def examine(environment: Environment) -> Iterator[Check]:
    """All checks in order; those that need a memory are left out where none can be opened."""
    yield from _guarded("python and sqlite", _check_platform)
    yield from _guarded("settings", lambda: _check_settings(environment))
    try:
        memory = environment.open_memory()
    except OneirosError as error:
        yield Check("memory", "failed", _told(error), error.remedy)
        return
    checks: list[tuple[str, Callable[[Memory], Iterator[Check]]]] = [
        ("memory", _check_root),
        ("state", _check_state),
        ("model", _check_model),
        ("ledger", _check_ledger),
        ("disk", _check_disk),
        ("words", _check_words),
        ("meaning", lambda memory: _check_meaning(environment, memory)),
        ("read", _check_reading),
        ("approval", _check_approval),
        ("archive", lambda memory: _check_archive(environment, memory)),
        ("claude code", lambda memory: _check_client(environment, memory)),
    ]
    with memory:
        for name, check in checks:
            yield from _guarded(name, lambda check=check: check(memory))  # type: ignore[misc]  # a default binds the loop's value


def _guarded(name: str, check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from check()
    except OneirosError as error:
        yield Check(name, "failed", _told(error), error.remedy)
    except (sqlite3.Error, OSError) as error:
        refusal = refusal_of(error, None)
        repair = refusal.remedy if refusal else "Run `oneiros reindex --rebuild`; it loses no knowledge"
        yield Check(name, "failed", str(error), repair)


def _told(error: OneirosError) -> str:
    return f"{error.where}: {error.what}" if error.where is not None else error.what


def _check_platform() -> Iterator[Check]:
    python = ".".join(map(str, sys.version_info[:3]))
    version = sqlite3.sqlite_version_info
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table t using fts5(x, tokenize='porter unicode61 remove_diacritics 2')")
    if version < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        yield Check(
            "python and sqlite", "failed", f"SQLite {sqlite3.sqlite_version}", f"Use a Python with SQLite {least}"
        )
        return
    yield Check("python and sqlite", "ok", f"Python {python}, SQLite {sqlite3.sqlite_version} with FTS5")


def _check_settings(environment: Environment) -> Iterator[Check]:
    where = environment.person_file if environment.person_file.exists() else "defaults"
    yield Check("settings", "ok", f"{where}; {len(environment.person.trusted_roots)} trusted memories")
    choice = environment.choice
    if choice.ignored:
        yield Check(
            "trust", "warning", f"{choice.ignored} is not trusted and has no effect", f"oneiros trust {choice.ignored}"
        )


def _check_state(memory: Memory) -> Iterator[Check]:
    yield Check("state", "ok", str(memory.root.state))
    for folder, path in states_without_root(memory.root.states):
        what = f"{folder} is of a memory that is no longer at {path}"
        yield Check("state", "warning", what, "Open that memory where it lies now, or remove the folder")


def _check_root(memory: Memory) -> Iterator[Check]:
    is_level = memory.changes().is_empty  # a run that is due writes the pointers too, and is told as such
    problems = [one for one in memory.validate() if is_level or one.rule != ValidationRule.TOPIC_UNLISTED]
    if problems:
        repair = "oneiros validate"
        yield Check("memory", "warning", f"{memory.root.path}: {len(problems)} problems, first {problems[0]}", repair)
    else:
        yield Check("memory", "ok", f"{memory.root.path}: every file is as it should be")


def _check_model(memory: Memory) -> Iterator[Check]:
    near, other, far = (
        one.vector
        for one in memory.engine().embed(["The cat sat on the mat.", "A cat is sitting on a mat.", "Tax law of 1923."])
    )
    length = float(np.linalg.norm(near))
    name = f"{memory.model.card.name}, {memory.model.reason}"
    if abs(length - 1) > 1e-3 or float(near @ other) <= float(near @ far):
        yield Check("model", "failed", f"{name}: its vectors make no sense", "oneiros init --download, or reinstall")
    else:
        yield Check("model", "ok", f"{name}: embeds, {len(near)} dimensions")


def _check_ledger(memory: Memory) -> Iterator[Check]:
    problems = memory.inspect().damage()
    if problems:
        yield Check("ledger", "failed", problems[0], "oneiros reindex --rebuild")
    else:
        yield Check("ledger", "ok", "whole, and the keyword index agrees with the text")


def _check_disk(memory: Memory) -> Iterator[Check]:
    changes = memory.changes()
    if changes.is_empty:
        yield Check("disk", "ok", f"{changes.unchanged} files, all indexed as they are")
    elif not changes.changed and not changes.removed:
        yield Check("disk", "warning", "a run was interrupted or is under way", "oneiros reindex")
    else:
        count = len(changes.changed) + len(changes.removed)
        yield Check("disk", "warning", f"{count} files differ from the indices", "oneiros reindex")


def _check_words(memory: Memory) -> Iterator[Check]:
    if unfound := memory.inspect().unfound(SAMPLE):
        yield Check("words", "failed", f"{unfound} passages are not found by their words", "oneiros reindex --rebuild")
    else:
        yield Check("words", "ok", "sampled passages are found by their own words")


def _check_meaning(environment: Environment, memory: Memory) -> Iterator[Check]:
    counts = memory.inspect().counts()
    if counts["semantic"] < counts["searchable"]:
        left = counts["searchable"] - counts["semantic"]
        yield Check("meaning", "warning", f"{left} passages are not indexed by meaning yet", "oneiros reindex")
        return
    found = _compared(environment, memory)
    if found is None:
        yield Check("meaning", "warning", "another process owns the semantic index, so it was not compared", "")
    elif found.wrong:
        detail = f"{found.wrong} passages differ between ledger and semantic index"
        yield Check("meaning", "failed", detail, "oneiros reindex --rebuild")
    elif found.unreached:
        detail = f"{found.unreached} of {SAMPLE} vectors do not find themselves"
        yield Check("meaning", "failed", detail, "oneiros reindex --rebuild")
    else:
        yield Check("meaning", "ok", f"all {found.held} vectors are held, and sampled ones find themselves")


def _compared(environment: Environment, memory: Memory) -> Comparison | None:
    """The comparison by whoever owns the root: this process, or the daemon; None where neither does."""
    with suppress(NotOwner):
        memory.own()
        return memory.inspect().compared(SAMPLE)
    try:
        found = Client(environment.variables, memory.root.path).ask("GET", f"/api/compare?sample={SAMPLE}")
    except DaemonLost:
        return None
    return Comparison(found["held"], found["wrong"], found["unreached"])


def _check_reading(memory: Memory) -> Iterator[Check]:
    unreadable = []
    for head in memory.topics():
        try:
            memory.read(head.path)
        except ContentError:
            unreadable.append(head.path)
    if unreadable:
        yield Check("read", "warning", f"{len(unreadable)} topics cannot be read", "oneiros validate")
    else:
        yield Check("read", "ok", "every topic can be read back")


def _check_approval(memory: Memory) -> Iterator[Check]:
    """Whether a person has answered for every approved file as it stands."""
    found = decisions_on(memory.root, memory.person).unexplained()
    if not found:
        yield Check("approval", "ok", "every approved file is as you accepted, adopted or committed it")
        return
    for doubt in doubts_in_words(found):
        yield Check("approval", "warning", doubt.what, doubt.step)


def _check_client(environment: Environment, memory: Memory) -> Iterator[Check]:
    """Whether Claude Code loads this memory once and leaves its files alone."""
    for found in check_client(ClaudeFiles(environment.home, environment.working_folder), memory.root):
        yield Check("claude code", found.state, found.detail, found.repair)


def _check_archive(environment: Environment, memory: Memory) -> Iterator[Check]:
    """Whether sessions of this machine would be lost when the client cleans up."""
    left = waiting(environment, memory.root, now())
    kept = memory.status().sources[Layer.RAW]
    if not left.not_archived:
        yield Check("archive", "ok", f"{kept} sessions; none of this machine is missing")
        return
    detail = f"{left.not_archived} transcripts are not archived yet, {left.expiring} of them expire this week"
    yield Check("archive", "warning", detail, "oneiros ingest")
