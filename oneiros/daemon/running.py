"""What the page may know and ask of this process: its jobs, what was spent, and trainers."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from memory_server.errors import UsageError
from memory_server.memory import Memory
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.status import read_status
from oneiros.environment import Environment, now
from oneiros.ingest.settings import spending
from oneiros.ingest.trainer_client import TrainerClient, TrainerUnreachable, fetch_json, find_machines, parse_machines
from oneiros.served import Running


def build_running(environment: Environment, memory: Memory, indexer: IndexRuns) -> Running:
    """All of it, for the daemon of one memory."""
    return Running(
        environment=environment,
        status=partial(read_status, environment, memory),
        indexing=indexer.state,
        poke=indexer.poke,
        spent=lambda: spending(environment, memory.root, now()).spent_today().usd,
        trainers=lambda: [machine.name for machine in find_machines(environment.variables)],
        trainer=partial(inspect_trainer, environment),
    )


def inspect_trainer(environment: Environment, name: str) -> Mapping[str, Any]:
    """One look at a trainer; of one that does not answer, why."""
    machine = next((one for one in parse_machines(environment.variables) if one.name == name), None)
    if machine is None:
        raise UsageError(f"there is no trainer {name[:40]!r}", remedy="ONEIROS_TRAINER_URLS names them")
    nothing = {"training": None, "gpu": None, "inference": None, "log": ""}
    try:
        seen = TrainerClient([machine]).status(machine)
        return {"name": name, "url": machine.url, "error": "", **seen, "log": fetch_json(machine, "/log/tail")["text"]}
    except TrainerUnreachable as error:
        return {"name": name, "url": machine.url, "error": str(error), **nothing}
