"""Observers of files that cannot observe."""

import errno

from watchdog.observers.api import BaseObserver


class Exhausted(BaseObserver):
    """A system without a free watch."""

    def __init__(self) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")
