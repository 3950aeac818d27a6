"""The review as a person meets it: on a terminal of their own, with a word to type, and never run by the assistant."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dream.records import State
from tests.dream.builders import archive_said, decisions_on, extending, git, new_topic, proposed, replacing
from tests.system.at_terminal import ONEIROS, WORD, at_terminal
from tests.system.house import House

ASKED = r"\[y,n.*\? "
YES = (ASKED, "y\n")


@pytest.fixture
def proposal(house: House) -> str:
    """A hunk that waits for a decision in a committed memory; its id."""
    (house.root / ".gitignore").write_text(".oneiros/\nproposals/\nsessions/\n", encoding="utf-8")
    git(house.root, "init", "--quiet")
    git(house.root, "add", ".")
    git(house.root, "commit", "--quiet", "-m", "Begin")
    root = house.memory_root
    archive_said(root, "The relay listens on port 2526.")
    [hunk] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))
    return hunk.id


def topic(house: House) -> str:
    return (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_a_person_accepts_and_the_new_text_is_found(house: House, proposal: str) -> None:
    seen = at_terminal(house, [YES, WORD], "review")

    assert seen.code == 0, seen
    assert "> The relay listens on port 2526." in seen.screen and "1 accepted" in seen.screen
    assert "2526" in topic(house) and git(house.root, "log", "--format=%s").startswith("Take up fact")
    assert "topics/mail.md" in house.command("exact", "2526").stdout


def test_a_wrong_word_accepts_nothing(house: House, proposal: str) -> None:
    seen = at_terminal(house, [YES, (WORD[0], "please\n"), (WORD[0], "\n")], "review")

    assert seen.code == 2 and "not the word" in seen.screen
    assert "2526" not in topic(house)


def test_a_mistyped_word_is_asked_again_and_loses_nothing(house: House, proposal: str) -> None:
    edited = house.folder / "editor"
    edited.write_text("#!/bin/sh\nsed -i 's/2526/2526 from now on/' \"$1\"\n", encoding="utf-8")
    edited.chmod(0o755)

    seen = at_terminal(house, [(ASKED, "e\n"), (WORD[0], "ambre\n"), WORD], "review", variables={"EDITOR": str(edited)})

    announced = seen.screen.index("Before the first decision a word is shown")
    assert (seen.code, announced < seen.screen.index("Take this up")) == (0, True)
    assert "That was not the word. Once more" in seen.screen and "1 accepted" in seen.screen
    assert "2526 from now on" in topic(house)


def test_an_edit_that_changes_nothing_asks_before_it_accepts(house: House, proposal: str) -> None:
    unchanged = (r"Accept it as it stands \[y,n\]\? ", "n\n")

    seen = at_terminal(house, [(ASKED, "e\n"), unchanged, (ASKED, "q\n")], "review", variables={"EDITOR": "true"})

    assert (seen.code, seen.left) == (0, [])
    assert "0 accepted, 0 rejected, 1 left for later" in seen.screen
    assert "2526" not in topic(house)


def test_a_hunk_whose_quote_nobody_said_is_shown_as_altered_and_not_accepted(house: House) -> None:
    root = house.memory_root
    proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))

    seen = at_terminal(house, [YES, WORD], "review")

    assert "ALTERED: the archive does not have its quote" in seen.screen and "0 accepted" in seen.screen
    assert "2526" not in topic(house)


@pytest.mark.parametrize("command", [["review"], ["dream", "apply", "2026-03-02-1"], ["dream", "revert", "{}"]])
def test_without_a_terminal_nothing_is_decided(house: House, proposal: str, command: list[str]) -> None:
    before = git(house.root, "rev-parse", "HEAD")
    done = house.command(*(word.replace("{}", proposal) for word in command), check=False)

    assert done.returncode == 2
    assert "2526" not in topic(house) and git(house.root, "rev-parse", "HEAD") == before


def test_the_assistant_cannot_accept_although_it_has_a_terminal(house: House, proposal: str) -> None:
    seen = at_terminal(house, [YES, WORD], "review", variables={"CLAUDECODE": "1"})

    assert seen.code == 2 and "the assistant cannot accept" in seen.screen
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
    inner = [str(client), "-c", code_of_client, *ONEIROS]

    seen = at_terminal(house, [YES, WORD], "review", command=inner, variables={"PYTHONHOME": sys.base_prefix})

    assert seen.code == 2 and "started this" in seen.screen, seen
    assert "2526" not in topic(house)


def test_git_apply_cannot_be_prevented_but_is_named(house: House, proposal: str) -> None:
    git(house.root, "apply", "proposals/2026-03-02-1/changes.diff")
    assert "2526" in topic(house)

    seen = at_terminal(house, [(r"Adopt it \[y,n\]\? ", "n\n"), YES, WORD], "review")

    assert "topics/mail.md is in a state that nobody has answered for (changed)" in seen.screen
    assert git(house.root, "log", "--format=%s") == "Begin\n"


def test_the_keys_of_a_review_do_what_they_say(house: House) -> None:
    root = house.memory_root
    archive_said(root, "Backups run at 03:00.", "It needs TLS.", "It needs a key.", "It hums.")
    decisions = decisions_on(root)
    updates = [
        new_topic("Backups run at 03:00.", "backups", number=1, confidence=0.9),
        extending(root, "It needs TLS.", "2525", number=2, confidence=0.8),
        extending(root, "It needs a key.", "2525", number=3, confidence=0.7),
        extending(root, "It hums.", "2525", number=4, confidence=0.6),
    ]
    first, *others = proposed(decisions, *updates)

    seen = at_terminal(
        house,
        [(ASKED, "o\n"), (ASKED, "n\n"), ("Why not", "seen elsewhere\n"), WORD, (ASKED, "s\n"), (ASKED, "a\n")],
        "review",
    )

    assert seen.code == 0 and "2 accepted, 1 rejected, 1 left for later." in seen.screen, seen
    store = decisions.store
    assert store.hunk(first.id).reason == "seen elsewhere"
    assert [store.hunk(hunk.id).state for hunk in others] == [State.PENDING, State.ACCEPTED, State.ACCEPTED]


def test_a_review_in_an_editor_does_what_the_file_says(house: House, proposal: str) -> None:
    seen = at_terminal(
        house, [WORD], "review", "--editor", variables={"EDITOR": "sed -i s/^The.relay.*/It.listens.on.2527./"}
    )

    assert seen.code == 0 and "1 reworded" in seen.screen, seen
    assert "It.listens.on.2527.[^d" in topic(house)


def test_an_accepted_hunk_is_reverted_and_its_line_blamed_from_a_terminal(house: House, proposal: str) -> None:
    before = topic(house)
    assert at_terminal(house, [WORD], "dream", "apply", "2026-03-02-1").code == 0
    blamed = house.command("dream", "blame", "mail:3")

    seen = at_terminal(house, [WORD], "dream", "revert", proposal[:6])

    assert f"hunk {proposal}" in blamed.stdout and "> The relay listens on port 2526." in blamed.stdout
    assert seen.code == 0 and "taken out of topics/mail.md" in seen.screen and topic(house) == before
