"""What the page may know and ask of this process: its jobs, what was spent, trainers and settings."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memory_server.errors import UsageError
from memory_server.memory import Memory
from memory_server.settings import PersonSettings, read_person_settings
from memory_server.settings_file import change_setting, parse_setting
from oneiros.chatting import chat_on
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.standing import standing
from oneiros.environment import Environment, now
from oneiros.ingest.settings import spending
from oneiros.ingest.trainer_client import TrainerClient, TrainerUnreachable, fetched, machines_of
from oneiros.light.person_only import PERSON_SETTINGS
from page.served import Running


def running_on(environment: Environment, memory: Memory, indexer: IndexRuns) -> Running:
    """All of it, for the daemon of one memory."""
    return Running(
        standing=partial(standing, environment, memory),
        indexing=indexer.state,
        poke=indexer.poke,
        chat=lambda: chat_on(replace(environment), memory.root, memory.search),
        spent=lambda: spending(environment, memory.root, now()).spent_today().usd,
        trainers=lambda: [machine.name for machine in machines_of(environment.variables)],
        trainer=partial(look_at, environment),
        settings=lambda: read_person_settings(environment.person_file),
        settings_file=environment.person_file,
        person_settings=PERSON_SETTINGS,
        change=partial(change, environment),
    )


def look_at(environment: Environment, name: str) -> Mapping[str, Any]:
    """One look at a trainer; of one that does not answer, why."""
    machine = next((one for one in machines_of(environment.variables) if one.name == name), None)
    if machine is None:
        raise UsageError(f"there is no trainer {name[:40]!r}", remedy="ONEIROS_TRAINER_URLS names them")
    nothing = {"training": None, "gpu": None, "inference": None, "log": ""}
    try:
        seen = TrainerClient([machine]).status(machine)
        return {"name": name, "url": machine.url, "error": "", **seen, "log": fetched(machine, "/log/tail")["text"]}
    except TrainerUnreachable as error:
        return {"name": name, "url": machine.url, "error": str(error), **nothing}


def change(environment: Environment, key: str, typed: str) -> None:
    """Sets what decides nothing of what is read, run, sent or paid."""
    if key in PERSON_SETTINGS:
        raise UsageError(f"{key} is changed at a terminal alone", remedy=f"oneiros config {key} VALUE")
    change_setting(environment.person_file, key, parse_setting(PersonSettings, key, typed), follow=True)
