"""`open`: the page in a browser."""

import sys
import webbrowser
from collections.abc import Mapping
from typing import Annotated

import typer

from memory_server.errors import UsageError
from oneiros.cli.serving import page_link
from oneiros.cli.terminal.output import data, talk
from oneiros.parts import load_installed_parts
from parts.page.views import name_views


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    names = name_views(view for part in load_installed_parts() for view in part.views)

    @app.command("open", epilog="\b\nExample: oneiros open review")
    def open_page(
        context: typer.Context,
        view: Annotated[str, typer.Argument(metavar="[VIEW]", help=", ".join(names))] = names[0],
    ) -> None:
        """Open the memory in your browser, or give the link to it.

        The link works once, within two minutes.
        """
        if view not in names:
            raise UsageError(f"the page has no view {view!r}", remedy=f"Name one of these: {', '.join(names)}")
        link = page_link(context.obj, view)
        if sys.stdout.isatty() and has_browser(context.obj.variables) and webbrowser.open(link):
            talk("Your browser opens it.")
            return
        data(link)
        talk("Open it within two minutes; it works once.")


def has_browser(variables: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser with a window can be opened where this person sits: not through ssh, nor without a display."""
    if variables.get("SSH_CONNECTION"):
        return False
    return platform in ("darwin", "win32") or bool(variables.get("DISPLAY") or variables.get("WAYLAND_DISPLAY"))
