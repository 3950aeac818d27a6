"""Which day an instant lies in, and how it is written: the one place that knows of time zones.

A time with an offset of its own has its own day, since whoever wrote it knew where they were. One in UTC, as most
programs write, is counted in the person's zone: that of the setting `time_zone`, else the machine's.
"""

import datetime as dt
import os
import time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MACHINE_ZONE = "ONEIROS_MACHINE_ZONE"  # what `TZ` was before the setting named a zone; what is started sees it too


def local(moment: dt.datetime) -> dt.datetime:
    """An aware time with its own offset where it has one other than UTC, else in the person's zone."""
    if moment.utcoffset():
        return moment
    try:
        return moment.astimezone()
    except (OverflowError, OSError, ValueError):  # of years that no zone reaches
        return moment


def local_day(moment: dt.datetime) -> dt.date:
    """The day in which a time lies, as `local` counts it."""
    return local(moment).date()


def find_day_begin(day: dt.date) -> dt.datetime:
    """The moment at which a day begins in the person's zone."""
    return dt.datetime.combine(day, dt.time()).astimezone()


def use_zone(name: str) -> None:
    """Has this process, and those that it starts, count days in a zone, by its name; the machine's for none."""
    if name:
        os.environ.setdefault(MACHINE_ZONE, os.environ.get("TZ", ""))
    wanted = name or os.environ.pop(MACHINE_ZONE, os.environ.get("TZ", ""))
    if os.environ.get("TZ", "") == wanted:
        return
    if wanted:
        os.environ["TZ"] = wanted
    else:
        del os.environ["TZ"]
    if hasattr(time, "tzset"):  # not on Windows
        time.tzset()


def is_zone(name: str) -> bool:
    """Whether this machine knows a zone of this name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
