"""How a memory stands, as `status` tells it: gathered by the daemon, or by the command where none runs."""

import dataclasses
from collections import Counter
from typing import Any

from dream.decisions.approvals import read_approvals
from dream.decisions.repository import find_repository
from dream.proposals.rendering import waiting_for_person
from dream.proposals.store import ProposalStore
from dream.records import State
from memory_server.errors import OneirosError
from memory_server.escaping import plural
from memory_server.faces.memory_text import status_json
from memory_server.layers.blackboard import Blackboard
from memory_server.layers.lessons import read_lessons
from memory_server.layers.topics import is_topic, topic_heads
from memory_server.memory import Memory
from memory_server.root.forgetting import sessions_to_forget
from memory_server.root.places import require_memory
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.environment import Environment, now
from oneiros.hooks.receipts import read_receipts
from oneiros.hooks.session_start import say_what_waits
from oneiros.ingest.readings import find_project, open_readings, reading_states, waiting_projects
from oneiros.ingest.run import other_machines
from oneiros.ingest.settings import count_uncompressed_sessions, list_skipped, open_archive, waiting


def read_status(environment: Environment, memory: Memory) -> dict[str, Any]:
    """The status of the memory, what waits to be archived, read and decided, other machines, jobs, hooks."""
    environment = dataclasses.replace(environment)  # with the settings as they are now
    left, machines = waiting(environment, memory.root, now()), other_machines(environment)
    return {
        **status_json(memory.status(list_skipped(environment, memory.root, left))),
        "not_archived": left.not_archived,
        "expiring": left.expiring,
        "archive_of": left.of,
        "left_out": left.left_out,
        "waiting": [
            *_list_conflicts(memory),
            *_list_unforgotten(memory),
            *_list_uncompressed(environment, memory),
            *_list_waiting(environment, memory),
            *_list_first_steps(memory),
        ],
        "readings": reading_states(environment, memory.root, now()),
        "machines": machines.machines_json(environment, memory.root, now()) if machines else [],
        "schedule": [dataclasses.asdict(job) for job in read_states(schedule_file(memory.root))],
        "notes": [dataclasses.asdict(note) for note in Blackboard(memory.root).list_notes(now())],
        "hooks": [dataclasses.asdict(receipt) for receipt in read_receipts(memory.root.sessions_database)],
    }


def _list_unforgotten(memory: Memory) -> list[str]:
    """What a forgetting that was interrupted has left to do."""
    left = sorted(sessions_to_forget(memory.root))
    return [f"{plural(len(left), 'session')} not forgotten whole yet: oneiros forget {left[0][:8]}"] if left else []


def _list_conflicts(memory: Memory) -> list[str]:
    """A merge or rebase that the person has not finished, in so many files."""
    repository = find_repository(memory.root.path)
    what = repository.under_way() if repository is not None else ""
    if not what or repository is None:
        return []
    count = len(repository.list_conflicts())
    where = f" in {plural(count, 'file')}" if count else ""
    return [f"{what} is under way{where}, finish it: oneiros validate"]


def _list_uncompressed(environment: Environment, memory: Memory) -> list[str]:
    """What an ingest that was interrupted has left to do."""
    count = count_uncompressed_sessions(environment, memory.root, now())
    return [f"{plural(count, 'session')} not compressed yet: oneiros ingest"] if count else []


def _list_waiting(environment: Environment, memory: Memory) -> list[str]:
    """What waits for the person to decide. It is looked up without the lock of decisions, which a backup may hold."""
    proposed = sum(hunk.state is State.PENDING for hunk in ProposalStore(memory.root).hunks())
    try:
        unexplained = read_approvals(memory.root, environment.person.signing_key).find_unexplained()
    except (OneirosError, OSError):
        unexplained = []  # `doctor` says why
    return [waits] if (waits := say_what_waits(proposed, unexplained)) else []


def _list_first_steps(memory: Memory) -> list[str]:
    """What of the first day is left once sessions were taken in, as long as nothing was ever proposed."""
    archived = open_archive(memory.root).folder / "sessions"
    if (memory.root.path / "proposals").is_dir() or not any(archived.glob("*.json")):
        return []
    return [
        "what you wrote down in CLAUDE.md, rules and ADRs is not offered yet: oneiros import",
        "what you said that is worth keeping is not proposed yet: oneiros dream",
    ]


def project_status(environment: Environment, project: str) -> dict[str, Any]:
    """What the memory holds of one project, and what waits of it, from its files alone."""
    root = require_memory(environment.choice.root)
    readings, store = open_readings(root), ProposalStore(root)

    def is_ours(name: str) -> bool:
        return name.casefold() == project.casefold()

    records = [record for record in open_archive(root).records() if is_ours(find_project(record))]
    known = [readings.load(record.session_id) for record in records]
    hunks = [hunk for hunk in store.hunks() if is_ours(hunk.update.candidate.project)]
    unread = waiting_projects(environment, root) if environment.person.reader != "rules" else Counter()
    return {
        "project": project,
        "topics": sum(is_topic(head.path) and is_ours(head.project) for head in topic_heads(root)),
        "lessons": sum(is_ours(lesson.project) for lesson in read_lessons(root)),
        "sessions": len(records),
        "last_session": max((record.ended for record in records), default=""),
        "by_model": sum(reading is not None and reading.is_by_model for reading in known),
        "waiting": sum(count for name, count in unread.items() if is_ours(name)),
        "proposed": len(waiting_for_person(hunks)),
        "queued": sum(hunk.state is State.QUEUED for hunk in hunks),
    }
