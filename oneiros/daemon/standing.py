"""How a memory stands, as `status` tells it: gathered by the daemon, or by the command where none runs."""

import dataclasses
from typing import Any

from memory_server.faces.memory_text import status_json
from memory_server.layers.blackboard import Blackboard
from memory_server.memory import Memory
from oneiros.daemon.schedule import read_states, schedule_file
from oneiros.environment import Environment, now
from oneiros.hooks.receipts import read_receipts, receipts_file
from oneiros.ingest.machines import machines_json
from oneiros.ingest.settings import waiting
from oneiros.ingest.typed_lines import recorded


def standing(environment: Environment, memory: Memory) -> dict[str, Any]:
    """The status of the memory, what is not archived or recorded yet, other machines, what jobs did and hooks cost."""
    left = waiting(environment, memory.root, now())
    return {
        **status_json(memory.status()),
        "not_archived": left.not_archived,
        "expiring": left.expiring,
        "recorded": recorded(memory.root, memory.typed_lines) | {"recorder": memory.person.recorder},
        "machines": machines_json(dataclasses.replace(environment), memory.root, now()),
        "schedule": [dataclasses.asdict(job) for job in read_states(schedule_file(memory.root))],
        "notes": [dataclasses.asdict(note) for note in Blackboard(memory.root).told(now())],
        "hooks": [dataclasses.asdict(receipt) for receipt in read_receipts(receipts_file(memory.root))],
    }
