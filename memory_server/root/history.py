"""What git knows of a root's topics on a day that is over. Nothing is checked out, and nothing of the folder is run."""

import datetime as dt
import subprocess
from collections.abc import Mapping
from pathlib import Path

from memory_server.errors import ContentError
from memory_server.root.state import SAFE_GIT

GIT_SECONDS = 20.0
MOST_FILES = 2_000


def read_topics(folder: Path, day: dt.date) -> Mapping[str, str]:
    """The texts of topics and lessons as the last commit of that day had them, by path; none where there was none.

    Raises ContentError where the memory is in no repository.
    """
    before = f"--before={day.isoformat()}T23:59:59"
    commit = _git(folder, "rev-list", "-1", before, "HEAD").decode("ascii").strip()
    if not commit:
        return {}
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", commit, "--", "topics", "lessons.md")
    paths = [path for path in listed.decode("utf-8", "replace").split("\0") if path.endswith(".md")][:MOST_FILES]
    paths = [path for path in paths if "\n" not in path]
    found = _git(folder, "cat-file", "--batch", told="".join(f"{commit}:./{path}\n" for path in paths))
    texts = {}
    for path in paths:
        head, _, found = found.partition(b"\n")
        last = head.split()[-1:]
        size = int(last[0]) if last and last[0].isdigit() else 0  # else it says `missing`
        texts[path] = found[:size].decode("utf-8", "replace")
        found = found[size + 1 :]
    return texts


def _git(folder: Path, *words: str, told: str = "") -> bytes:
    command = ["git", "-C", str(folder), *SAFE_GIT, "-c", "core.quotePath=false", *words]
    try:
        done = subprocess.run(command, input=told.encode(), capture_output=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ContentError(
            "git knows nothing of this memory's past", where=folder, remedy="Ask without as_of"
        ) from error
    return done.stdout
