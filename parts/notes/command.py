"""Notes: `episode` takes one in, `episodes` lists, reads and deletes them."""

from dataclasses import asdict
from typing import Annotated

import typer

from dream.decisions.presence import assistants_session
from memory_server.errors import UsageError
from memory_server.escaping import escape_line, escape_text, plural
from memory_server.layers.episodes import GivenEpisode, delete_episode, list_episodes, read_episode
from memory_server.root.places import require_memory
from oneiros.cli.consent import require_person
from oneiros.cli.terminal.output import AsJson, data, data_json, show_progress, talk
from oneiros.environment import Environment
from oneiros.opening import open_memory


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros episode 'the staging server moved to port 8443' --tag ops")(episode)
    app.command(epilog="\b\nExample: oneiros episodes 9e4910ab --raw")(episodes)


def episode(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="the note; - reads it from stdin")],
    title: Annotated[str, typer.Option(help="its title; else its first line")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="a word it is filed under", show_default=False)] = None,
    project: Annotated[str, typer.Option(help="the project it belongs to")] = "",
    as_json: AsJson = False,
) -> None:
    """Take a note in: it can be found, it never decides.

    Its secrets are masked before it is written. What an assistant notes is marked as its own.
    """
    environment: Environment = context.obj
    note = typer.get_text_stream("stdin").read() if text == "-" else text
    with open_memory(environment) as memory, show_progress() as show:
        observed_in = assistants_session(environment.variables)
        made = memory.add_episode(GivenEpisode(note, title, tag or (), project, observed_in=observed_in))
        if as_json:
            data_json({"id": made.id, "path": made.path, "title": made.title})
        else:
            data(made.path)  # before anything of the indices may fail: it stands
            talk("It is in no commit: git holds what you approve.")
        memory.upkeep.refresh(show)  # where a daemon owns the root it sees the new file by itself


def episodes(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="[ID]", help="the id of one; without it they are listed")] = "",
    raw: Annotated[bool, typer.Option("--raw", help="with what it was made from")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="remove it, with your consent")] = False,
    page: Annotated[int, typer.Option(min=1, help="of the list, newest first")] = 1,
    as_json: AsJson = False,
) -> None:
    """List the notes, read one, or delete it."""
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    if not name:
        if raw or delete:
            raise UsageError("--raw and --delete go with the id of a note", remedy="`oneiros episodes` lists them")
        found, total = list_episodes(root, page=page)
        if as_json:
            data_json({"episodes": [{"id": one.id, "path": one.path, "title": one.title} for one in found]})
            return
        for one in found:
            data(f"{one.id}  {one.created[:10]}  {escape_line(one.title)}")
        talk(f"{plural(total, 'note')}. Read one: oneiros episodes {found[0].id}" if found else "No note on this page.")
        return
    note = read_episode(root, name, with_exchange=raw)
    if delete:
        require_person(environment, f"delete the note {note.id}, {note.title}")
        delete_note(environment, note.id)
    if as_json:
        data_json({**asdict(note), "deleted": delete})
    elif delete:
        talk(f"{note.path} is deleted.")
    else:
        data(escape_text("\n\n".join(filter(None, (note.text, note.raw_exchange)))))
        talk(f"{note.path}, {note.created[:10]}, layer 2")


def delete_note(environment: Environment, identity: str) -> None:
    """Removes a note, and what was indexed of it."""
    delete_episode(environment.choice.root, identity)
    with open_memory(environment) as memory, show_progress() as show:
        memory.upkeep.refresh(show)
