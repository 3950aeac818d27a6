"""git, asked about the repository that a folder lies in, and run so that it executes nothing of that folder."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from memory_server.errors import NeedsRepair

SECONDS = 60.0
PROTOCOLS = ("file", "ext", "fd", "ssh", "git", "http", "https", "ftp", "ftps")
# runs nothing that a folder brought with it: no hook, no monitor, no settings of a bare repository among its files, no
# program that looks at signatures, and none that fetches what is missing in a partial clone
SAFE_GIT = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"),
    *("-c", "log.showSignature=false", "-c", "protocol.allow=never"),
    *(word for name in PROTOCOLS for word in ("-c", f"protocol.{name}.allow=never")),
)
HEREDITARY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")  # of a hook or alias that runs us
NONE_MORE: Mapping[str, str] = MappingProxyType({})


def run_git(
    folder: Path,
    words: Sequence[str],
    data: bytes = b"",
    *,
    more: Mapping[str, str] = NONE_MORE,
    seconds: float = SECONDS,
) -> subprocess.CompletedProcess[bytes]:
    """What came of a call of git; `more`: variables for it. Raises NeedsRepair where it cannot be run."""
    own = {name: value for name, value in os.environ.items() if name not in HEREDITARY}
    command = ["git", "-C", str(folder), *SAFE_GIT, "-c", "core.quotePath=false", *words]
    environment = {**own, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1", **more}
    try:
        return subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        remedy = "Install git, or mend it, then try again"
        raise NeedsRepair(f"git cannot be run ({error})", where=folder, remedy=remedy) from error


def ask_git(folder: Path, *words: str) -> str | None:
    """What git prints; None where it refuses, outside of a repository, and without git."""
    try:
        done = run_git(folder, words)
    except NeedsRepair:
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def is_in_repository(folder: Path) -> bool:
    """Whether a folder or one above it has a `.git`, by a look at the disk: git takes milliseconds to tell."""
    real = folder.resolve()
    return any(os.path.lexists(place / ".git") for place in (real, *real.parents))


def split_batch(printed: bytes, count: int) -> Iterator[bytes]:
    """The contents that `git cat-file --batch` printed, in their order; empty for what it says is missing."""
    at = 0
    for _ in range(count):
        line = printed.index(b"\n", at)
        last = printed[at:line].split(b" ")[-1]
        size = int(last) if last.isdigit() else -1  # else it says `missing`, and no line behind it
        yield printed[line + 1 : line + 1 + max(size, 0)]
        at = line + 1 + size + 1
