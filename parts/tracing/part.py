"""What tracing brings: whose words stand behind a line, and what moves proposals."""

import typer

from oneiros.parts import Part


def part() -> Part:
    """Commands below `oneiros dream`."""
    return Part("tracing", subcommands=(("dream", _add_commands),))


def _add_commands(app: typer.Typer) -> None:
    from parts.tracing.command import add_commands

    add_commands(app)
