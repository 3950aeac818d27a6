"""The agents whose conversations are read, in one table: where each keeps them, and which reader they go to."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crawler.sources import chat, codex, copilot, cursor, gemini, opencode
from crawler.sources.conversation import AgentFile, Conversation
from crawler.sources.lines import head_of

Stores = Callable[[Path, Mapping[str, str]], tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class AgentSource:
    """One agent. `made_from`: the versions that its reader was made from; what a newer one adds is counted."""

    name: str  # as `agent:` filters by it
    title: str
    made_from: str
    stores: Stores  # where it keeps its conversations: of a home and the variables of the process
    files: Callable[[Path], Iterator[Path]]  # those of a store
    fits: Callable[[Path, bytes], bool]  # whether a file of unknown origin, which begins so, is one of them
    read: Callable[[AgentFile], Iterator[Conversation]]


def _folder(variables: Mapping[str, str], name: str, otherwise: Path) -> Path:
    return Path(variables[name]) if variables.get(name) else otherwise


def _cursor_stores(home: Path, variables: Mapping[str, str]) -> tuple[Path, ...]:
    """Those of the command line and of the editor."""
    editor = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    editor = editor if sys.platform == "darwin" else _folder(variables, "XDG_CONFIG_HOME", editor)
    return _folder(variables, "CURSOR_CONFIG_DIR", home / ".cursor"), editor / "Cursor" / "User"


SOURCES: Mapping[str, AgentSource] = {
    one.name: one
    for one in (
        AgentSource(
            "codex",
            "Codex CLI",
            codex.MADE_FROM,
            lambda home, variables: (_folder(variables, "CODEX_HOME", home / ".codex"),),
            codex.files,
            codex.fits,
            codex.read,
        ),
        AgentSource(
            "gemini",
            "Gemini CLI",
            gemini.MADE_FROM,
            lambda home, variables: (_folder(variables, "GEMINI_CLI_HOME", home) / ".gemini",),
            gemini.files,
            gemini.fits,
            gemini.read,
        ),
        AgentSource(
            "copilot",
            "Copilot CLI",
            copilot.MADE_FROM,
            lambda home, variables: (_folder(variables, "COPILOT_HOME", home / ".copilot"),),
            copilot.files,
            copilot.fits,
            copilot.read,
        ),
        AgentSource(
            "opencode",
            "OpenCode",
            opencode.MADE_FROM,
            lambda home, variables: (_folder(variables, "XDG_DATA_HOME", home / ".local" / "share") / "opencode",),
            opencode.files,
            opencode.fits,
            opencode.read,
        ),
        AgentSource("cursor", "Cursor", cursor.MADE_FROM, _cursor_stores, cursor.files, cursor.fits, cursor.read),
        AgentSource(
            "chat", "a plain conversation", chat.MADE_FROM, lambda *_: (), chat.files, chat.fits, chat.read
        ),  # last: it fits whatever has messages
    )
}
STORED = tuple(name for name in SOURCES if name != "chat")  # those that keep a store of their own


def source_for(path: Path) -> AgentSource | None:
    """Whose conversation a file is, by its name and its beginning. Raises ContentError where it cannot be read."""
    head = head_of(path)
    return next((source for source in SOURCES.values() if source.fits(path, head)), None)


def files_at(source: AgentSource, paths: Iterable[Path]) -> Iterator[Path]:
    """The files of a source at or below what somebody named: a store, a folder of its files, or a file."""
    for path in paths:
        if not path.is_dir():
            yield path
        elif found := list(source.files(path)):
            yield from found
        else:
            below = (file for file in sorted(path.rglob("*")) if file.is_file())
            yield from (file for file in below if source.fits(file, head_of(file)))
