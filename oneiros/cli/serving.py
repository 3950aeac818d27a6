"""The daemon: `serve`, `stop`, `mcp`, `open`."""

import sys
import webbrowser
from collections.abc import Mapping
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.root.paths import MemoryRoot
from oneiros.cli.terminal.output import AsJson, data, data_json, talk
from oneiros.client import Client
from oneiros.daemon import main as daemon
from oneiros.daemon.sockets import end_daemon
from oneiros.environment import Environment
from oneiros.light import relay
from oneiros.light.endpoint import daemon_state, is_running

VIEWS = ("overview", "search", "chat", "topics", "sessions", "review", "notes", "settings", "trainers")


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: claude mcp add oneiros -- oneiros mcp")(mcp)
    app.command(epilog="\b\nExample: oneiros serve")(serve)
    app.command(epilog="\b\nExample: oneiros stop")(stop)
    app.command("open", epilog="\b\nExample: oneiros open review")(open_page)


def mcp(context: typer.Context) -> None:
    """Serve the memory to an MCP client over stdin and stdout.

    This is what `oneiros-mcp` runs.
    """
    environment: Environment = context.obj
    relay.serve(str(environment.choice.root.path))


def serve(
    context: typer.Context,
    foreground: Annotated[bool, typer.Option("--foreground", help="stay here until interrupted")] = False,
    as_json: AsJson = False,
) -> None:
    """Start the daemon of the memory, unless it runs.

    Clients start it by themselves.
    """
    environment: Environment = context.obj
    root = environment.choice.root.path
    if foreground:
        if is_running(str(root)):
            talk("It runs already; `oneiros status` shows where.")
            return
        raise typer.Exit(daemon.serve(root))
    client = Client.of(environment)
    client.start()
    client.ask("GET", "/api/indexing")  # the first answer comes when everything behind the socket is up
    state = daemon_json(environment.choice.root)
    if as_json:
        data_json(state)
        return
    data(f"process   {state['pid']}")
    data(f"http      http://127.0.0.1:{state['port']}  (token: {environment.choice.root.token})")


def stop(context: typer.Context) -> None:
    """End the daemon once what is under way is answered."""
    environment: Environment = context.obj
    root = environment.choice.root.path
    if not is_running(str(root)):
        talk("No daemon runs.")
        raise typer.Exit(1)
    process = end_daemon(environment.choice.root)
    talk(f"Process {process} has ended.")


def open_page(
    context: typer.Context,
    view: Annotated[str, typer.Argument(metavar="[VIEW]", help=", ".join(VIEWS))] = VIEWS[0],
) -> None:
    """Open the memory in your browser, or give the link to it.

    The link works once, within two minutes.
    """
    if view not in VIEWS:
        raise UsageError(f"the page has no view {view!r}", remedy=f"Name one of these: {', '.join(VIEWS)}")
    link = page_link(context.obj, view)
    if sys.stdout.isatty() and has_browser(context.obj.variables) and webbrowser.open(link):
        talk("Your browser opens it.")
        return
    data(link)
    talk("Open it within two minutes; it works once.")


def has_browser(variables: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser with a window can be opened where this person sits: not through ssh, nor without a display."""
    if variables.get("SSH_CONNECTION"):
        return False
    return platform in ("darwin", "win32") or bool(variables.get("DISPLAY") or variables.get("WAYLAND_DISPLAY"))


def page_link(environment: Environment, view: str) -> str:
    """An address with a code behind the `#`, which browsers send nowhere."""
    client = Client.of(environment)
    client.start()
    code = client.ask("POST", "/page/code")["code"]  # answered when everything behind the socket is up
    return f"http://localhost:{daemon_json(environment.choice.root)['port']}/{view}#code={code}"


def daemon_json(root: MemoryRoot) -> dict[str, object]:
    """The running daemon for programs; all empty where none runs."""
    state = daemon_state(str(root.state)) if is_running(str(root.path)) else {}
    return {key: state.get(key) for key in ("pid", "started", "port", "version", "mcp", "http", "no_page")}
