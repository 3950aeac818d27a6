"""What the page brings: what a browser is served, and the link to it."""

import typer

from oneiros.parts import Part, PartCommand, Site, View


def part() -> Part:
    """The page, which shows the views of all parts."""
    command = PartCommand("open", "Open the memory in your browser, or give the link to it.", "stop", _add_commands)
    return Part("page", commands=(command,), subcommands=(("key", _add_passkey),), site=_build_site)


def _add_commands(app: typer.Typer) -> None:
    from parts.page.command import add_commands

    add_commands(app)


def _add_passkey(group: typer.Typer) -> None:
    from parts.page.passkeys.registration import add_commands

    add_commands(group)


def _build_site(views: tuple[View, ...]) -> Site:
    from parts.page.routes import Page

    return Page(views)
