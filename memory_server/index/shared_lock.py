"""Who may search, and who may exchange what is searched."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Lets any number of searches through, or one exchange of what they search; an exchange goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._searching = 0
        self._exchanging = False

    @contextmanager
    def searching(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._exchanging)
            self._searching += 1
        try:
            yield
        finally:
            with self._changed:
                self._searching -= 1
                self._changed.notify_all()

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Call with no search of one's own under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exchanging)
            self._exchanging = True
            self._changed.wait_for(lambda: self._searching == 0)
        try:
            yield
        finally:
            with self._changed:
                self._exchanging = False
                self._changed.notify_all()
