"""What `make check` runs: lint and types of the files that changed, and the tests that import one of them.

Changed is what differs from the last commit, with new files; in a tree without changes, what the last commit changed.
A test that needs more than `make setup` brings is left to its own target.
"""

import subprocess
import sys
from pathlib import Path

from tests.test_arrows import ROOT, imports_of

APART = "system or faults or page or stress or torch or trainer or team or client or wheel"


def main() -> int:
    """Runs them one after the other; the exit code of the first that fails."""
    changed = [file for file in changed_files() if file.suffix == ".py" and file.is_file()]
    if not changed:
        print("No Python file changed.")  # noqa: T201  a command of development
        return 0
    tests = sorted(map(str, {ROOT / "tests" / "test_arrows.py", *tests_of(changed)}))
    files = list(map(str, changed))
    for tool, *arguments in (
        ("ruff", "check", *files),
        ("ruff", "format", "--check", *files),
        ("mypy", *files),
        ("pytest", "-q", "-m", f"not ({APART})", "-n", "logical", "--dist", "loadfile", *tests),
    ):
        if code := subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, check=False).returncode:
            return code
    return 0


def changed_files() -> list[Path]:
    """The files that differ from the last commit, else those of it."""
    told = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return [ROOT / name for name in told or git("diff", "--name-only", "HEAD~1", "HEAD")]


def git(*arguments: str) -> list[str]:
    """The lines that git answers."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def tests_of(changed: list[Path]) -> set[Path]:
    """The tests that changed themselves, or import a module that did."""
    modules = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in changed}
    tests = {file for file in (ROOT / "tests").rglob("test_*.py") if imports_of(file) & modules}
    return tests | {file for file in changed if file.name.startswith("test_")}


if __name__ == "__main__":
    sys.exit(main())
