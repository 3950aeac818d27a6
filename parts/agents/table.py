"""The agents whose conversations are read, in one table; each is a file of this folder."""

from collections.abc import Mapping
from pathlib import Path

from crawler.sources.agent import AgentSource, read_head
from parts.agents import chat, codex, copilot, cursor, gemini, opencode

SOURCES: Mapping[str, AgentSource] = {
    codex.NAME: codex,
    gemini.NAME: gemini,
    copilot.NAME: copilot,
    opencode.NAME: opencode,
    cursor.NAME: cursor,
    chat.NAME: chat,  # last: it fits whatever has messages
}
STORED = tuple(name for name in SOURCES if name != chat.NAME)  # those that keep a store of their own


def find_source(path: Path) -> AgentSource | None:
    """Whose conversation a file is, by its name and its beginning. Raises ContentError where it cannot be read."""
    head = read_head(path)
    return next((source for source in SOURCES.values() if source.fits(path, head)), None)
