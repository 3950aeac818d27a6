"""Page sessions: how a browser comes to decide, although the bearer token may only read and propose.

A person at a terminal gets a code that works once and briefly; whoever sends it over HTTP gets a session that lives in
the daemon's memory. Of a code only its hash is kept, in the folder that the account alone can read.
"""

import datetime as dt
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Mapping

import msgspec

from dream.presence import Consent
from memory_server.errors import UsageError
from memory_server.root import MemoryRoot

CODE_LIFE = dt.timedelta(minutes=2)
SESSION_LIFE = dt.timedelta(hours=8)
CODE_BYTES = 10  # 80 bits: not to be guessed within its life
MAX_WRONG = 10  # codes tried before all that wait are void
FILE_NAME = "page-codes.json"
REMEDY = "Get a new code: `oneiros review --page` in a terminal of your own"


def new_code(root: MemoryRoot, consent: Consent, now: dt.datetime) -> str:
    """A code that opens one page session within two minutes."""
    assert consent.how
    code = secrets.token_hex(CODE_BYTES)
    waiting = {known: end for known, end in _waiting(root).items() if end > now}
    _save(root, {**waiting, _hash(code): now + CODE_LIFE})
    return code


class PageSessions:
    """The page sessions of one daemon."""

    def __init__(self, root: MemoryRoot, now: Callable[[], dt.datetime]):
        self._root = root
        self._now = now
        self._guard = threading.Lock()
        self._open: dict[str, dt.datetime] = {}  # hash of the session's secret -> its end
        self._wrong = 0

    def open(self, code: str) -> str:
        """The secret of a new session. Raises UsageError for a code that is wrong, used or too old."""
        with self._guard:
            waiting = _waiting(self._root)
            known = next((one for one in waiting if hmac.compare_digest(one, _hash(code))), None)
            if known is None:
                self._wrong += 1
                if self._wrong >= MAX_WRONG:
                    _save(self._root, {})
                    self._wrong = 0
                raise UsageError("the code is wrong or used", remedy=REMEDY)
            end = waiting.pop(known)
            _save(self._root, waiting)
            if end <= self._now():
                raise UsageError("the code is too old", remedy=REMEDY)
            secret = secrets.token_urlsafe(32)
            self._open[_hash(secret)] = self._now() + SESSION_LIFE
            return secret

    def holds(self, secret: str) -> bool:
        """Whether this is the secret of a session that is still open."""
        with self._guard:
            self._open = {known: end for known, end in self._open.items() if end > self._now()}
            return bool(secret) and any(hmac.compare_digest(known, _hash(secret)) for known in self._open)

    def consent(self, secret: str) -> Consent | None:
        """That a person is there; None without an open session."""
        return Consent("page") if self.holds(secret) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _waiting(root: MemoryRoot) -> dict[str, dt.datetime]:
    try:
        return msgspec.json.decode((root.derived / FILE_NAME).read_bytes(), type=dict[str, dt.datetime])
    except (OSError, msgspec.MsgspecError):
        return {}


def _save(root: MemoryRoot, codes: Mapping[str, dt.datetime]) -> None:
    root.derived.mkdir(parents=True, exist_ok=True)
    file = root.derived / FILE_NAME
    temporary = file.with_name(f".{FILE_NAME}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(msgspec.json.encode(codes))
    temporary.replace(file)
