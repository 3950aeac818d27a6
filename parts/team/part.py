"""What a team's memory brings to a person: giving it statements, and a copy of its topics. Its server is a program."""

import typer

from oneiros.parts import Part, PartCommand

HEADING = "Share it with a team"


def part() -> Part:
    """Sharing with a team."""
    return Part(
        "team",
        commands=(
            PartCommand("publish", "Give an accepted statement to your team, or take it back.", HEADING, _add_commands),
            PartCommand("team", "Show how old your copy of the team's topics is; fetch it.", "publish", _add_commands),
        ),
    )


def _add_commands(app: typer.Typer) -> None:
    from parts.team.sharing.command import add_commands

    add_commands(app)
