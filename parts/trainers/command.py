"""`oneiros trainer status`: what each trainer machine is doing, once or live."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from memory_server.errors import UsageError, as_sentence, nearest_or
from oneiros.cli.terminal.output import talk
from parts.trainers.client import (
    NO_TRAINER,
    URLS,
    TrainerClient,
    TrainerMachine,
    TrainerUnreachable,
    find_machines,
)

BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 40  # a loss curve fits beside its label on a terminal of 80 columns


def add_commands(app: typer.Typer) -> None:
    """Adds the group."""
    trainers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    trainers.callback()(trainer)
    trainers.command(epilog="\b\nExample: oneiros trainer status desk --once --json")(status)
    app.add_typer(trainers, name="trainer", epilog="\b\nExample: oneiros trainer status --once")


def trainer() -> None:
    """Watch the trainers that serve a model of this memory.

    $ONEIROS_TRAINER_URLS names them.
    """


def status(
    names: Annotated[list[str] | None, typer.Argument(help="Machines by name; all where none is given.")] = None,
    host: Annotated[str, typer.Option(help="A machine that the setting does not name, such as http://gpu:3011.")] = "",
    once: Annotated[bool, typer.Option("--once", help="Print one look and end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, or one a look; implies no drawing.")
    ] = False,
    every: Annotated[float, typer.Option("--every", "--interval", min=0.2, help="Seconds between looks.")] = 0.5,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
) -> None:
    """Progress, loss, rates, card and loaded model of each machine.

    At a terminal it asks which one, where there are several and none is named.
    Ends with 0 when every machine answers, with 1 when one does not.
    """
    variables = {**os.environ, URLS: host} if host else os.environ
    console = Console(no_color=no_color or None, highlight=False)
    is_drawn = console.is_terminal and not as_json and not once
    machines = choose_by_name(find_machines(variables), names or [])
    if not machines and not as_json:
        talk(as_sentence(NO_TRAINER))
        raise typer.Exit(1)
    if is_drawn and not names and len(machines) > 1 and sys.stdin.isatty():
        machines = choose_at_terminal(machines)
    client = TrainerClient(machines)
    if once or (not console.is_terminal and not as_json):
        seen = look(client)
        if as_json:
            typer.echo(json.dumps(seen, ensure_ascii=False))
        else:
            console.print(draw_machines(seen))
        raise typer.Exit(0 if seen["machines"] and all(machine["reachable"] for machine in seen["machines"]) else 1)
    try:
        watch(client, console, every, as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def choose_by_name(machines: Sequence[TrainerMachine], names: Sequence[str]) -> list[TrainerMachine]:
    """The machines of these names, in the order of the setting. Raises UsageError for a name it does not hold."""
    known = {machine.name for machine in machines}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"there is no trainer {unknown[0]!r}",
            remedy=nearest_or(f"Known are {', '.join(sorted(known))}" if known else NO_TRAINER, unknown[0], known),
        )
    return [machine for machine in machines if not names or machine.name in names]


def choose_at_terminal(machines: list[TrainerMachine]) -> list[TrainerMachine]:
    """Those that the person chooses by number or name; all where they only press Enter."""
    for number, machine in enumerate(machines, start=1):
        talk(f"{number}  {machine.name}  {machine.url}")
    known = {str(number): machine for number, machine in enumerate(machines, start=1)}
    known |= {machine.name: machine for machine in machines}
    typed = typer.prompt("Which one (Enter: all)", default="", show_default=False, err=True).strip()
    return [known[typed]] if typed in known else choose_by_name(machines, [typed] if typed else [])


def watch(client: TrainerClient, console: Console, seconds: float, *, as_json: bool) -> None:
    """Look again and again until interrupted."""
    if as_json:
        while True:
            typer.echo(json.dumps(look(client), ensure_ascii=False))
            time.sleep(seconds)
    with Live(draw_machines(look(client)), console=console, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            live.update(draw_machines(look(client)), refresh=True)


def look(client: TrainerClient) -> dict[str, Any]:
    """One look at all machines, as `--json` prints it."""
    machines: list[dict[str, Any]] = []
    for machine in client.machines:
        row: dict[str, Any] = {"name": machine.name, "url": machine.url}
        try:
            machines.append(row | {"reachable": True, "error": ""} | client.status(machine))
        except TrainerUnreachable as error:
            nothing = {"training": None, "gpu": None, "inference": None}
            machines.append(row | {"reachable": False, "error": str(error)} | nothing)
    return {"machines": machines}


def draw_machines(seen: Mapping[str, Any]) -> Group:
    """One panel a machine."""
    return Group(
        *(Panel(draw_machine(machine), title=machine["name"], title_align="left") for machine in seen["machines"])
    )


def draw_machine(machine: Mapping[str, Any]) -> Table | Text:
    """What a person wants to know of one machine."""
    if not machine["reachable"]:
        return Text(machine["error"])
    table = Table.grid(padding=(0, 2))
    training = machine["training"]
    table.add_row("training", f"{training['state']} {training.get('run') or ''}".strip())
    if training.get("total"):
        bar = ProgressBar(total=training["total"], completed=training["step"], width=SPARK_WIDTH)
        table.add_row("progress", bar)
        table.add_row("", f"step {training['step']} of {training['total']}{format_time_left(training)}")
    if curve := [loss for _, loss in training.get("loss_history", ())]:
        table.add_row("loss", f"{sparkline(curve)} {curve[-1]:.3f}")
    metrics = training.get("metrics") or {}
    if "learning_rate" in metrics:
        table.add_row("learning rate", f"{metrics['learning_rate']:.2e}")
    if "accuracy" in metrics:
        table.add_row("accuracy", f"{metrics['accuracy']:.1%}")
    if training.get("error"):
        table.add_row("error", training["error"])
    for device in machine["gpu"]["devices"]:
        table.add_row(device["kind"], device_line(device))
    served = machine["inference"]
    table.add_row(
        "serving", f"{served['model']}, {served['waiting']} waiting" if served["loaded"] else "nothing loaded"
    )
    return table


def device_line(device: Mapping[str, Any]) -> str:
    """One device on one line; what it does not tell is left out."""
    parts = [device["name"]]
    if device["busy_percent"] is not None:
        parts.append(f"{device['busy_percent']:.0f} % busy")
    parts.append(f"{device['memory_used_gb']:.1f} of {device['memory_total_gb']:.1f} GB")
    if device["celsius"] is not None:
        parts.append(f"{device['celsius']:.0f} °C")
    if device["watts"] is not None:
        parts.append(f"{device['watts']:.0f} W")
    return ", ".join(parts)


def sparkline(values: Sequence[float], width: int = SPARK_WIDTH) -> str:
    """The curve as bars, at most `width` of them, each the mean of its share of the values."""
    size = max(-(-len(values) // width), 1)
    means = [sum(part) / len(part) for part in (values[start : start + size] for start in range(0, len(values), size))]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(BARS[round((value - low) / span * (len(BARS) - 1))] for value in means)


def format_time_left(training: Mapping[str, Any]) -> str:
    """The time left in words, where the run says it."""
    seconds = training.get("seconds_left") or 0
    if not seconds:
        return ""
    return f", {seconds // 60} min left" if seconds >= 90 else f", {seconds} s left"
