"""A person accepts, not the assistant: what counts as a person's presence.

On a terminal: the process has a controlling terminal, a word shown on it is typed back there, and neither the process
nor one it descends from was started by Claude Code. A process of the same user that takes trouble cannot be stopped
for certain; `docs/security.md` says so, and `approvals.py` names changes that nobody answered for.
"""

import datetime as dt
import hashlib
import os
import secrets
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_server.errors import UsageError

CLIENT_VARIABLES = (  # Claude Code gives them to its tools, hooks and servers; none is a setting of a person
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_PID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
)
CLIENT_NAMES = frozenset({"claude", "claude.exe"})
CLIENT_SCRIPTS = ("@anthropic-ai/claude-code", "/bin/claude")
MAX_ANCESTORS = 100
WORDS = (
    "amber anchor basil birch cedar cobalt coral delta ember falcon fennel garnet glacier harbor hazel indigo iris "
    "jasper juniper kestrel lagoon lantern linden marble meadow nutmeg onyx orchid pebble pepper quartz raven saffron "
    "sequoia tamarind thistle topaz tundra umber velvet walnut willow yarrow zephyr"
).split()
TRIES = 5
REMEDY = "Run it yourself in a terminal of your own"


@dataclass(frozen=True, slots=True)
class Consent:
    """That a person is there. Made by this module and by a page session alone; every decision asks for one."""

    how: str  # terminal, page


@dataclass(frozen=True, slots=True)
class Process:
    """What is known of a running process."""

    id: int
    parent: int
    name: str
    command: tuple[str, ...]
    variables: frozenset[str]  # names only; empty where they cannot be read
    has_terminal: bool = True  # a controlling one


def person_at_terminal(variables: Mapping[str, str], ask: Callable[[str], str] | None = None) -> Consent:
    """Asks for a word on the controlling terminal, again where it is mistyped.

    Raises UsageError where it does not come, and where no person can be.

    `ask` shows a line on that terminal and returns what is typed there.
    """
    require_no_client(variables, ancestors(os.getpid()))
    word = secrets.choice(WORDS)
    line = f"To decide, type the word {word}: "
    for _ in range(TRIES):
        typed = (ask or ask_on_terminal)(line).strip().casefold()
        if typed == word:
            return Consent("terminal")
        if not typed:
            break
        line = f"That was not the word. Once more, or nothing to give up: type the word {word}: "
    raise UsageError("that was not the word", remedy="Nothing of this was decided; begin again")


def person_behind(process: int) -> Consent:
    """That the process which asks for a person's sake stands at a terminal and Claude Code is not above it.

    What a process can be asked about from outside: it has asked for the word itself. Raises UsageError.
    """
    above = list(ancestors(process))
    if not above or not above[0].has_terminal:
        raise UsageError("there is no terminal at which a person could be asked", remedy=REMEDY)
    require_no_client({}, iter(above))
    return Consent("terminal")


def require_no_client(variables: Mapping[str, str], above: Iterator[Process]) -> None:
    """Raises UsageError where Claude Code runs the command: by its variables, or by an ancestor."""
    if found := next((name for name in CLIENT_VARIABLES if name in variables), ""):
        raise UsageError(f"the assistant cannot accept ({found} is set)", remedy=REMEDY)
    for process in above:
        if is_client(process):
            raise UsageError(f"the assistant cannot accept (process {process.id} started this)", remedy=REMEDY)


def is_client(process: Process) -> bool:
    """Whether a process is Claude Code, or was started by it."""
    if process.name in CLIENT_NAMES or not process.variables.isdisjoint(CLIENT_VARIABLES):
        return True
    return any(
        Path(word).name in CLIENT_NAMES or any(mark in word for mark in CLIENT_SCRIPTS) for word in process.command[:2]
    )


def ask_on_terminal(line: str) -> str:
    """Shows a line on the controlling terminal and reads one from it. Raises UsageError where there is none."""
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:  # noqa: PTH123  a device, both ways at once
            terminal.write(line.encode())
            typed = b""
            while not typed.endswith((b"\n", b"\r")) and len(typed) < 200:
                part = terminal.read(1)
                if not part:
                    break
                typed += part
    except OSError as error:
        raise UsageError("there is no terminal at which a person could be asked", remedy=REMEDY) from error
    return typed.decode("utf-8", "replace")


def ancestors(process: int) -> Iterator[Process]:
    """The processes above one, the nearest first, as far as the system tells; the process itself is the first."""
    read = _of_proc if Path("/proc/self/stat").exists() else _of_ps
    for _ in range(MAX_ANCESTORS):
        found = read(process)
        if found is None:
            return
        yield found
        if found.parent <= 0:
            return
        process = found.parent


def _of_proc(process: int) -> Process | None:
    folder = Path("/proc", str(process))
    try:
        name, _, rest = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
    except OSError:
        return None
    command = _words_of(folder / "cmdline")
    variables = frozenset(word.partition("=")[0] for word in _words_of(folder / "environ"))
    parent, terminal = (int(rest.split()[place]) for place in (1, 4))
    return Process(process, parent, name.partition("(")[2], command, variables, terminal != 0)


def _words_of(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text(encoding="utf-8", errors="replace").split("\0"))
    except OSError:
        return ()


def _of_ps(process: int) -> Process | None:
    """The same by `ps`, which knows no variables of other processes."""
    command = ["ps", "-o", "ppid=", "-o", "tty=", "-o", "comm=", "-o", "args=", "-p", str(process)]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    if len(printed) < 3 or not printed[0].isdigit():
        return None
    has_terminal = not printed[1].startswith("?")
    return Process(process, int(printed[0]), Path(printed[2]).name, tuple(printed[3:]), frozenset(), has_terminal)


CODE_LIFE = dt.timedelta(minutes=2)
SESSION_LIFE = dt.timedelta(hours=8)
CODE_BYTES = 10  # 80 bits: not to be guessed within its life
REMEDY = "Get a new code: `oneiros review --page` in a terminal of your own"


class PageSessions:
    """How a browser comes to decide, although the bearer token may only read and propose. Safe between threads.

    A person at a terminal gets a code that works once and briefly; the page that sends it over HTTP gets a secret,
    which it sends with each request. Both live in the daemon's memory: no file can bring one, and none outlives the
    daemon. Neither is ever a cookie, which a browser would hand to every other server of this machine.
    """

    def __init__(self, now: Callable[[], dt.datetime]):
        self._now = now
        self._guard = threading.Lock()
        self._codes: dict[str, dt.datetime] = {}  # hash of a code -> its end
        self._open: dict[str, dt.datetime] = {}  # hash of the session's secret -> its end

    def new_code(self, consent: Consent) -> str:
        """A code that opens one page session within two minutes."""
        assert consent.how
        code = secrets.token_hex(CODE_BYTES)
        with self._guard:
            self._codes = self._living(self._codes) | {_hash(code): self._now() + CODE_LIFE}
        return code

    def open(self, code: str) -> str:
        """The secret of a new session. Raises UsageError for a code that is wrong, used or too old."""
        with self._guard:
            self._codes = self._living(self._codes)
            if self._codes.pop(_hash(code), None) is None:
                raise UsageError("the code is wrong, used or too old", remedy=REMEDY)
            secret = secrets.token_urlsafe(32)
            self._open[_hash(secret)] = self._now() + SESSION_LIFE
            return secret

    def holds(self, secret: str) -> bool:
        """Whether this is the secret of a session that is still open."""
        with self._guard:
            self._open = self._living(self._open)
            return _hash(secret) in self._open

    def consent(self, secret: str) -> Consent | None:
        """That a person is there; None without an open session."""
        return Consent("page") if self.holds(secret) else None

    def _living(self, ends: dict[str, dt.datetime]) -> dict[str, dt.datetime]:
        return {known: end for known, end in ends.items() if end > self._now()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
