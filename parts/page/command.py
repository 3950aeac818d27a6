"""`open`: the link to the page."""

from typing import Annotated

import typer

from memory_server.errors import UsageError
from oneiros.cli.serving import page_link
from oneiros.cli.terminal.output import data, talk
from oneiros.parts import installed_parts
from parts.page.views import name_views


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    names = name_views(view for part in installed_parts() for view in part.views)

    @app.command("open", epilog="\b\nExample: oneiros open review")
    def open_page(
        context: typer.Context,
        view: Annotated[str, typer.Argument(metavar="[VIEW]", help=", ".join(names))] = names[0],
    ) -> None:
        """Give the link that opens the memory in your browser.

        It works once, within two minutes.
        """
        if view not in names:
            raise UsageError(f"the page has no view {view!r}", remedy=f"Name one of these: {', '.join(names)}")
        data(page_link(context.obj, view))
        talk("Open it within two minutes; it works once.")
