"""Days as a person types them."""

import datetime as dt

from memory_server.errors import UsageError
from memory_server.layers.mif import parse_date
from memory_server.machine.clock import find_day_begin


def parse_day_begin(text: str) -> dt.datetime | None:
    """The beginning of a day; None for an empty text. Raises UsageError for what is no day."""
    if not text:
        return None
    day = parse_date(text)
    if day is None:
        raise UsageError(f"{text!r} is no day", remedy="Write it as 2026-03-01")
    return find_day_begin(day)
