"""`oneiros publish` and `oneiros team`."""

import difflib
from functools import partial
from typing import Annotated

import msgspec
import typer

from dream.decisions.key import sign
from memory_server.errors import UsageError
from memory_server.escaping import escape_line, plural
from memory_server.machine.files import replace_file
from oneiros.cli.consent import ask_consent, ask_person, key_file, sign_at_end
from oneiros.cli.terminal.output import data, talk
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment, now
from parts.team.sharing.publishing import build_publication, find_nonce, sign_publication
from parts.team.sharing.team import TOKEN, CopyNote, TeamServer, find_changes, note_file, read_note, take_up_copy


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros publish 4f9c2e1b")(publish)
    app.command(epilog="\b\nExample: oneiros team --pull")(team)


def publish(
    context: typer.Context,
    hunk: Annotated[str, typer.Argument(help="what you accepted, by its id")],
    show: Annotated[bool, typer.Option("--show", help="show what would be sent, and send nothing")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="take it back; the team's history keeps it")] = False,
) -> None:
    """Give an accepted statement to your team, or take it back.

    It is signed by your key. `team_url` names the server, ONEIROS_TEAM_TOKEN holds your token.
    """
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    if revoke:
        ask_person(environment)
        commit = _server(environment).revoke(find_nonce(decisions, hunk))
        talk(f"Taken back, commit {escape_line(commit[:12])}.")
        return
    publication = build_publication(decisions, hunk, environment.person)
    data(f"{publication.topic}: {escape_line(publication.text)}")
    if show:
        return
    server = _server(environment)
    talk(f"This goes to {server.url}, and your key signs it.")
    ask_person(environment)
    whole = sign_publication(publication, partial(sign, key_file(environment)))
    talk(
        f"Published, commit {escape_line(server.publish(whole)[:12])}. To take it back: oneiros publish --revoke {hunk}"
    )


def team(
    context: typer.Context,
    pull: Annotated[bool, typer.Option("--pull", help="fetch the newest topics, and look at what changed")] = False,
) -> None:
    """Show how old your copy of the team's topics is; fetch it.

    The copy lies below topics/team/ and is read as your own topics are, without a network.
    """
    environment: Environment = context.obj
    if pull:
        _pull(environment)
    note = read_note(environment.choice.root)
    if note is None:
        talk("There is no copy of a team's topics: `oneiros team --pull`.")
        raise typer.Exit(1)
    data(f"{plural(note.topics, 'topic')} of {note.team}, commit {note.commit[:12] or '-'}, {note.age(now())}")


def _pull(environment: Environment) -> None:
    server, decisions = _server(environment), open_decisions(environment)
    commit, files = server.copy()
    changes = find_changes(decisions.root, files)
    for path, (old, new) in changes.items():
        before, after = (old or "").splitlines(), (new or "").splitlines()
        for line in difflib.unified_diff(before, after, path, path, lineterm="", n=1):
            data(escape_line(line))
    if changes:
        with sign_at_end(environment, decisions):
            take_up_copy(decisions, changes, partial(ask_consent, environment))
    note = CopyNote(server.url, escape_line(commit), now(), len(files))
    replace_file(note_file(decisions.root), msgspec.json.encode(note))
    talk(f"{plural(len(changes), 'topic')} changed.")


def _server(environment: Environment) -> TeamServer:
    if not environment.person.team_url:
        raise UsageError("no team is named", remedy="`oneiros config team_url https://...`")
    return TeamServer(environment.person.team_url, environment.variables.get(TOKEN, ""))
