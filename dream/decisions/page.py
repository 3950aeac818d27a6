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
    shown: str = ""  # what was shown of the hunk, as `hash_shown` of `signing.py` has it


class ChosenSoFar:
    """What a person chose in one sitting and has not decided yet. What was chosen at once is taken back at once."""

    def __init__(self) -> None:
        self._chosen: dict[str, Chosen] = {}  # by hunk, the last one last
        self._steps: list[tuple[str, ...]] = []  # the hunks chosen at once, the last ones last

    def choose(self, *choices: Chosen) -> None:
        """Keeps what was chosen, in the place of earlier choices for the same hunks."""
        self.forget(*(choice.hunk for choice in choices))
        self._chosen |= {choice.hunk: choice for choice in choices}
        self._steps.append(tuple(choice.hunk for choice in choices))

    def take_back(self) -> str:
        """Forgets the last step; its first hunk, empty where nothing was chosen."""
        step = self._steps.pop() if self._steps else ("",)
        for name in step:
            self._chosen.pop(name, None)
        return step[0]

    def forget(self, *hunks: str) -> None:
        """Forgets what was chosen for some hunks."""
        for name in hunks:
            self._chosen.pop(name, None)
        left = (tuple(name for name in step if name not in hunks) for step in self._steps)
        self._steps = [step for step in left if step]

    def __contains__(self, hunk: str) -> bool:
        return hunk in self._chosen

    @property
    def by_hunk(self) -> dict[str, Chosen]:
        """What was chosen so far, by hunk, the last one last."""
        return dict(self._chosen)


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
        self._chosen = ChosenSoFar()

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

    def choose(self, *choices: Chosen) -> None:
        """Keeps what was chosen at once, in the place of earlier choices."""
        with self._guard:
            self._chosen.choose(*choices)

    def choices(self) -> dict[str, Chosen]:
        """What was chosen so far, by hunk, the last one last."""
        with self._guard:
            return self._chosen.by_hunk

    def take_back(self) -> str:
        """Forgets what was chosen last; the first hunk of it, empty where nothing was."""
        with self._guard:
            return self._chosen.take_back()

    def forget(self, hunk: str) -> None:
        """Forgets what was chosen for a hunk."""
        with self._guard:
            self._chosen.forget(hunk)

    def take_chosen(self) -> list[Chosen]:
        """What was chosen, in this order; it is handed out once."""
        with self._guard:
            chosen, self._chosen = self._chosen.by_hunk, ChosenSoFar()
            return [choice for choice in chosen.values() if choice.verdict != "later"]

    def _living(self, ends: dict[str, dt.datetime]) -> dict[str, dt.datetime]:
        return {known: end for known, end in ends.items() if end > self._now()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
