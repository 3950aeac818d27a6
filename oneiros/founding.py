"""Founding a memory root: its first files, its git, and the list of roots that a person trusts."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from memory_server.layers.index_page import FOUNDED, write_index_page
from memory_server.machine.files import replace_file
from memory_server.root.git import ask_git
from memory_server.root.paths import MemoryRoot
from memory_server.root.state import make_state
from memory_server.settings import PersonSettings, read_memory_settings
from memory_server.settings_file import change_setting

EXAMPLE = Path(__file__).parent / "example_memory"  # in an installed wheel
EXAMPLE_IN_CHECKOUT = Path(__file__).parent.parent / "memory"
EXAMPLE_QUESTIONS = "questions.jsonl"  # that its statements answer: the state of a memory begins with them

DERIVED_IGNORED = (
    "# derived or machine-local: deleted and rebuilt at any time\n.oneiros/\nsessions/archive/\nsessions/readings/\n"
)
PRIVATE_IGNORED = "# conversations stay on this machine\nsessions/\nepisodes/\nproposals/\nreports/\n.blackboard/\n"


def found_memory(root: MemoryRoot, model: str, *, with_example: bool) -> Iterator[str]:
    """Makes what is missing of a memory root and leaves what is there; says what it made, a line each."""
    is_new = not root.index_page.exists()
    root.path.mkdir(parents=True, exist_ok=True)
    if with_example and is_new:
        left_out = shutil.ignore_patterns(".oneiros", ".git*", EXAMPLE_QUESTIONS)
        shutil.copytree(find_example(), root.path, dirs_exist_ok=True, ignore=left_out)
        make_state(root)
        replace_file(root.questions, (find_example() / EXAMPLE_QUESTIONS).read_bytes())
        yield f"Made {root.path} from the example memory."
    elif is_new:
        replace_file(root.index_page, FOUNDED["MEMORY.md"])
        yield f"Made {root.path}"
    else:
        yield f"There is a memory already: {root.path}"
    if not root.lessons.exists():
        replace_file(root.lessons, FOUNDED["lessons.md"])
    root.topics.mkdir(exist_ok=True)
    change_setting(root.settings, "model", model)
    write_index_page(root, read_memory_settings(root.settings))
    yield from _prepare_git(root)


def find_example() -> Path:
    """Where the example memory lies."""
    return EXAMPLE if EXAMPLE.is_dir() else EXAMPLE_IN_CHECKOUT


def is_example(root: MemoryRoot) -> bool:
    """Whether a memory holds every topic of the example as it is shipped."""
    names = sorted((find_example() / "topics").glob("*.md"))
    return all((root.topics / name.name).is_file() for name in names) and all(
        (root.topics / name.name).read_bytes() == name.read_bytes() for name in names
    )


def set_aside(root: MemoryRoot) -> Path:
    """Renames the folder of a memory, which nothing has open, to a free name beside it; the new place."""
    names = ("example", *(f"example-{number}" for number in range(2, 100)))
    place = next(path for name in names if not (path := root.path.with_name(name)).exists())
    root.path.rename(place)
    make_state(MemoryRoot(place, root.states))  # its own goes along
    return place


def trust_root(file: Path, person: PersonSettings, path: Path, *, is_trusted: bool = True) -> None:
    """Adds a root to the person's trusted ones, or takes it out."""
    known = set(person.trusted_roots)
    roots = known | {str(path)} if is_trusted else {one for one in known if Path(one).resolve() != path}
    change_setting(file, "trusted_roots", sorted(roots), follow=True)


def _prepare_git(root: MemoryRoot) -> Iterator[str]:
    """A repository of its own, or, inside a project's repository, ignore rules that keep conversations out of it."""
    inside = (ask_git(root.path, "rev-parse", "--show-toplevel") or "").strip()
    is_own = not inside or Path(inside).resolve() == root.path.resolve()
    ignore = root.path / ".gitignore"
    _add_lines(ignore, DERIVED_IGNORED if is_own else DERIVED_IGNORED + PRIVATE_IGNORED)
    if not inside and ask_git(root.path, "init", "--quiet") is not None:
        yield "It is a git repository of its own; nothing was committed."
    elif not is_own:
        yield f"It lies in the repository {inside}: conversations are git-ignored there."


def _add_lines(file: Path, wanted: str) -> None:
    """Adds those lines to a file that it does not have yet."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    missing = [line for line in wanted.splitlines() if line not in text.splitlines()]
    if any(not line.startswith("#") for line in missing):
        newline = "" if not text or text.endswith("\n") else "\n"
        replace_file(file, text + newline + "".join(f"{line}\n" for line in missing))
