"""A person accepts, not the assistant: what counts as a person's presence.

On a terminal: the process has a controlling terminal, a word shown on it is typed back there, and neither the process
nor one it descends from was started by Claude Code. A process of the same user that takes trouble cannot be stopped
for certain; `docs/security.md` says so, and `approvals.py` names changes that nobody answered for.
"""

import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
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


class How(StrEnum):
    """By what a person consented."""

    KEY = "key"  # signs at the end of a sitting; nothing was asked before
    WORD = "word"  # typed back on a terminal
    PAGE = "page"  # chosen in a browser, confirmed by the word
    PASSKEY = "passkey"  # chosen in a browser, and signed there by a device that asked for its person


class NotTheWord(UsageError):
    """A person was asked, and the word that was shown to them did not come."""


@dataclass(frozen=True, slots=True)
class Consent:
    """That a person is there; every decision asks for one.

    Any program can make one, which is why each decision is noted with the terminal and the processes that it came from
    as the system tells them, and is called unsigned where no key signed it.
    """

    how: How


@dataclass(frozen=True, slots=True)
class Process:
    """What is known of a running process."""

    id: int
    parent: int
    name: str
    command: tuple[str, ...]
    variables: frozenset[str]  # names only; empty where they cannot be read
    terminal: str = "tty"  # the controlling one; empty where there is none


def person_at_terminal(variables: Mapping[str, str], ask: Callable[[str], str] | None = None) -> Consent:
    """Asks for a word on the controlling terminal, again where it is mistyped, or Enter was typed alone.

    Raises NotTheWord where it does not come, and UsageError where no person can be.

    `ask` shows a line on that terminal and returns what is typed there, with its line end; nothing at the end of input.
    """
    require_no_client(variables, ancestors(os.getpid()))
    word = secrets.choice(WORDS)
    line = f"To decide, type the word {word}: "
    for _ in range(TRIES):
        typed = (ask or ask_on_terminal)(line)
        if typed.strip().casefold() == word:
            return Consent(How.WORD)
        if not typed:
            break
        why = "That was not the word. Once more" if typed.strip() else "Nothing is decided without it. Once more"
        line = f"{why}, or Ctrl-D to give up: type the word {word}: "
    raise NotTheWord("that was not the word", remedy="Nothing of this was decided; begin again")


def require_terminal(process: int, variables: Mapping[str, str]) -> None:
    """Raises UsageError unless a process stands at a terminal and neither it nor one above it is Claude Code."""
    above = list(ancestors(process))
    if not above or not above[0].terminal:
        raise UsageError("there is no terminal at which a person could be asked", remedy=REMEDY)
    require_no_client(variables, iter(above))


def require_no_client(variables: Mapping[str, str], above: Iterator[Process]) -> None:
    """Raises UsageError where Claude Code runs the command: by its variables, or by an ancestor."""
    if found := next((name for name in CLIENT_VARIABLES if name in variables), ""):
        raise UsageError(f"the assistant cannot accept ({found} is set)", remedy=REMEDY)
    for process in above:
        if is_client(process):
            raise UsageError(f"the assistant cannot accept (process {process.id} started this)", remedy=REMEDY)


def assistants_session(variables: Mapping[str, str]) -> str:
    """The session of the assistant that runs a command; empty where a person runs it."""
    is_run = any(name in variables for name in CLIENT_VARIABLES)
    return variables.get("CLAUDE_CODE_SESSION_ID", "unknown") if is_run else ""


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
    command = _read_words(folder / "cmdline")
    variables = frozenset(word.partition("=")[0] for word in _read_words(folder / "environ"))
    parent, terminal = (int(rest.split()[place]) for place in (1, 4))
    return Process(process, parent, name.partition("(")[2], command, variables, _terminal_name(terminal))


def _terminal_name(device: int) -> str:
    """What /proc calls by number, see proc(5) and Linux's list of devices: 136 to 143 are pseudo-terminals."""
    major, minor = (device >> 8) & 0xFFF, (device & 0xFF) | ((device >> 12) & 0xFFF00)
    if not device:
        return ""
    return f"pts/{(major - 136) * 256 + minor}" if 136 <= major <= 143 else f"terminal {major}:{minor}"


def _read_words(file: Path) -> tuple[str, ...]:
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
    terminal = "" if printed[1].startswith("?") else printed[1]
    return Process(process, int(printed[0]), Path(printed[2]).name, tuple(printed[3:]), frozenset(), terminal)
