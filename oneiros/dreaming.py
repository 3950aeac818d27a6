"""dream as this person has set it up: command line and daemon start here, so that they decide on the same things."""

from crawler.archive import Archive
from dream.accept import Decisions
from memory_server.root import MemoryRoot, require_memory
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, now
from oneiros.intake import archive_folder

LEVEL_SECONDS = 30.0  # how long a decision waits until it can be searched for


def decisions_of(environment: Environment) -> Decisions:
    """The decisions on the chosen memory; each is indexed at once."""
    root = require_memory(environment.choice.root)
    return Decisions(root, environment.person, now, level=lambda: bring_level(environment))


def archive_of(root: MemoryRoot) -> Archive:
    return Archive(archive_folder(root))


def bring_level(environment: Environment) -> None:
    """Indexes what was just written: the daemon does it where one runs, this process otherwise."""
    client = Client(environment.variables, environment.choice.root.path)
    try:
        client.ask("POST", "/api/reindex", {"wait_seconds": LEVEL_SECONDS}, seconds=2 * LEVEL_SECONDS)
    except DaemonLost:
        with environment.open_memory() as memory:
            memory.refresh()
