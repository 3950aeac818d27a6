"""How a memory stands, as `status` tells it: gathered by the daemon, or by the command where none runs."""

import dataclasses
from typing import Any

from dream.decisions.approvals import read_approvals
from dream.proposals.store import ProposalStore
from dream.records import State
from memory_server.errors import OneirosError
from memory_server.escaping import plural
from memory_server.faces.memory_text import status_json
from memory_server.layers.blackboard import Blackboard
from memory_server.memory import Memory
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.environment import Environment, now
from oneiros.hooks.receipts import read_receipts
from oneiros.hooks.review import say_what_waits
from oneiros.ingest.readings import reading_states
from oneiros.ingest.run import other_machines
from oneiros.ingest.settings import count_uncompressed_sessions, list_skipped, waiting


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
        "waiting": [*_list_uncompressed(environment, memory), *_list_waiting(environment, memory)],
        "readings": reading_states(environment, memory.root, now()),
        "machines": machines.machines_json(environment, memory.root, now()) if machines else [],
        "schedule": [dataclasses.asdict(job) for job in read_states(schedule_file(memory.root))],
        "notes": [dataclasses.asdict(note) for note in Blackboard(memory.root).list_notes(now())],
        "hooks": [dataclasses.asdict(receipt) for receipt in read_receipts(memory.root.sessions_database)],
    }


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
