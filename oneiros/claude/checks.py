"""What `oneiros doctor` looks at in Claude Code's own files: two memories in one session, and who writes where."""

from collections.abc import Iterator
from pathlib import Path

from memory_server.root.paths import MemoryRoot
from oneiros.checks import Check, make_failure, ok, warning
from oneiros.claude.files import PLUGIN, ClaudeFiles, read_imports


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
