"""`oneiros key passkey`: a passkey that signs decisions on the page, registered with a word from this terminal."""

import time
from typing import Annotated

import msgspec
import typer

from dream.changes import Event
from dream.decisions.passkey import Passkey
from dream.decisions.presence import ask_on_terminal
from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import escape_line
from memory_server.settings import read_person_settings
from memory_server.settings_file import change_setting
from oneiros.cli.consent import ask_person, sign_at_end
from oneiros.cli.serving import daemon_json
from oneiros.cli.terminal.output import data, talk
from oneiros.client import Client
from oneiros.daemon.sockets import end_daemon
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment
from oneiros.light.endpoint import is_running
from parts.page.passkeys.browser import make_origin
from parts.page.passkeys.signing import REGISTRATION_LIFE

USUAL_PORT = 8377
POLL_SECONDS = 0.5
PATH = "/page/passkey"
SAME = "Does the page show the same, and did you make it? Take it up [y,n]? "


def add_commands(group: typer.Typer) -> None:
    """Adds the command below `key`."""
    group.command(epilog="\b\nExample: oneiros key passkey --name laptop")(passkey)


def passkey(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="what it is called: the device that holds it")] = "passkey",
    remove: Annotated[bool, typer.Option("--remove", help="take the one of this name out")] = False,
    port: Annotated[
        int | None,
        typer.Option(help="of the page from now on", min=1024, max=65_535, show_default="that of the settings"),
    ] = None,
) -> None:
    """Register a passkey, which signs what you decide on the page.

    Your device asks for your finger, face or PIN each time.
    """
    environment: Environment = context.obj
    if remove:
        _remove(environment, name)
    else:
        _register(environment, name, port)


def _register(environment: Environment, name: str, port: int | None) -> None:
    decisions = open_decisions(environment)
    if any(one.name == name for one in decisions.chain().passkeys().values()):
        raise UsageError(f"a passkey is called {name!r} already", remedy="Give this one another name with --name")
    talk("A passkey signs what you decide on the page; its device asks for you each time.")
    port = port or (0 if environment.person.http_port else USUAL_PORT)
    if port:
        talk(f"It needs a fixed port: http_port is set to {port}, and the daemon starts anew.")
    consent = ask_person(environment)
    client = _on_fixed_port(environment, port)
    made = _wait_for_passkey(environment, client, name)
    talk(f"Made: {made.fingerprint}, called {made.name}, on {made.origin}.")
    if ask_on_terminal(SAME).strip() not in ("y", "Y"):
        raise UsageError("that was no yes", remedy="No passkey was taken up")
    with sign_at_end(environment, decisions):
        decisions.note_passkey(Event.REGISTERED, made, consent)
    talk("It signs from now on what you decide on the page: `oneiros review --page`.")


def _on_fixed_port(environment: Environment, port: int) -> Client:
    """The daemon on the port that the settings name. `port`: what they are to name; 0 for what they do."""
    root, client = environment.choice.root, Client.of(environment)
    if port:
        change_setting(environment.person_file, "http_port", port, follow=True)
    wanted = read_person_settings(environment.person_file).http_port
    if is_running(str(root.path)) and daemon_json(root)["port"] != wanted:
        end_daemon(root)
    client.start()
    client.ask("GET", "/api/indexing")  # answered when everything behind the socket is up
    if daemon_json(root)["port"] != wanted:
        what, remedy = (
            f"port {wanted} is taken by another program",
            "End it, or set another: `oneiros config http_port`",
        )
        raise NeedsRepair(what, where=environment.person_file, remedy=remedy)
    return client


def _wait_for_passkey(environment: Environment, client: Client, name: str) -> Passkey:
    """The passkey that the person makes on the page whose address is shown."""
    word = client.ask("POST", f"{PATH}/begin", {"name": name})["word"]
    data(f"{make_origin(int(str(daemon_json(environment.choice.root)['port'])))}/passkey#code={word}")
    talk("Open it within two minutes; it works once. Make the passkey there; Ctrl+C gives up.")
    end = time.monotonic() + REGISTRATION_LIFE.total_seconds()
    while time.monotonic() < end:
        if (found := client.ask("POST", f"{PATH}/made", {"word": word})["passkey"]) is not None:
            return msgspec.convert(found, Passkey)
        time.sleep(POLL_SECONDS)
    raise UsageError("no passkey came in time", remedy="Run it again; nothing was taken up")


def _remove(environment: Environment, name: str) -> None:
    decisions = open_decisions(environment)
    found = [one for one in decisions.chain().passkeys().values() if one.name == name]
    if not found:
        raise UsageError(f"no passkey is called {name!r}", remedy="`oneiros key show` names them")
    talk(f"It signs nothing more: {escape_line(name)}, {found[0].fingerprint}. What it has signed stands.")
    consent = ask_person(environment)
    with sign_at_end(environment, decisions):
        decisions.note_passkey(Event.WITHDRAWN, found[0], consent)
    talk("Taken out.")
