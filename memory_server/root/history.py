"""What git knows of a root's topics on a day that is over. Nothing is checked out, and nothing of the folder is run."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

from memory_server.errors import ContentError, NeedsRepair
from memory_server.root.git import run_git, split_batch

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
    found = _git(folder, "cat-file", "--batch", data="".join(f"{commit}:./{path}\n" for path in paths).encode())
    texts = (content.decode("utf-8", "replace") for content in split_batch(found, len(paths)))
    return dict(zip(paths, texts, strict=True))


def _git(folder: Path, *words: str, data: bytes = b"") -> bytes:
    try:
        done = run_git(folder, words, data)
        if done.returncode == 0:
            return done.stdout
    except NeedsRepair as error:
        raise ContentError(error.what, where=folder, remedy="Ask without as_of") from error
    raise ContentError("git knows nothing of this memory's past", where=folder, remedy="Ask without as_of")
