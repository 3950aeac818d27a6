"""Page sessions: a browser shows the open hunks and prepares what a person decides at their terminal."""

import datetime as dt
import logging
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from dream.changes import hash_text
from memory_server.errors import UsageError
from memory_server.machine.files import UNREADABLE_JSON, replace_file

logger = logging.getLogger(__name__)

CODE_LIFE = dt.timedelta(minutes=2)
SESSION_LIFE = dt.timedelta(hours=8)
CODE_BYTES = 10  # 80 bits: not to be guessed within its life
NEW_CODE = "Get a new link: `oneiros open` in a terminal of your own"
CHOSEN = "chosen.json"  # in the state of a root: what was chosen on the page and is not decided yet


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

    def __init__(self, steps: Iterable[Sequence[Chosen]] = ()) -> None:
        self._steps = [tuple(step) for step in steps if step]  # what was chosen at once, the last one last

    @property
    def steps(self) -> Sequence[Sequence[Chosen]]:
        """What was chosen at once, the last one last."""
        return tuple(self._steps)

    def choose(self, *choices: Chosen) -> None:
        """Keeps what was chosen, in the place of earlier choices for the same hunks."""
        self.forget(*(choice.hunk for choice in choices))
        if choices:
            self._steps.append(choices)

    def take_back(self) -> str:
        """Forgets the last step; its first hunk, empty where nothing was chosen."""
        return self._steps.pop()[0].hunk if self._steps else ""

    def forget(self, *hunks: str) -> None:
        """Forgets what was chosen for some hunks."""
        left = (tuple(choice for choice in step if choice.hunk not in hunks) for step in self._steps)
        self._steps = [step for step in left if step]

    def __contains__(self, hunk: str) -> bool:
        return hunk in self.by_hunk

    @property
    def by_hunk(self) -> dict[str, Chosen]:
        """What was chosen so far, by hunk, the last one last."""
        return {choice.hunk: choice for step in self._steps for choice in step}


class PageSessions:
    """How a browser comes to prepare decisions, which the terminal then makes. Safe between threads.

    A person at a terminal gets a code that works once and briefly; the page that sends it over HTTP gets a secret,
    which it sends with each request. Both live in the daemon's memory: no file can bring one, and none outlives the
    daemon. Neither is ever a cookie, which a browser would hand to every server of this machine. What was chosen is
    kept in a file of the person's state, as a choice is work and decides nothing.
    """

    def __init__(self, now: Callable[[], dt.datetime], file: Path):
        self._now = now
        self._file = file
        self._guard = threading.Lock()
        self._codes: dict[str, dt.datetime] = {}  # hash of a code -> its end
        self._open: dict[str, dt.datetime] = {}  # hash of the session's secret -> its end
        self._chosen = ChosenSoFar(_read_steps(file))

    def new_code(self) -> str:
        """A code that opens one page session within two minutes."""
        code = secrets.token_hex(CODE_BYTES)
        with self._guard:
            self._codes = self._living(self._codes) | {hash_text(code): self._now() + CODE_LIFE}
        return code

    def open(self, code: str) -> str:
        """The secret of a new session. Raises UsageError for a code that is wrong, used or too old."""
        with self._guard:
            self._codes = self._living(self._codes)
            if self._codes.pop(hash_text(code), None) is None:
                raise UsageError("the code is wrong, used or too old", remedy=NEW_CODE)
            secret = secrets.token_urlsafe(32)
            self._open[hash_text(secret)] = self._now() + SESSION_LIFE
            return secret

    def holds(self, secret: str) -> bool:
        """Whether this is the secret of a session that is still open."""
        with self._guard:
            self._open = self._living(self._open)
            return hash_text(secret) in self._open

    def choose(self, *choices: Chosen) -> None:
        """Keeps what was chosen at once, in the place of earlier choices."""
        with self._changing() as chosen:
            chosen.choose(*choices)

    def choices(self) -> dict[str, Chosen]:
        """What was chosen so far, by hunk, the last one last."""
        with self._guard:
            return self._chosen.by_hunk

    def take_back(self) -> str:
        """Forgets what was chosen last; the first hunk of it, empty where nothing was."""
        with self._changing() as chosen:
            return chosen.take_back()

    def forget(self, *hunks: str) -> None:
        """Forgets what was chosen for some hunks."""
        with self._changing() as chosen:
            chosen.forget(*hunks)

    def forget_others(self, waiting: Collection[str]) -> None:
        """Forgets what was chosen for hunks that wait no longer, as those of a session that was forgotten."""
        if gone := [name for name in self.choices() if name not in waiting]:
            self.forget(*gone)

    def end_sitting(self, decided: Collection[str]) -> None:
        """Forgets what was decided, and what was left for later: the next sitting asks about that."""
        later = (name for name, choice in self.choices().items() if choice.verdict == "later")
        self.forget(*decided, *later)

    @contextmanager
    def _changing(self) -> Iterator[ChosenSoFar]:
        """What was chosen, which is written down as the block leaves it."""
        with self._guard:
            yield self._chosen
            replace_file(self._file, msgspec.json.encode(self._chosen.steps))

    def _living(self, ends: dict[str, dt.datetime]) -> dict[str, dt.datetime]:
        return {known: end for known, end in ends.items() if end > self._now()}


def _read_steps(file: Path) -> list[list[Chosen]]:
    """The steps that a file keeps; none where it is not there or cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[list[Chosen]])
    except FileNotFoundError:
        return []
    except (OSError, *UNREADABLE_JSON) as error:
        logger.warning("what was chosen on the page is lost: %s (%s)", file, error)
        return []
