"""What signing brings: a key for what a person decides."""

from typing import TYPE_CHECKING

import typer

from oneiros.parts import Part, PartCommand

if TYPE_CHECKING:
    from oneiros.environment import Environment


def part() -> Part:
    """The command, and an offer where a memory is made."""
    command = PartCommand("key", "Your key, which signs what you decide.", "trust", _add_commands)
    return Part("signing", commands=(command,), on_founding=_offer_key)


def _add_commands(app: typer.Typer) -> None:
    from parts.signing.command import add_commands

    add_commands(app)


def _offer_key(environment: "Environment", is_new: bool) -> None:
    from parts.signing.command import offer_key

    offer_key(environment, is_new=is_new)
