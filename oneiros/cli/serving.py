"""The daemon: `serve`, `stop`, `mcp`, and what it does for others: `queries`, `model`, `episode`."""

import dataclasses
import os
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from memory_server.errors import NeedsRepair, UsageError
from memory_server.escaping import shown_line
from memory_server.root import MemoryRoot
from oneiros import daemon, relay
from oneiros.cli.opened import bring_level
from oneiros.cli.output import data, data_json, progress_shown, talk
from oneiros.cli.searching import AsJson
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment
from oneiros.replay import Replay, replay_answers, save_answers
from oneiros.runtime import daemon_state, is_running

END_SECONDS = 20.0


def add_commands(app: typer.Typer, environment: Environment) -> None:
    """Adds the commands of this group."""
    _add_daemon(app, environment)
    _add_queries(app, environment)
    _add_model(app, environment)
    _add_episodes(app, environment)


def _add_daemon(app: typer.Typer, environment: Environment) -> None:
    @app.command(epilog="\b\nExample: claude mcp add oneiros -- oneiros mcp")
    def mcp() -> None:
        """Serve the memory to an MCP client over stdin and stdout; the same as `oneiros-mcp`."""
        relay.serve(str(environment.choice.root.path))

    @app.command(epilog="\b\nExample: oneiros serve")
    def serve(
        foreground: Annotated[bool, typer.Option("--foreground", help="stay here until interrupted")] = False,
        as_json: AsJson = False,
    ) -> None:
        """Start the daemon of the memory, unless it runs; clients start it by themselves."""
        root = environment.choice.root.path
        if foreground:
            if is_running(str(root)):
                talk("It runs already; `oneiros status` shows where.")
                return
            raise typer.Exit(daemon.serve(root))
        client = Client(environment.variables, root)
        client.start()
        client.ask("GET", "/api/indexing")  # the first answer comes when everything behind the socket is up
        state = daemon_json(environment.choice.root)
        if as_json:
            data_json(state)
            return
        data(f"process   {state['pid']}")
        data(f"http      http://127.0.0.1:{state['port']}  (token: {environment.choice.root.token})")

    @app.command(epilog="\b\nExample: oneiros stop")
    def stop() -> None:
        """End the daemon of the memory; what is under way gets its answer first."""
        root = environment.choice.root.path
        if not is_running(str(root)):
            talk("No daemon runs.")
            raise typer.Exit(1)
        process = daemon_state(str(environment.choice.root.state)).get("pid")
        if not isinstance(process, int):
            raise NeedsRepair("the daemon has not said which process it is", where=root, remedy="Try again in a second")
        os.kill(process, signal.SIGTERM)
        end = time.monotonic() + END_SECONDS
        while is_running(str(root)):
            if time.monotonic() > end:
                raise NeedsRepair(f"process {process} does not end", remedy=f"End it with `kill -9 {process}`")
            time.sleep(0.05)
        talk(f"Process {process} has ended.")


def daemon_json(root: MemoryRoot) -> dict[str, object]:
    """The running daemon for programs; all empty where none runs."""
    state = daemon_state(str(root.state)) if is_running(str(root.path)) else {}
    return {key: state.get(key) for key in ("pid", "started", "port", "version", "mcp", "http")}


def _add_queries(app: typer.Typer, environment: Environment) -> None:
    @app.command(epilog="\b\nExample: oneiros queries --without-hits")
    def queries(
        without_hits: Annotated[bool, typer.Option("--without-hits", help="only those that found nothing")] = False,
        limit: Annotated[int, typer.Option("--limit", "-n", help="most questions", min=1, max=1_000)] = 50,
        save: Annotated[Path | None, typer.Option(help="write what they are answered now", show_default=False)] = None,
        replay: Annotated[Path | None, typer.Option(help="compare with answers saved", show_default=False)] = None,
        as_json: AsJson = False,
    ) -> None:
        """Show what was asked, newest first, and whether another search finds what one did not.

        With --save before a change of model or version and --replay after it: what moved.
        """
        if save or replay:
            _replayed(environment, save, replay, as_json=as_json)
            return
        path = f"/api/queries?limit={limit}&compare=true&without_hits={'true' if without_hits else 'false'}"
        try:
            rows = Client(environment.variables, environment.choice.root.path).ask("GET", path)["queries"]
        except DaemonLost:
            with environment.open_memory() as memory:
                rows = memory.logged_queries(without_hits=without_hits, limit=limit, compare=True)
        if as_json:
            data_json({"queries": rows})
            return
        for row in rows:
            others = {name: count for name, count in row.get("others", {}).items() if count}
            hint = f"  ({', '.join(f'{name} finds {count}' for name, count in others.items())})" if others else ""
            data(f"{row['at'][:16]}  {row['tool']:<14} {row['hits']:>3} hits  {row['query']}{hint}")
        empty = sum(row["hits"] == 0 for row in rows)
        talk(f"{len(rows)} questions, {empty} found nothing.")


def _replayed(environment: Environment, save: Path | None, replay: Path | None, *, as_json: bool) -> None:
    with environment.open_memory() as memory:
        bring_level(memory)
        if replay:
            _show_replay(replay_answers(memory, environment.working_folder / replay), as_json=as_json)
        if save:
            talk(f"{save_answers(memory, environment.working_folder / save)} answers saved.")


def _show_replay(found: Replay, *, as_json: bool) -> None:
    if as_json:
        data_json(dataclasses.asdict(found))
        return
    for moved in found.moved:
        data(f"{moved.overlap:.2f}  {moved.tool:<14} {shown_line(moved.query)}")
        for sign, places in (("-", moved.gone), ("+", moved.come)):
            for place in places:
                data(f"      {sign} {shown_line(place)}")
    change = "" if found.model_before == found.model_now else f", {found.model_before} to {found.model_now}"
    talk(
        f"{found.questions} questions{change}: {found.same} with the same hits, {found.same_first} with the same first"
        f" one; {100 * found.overlap:.0f} % of the top hits overlap."
    )


def _add_model(app: typer.Typer, environment: Environment) -> None:
    @app.command(epilog="\b\nExample: oneiros model bge-small")
    def model(
        name: Annotated[str | None, typer.Argument(show_default=False)] = None,
        pause: Annotated[bool, typer.Option("--pause", help="let the workers rest")] = False,
        resume: Annotated[bool, typer.Option("--resume", help="let them go on")] = False,
        as_json: AsJson = False,
    ) -> None:
        """Show the embedding model and its progress, or change it; the old one serves until the new one is complete."""
        if pause and resume:
            raise UsageError("--pause and --resume exclude each other", remedy="Give one of them")
        client = Client(environment.variables, environment.choice.root.path)
        try:
            if name is not None:
                state = client.ask("POST", "/api/model", {"name": name})
            elif pause or resume:
                state = client.ask("PUT", "/api/embedding", {"paused": pause})
            else:
                state = client.ask("GET", "/api/indexing")
        except DaemonLost:
            if pause or resume:
                raise NeedsRepair("no daemon runs, so nothing is under way", remedy="Start it: oneiros serve") from None
            state = _changed_here(environment, name)
        if as_json:
            data_json(state)
            return
        data(f"model     {state['model']}")
        if state["next_model"]:
            rest = "  (paused)" if state["paused"] else ""
            data(f"next      {state['next_model']}: {state['stage']} {state['progress']} of {state['total']}{rest}")


def _changed_here(environment: Environment, name: str | None) -> dict[str, object]:
    """Changes the model without a daemon, with a bar; resumes what was begun where no name is given."""
    with environment.open_memory() as memory, progress_shown() as show:
        if name is not None:
            memory.plan_model(name)
        memory.change_model(show)
        return {"model": memory.model.card.name, "next_model": memory.next_model, "paused": False, "stage": "idle"}


def _add_episodes(app: typer.Typer, environment: Environment) -> None:
    @app.command(epilog="\b\nExample: oneiros episode 'the staging server moved to port 8443' --tag ops")
    def episode(
        text: Annotated[str, typer.Argument(help="the note; - reads it from stdin")],
        title: Annotated[str, typer.Option(help="its title; else its first line")] = "",
        tag: Annotated[list[str] | None, typer.Option(show_default=False)] = None,
        project: Annotated[str, typer.Option(help="the project it belongs to")] = "",
        as_json: AsJson = False,
    ) -> None:
        """Take a note in, with its secrets masked: it can be found, it never decides."""
        note = typer.get_text_stream("stdin").read() if text == "-" else text
        with environment.open_memory() as memory, progress_shown() as show:
            made = memory.add_episode(note, title=title, tags=tag or (), project=project)
            if as_json:
                data_json({"id": made.id, "path": made.path, "title": made.title})
            else:
                data(made.path)  # before anything of the indices may fail: it is taken in
            memory.refresh(show)  # where a daemon owns the root it sees the new file by itself
