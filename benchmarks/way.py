"""What one question passes: the files and functions of ours that are entered, and the modules that are loaded for it.

    python -m benchmarks.way [--memory FOLDER] [--question WORDS] [--json FILE]

A memory is indexed by a process of its own, then opened as a command opens it and asked the same question twice; the
second one is counted by `sys.setprofile`, from the words to the text that a model is shown. `--memory` is an existing
memory, of which a copy is asked; one with an archive passes more than the shipped example, which is asked without it.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from memory_server.faces.answer_text import answer_text
from memory_server.memory import Memory
from memory_server.search.question import parse_query
from oneiros.environment import Environment
from oneiros.opening import open_memory

ROOT = Path(__file__).parent.parent
OURS = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"benchmarks", "tests"}
QUESTION = "which process opens the index"


def main() -> None:
    """Counts, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, default=ROOT / "memory")
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        copy = Path(shutil.copytree(arguments.memory, Path(folder) / "memory"))
        variables = {**os.environ, "ONEIROS_ROOT": str(copy), "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
        environment = Environment(variables, Path(folder), Path(folder))
        indexing = multiprocessing.get_context("spawn").Process(target=index, args=(environment,))
        indexing.start()
        indexing.join()
        with open_memory(environment) as memory:
            ask(memory, arguments.question)
            functions = functions_entered(lambda: ask(memory, arguments.question))
    files = Counter(file for file, _ in functions)
    loaded = {name: count_lines(name) for name in sorted(sys.modules) if name.split(".")[0] in OURS}
    for file, count in sorted(files.items()):
        print(f"{count:>4}  {file}")
    packages = Counter(name.split(".")[0] for name in loaded)
    print(f"files entered      {len(files)}")
    print(f"functions entered  {len(functions)}")
    print(f"modules loaded     {len(loaded)}: {', '.join(f'{name} {count}' for name, count in packages.items())}")
    print(f"lines loaded       {sum(loaded.values())}")
    if arguments.json:
        found = {"files": files, "functions": len(functions), "modules": loaded}
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def index(environment: Environment) -> None:
    """Brings a memory level, in a process of its own: what that loads is no part of a question's way."""
    with open_memory(environment) as memory:
        memory.reindex()


def ask(memory: Memory, words: str) -> str:
    """A question as a face asks it."""
    return answer_text(memory.search(parse_query(words)), memory.person.answer_tokens)


def functions_entered(work: Callable[[], object]) -> set[tuple[str, str]]:
    """Every function of ours that is called while something is done, with its file."""
    entered: set[tuple[str, str]] = set()
    folders = tuple(f"{ROOT / name}{os.sep}" for name in OURS)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folders):
            entered.add((os.path.relpath(code.co_filename, ROOT), f"{code.co_qualname}:{code.co_firstlineno}"))

    threading.setprofile(note)  # for threads that begin meanwhile
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


def count_lines(module: str) -> int:
    """How long the file of a loaded module is."""
    file = sys.modules[module].__file__
    return len(Path(file).read_text(encoding="utf-8").splitlines()) if file else 0


if __name__ == "__main__":
    main()
