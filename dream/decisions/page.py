"""Page sessions: a browser shows the open hunks and prepares what a person decides at their terminal."""

import datetime as dt
import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memory_server.errors import UsageError

CODE_LIFE = dt.timedelta(minutes=2)
SESSION_LIFE = dt.timedelta(hours=8)
CODE_BYTES = 10  # 80 bits: not to be guessed within its life
NEW_CODE = "Get a new link: `oneiros open` in a terminal of your own"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person chose for one hunk and has not decided yet."""

    hunk: str
    verdict: Literal["accept", "reject", "later"]
    text: str | None = None  # a new wording
    reason: str = ""  # of a rejection
    shown: str = ""  # what was shown of the hunk, as `shown_digest` of `signing.py` has it


class PageSessions:
    """How a browser comes to prepare decisions, which the terminal then makes. Safe between threads.

    A person at a terminal gets a code that works once and briefly; the page that sends it over HTTP gets a secret,
    which it sends with each request. Both live in the daemon's memory, with what was chosen: no file can bring one, and
    none outlives the daemon. Neither is ever a cookie, which a browser would hand to every server of this machine.
    """

    def __init__(self, now: Callable[[], dt.datetime]):
        self._now = now
        self._guard = threading.Lock()
        self._codes: dict[str, dt.datetime] = {}  # hash of a code -> its end
        self._open: dict[str, dt.datetime] = {}  # hash of the session's secret -> its end
        self._chosen: dict[str, Chosen] = {}  # by hunk

    def new_code(self) -> str:
        """A code that opens one page session within two minutes."""
        code = secrets.token_hex(CODE_BYTES)
        with self._guard:
            self._codes = self._living(self._codes) | {_hash(code): self._now() + CODE_LIFE}
        return code

    def open(self, code: str) -> str:
        """The secret of a new session. Raises UsageError for a code that is wrong, used or too old."""
        with self._guard:
            self._codes = self._living(self._codes)
            if self._codes.pop(_hash(code), None) is None:
                raise UsageError("the code is wrong, used or too old", remedy=NEW_CODE)
            secret = secrets.token_urlsafe(32)
            self._open[_hash(secret)] = self._now() + SESSION_LIFE
            return secret

    def holds(self, secret: str) -> bool:
        """Whether this is the secret of a session that is still open."""
        with self._guard:
            self._open = self._living(self._open)
            return _hash(secret) in self._open

    def choose(self, choice: Chosen) -> None:
        """Keeps what was chosen for a hunk, in the place of an earlier choice."""
        with self._guard:
            self._chosen.pop(choice.hunk, None)
            self._chosen[choice.hunk] = choice

    def choices(self) -> dict[str, Chosen]:
        """What was chosen so far, by hunk, the last one last."""
        with self._guard:
            return dict(self._chosen)

    def take_back(self, hunk: str) -> None:
        """Forgets what was chosen for a hunk."""
        with self._guard:
            self._chosen.pop(hunk, None)

    def take_chosen(self) -> list[Chosen]:
        """What was chosen, in this order; it is handed out once."""
        with self._guard:
            chosen, self._chosen = self._chosen, {}
            return [choice for choice in chosen.values() if choice.verdict != "later"]

    def _living(self, ends: dict[str, dt.datetime]) -> dict[str, dt.datetime]:
        return {known: end for known, end in ends.items() if end > self._now()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
