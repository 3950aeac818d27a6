"""How a memory stands, as `status` tells it: gathered by the daemon, or by the command where none runs."""

import dataclasses
from functools import partial
from typing import Any

from memory_server.faces.memory_text import status_json
from memory_server.layers.blackboard import Blackboard
from memory_server.memory import Memory
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.dreaming import build_decisions
from oneiros.environment import Environment, now
from oneiros.hooks.receipts import read_receipts
from oneiros.hooks.review import ReviewNotice
from oneiros.ingest.readings import reading_states
from oneiros.ingest.run import other_machines
from oneiros.ingest.settings import list_skipped, waiting


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
        "waiting": ReviewNotice(partial(build_decisions, memory.root, environment.person)).waiting(),
        "readings": reading_states(environment, memory.root, now()),
        "machines": machines.machines_json(environment, memory.root, now()) if machines else [],
        "schedule": [dataclasses.asdict(job) for job in read_states(schedule_file(memory.root))],
        "notes": [dataclasses.asdict(note) for note in Blackboard(memory.root).list_notes(now())],
        "hooks": [dataclasses.asdict(receipt) for receipt in read_receipts(memory.root.sessions_database)],
    }
