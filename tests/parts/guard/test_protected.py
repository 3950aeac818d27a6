"""Which tool calls are denied without a daemon, and which are none of its business."""

import os
import random
from pathlib import Path

import pytest

from parts.guard.protected import reason_to_deny

ROOT = "/home/ada/.oneiros/memory"
FOLDER = "/home/ada/work"
VARIABLES = {"HOME": "/home/ada", "ONEIROS_ROOT": ROOT}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")


def denied(command: str, folder: str = FOLDER) -> bool:
    return bool(reason_to_deny("Bash", {"command": command}, folder, [ROOT], VARIABLES))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": f"{ROOT}/topics/mail.md", "content": "x"}),
        ("Edit", {"file_path": f"{ROOT}/topics/deep/mail.md"}),
        ("Edit", {"file_path": f"{ROOT}/lessons.md"}),
        ("Write", {"file_path": "../.oneiros/memory/MEMORY.md"}),
        ("Write", {"file_path": f"{ROOT}/topics/../topics/x.md"}),
        ("NotebookEdit", {"notebook_path": f"{ROOT}/topics/x.ipynb"}),
        ("Write", {"file_path": f"{ROOT}/proposals/approvals.jsonl"}),
        ("Write", {"file_path": f" {ROOT}/topics/mail.md\n"}),
        ("Write", {"file_path": f"{ROOT}/topics/\ud800.md"}),
    ],
)
def test_an_editor_may_not_write_approved_memory(tool: str, arguments: dict[str, object]) -> None:
    assert "propose" in reason_to_deny(tool, arguments, FOLDER, [ROOT], VARIABLES)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada/.local/state/oneiros/0123456789abcdef/approvals.jsonl",
        "/home/ada/.config/oneiros/config.toml",
        "/home/ada/.config/oneiros/any-key",
        f"{ROOT}/sessions/archive/x.zst",
        f"{ROOT}/.git/hooks/pre-commit",
        f"{ROOT}/.oneiros/ledger.db",
        f"{ROOT}/.oneiros/notes/plan.md",
        f"{ROOT}/oneiros.toml",
        f"{ROOT}/TOPICS/../Sessions/x",
    ],
)
def test_an_editor_may_not_write_what_is_the_persons_own(path: str) -> None:
    assert "the person's own" in reason_to_deny("Write", {"file_path": path}, FOLDER, [ROOT], VARIABLES)


@pytest.mark.parametrize("path", [f"{ROOT}/episodes/x.md", "/home/ada/work/topics/x.md", "notes.md", f"{ROOT}/topicsx"])
def test_an_editor_may_write_anything_else(path: str) -> None:
    assert reason_to_deny("Write", {"file_path": path}, FOLDER, [ROOT], VARIABLES) == ""


@pytest.mark.parametrize(
    "command",
    [
        "echo x > ~/.oneiros/memory/topics/mail.md",
        "echo x >> $ONEIROS_ROOT/topics/mail.md",
        "echo x>${ONEIROS_ROOT}/lessons.md",
        "cd ~/.oneiros/memory && echo x > topics/mail.md",
        "cd ~/.oneiros && cd memory; tee topics/mail.md < x",
        "cat x | tee -a /home/ada/.oneiros/memory/topics/mail.md",
        "cp x.md /home/ada/.oneiros/memory/topics/",
        "mv x.md ~/.oneiros/memory/topics/x.md",
        "rm -rf ~/.oneiros/memory/topics",
        "sed -i s/a/b/ ~/.oneiros/memory/topics/mail.md",
        "sed -i.bak s/a/b/ ~/.oneiros/memory/lessons.md",
        "python3 -c \"open('/home/ada/.oneiros/memory/topics/x.md','w').write('x')\"",
        "bash -c 'echo x > /home/ada/.oneiros/memory/topics/x.md'",
        "git -C ~/.oneiros/memory checkout HEAD~1 -- topics && true || touch ~/.oneiros/memory/topics/a.md",
        "dd if=x of=/home/ada/.oneiros/memory/topics/x.md",
        "find ~/.oneiros/memory/topics -name '*.md' -delete",
        "true\ncat > ~/.oneiros/memory/topics/x.md <<EOF\nit's open\nEOF",
        "ln -sf /tmp/x ~/.oneiros/memory/topics/x.md",
    ],
)
def test_a_shell_command_may_not_write_approved_memory(command: str) -> None:
    assert denied(command)


@pytest.mark.parametrize(
    "command",
    [
        "oneiros review",
        "cd /tmp && oneiros review --yes",
        "/home/ada/.local/bin/oneiros review",
        "uv run oneiros review",
        "python -m oneiros.cli.main review",
        "echo word | oneiros dream apply 2026-01-01-1",
        "script -qc 'oneiros review' /dev/null",
        "env -u CLAUDECODE oneiros review",
        "oneiros dream adopt topics/mail.md",
        "X=$(oneiros dream revert abc)",
        "oneiros trust ./memory",
    ],
)
def test_the_assistant_may_not_run_what_a_person_accepts_with(command: str) -> None:
    assert denied(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.oneiros/memory/topics/mail.md",
        "grep -r relay ~/.oneiros/memory/topics | head",
        "ls ~/.oneiros/memory/topics > /tmp/list",
        "git -C ~/.oneiros/memory log --oneline topics",
        "git -C ~/.oneiros/memory diff -- topics/mail.md",
        "oneiros recall 'how do we review topics'",
        "oneiros dream",
        "grep 'oneiros review' docs/*.md",
        "sed -n 1,20p ~/.oneiros/memory/topics/mail.md",
        "mkdir -p topics && echo x > topics/mail.md",
        "make test",
        "git commit -m 'Write topics and review them'",
    ],
)
def test_reading_and_everything_elsewhere_is_left_alone(command: str) -> None:
    assert not denied(command)


def test_half_a_character_does_not_end_the_guard() -> None:
    assert denied("rm -rf ~/.oneiros \ud800")
    assert denied("rm -rf \ud800 ~/.oneiros")


def test_a_link_into_approved_memory_is_seen_through(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    (root / "topics").mkdir(parents=True)
    (tmp_path / "door").symlink_to(root / "topics")

    arguments = {"file_path": str(tmp_path / "door" / "x.md")}

    assert reason_to_deny("Write", arguments, str(tmp_path), [str(root)], {})


def test_a_pattern_of_the_shell_that_names_a_topic_is_seen_through(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    (root / "topics").mkdir(parents=True)
    (root / "topics" / "mail.md").write_text("x", encoding="utf-8")

    assert reason_to_deny("Bash", {"command": "rm t*/mail.md"}, str(root), [str(root)], {})


def test_no_command_line_makes_it_fail() -> None:
    seeded = random.Random(12)
    pieces = ["oneiros", "review", "topics", "'", '"', "$(", ")", "`", ">", "<<", "\n", "\\", ";", "~", "*", "é", "\0"]
    commands = [" ".join(seeded.choices(pieces, k=8)) for _ in range(2_000)]

    reasons = [reason_to_deny("Bash", {"command": command}, os.sep, [ROOT], VARIABLES) for command in commands]

    assert 0 < sum(bool(reason) for reason in reasons) < len(commands)
