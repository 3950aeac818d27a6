"""The daemon: `serve`, `stop`, `mcp`."""

from collections.abc import Mapping
from typing import Annotated

import typer

from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting
from oneiros.cli.terminal.output import AsJson, data, data_json, talk
from oneiros.client import Client
from oneiros.daemon import main as daemon
from oneiros.daemon.sockets import end_daemon
from oneiros.environment import Environment
from oneiros.light import relay
from oneiros.light.endpoint import daemon_state, is_running


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: claude mcp add oneiros -- oneiros mcp")(mcp)
    app.command(epilog="\b\nExample: oneiros serve --port 8400")(serve)
    app.command(epilog="\b\nExample: oneiros stop")(stop)


def mcp(context: typer.Context) -> None:
    """Serve the memory to an MCP client over stdin and stdout.

    This is what `oneiros-mcp` runs.
    """
    environment: Environment = context.obj
    relay.serve(str(environment.choice.root.path))


def serve(
    context: typer.Context,
    foreground: Annotated[bool, typer.Option("--foreground", help="stay here until interrupted")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="your `http_port` from now on", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start the daemon of the memory, unless it runs.

    Clients start it by themselves, and so a port is kept among your settings.
    """
    environment: Environment = context.obj
    root = environment.choice.root.path
    if port is not None:
        taken = daemon_json(environment.choice.root)["port"]  # none while it is just starting
        if port and taken not in (None, port):
            talk("It runs on another port; end it first: oneiros stop")
            raise typer.Exit(1)
        change_setting(environment.person_file, "http_port", port, follow=True)
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
    data(f"http      {daemon_address(state)}  (token: {environment.choice.root.token})")


def stop(context: typer.Context) -> None:
    """End the daemon once what is under way is answered."""
    environment: Environment = context.obj
    root = environment.choice.root.path
    if not is_running(str(root)):
        talk("No daemon runs.")
        raise typer.Exit(1)
    process = end_daemon(environment.choice.root)
    talk(f"Process {process} has ended.")


def page_link(environment: Environment, view: str) -> str:
    """An address with a code behind the `#`, which browsers send nowhere."""
    client = Client.of(environment)
    client.start()
    code = client.ask("POST", "/page/code")["code"]  # answered when everything behind the socket is up
    return f"http://localhost:{daemon_json(environment.choice.root)['port']}/{view}#code={code}"


def daemon_address(state: Mapping[str, object]) -> str:
    """Where the daemon answers, and which port it was to have where that is another program's."""
    taken = f" ({state['taken']} is taken)" if state["taken"] else ""
    return f"http://127.0.0.1:{state['port']}{taken}"


def daemon_json(root: MemoryRoot) -> dict[str, object]:
    """The running daemon for programs; all empty where none runs."""
    state = daemon_state(str(root.state)) if is_running(str(root.path)) else {}
    return {key: state.get(key) for key in ("pid", "started", "port", "version", "mcp", "http", "taken")}
