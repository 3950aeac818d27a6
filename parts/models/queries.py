"""What was asked: `queries`, and how it is answered now."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from memory_server.escaping import escape_line, plural
from memory_server.search.question import with_commands
from oneiros.cli.opened import bring_level
from oneiros.cli.terminal.output import AsJson, data, data_json, show, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment
from oneiros.opening import open_memory
from parts.models.asking import judge_at_terminal
from parts.models.judging import Judged, judge_now
from parts.models.replay import Replay, replay_answers, save_answers


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros queries --without-hits")(queries)


def queries(
    context: typer.Context,
    without_hits: Annotated[bool, typer.Option("--without-hits", help="only those that found nothing")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="most questions", min=1, max=1_000)] = 50,
    save: Annotated[Path | None, typer.Option(help="write what they are answered now", show_default=False)] = None,
    replay: Annotated[Path | None, typer.Option(help="compare with answers saved", show_default=False)] = None,
    judge: Annotated[bool, typer.Option("--judge", help="say which of their answers are right")] = False,
    judged: Annotated[bool, typer.Option("--judged", help="count how the judged ones are answered now")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was asked, newest first.

    Where nothing was found: whether another search finds something. With --save before a change of model or version
    and --replay after it: what moved, and how the questions are answered that you judged.
    """
    environment: Environment = context.obj
    if judge or judged:
        with open_memory(environment) as memory:
            if behind := bring_level(memory):
                talk(behind)
            if judge:
                judge_at_terminal(memory, limit)
            _show_judged(judge_now(memory), as_json=as_json)
        return
    if save or replay:
        with open_memory(environment) as memory:
            if behind := bring_level(memory):
                talk(behind)
            if replay:
                _show_replay(replay_answers(memory, environment.working_folder / replay), as_json=as_json)
                if not as_json and memory.judgements():
                    _show_judged(judge_now(memory), as_json=False)
            if save:
                talk(f"{save_answers(memory, environment.working_folder / save)} answers saved.")
        return
    path = f"/api/queries?limit={limit}&compare=true&without_hits={'true' if without_hits else 'false'}"
    try:
        rows = Client.of(environment).ask("GET", path)["queries"]
    except DaemonLost:
        with open_memory(environment) as memory:
            rows = memory.list_queries(without_hits=without_hits, limit=limit, compare=True)
    if as_json:
        data_json({"queries": rows})
        return
    for row in rows:
        others = [f"{with_commands(name)} finds {count}" for name, count in row.get("others", {}).items() if count]
        hint = f"  ({', '.join(others)})" if others else ""
        command, query = with_commands(row["tool"]), escape_line(row["query"])
        show(f"{row['at'][:16]}  {command:<6} {row['hits']:>3} {'hit ' if row['hits'] == 1 else 'hits'}  {query}{hint}")
    empty = sum(row["hits"] == 0 for row in rows)
    more = "; -n shows more" if len(rows) == limit else ""
    talk(f"{'The newest ' if more else ''}{plural(len(rows), 'question')}, {empty} found nothing{more}.")


def _show_judged(found: Judged, *, as_json: bool) -> None:
    if as_json:
        data_json(dataclasses.asdict(found))
        return
    talk(f"Judged questions with an answer: {found.questions}; shown first {found.first}, among ten {found.among}.")
    if found.unanswerable:
        talk(f"Judged questions without one: {found.unanswerable}; answered with nothing {found.silent}.")


def _show_replay(found: Replay, *, as_json: bool) -> None:
    if as_json:
        data_json(dataclasses.asdict(found))
        return
    for moved in found.moved:
        data(f"{moved.overlap:.2f}  {with_commands(moved.tool):<6} {escape_line(moved.query)}")
        for sign, places in (("-", moved.gone), ("+", moved.come)):
            for place in places:
                data(f"      {sign} {escape_line(place)}")
    change = "" if found.model_before == found.model_now else f", {found.model_before} to {found.model_now}"
    talk(
        f"{found.questions} questions{change}: {found.same} with the same hits, {found.same_first} with the same first"
        f" one; {100 * found.overlap:.0f} % of the top hits overlap."
    )
