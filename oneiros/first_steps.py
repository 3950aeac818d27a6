"""What this machine holds that a memory does not know yet, and the commands that bring it in, in their order."""

import datetime as dt
import os
from dataclasses import dataclass

from crawler.archive.waiting import Waiting
from memory_server.embedding.workers import WorkerPlan
from memory_server.escaping import plural
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.settings import count_uncompressed_sessions, waiting

# What was measured on idle cores with the packaged model; `about`, since machines and transcripts differ.
START_SECONDS = 5.0
INGEST_SECONDS_A_MB = 0.5
WORDS_SECONDS_A_MB = 0.7  # until all sessions are found by their words
VECTORS_SECONDS_A_MB = 5.1  # of one worker: 80 passages, of which it embeds 15.7 a second
DREAM_SECONDS_A_MB = 0.3
IMPORT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class FirstStep:
    """One command of the first day."""

    command: str  # behind `oneiros`
    what: str
    seconds: float  # about


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What was found, in a sentence, and what to do with it."""

    found: str
    steps: tuple[FirstStep, ...]


def first_steps(
    environment: Environment, root: MemoryRoot, moment: dt.datetime, load: float = 0.0
) -> FirstSteps | None:
    """The steps on this machine; None where nothing waits. `load`: processes that already run, on average."""
    left, uncompressed = waiting(environment, root, moment), count_uncompressed_sessions(environment, root, moment)
    taken_in = not left.not_archived and not uncompressed
    archived = root.path / "sessions" / "archive" / "sessions"
    if taken_in and ((root.path / "proposals").is_dir() or not any(archived.glob("*.json"))):
        return None
    person = environment.person
    workers = len(WorkerPlan.of_settings(person.embedding_share, person.embedding_cores).cores)
    share = min(1.0, (os.cpu_count() or 1) / (load + workers))  # of a core, that a worker gets
    megabytes = left.bytes / 1e6 / share
    ingest_seconds = START_SECONDS + INGEST_SECONDS_A_MB * megabytes
    words_seconds = ingest_seconds + START_SECONDS + WORDS_SECONDS_A_MB * megabytes
    vectors_seconds = words_seconds + VECTORS_SECONDS_A_MB * megabytes / workers
    dream_seconds = START_SECONDS + DREAM_SECONDS_A_MB * megabytes
    found = f"by words after {duration_text(words_seconds)}, by meaning after {duration_text(vectors_seconds)}"
    ingest_step = (FirstStep("ingest --no-wait", f"archive and compress them; they are found {found}", ingest_seconds),)
    steps = (
        FirstStep("import", "what you wrote down: CLAUDE.md, AGENTS.md, rules, ADRs of these projects", IMPORT_SECONDS),
        FirstStep("dream", "what you said that is worth keeping", dream_seconds),
    )
    if taken_in:
        return FirstSteps("Nothing was proposed of your sessions yet.", steps)
    rest = f"{plural(uncompressed, 'session')} not compressed yet."
    return FirstSteps(_format_waiting(left) if left.not_archived else rest, (*ingest_step, *steps))


def tell_waiting(environment: Environment, root: MemoryRoot) -> str:
    """What waits for a memory that is not there yet."""
    left = waiting(environment, root, now())
    return _format_waiting(left) if left.not_archived else "makes one of your own"


def _format_waiting(left: Waiting) -> str:
    """`158 transcripts in 8 folders, 122 MB; Claude Code deletes 12 of them this week.`"""
    folders = f"{left.folders} folder{'s' * (left.folders != 1)}"
    held = f"{left.not_archived} transcript{'s' * (left.not_archived != 1)} in {folders}, {left.bytes / 1e6:.1f} MB"
    ends = f"Claude Code deletes {left.expiring} of them this week" if left.expiring else "none expires this week"
    return f"{held}; {ends}."


def duration_text(seconds: float) -> str:
    """`40 s`, or `3 min` from a minute and a half on."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(10, round(seconds, -1)):.0f} s"
