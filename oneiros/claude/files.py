"""The files of Claude Code that touch this memory: its CLAUDE.md files with their imports, its settings, its own notes.

And what `oneiros doctor` finds in them: two memories in one session, and who writes where. Read only here; `setup`
alone writes there, and says so before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_server.machine.files import read_json
from memory_server.root.paths import MemoryRoot

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


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is as it should be, or is not."""

    state: str  # ok, warning, failed
    detail: str
    repair: str = ""


def ok(detail: str) -> Check:
    return Check("ok", detail)


def warning(detail: str, repair: str) -> Check:
    return Check("warning", detail, repair)


def make_failure(detail: str, repair: str) -> Check:
    return Check("failed", detail, repair)


def check_client(files: ClaudeFiles, root: MemoryRoot) -> Iterator[Check]:
    """What is wrong with how Claude Code and this memory live together; one line where nothing is."""
    found = [*_imports(files, root), *_own_memory(files, root)]
    yield from found or [ok("nothing of this memory is loaded twice, and nothing written into it")]


def _imports(files: ClaudeFiles, root: MemoryRoot) -> Iterator[Check]:
    """The index page and topics that come to the model by more ways than one."""
    pages = files.list_importers(root.index_page)
    if len(pages) > 1:
        names = ", ".join(str(page) for page in pages)
        repair = "Leave one import; `oneiros setup --undo` takes its own out"
        yield warning(f"MEMORY.md is loaded {len(pages)} times: {names}", repair)
    topics = [
        target.name
        for page in files.pages()
        for target in read_imports(page, files.home)
        if target.resolve().is_relative_to(root.topics.resolve())
    ]
    if topics:
        repair = "Take the import out: pointers lead to topics when they matter"
        yield warning(f"whole topics are loaded into every session: {', '.join(topics)}", repair)


def _own_memory(files: ClaudeFiles, root: MemoryRoot) -> Iterator[Check]:
    """The client's own memory: where it writes, and whether it dreams too."""
    settings = files.settings()
    folder = settings.get("autoMemoryDirectory")
    if isinstance(folder, str):
        place = files.home / folder[2:] if folder.startswith("~/") else Path(folder)
        if place.resolve().is_relative_to(root.path.resolve()) or root.path.resolve().is_relative_to(place.resolve()):
            repair = f"Name another folder in {files.settings_file}: the client writes there without asking"
            yield make_failure(f"autoMemoryDirectory is {folder}, which holds this memory", repair)
    plugins = settings.get("enabledPlugins")
    is_installed = isinstance(plugins, dict) and bool(plugins.get(PLUGIN))
    if is_installed and settings.get("autoDreamEnabled") is not False:
        repair = "oneiros setup --auto-dream-off"
        yield warning("Claude's own auto-dream may go through the same sessions", repair)
