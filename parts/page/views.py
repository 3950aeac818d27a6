"""Which views the page has, as they are listed."""

from collections.abc import Iterable

from oneiros.parts import View, find_index

VIEWS = ("today", "search", "topics", "sessions", "review", "notes", "settings", "trainers")
LESS_USED = ("notes", "settings", "trainers")  # behind one item of the rail
BAR = ("today", "search", "topics", "review")  # of a phone, which has room for five: the fifth opens the others


def name_views(views: Iterable[View]) -> list[str]:
    """The names of the page's own views and of those of other parts."""
    names = list(VIEWS)
    for view in views:
        names.insert(find_index(names, view.after), view.name)
    return names
