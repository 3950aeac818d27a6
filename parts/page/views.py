"""Which views the page has, as they are listed."""

from collections.abc import Iterable

from oneiros.parts import View, find_index

VIEWS = ("overview", "search", "topics", "sessions", "review", "notes", "settings", "trainers")


def name_views(views: Iterable[View]) -> list[str]:
    """The names of the page's own views and of those of other parts."""
    names = list(VIEWS)
    for view in views:
        names.insert(find_index(names, view.after), view.name)
    return names
