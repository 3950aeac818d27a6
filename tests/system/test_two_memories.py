"""A project's daemon and the account's: asked together, each with its own memory, and able to do without the other."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from memory_server.root.paths import MemoryRoot
from oneiros.client import Client
from oneiros.daemon.sockets import end_daemon
from oneiros.light.endpoint import daemon_state, is_running, states_folder
from parts.two_memories.door import ACCOUNT_MISSING, LATE
from tests.memories import new_root, write_topic
from tests.system.house import House, wait_until

QUESTION = "which port does the backup server listen on"


class Account:
    """The account's memory beside the house's, which is trusted, and its daemon."""

    def __init__(self, house: House):
        folder = new_root(house.folder / ".oneiros" / "memory").path
        self.root = MemoryRoot(folder, Path(states_folder(house.variables)))
        self.client = Client({key: value for key, value in house.variables.items() if key != "ONEIROS_ROOT"}, folder)
        write_topic(folder, "backup", "# Backup\n\nThe backup server listens on port 8443.\n")
        house.settle(trusted_roots=[str(house.root)])
        self.serve()

    def serve(self) -> None:
        """Starts the daemon and waits until it can answer."""
        self.client.start()
        wait_until(lambda: self.client.ask("GET", "/api/indexing")["runs"] > 0)
        wait_until(lambda: self.client.ask("GET", "/health")["status"] == "ok")

    def tell(self, number: signal.Signals) -> None:
        """Sends its daemon a signal."""
        process = daemon_state(str(self.root.state))["pid"]
        assert isinstance(process, int)
        os.kill(process, number)

    def is_running(self) -> bool:
        return is_running(str(self.root.path))


def in_time(ask: Callable[[], str]) -> str:
    """An answer with the account's in it; on a late machine that may come too late, which is told, and it is asked
    again.
    """
    answers: list[str] = []

    def has_come() -> bool:
        answers.append(ask())
        return LATE not in answers[-1]

    wait_until(has_come)
    return answers[-1]


def recalled(house: House) -> str:
    """What the command line answers to the question, with all that it tells beside it."""
    done = house.command("recall", QUESTION)
    return done.stdout + done.stderr


@pytest.fixture
def account(house: House) -> Iterator[Account]:
    found = Account(house)
    house.warm_up()
    yield found
    if found.is_running():
        found.tell(signal.SIGCONT)
        end_daemon(found.root)


def test_a_client_is_answered_from_both_and_reads_on_in_either(house: House, account: Account) -> None:
    relay = house.relay().initialize()

    tools = ("recall", "search_memory", "search_exact")
    found = {tool: in_time(partial(relay.text, tool, query="port backup server")) for tool in tools}
    answer = account.client.ask("GET", "/api/queries")["queries"]

    assert all("account | topic (rank 1) | Backup |" in text for text in found.values())
    assert found["recall"].startswith("1. account | ")
    relays_port = in_time(partial(relay.text, "recall", query="which port does the relay listen on"))
    assert "1. project " in relays_port
    assert "port 8443" in relay.text("read_memory", name="account:topics/backup.md")
    assert "port 2525" in relay.text("read_memory", name="topics/mail.md")
    assert "no source named" in str(relay.call("read_memory", name="account:../../memory/topics/mail.md"))
    assert answer == []
    assert house.client.ask("POST", "/api/recall", {"query": QUESTION})["hits"][0]["memory"] == ""


def test_the_projects_answer_comes_where_the_accounts_daemon_hangs(house: House, account: Account) -> None:
    account.tell(signal.SIGSTOP)

    found = house.command("recall", "which port does the relay listen on")

    assert "topics/mail.md" in found.stdout
    assert ACCOUNT_MISSING % LATE in found.stderr
    account.tell(signal.SIGCONT)
    assert "account:topics/backup.md" in in_time(partial(recalled, house))


def test_a_daemon_of_the_accounts_that_was_killed_is_started_again(house: House, account: Account) -> None:
    account.tell(signal.SIGKILL)
    wait_until(lambda: not account.is_running())

    house.command("recall", QUESTION)  # which starts it, and may not wait for it
    account.serve()

    assert "account:topics/backup.md" in in_time(partial(recalled, house))


def test_the_accounts_memory_is_told_to_no_memory_that_is_not_trusted(house: House, account: Account) -> None:
    assert "8443" in in_time(partial(recalled, house))

    house.settle(trusted_roots=[])
    wait_until(lambda: "8443" not in house.command("recall", QUESTION, check=False).stdout)

    found = house.client.ask("POST", "/api/recall", {"query": QUESTION, "both": True})
    assert [hit for hit in found["hits"] if hit["memory"]] == []
    assert "no source named" in house.command("read", "account:backup", check=False).stderr
