"""What an attacker with a shell tries against the guard: each is denied, and each is a real one.

A line is a command, in which `\\n` and `\\t` stand for the end of a line and a tab.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from oneiros.light.hook import GUARDED
from parts.guard.protected import reason_to_deny

HERE = Path(__file__).parent
STATE = ".local/state/oneiros/0123456789abcdef/approvals.jsonl"


def lines(name: str) -> list[str]:
    return [
        line.replace("\\n", "\n").replace("\\t", "\t")
        for line in (HERE / name).read_text(encoding="utf-8").splitlines()
    ]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a memory of two commits, settings and state, and a folder of work in which an attacker was."""
    home = tmp_path_factory.mktemp("template") / "ada"
    root, work = home / ".oneiros" / "memory", home / "work"
    files = {
        root / "topics" / "mail.md": "The relay listens on port 2525.\n",
        root / "lessons.md": "Look first.\n",
        root / "MEMORY.md": "- mail\n",
        root / "sessions" / "a.md": "said\n",
        home / ".config" / "oneiros" / "config.toml": "a = 1\n",
        home / STATE: "{}\n",
        work / "evil" / "memory" / "lessons.md": "Never look.\n",
        work / "evil" / "memory" / "topics" / "mail.md": "The relay listens nowhere.\n",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git(root, "init", "-q", "--template=")
    for text in ("The relay listens on port 25.\n", "The relay listens on port 2525.\n"):
        (root / "topics" / "mail.md").write_text(text, encoding="utf-8")
        git(root, "add", ".")
        git(root, "commit", "-qm", "x")
    subprocess.run(["tar", "-C", str(work / "evil" / "memory"), "-cf", str(work / "evil.tar"), "."], check=True)
    (work / "evil.diff").write_text(
        "--- a/topics/mail.md\n+++ b/topics/mail.md\n@@ -1 +1 @@\n"
        "-The relay listens on port 2525.\n+The relay listens nowhere.\n",
        encoding="utf-8",
    )
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Iterator[Path]:
    copy = tmp_path / "ada"
    shutil.copytree(template, copy, symlinks=True)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)


def reason(command: str, home: Path) -> str:
    roots = [str(home / ".oneiros" / "memory"), str(home / "work" / "memory")]
    return reason_to_deny("Bash", {"command": command}, str(home / "work"), roots, {"HOME": str(home)})


def hash_guarded(home: Path) -> str:
    """Of all that is guarded, links and their number included."""
    found = hashlib.sha256()
    for place in (home / ".oneiros", home / ".config", home / ".local"):
        for file in sorted((place, *place.rglob("*"))):
            name = file.relative_to(home)
            about = file.lstat() if file.is_symlink() or file.exists() else None
            is_index = file.name == "index" and ".git" in file.parts  # git refreshes it where it only reads
            text = file.read_bytes() if file.is_file() and not is_index else b""
            links = about.st_nlink if about and file.is_file() else 0
            found.update(f"{name} {about is None} {file.is_symlink()} {links}".encode() + text)
    return found.hexdigest()


def run(command: str, home: Path) -> None:
    """Runs a command in a home that is thrown away, with the variables of nobody else."""
    variables = {"HOME": str(home), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "x"}
    variables |= {
        "GIT_AUTHOR_EMAIL": "x@example.org",
        "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@example.org",
    }
    subprocess.run(
        ["bash", "-c", command],
        cwd=home / "work", env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def before(template: Path) -> str:
    return hash_guarded(template)


@pytest.mark.parametrize("command", lines("attacks.txt"))
def test_an_attack_is_denied_and_is_one(command: str, home: Path, before: str) -> None:
    assert reason(command, home) != ""

    run(command, home)
    assert hash_guarded(home) != before


@pytest.mark.parametrize("command", lines("untried.txt"))
def test_an_attack_that_not_every_machine_can_run_is_denied(command: str, template: Path) -> None:
    assert reason(command, template) != ""


@pytest.mark.parametrize("command", lines("person.txt"))
def test_what_a_person_decides_with_is_denied(command: str, template: Path) -> None:
    assert reason(command, template) != ""


@pytest.mark.parametrize("command", lines("free.txt"))
def test_what_only_reads_or_writes_elsewhere_is_free(command: str, template: Path) -> None:
    assert reason(command, template) == ""


@pytest.mark.parametrize("command", lines("denied_too.txt"))
def test_what_is_denied_although_it_reads_is_what_the_documents_say(command: str, template: Path) -> None:
    assert "surely only reads" in reason(command, template) or "for the person alone" in reason(command, template)


@pytest.mark.parametrize("command", lines("slips.txt"))
def test_what_slips_past_is_what_the_documents_say(command: str, template: Path) -> None:
    assert reason(command, template) == "" or not any(mark in command.encode() for mark in GUARDED)


def test_a_command_that_stands_for_too_much_is_denied_where_it_names_the_memory(template: Path) -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    many = "a=xxxx; " + "; ".join(f"{two}=${one}${one}" for one, two in pairwise(names)) + "; rm $z"
    deep = "echo " + "$(" * 20 + "true" + ")" * 20
    braced = "echo " + "${a:-" * 2_000
    documents = "cat " + "<<A " * 500 + "\n" + "A\n" * 500
    long = "# " + "x" * 70_000

    for command in (many, deep, braced, documents, long):
        assert reason(command, template) == ""
        assert reason(f"ls ~/.oneiros\n{command}", template) != ""
