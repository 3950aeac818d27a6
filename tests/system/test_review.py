"""The review as a person meets it: on a terminal of their own, with a word to type, and never run by the assistant."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dream.hunk import State
from memory_server.root import MemoryRoot
from tests.dream.builders import archive_said, decisions_on, extending, git, new_topic, proposed, replacing
from tests.system.house import House, wait_until

COMMAND = ["-c", "from oneiros.cli.main import run; run()"]
WORD = [r"type the word (\w+): ", "{1}\n"]


def at_terminal(
    house: House, steps: list[list[str]], *arguments: str, command: list[str] | None = None, **variables: str
) -> tuple[str, int]:
    """Screen and exit code of a command that is run on a terminal of its own."""
    spec, out = house.folder / "spec.json", house.folder / "screen.json"
    out.unlink(missing_ok=True)
    whole = [*(command or [sys.executable, *COMMAND]), *arguments]
    spec.write_text(json.dumps({"command": whole, "steps": steps}), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "tests.system.at_terminal", str(spec), str(out)],
        env={**house.variables, "TERM": "dumb", **variables},
        cwd=house.folder,
        check=True,
        timeout=60,
    )
    wait_until(out.exists, 150)
    found = json.loads(out.read_text(encoding="utf-8"))
    return found["screen"].replace("\r\n", "\n"), found["code"]


@pytest.fixture
def proposal(house: House) -> str:
    """A hunk that waits for a decision in a committed memory; its id."""
    (house.root / ".gitignore").write_text(".oneiros/\nproposals/\nsessions/\n", encoding="utf-8")
    git(house.root, "init", "--quiet")
    git(house.root, "add", ".")
    git(house.root, "commit", "--quiet", "-m", "Begin")
    root = MemoryRoot(house.root)
    archive_said(root, "The relay listens on port 2526.")
    [hunk] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))
    return hunk.id


def topic(house: House) -> str:
    return (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_a_person_accepts_and_the_new_text_is_found(house: House, proposal: str) -> None:
    screen, code = at_terminal(house, [[r"\[y,n.*\? ", "y\n"], WORD], "review")

    assert code == 0, screen
    assert "> The relay listens on port 2526." in screen and "1 accepted" in screen
    assert "2526" in topic(house) and git(house.root, "log", "--format=%s").startswith("Take up fact")
    assert "topics/mail.md" in house.command("exact", "2526").stdout


def test_a_wrong_word_accepts_nothing(house: House, proposal: str) -> None:
    screen, code = at_terminal(house, [[r"\[y,n.*\? ", "y\n"], [WORD[0], "please\n"]], "review")

    assert code == 2 and "not the word" in screen
    assert "2526" not in topic(house)


def test_a_hunk_whose_quote_nobody_said_is_shown_as_altered_and_not_accepted(house: House) -> None:
    root = MemoryRoot(house.root)
    proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))

    screen, _ = at_terminal(house, [[r"\[y,n.*\? ", "y\n"], WORD], "review")

    assert "ALTERED: the archive does not have its quote" in screen and "0 accepted" in screen
    assert "2526" not in topic(house)


@pytest.mark.parametrize("command", [["review"], ["dream", "apply", "2026-03-02-1"], ["dream", "revert", "{}"]])
def test_without_a_terminal_nothing_is_decided(house: House, proposal: str, command: list[str]) -> None:
    before = git(house.root, "rev-parse", "HEAD")
    done = house.command(*(word.replace("{}", proposal) for word in command), check=False)

    assert done.returncode == 2
    assert "2526" not in topic(house) and git(house.root, "rev-parse", "HEAD") == before


def test_the_assistant_cannot_accept_although_it_has_a_terminal(house: House, proposal: str) -> None:
    screen, code = at_terminal(house, [[r"\[y,n.*\? ", "y\n"], WORD], "review", CLAUDECODE="1")

    assert code == 2 and "the assistant cannot accept" in screen
    assert "2526" not in topic(house)


@pytest.mark.skipif(shutil.which("script") is None, reason="script is not installed")
def test_the_assistant_cannot_accept_through_script(house: House, proposal: str) -> None:
    inner = f"env -u CLAUDECODE {sys.executable} -c 'from oneiros.cli.main import run; run()' dream apply 2026-03-02-1"
    done = subprocess.run(
        ["script", "-qec", inner, "/dev/null"],
        env={**house.variables, "CLAUDECODE": "1"},
        input="amber\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 2 and "the assistant cannot accept" in done.stdout
    assert "2526" not in topic(house)


def test_a_child_of_a_process_named_claude_cannot_accept(house: House, proposal: str) -> None:
    client = house.folder / "claude"
    shutil.copy2(Path(sys.executable).resolve(), client)
    code_of_client = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    inner = [str(client), "-c", code_of_client, sys.executable, *COMMAND]

    screen, code = at_terminal(
        house, [[r"\[y,n.*\? ", "y\n"], WORD], "review", command=inner, PYTHONHOME=sys.base_prefix
    )

    assert code == 2 and "started this" in screen, screen
    assert "2526" not in topic(house)


def test_git_apply_cannot_be_prevented_but_is_named(house: House, proposal: str) -> None:
    git(house.root, "apply", "proposals/2026-03-02-1/changes.diff")
    assert "2526" in topic(house)

    screen, _ = at_terminal(house, [[r"Adopt it \[y,n\]\? ", "n\n"], [r"\[y,n.*\? ", "y\n"], WORD], "review")

    assert "topics/mail.md is in a state that nobody has answered for (changed)" in screen
    assert git(house.root, "log", "--format=%s") == "Begin\n"


def test_the_keys_of_a_review_do_what_they_say(house: House) -> None:
    root = MemoryRoot(house.root)
    archive_said(root, "Backups run at 03:00.", "It needs TLS.", "It needs a key.", "It hums.")
    decisions = decisions_on(root)
    updates = [
        new_topic("Backups run at 03:00.", "backups", number=1, confidence=0.9),
        extending(root, "It needs TLS.", "2525", number=2, confidence=0.8),
        extending(root, "It needs a key.", "2525", number=3, confidence=0.7),
        extending(root, "It hums.", "2525", number=4, confidence=0.6),
    ]
    first, *others = proposed(decisions, *updates)

    asked = r"\[y,n.*\? "
    screen, code = at_terminal(
        house,
        [[asked, "o\n"], [asked, "n\n"], ["Why not", "seen elsewhere\n"], WORD, [asked, "s\n"], [asked, "a\n"]],
        "review",
    )

    assert code == 0 and "2 accepted, 1 rejected, 1 left for later." in screen, screen
    store = decisions.store
    assert store.hunk(first.id).reason == "seen elsewhere"
    assert [store.hunk(hunk.id).state for hunk in others] == [State.PENDING, State.ACCEPTED, State.ACCEPTED]


def test_a_review_in_an_editor_does_what_the_file_says(house: House, proposal: str) -> None:
    screen, code = at_terminal(house, [WORD], "review", "--editor", EDITOR="sed -i s/^The.relay.*/It.listens.on.2527./")

    assert code == 0 and "1 reworded" in screen, screen
    assert "It.listens.on.2527.[^d" in topic(house)


def test_an_accepted_hunk_is_reverted_and_its_line_blamed_from_a_terminal(house: House, proposal: str) -> None:
    before = topic(house)
    assert at_terminal(house, [WORD], "dream", "apply", "2026-03-02-1")[1] == 0
    blamed = house.command("dream", "blame", "mail:3")

    screen, code = at_terminal(house, [WORD], "dream", "revert", proposal[:6])

    assert f"hunk {proposal}" in blamed.stdout and "> The relay listens on port 2526." in blamed.stdout
    assert code == 0 and "taken out of topics/mail.md" in screen and topic(house) == before
