"""Reading: `read` and `topics`. The daemon is asked first; where none answers, the memory is opened here."""

import re
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from memory_server.document import Layer, LineRange
from memory_server.errors import UsageError
from memory_server.escaping import shown, shown_line
from oneiros.cli.output import AsJson, NoColor, data, data_json, styler, talk
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment

PLACE = re.compile(r"(?P<name>.+?)(?::(?P<first>\d+)(?:-(?P<last>\d+))?)?")
MOST_LINES = 1 << 31  # a larger number is beyond the end of every source


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros read mail:12-30")(read)
    app.command(epilog="\b\nExample: oneiros topics --json")(topics)


def read(
    context: typer.Context,
    place: Annotated[str, typer.Argument(help="a topic, a path, with lines if wanted: mail, mail:12, mail:12-30")],
    as_json: AsJson = False,
) -> None:
    """Print a topic or session, or lines of it."""
    match = PLACE.fullmatch(place)
    if match is None:
        raise UsageError("the name is empty", remedy="`oneiros topics` lists the names")
    first, last = (min(int(number), MOST_LINES) if number else None for number in (match["first"], match["last"]))
    found = _lines_of(context.obj, match["name"], max(1, first or 1), last)
    if as_json:
        data_json(found)
        return
    data(shown(found["text"]).rstrip("\n"))
    lines = LineRange(found["first_line"], found["last_line"])
    talk(f"{found['path']}:{lines} of {found['of_lines']} lines, layer {Layer(found['layer']).rank}")


def _lines_of(environment: Environment, name: str, first: int, last: int | None) -> dict[str, Any]:
    """The lines of a source, for programs."""
    wanted = {"name": name, "first": first} | ({} if last is None else {"last": max(1, last)})
    try:
        found = _client(environment).ask("GET", f"/api/read?{urlencode(wanted, errors='surrogateescape')}")
    except DaemonLost:
        with environment.open_memory() as memory:
            reading = memory.read(name, first, last)
        lines = {"first_line": reading.lines.first, "last_line": reading.lines.last, "of_lines": reading.last_line}
        found = {"path": reading.path, "layer": reading.layer.value, **lines, "text": reading.text}
    return {key: found[key] for key in ("path", "layer", "first_line", "last_line", "of_lines", "text")}


def topics(context: typer.Context, as_json: AsJson = False, no_color: NoColor = False) -> None:
    """List the approved topics."""
    heads = _heads(context.obj)
    if as_json:
        data_json({"topics": heads})
        return
    style, width = styler(no_color=no_color), max((len(head["name"]) for head in heads), default=0)
    for head in heads:
        name = style(f"{head['name']:<{width}}", bold=True)
        data(f"{name}  {head['date'] or ' ' * 10}  {shown_line(head['summary'])}")
    own = [head for head in heads if head["name"] != "lessons"]
    beside = " and the lessons" if len(own) < len(heads) else ""
    talk(f"{len(own)} topics{beside}. Read one: oneiros read {heads[0]['name']}" if heads else "No topics yet.")


def _heads(environment: Environment) -> list[dict[str, Any]]:
    """All topics by name, for programs."""
    try:
        found = _client(environment).ask("GET", "/api/topics")["topics"]
        assert isinstance(found, list)
        return found
    except DaemonLost:
        with environment.open_memory() as memory:
            heads = memory.topics()
    return [
        {
            "name": head.name,
            "title": head.title,
            "date": head.date.isoformat() if head.date else None,
            "summary": head.summary,
            "path": head.path,
        }
        for head in heads
    ]


def _client(environment: Environment) -> Client:
    return Client(environment.variables, environment.choice.root.path)
