"""Reading: `read` and `topics`. The daemon is asked first; where none answers, the memory is opened here."""

import re
import shlex
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from typer.core import TyperGroup

from memory_server.document import Layer, LineRange, parse_place
from memory_server.errors import UsageError
from memory_server.escaping import escape_line, escape_text, plural
from memory_server.root.places import require_memory
from oneiros.cli.terminal.output import AsJson, NoColor, OfProject, data_json, see_stdout, show, show_long, talk
from oneiros.client import Client, DaemonLost

KEYS = ("path", "layer", "first_line", "last_line", "of_lines", "marks", "text")
FRONTMATTER = re.compile(r"\A\ufeff?---\r?\n.*?\n---\s*\n", re.DOTALL)


class TopicCommands(TyperGroup):
    """The commands below `topics`; what is none of them may be meant as a topic."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        is_name = bool(args) and not ctx.resilient_parsing and not args[0].startswith("-")
        if is_name and self.get_command(ctx, args[0]) is None:
            raise UsageError(
                f"there is no command `topics {args[0]}`",
                remedy=f"A topic is read by `oneiros read {shlex.quote(args[0])}`",
            )
        return super().resolve_command(ctx, args)


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros read mail:12-30")(read)
    group = typer.Typer(cls=TopicCommands, rich_markup_mode=None, invoke_without_command=True)
    group.callback()(topics)
    app.add_typer(group, name="topics", epilog="\b\nExample: oneiros topics --json")


def read(
    context: typer.Context,
    place: Annotated[
        str, typer.Argument(help="a topic, a path or a session, with lines if wanted: mail, mail:12-30, 5f0c2a9e:66")
    ],
    tools: Annotated[bool, typer.Option("--tools", help="of a session, turns of tools too")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a topic or session, or lines of it."""
    if not place.strip():
        raise UsageError("the name is empty", remedy="`oneiros topics` lists the names")
    wanted = {"name": place} | ({"with_tools": "true"} if tools else {})
    try:
        found = Client.of(context.obj).ask("GET", f"/api/read?{urlencode(wanted, errors='surrogateescape')}")
    except DaemonLost:
        from oneiros.cli.opened import lines_here

        found = lines_here(context.obj, place, with_tools=tools)
    found.setdefault("marks", [])  # an older daemon tells none
    if as_json:
        data_json({key: found[key] for key in KEYS})
        return
    is_whole = not parse_place(place).first  # of which a person at a terminal wants what it says
    text = FRONTMATTER.sub("", found["text"]) if is_whole and see_stdout().columns else found["text"]
    show_long(escape_text(text).rstrip("\n"))
    lines = LineRange(found["first_line"], found["last_line"])
    parts = [
        f"{found['path']}:{lines} of {plural(found['of_lines'], 'line')}",
        f"layer {Layer(found['layer']).rank}",
        *found["marks"],
        *(["without its frontmatter"] if text != found["text"] else []),
    ]
    talk(", ".join(parts))


def topics(
    context: typer.Context,
    tree: Annotated[bool, typer.Option("--tree", help="by namespace: the folder, unless a topic names one")] = False,
    project: OfProject = "",
    as_json: AsJson = False,
    no_color: NoColor = False,
) -> None:
    """List the approved topics; rename, join or cut them."""
    if context.invoked_subcommand:
        return
    try:
        found = Client.of(context.obj).ask("GET", "/api/topics")
    except DaemonLost:
        from memory_server.faces.memory_text import topics_json
        from memory_server.layers.topics import topic_heads

        found = topics_json(topic_heads(require_memory(context.obj.choice.root)))
    if project:
        mine = [head for head in found["topics"] if head.get("project", "").casefold() == project.casefold()]
        found = {**found, "topics": mine}
    if as_json:
        data_json(found)
        return
    heads = found["topics"]
    screen, width = see_stdout(no_color=no_color), max((len(head["name"]) for head in heads), default=0)
    below = ""
    spaces = {head["name"]: head.get("namespace", "") if tree else "" for head in heads}  # an older daemon tells none
    for head in sorted(heads, key=lambda head: spaces[head["name"]]):
        if spaces[head["name"]] != below:
            below = spaces[head["name"]]
            show(f"{escape_line(below)}/")
        name = screen.style(f"{escape_line(head['name']):<{width}}", bold=True)
        told = escape_line(head["summary"] or head["title"])
        show(f"{'  ' if below else ''}{name}  {head['date'] or ' ' * 10}  {told}")
    own = [head for head in heads if head["name"] != "lessons"]
    beside = " and the lessons" if len(own) < len(heads) else ""
    if not heads:
        talk("No topics yet.")
        return
    talk(f"{plural(len(own), 'topic')}{beside}. Read one: oneiros read {shlex.quote(escape_line(heads[0]['name']))}")
