"""`topics mv`, `merge`, `split`, `retire` and `tidy`."""

from typing import Annotated, Any

import typer

from memory_server.errors import UsageError

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="a topic by its name or path")]


def add_commands(group: typer.Typer) -> None:
    """Adds them below `topics`."""
    group.command("mv", epilog="\b\nExample: oneiros topics mv 1 mail")(move)
    group.command(epilog="\b\nExample: oneiros topics merge mail relay --into mail")(merge)
    group.command(epilog="\b\nExample: oneiros topics split notes --heading Backups")(split)
    group.command(epilog="\b\nExample: oneiros topics retire old-printer")(retire)
    group.command(epilog="\b\nExample: oneiros topics tidy mail")(tidy)


def move(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="a topic by its name or path; TOPIC:LINE a statement")],
    name: Annotated[str, typer.Argument(help="its new name; of a statement the topic that it goes to")],
) -> None:
    """Give a topic another name; links, pointers and open hunks follow. Or propose that a statement go to another."""
    before, _, line = topic.rpartition(":")
    if before and line.isdecimal():
        _load_deciding().move_statement(context.obj, before, int(line), name)
    else:
        _load_deciding().move_topic(context.obj, topic, name)


def merge(
    context: typer.Context,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="two or more")],
    into: Annotated[str, typer.Option(help="the name of the topic that they become, one of theirs or a new one")],
) -> None:
    """Make one topic of several, a section each."""
    _load_deciding().merge_topics(context.obj, topics, into)


def split(
    context: typer.Context,
    topic: Topic,
    heading: Annotated[str, typer.Option(help="only the section with this heading", show_default=False)] = "",
    into: Annotated[str, typer.Option(help="the name of that section's topic", show_default=False)] = "",
    reader: Annotated[bool, typer.Option("--reader", help="cut it as the model that reads sessions would")] = False,
) -> None:
    """Make the sections of a topic topics of their own, or cut it by its subjects."""
    if not reader:
        _load_deciding().split_topic(context.obj, topic, heading, into)
    elif heading or into:
        raise UsageError("--reader cuts the whole topic", remedy="Leave out --heading and --into")
    else:
        _load_deciding().split_by_reader(context.obj, topic)


def tidy(
    context: typer.Context,
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC...]", help="these alone; else all")] = None,
    reader: Annotated[bool, typer.Option("--reader", help="have the model that reads sum up those without")] = False,
) -> None:
    """Bring topics into today's form: list items, short footnotes, a folder for each project; shown before."""
    if reader:
        _load_deciding().sum_up_topics(context.obj, topics or [])
    else:
        _load_deciding().tidy_topics(context.obj, topics or [])


def retire(context: typer.Context, topic: Topic) -> None:
    """Take a topic out that is over; git keeps it, and `dream revert` brings it back."""
    _load_deciding().retire_topic(context.obj, topic)


def _load_deciding() -> Any:
    """What decides about topics."""
    from parts.arranging import deciding  # noqa: PLC0415  it takes a second to load, and a list of topics needs none of it

    return deciding
