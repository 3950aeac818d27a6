"""Which models there are, and which one makes the vectors: `model`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from memory_server.errors import NeedsRepair, UsageError
from oneiros.cli.opened import bring_level
from oneiros.cli.terminal.output import AsJson, data, data_json, show_progress, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment
from oneiros.opening import open_memory
from parts.models.choosing import add_model, fetch_model, list_models, show_list, show_tried
from parts.models.trying import try_model


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros model bge-small")(model)


def model(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="the model to change to", show_default=False)] = None,
    all_of_them: Annotated[bool, typer.Option("--list", help="what models there are, and how to get them")] = False,
    add: Annotated[Path | None, typer.Option(help="take in a folder with a model.toml", show_default=False)] = None,
    try_: Annotated[
        str | None, typer.Option("--try", help="compare what it answers to your last 100 questions", show_default=False)
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="fetch NAME from the hub, and switch nothing")] = False,
    pause: Annotated[bool, typer.Option("--pause", help="let the workers rest")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="let them go on")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the embedding model and its progress, or change it.

    The old one serves until the new one is complete. Models of other kinds, which find or rerank beside it, are turned
    on by `oneiros config sparse_model`, `late_model` and `rerank_model`.
    """
    environment: Environment = context.obj
    _require_one(pause=pause, resume=resume, wishes=(all_of_them, add, try_, download), name=name)
    if all_of_them:
        show_list(list_models(environment), as_json=as_json)
    elif add is not None:
        add_model(environment, environment.working_folder / add.expanduser(), as_json=as_json)
    elif try_ is not None:
        with open_memory(environment) as memory, show_progress() as show:
            if behind := bring_level(memory):
                talk(behind)
            found = try_model(memory, try_, show)
        data_json(dataclasses.asdict(found)) if as_json else show_tried(found)
    elif download and name is not None:
        fetch_model(environment, name, as_json=as_json)
    else:
        _show_state(_state(environment, name, pause=pause, resume=resume), as_json=as_json)


def _require_one(*, pause: bool, resume: bool, wishes: tuple[object, ...], name: str | None) -> None:
    if pause and resume:
        raise UsageError("--pause and --resume exclude each other", remedy="Give one of them")
    wanted = [wish for wish in wishes if wish]
    if len(wanted) > 1 or (wanted and (pause or resume)):
        raise UsageError("these options exclude each other", remedy="Give one of them")
    if bool(wishes[-1]) != bool(name) and wanted:
        wish = "names no model" if wishes[-1] else "goes with no name"
        raise UsageError(f"{'--download' if wishes[-1] else 'this option'} {wish}", remedy="See oneiros model --help")


def _state(environment: Environment, name: str | None, *, pause: bool, resume: bool) -> dict[str, Any]:
    """How the model stands after what was asked for, by the daemon where one runs."""
    client = Client.of(environment)
    try:
        if name is not None:
            return client.ask("POST", "/api/model", {"name": name})
        if pause or resume:
            return client.ask("PUT", "/api/embedding", {"paused": pause})
        return client.ask("GET", "/api/indexing")
    except DaemonLost:
        if pause or resume:
            raise NeedsRepair("no daemon runs, so nothing is under way", remedy="Start it: oneiros serve") from None
        with open_memory(environment) as memory, show_progress() as show:
            if name is not None:
                memory.plan_model(name)
            memory.change_model(show)  # one that was begun, too
            files, following = memory.model.card.name, memory.upkeep.next_model
        return {"model": files, "next_model": following, "paused": False, "stage": "idle"}


def _show_state(state: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        data_json(state)
        return
    data(f"model     {state['model']}")
    if state["next_model"]:
        rest = "  (paused)" if state["paused"] else ""
        data(f"next      {state['next_model']}: {state['stage']} {state['progress']} of {state['total']}{rest}")
        talk("The old one answers until it is done.")
