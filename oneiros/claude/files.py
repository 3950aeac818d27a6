"""The files of Claude Code that touch this memory: its CLAUDE.md files with their imports, its settings, its own notes.

Read only here; `setup` alone writes there, and says so before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_server.machine.files import read_json

IMPORT = re.compile(r"(?:^|\s)@((?:[^\s\\]|\\ )+)")
MAX_BYTES = 1_000_000
PLUGIN = "oneiros@oneiros"


@dataclass(frozen=True, slots=True)
class ClaudeFiles:
    """The files that count for a session in a folder."""

    home: Path  # the person's
    folder: Path  # the session's
    client: Path | None = None  # the client's, where that is not `~/.claude`

    @property
    def settings_file(self) -> Path:
        return (self.client or self.home / ".claude") / "settings.json"

    @property
    def personal_page(self) -> Path:
        """The CLAUDE.md of all projects."""
        return self.settings_file.with_name("CLAUDE.md")

    def pages(self) -> Iterator[Path]:
        """The CLAUDE.md files that the client loads, the personal one first."""
        yield self.personal_page
        for folder in (self.folder, *self.folder.parents):
            for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"):
                if (page := folder / name) != self.personal_page:
                    yield page

    def list_importers(self, wanted: Path) -> list[Path]:
        """The pages that import a file, so that the client loads it by itself; each as often as it does."""
        return [
            page
            for page in self.pages()
            for target in read_imports(page, self.home)
            if target.resolve() == wanted.resolve()
        ]

    def settings(self) -> dict[str, object]:
        """The person's settings of the client; empty where they cannot be read."""
        return read_json(self.settings_file, dict[str, object], {})


def read_imports(page: Path, home: Path) -> Iterator[Path]:
    """The files that a CLAUDE.md imports with `@path`, outside code."""
    try:
        text = page.read_bytes()[:MAX_BYTES].decode("utf-8", "replace")
    except OSError:
        return
    text = re.sub(r"```.*?(?:```|\Z)|`[^`\n]*`", "", text, flags=re.DOTALL)
    for match in IMPORT.finditer(text):
        named = match[1].replace("\\ ", " ")
        yield home / named[2:] if named.startswith("~/") else page.parent / named
