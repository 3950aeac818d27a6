"""The review as a person meets it: on a terminal of their own, with a word to type, and never run by the assistant."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from dream.records import State
from tests.crawler.builders import assistant, person, settings_in, write_transcript
from tests.dream.builders import (
    archive_statements,
    begin_history,
    decisions_on,
    extending,
    git,
    new_topic,
    proposed,
    replacing,
)
from tests.system.at_terminal import ONEIROS, SETTLE, TAKE_UP, WORD, at_terminal
from tests.system.house import House

YES = (TAKE_UP, "a\n")
AGAIN = r"Be asked again \[y,n,\?\]\? "
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def proposal(house: House) -> str:
    """A hunk that waits for a decision in a committed memory; its id."""
    (house.root / ".gitignore").write_text(".oneiros/\nproposals/\nsessions/\n", encoding="utf-8")
    begin_history(house.root)
    root = house.memory_root
    archive_statements(root, "The relay listens on port 2526.")
    [hunk] = proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))
    return hunk.id


def topic(house: House) -> str:
    return (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_a_person_accepts_and_the_new_text_is_found(house: House, proposal: str) -> None:
    seen = at_terminal(house, [YES, SETTLE, WORD], "review")

    assert seen.code == 0, seen
    assert "  The relay listens on port 2526.\n    in these words: you, " in seen.screen and "1 accepted" in seen.screen
    assert "2526" in topic(house) and git(house.root, "log", "--format=%s").startswith("Take up fact")
    assert "topics/mail.md" in house.command("exact", "2526").stdout


def test_a_key_needs_no_enter_and_an_arrow_chooses_nothing(house: House, proposal: str) -> None:
    steps = [(TAKE_UP, "\x1b[A"), (TAKE_UP, "\n"), (TAKE_UP, "a"), (SETTLE[0], "y"), WORD]

    seen = at_terminal(house, steps, "review", variables={"TERM": "xterm"})

    assert seen.code == 0 and seen.left == [], seen
    assert "a - accept it\n" in seen.screen and "1 accepted" in seen.screen
    assert "\x1b[32m" in seen.screen and "2526" in topic(house)


def test_the_end_of_the_input_leaves_all_open(house: House, proposal: str) -> None:
    seen = at_terminal(house, [(TAKE_UP, "\x04")], "review", variables={"TERM": "xterm"})

    assert seen.code == 0 and "1 left for later" in seen.screen, seen


def test_a_wrong_word_accepts_nothing(house: House, proposal: str) -> None:
    gives_up = [(WORD[0], "\n"), (WORD[0], "\x04"), (AGAIN, "n\n")]
    seen = at_terminal(house, [YES, SETTLE, (WORD[0], "please\n"), *gives_up], "review")

    assert (seen.code, seen.left) == (2, []) and "not the word" in seen.screen
    assert "2526" not in topic(house)


def test_enter_behind_the_last_key_and_a_word_that_never_comes_lose_nothing(house: House, proposal: str) -> None:
    steps = [YES, (SETTLE[0], "y\n"), (WORD[0], "\n"), (WORD[0], "\x04"), (AGAIN, "y\n"), WORD]

    seen = at_terminal(house, steps, "review")

    assert (seen.code, seen.left) == (0, []), seen
    assert "1 accepted" in seen.screen and "2526" in topic(house)


def test_a_mistyped_word_is_asked_again_and_loses_nothing(house: House, proposal: str) -> None:
    edited = house.folder / "editor"
    edited.write_text("#!/bin/sh\nsed -i 's/2526/2526 from now on/' \"$1\"\n", encoding="utf-8")
    edited.chmod(0o755)

    steps = [(TAKE_UP, "e\n"), SETTLE, (WORD[0], "ambre\n"), WORD]
    seen = at_terminal(house, steps, "review", variables={"EDITOR": str(edited)})

    announced = seen.screen.index("At the end a word is shown")
    assert (seen.code, announced < seen.screen.index("Take this up")) == (0, True)
    assert "That was not the word. Once more" in seen.screen and "1 accepted" in seen.screen
    assert "2526 from now on" in topic(house)
    assert seen.screen.index("2526 from now on") < seen.screen.index("Once more"), "shown before the word is asked"
    assert re.search(r"Undo it:\s+oneiros dream revert [0-9a-f]{8}\s", seen.screen)


def test_an_edit_that_changes_nothing_asks_before_it_accepts(house: House, proposal: str) -> None:
    unchanged = (r"Accept it as it stands \[y,n,\?\]\? ", "n\n")

    seen = at_terminal(house, [(TAKE_UP, "e\n"), unchanged, (TAKE_UP, "q\n")], "review", variables={"EDITOR": "true"})

    assert (seen.code, seen.left) == (0, [])
    assert "0 accepted, 0 rejected, 1 left for later" in seen.screen
    assert "2526" not in topic(house)


def test_a_hunk_whose_quote_nobody_said_is_shown_as_altered_and_not_accepted(house: House) -> None:
    root = house.memory_root
    proposed(decisions_on(root), replacing(root, "The relay listens on port 2526.", "2525"))

    seen = at_terminal(house, [YES, SETTLE, WORD], "review")

    assert "ALTERED: the archive does not have its quote" in seen.screen and "0 accepted" in seen.screen
    assert "2526" not in topic(house)


@pytest.mark.parametrize("command", [["review"], ["dream", "apply", "2026-03-02-1"], ["dream", "revert", "{}"]])
def test_without_a_terminal_nothing_is_decided(house: House, proposal: str, command: list[str]) -> None:
    before = git(house.root, "rev-parse", "HEAD")
    done = house.command(*(word.replace("{}", proposal) for word in command), check=False)

    assert done.returncode == 2
    assert "2526" not in topic(house) and git(house.root, "rev-parse", "HEAD") == before


def test_the_assistant_cannot_accept_although_it_has_a_terminal(house: House, proposal: str) -> None:
    seen = at_terminal(house, [YES, SETTLE, WORD], "review", variables={"CLAUDECODE": "1"})

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

    seen = at_terminal(house, [YES, SETTLE, WORD], "review", command=inner, variables={"PYTHONHOME": sys.base_prefix})

    assert seen.code == 2 and "started this" in seen.screen, seen
    assert "2526" not in topic(house)


def test_git_apply_cannot_be_prevented_but_is_named(house: House, proposal: str) -> None:
    git(house.root, "apply", "proposals/2026-03-02-1/changes.diff")
    assert "2526" in topic(house)

    seen = at_terminal(house, [(r"Adopt it \[y,n,\?\]\? ", "n\n"), YES, SETTLE, WORD], "review")

    assert "topics/mail.md is in a state that nobody has answered for (changed)" in seen.screen
    assert git(house.root, "log", "--format=%s") == "Begin\n"


def test_a_title_that_was_mended_by_hand_is_shown_and_taken_with_one_key(house: House, proposal: str) -> None:
    file = house.root / "topics" / "mail.md"
    old = topic(house).split("\n", 1)[0]
    file.write_text(topic(house).replace(old, "# Post"), encoding="utf-8")

    seen = at_terminal(house, [(r"Adopt it \[y,n,\?\]\? ", "y\n"), WORD, (TAKE_UP, "q\n")], "review")

    assert f"  - {old}" in seen.screen and "  + # Post" in seen.screen
    assert decisions_on(house.memory_root).find_unexplained() == []


def test_the_keys_of_a_review_do_what_they_say(house: House) -> None:
    root = house.memory_root
    archive_statements(root, "Backups run at 03:00.", "It needs TLS.", "It needs a key.", "It hums.")
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
        [
            *[(TAKE_UP, f"{key}\n") for key in "or"],
            ("Why not", "seen elsewhere\n"),
            *[(TAKE_UP, f"{key}\n") for key in "lf"],
            SETTLE,
            WORD,
        ],
        "review",
    )

    assert seen.code == 0 and "2 accepted, 1 rejected, 1 left for later." in seen.screen, seen
    store = decisions.store
    assert store.hunk(first.id).reason == "seen elsewhere"
    assert [store.hunk(hunk.id).state for hunk in others] == [State.PENDING, State.ACCEPTED, State.ACCEPTED]


@pytest.fixture
def several(house: House) -> list[str]:
    """Four hunks on one topic and a new one, as a review asks about them; their ids."""
    root = house.memory_root
    archive_statements(
        root, "Backups run at 03:00.", "It needs TLS.", "It needs a key.", "The relay listens on port 2526."
    )
    updates = [
        replacing(root, "The relay listens on port 2526.", "2525", number=4, confidence=0.99),
        new_topic("Backups run at 03:00.", "backups", number=1, confidence=0.9),
        extending(root, "It needs TLS.", "2525", number=2, confidence=0.8),
        extending(root, "It needs a key.", "2525", number=3, confidence=0.7),
    ]
    replacement, *others = proposed(decisions_on(root), *updates)
    return [hunk.id for hunk in (*others, replacement)]


def states_of(house: House, hunks: list[str]) -> list[State]:
    store = decisions_on(house.memory_root).store
    return [store.hunk(name).state for name in hunks]


def test_a_replacement_comes_last_and_shows_both_lines_and_no_id_is_shown(house: House, several: list[str]) -> None:
    steps = [(TAKE_UP, "l\n")] * 4

    seen = at_terminal(house, steps, "review")

    said = ["Backups run at 03:00.", "It needs TLS.", "It needs a key.", "The relay listens on port 2526."]
    places = [seen.screen.index(f"\n  {text}\n    in these words: you, ") for text in said]
    assert places == sorted(places) and seen.left == []
    last = seen.screen[places[-1] :]
    assert "in place of a line:\n    - The relay listens on port 2525" in last.replace("- - ", "- ")
    assert "+ " in last and "2526" in last.partition("    + ")[2]
    assert not any(name in seen.screen for name in several) and "[^" not in seen.screen


def test_undo_takes_back_the_last_choice_one_by_one_also_at_the_end(house: House, several: list[str]) -> None:
    keys = [
        (TAKE_UP, "u\n"),
        (TAKE_UP, "r\n"),
        ("Why not", "no\n"),
        (TAKE_UP, "u\n"),
        (TAKE_UP, "a\n"),
        (TAKE_UP, "f\n"),
    ]
    last = [
        (TAKE_UP, "u\n"),
        (TAKE_UP, "l\n"),
        (TAKE_UP, "a\n"),
        (TAKE_UP, "a\n"),
        (SETTLE[0], "u\n"),
        (TAKE_UP, "q\n"),
    ]

    seen = at_terminal(house, [*keys, *last, SETTLE, WORD], "review")

    assert "You have chosen nothing yet." in seen.screen and seen.left == [], seen
    assert "2 accepted, 0 rejected, 2 left for later." in seen.screen
    assert states_of(house, several) == [State.ACCEPTED, State.PENDING, State.ACCEPTED, State.PENDING]


def test_the_rest_of_a_topic_is_shown_and_taken_but_for_a_replacement(house: House, several: list[str]) -> None:
    seen = at_terminal(house, [(TAKE_UP, "l\n"), (TAKE_UP, "f\n"), (TAKE_UP, "q\n"), SETTLE, WORD], "review")

    assert "  + It needs a key." in seen.screen and seen.left == [], seen
    assert states_of(house, several) == [State.PENDING, State.ACCEPTED, State.ACCEPTED, State.PENDING]


def test_a_topic_is_completed_or_new_and_its_section_too(house: House, several: list[str]) -> None:
    where = r"Where\? \[[\w-]+\] / new "
    steps = [
        *[(TAKE_UP, "t\n"), (where, "ma\t\n"), (r"Section\? \[none\] ", "Storage\n"), (TAKE_UP, "a\n")],
        *[(TAKE_UP, "t\n"), (where, "new\n"), (r"Its name\? ", "Front end\n"), (TAKE_UP, "a\n")],
        *[(TAKE_UP, "q\n"), SETTLE, WORD],
    ]

    seen = at_terminal(house, steps, "review")

    assert seen.left == [] and "2 accepted" in seen.screen, seen
    assert "\n## Storage\n- Backups run at 03:00.[^" in topic(house).replace("Storage\n\n", "Storage\n")
    assert "- It needs TLS.[^1]" in (house.root / "topics" / "front-end.md").read_text(encoding="utf-8")


def test_an_answer_by_reflex_makes_no_topic_but_a_name_that_was_asked_for_may_be_short(
    house: House, several: list[str]
) -> None:
    where, section = r"Where\? \[[\w-]+\] / new ", r"Section\? \[none\] "
    by_reflex = [(where, f"{answer}\n") for answer in ("y", "N", "yes", "q", "t", "quit")]
    steps = [
        *[(TAKE_UP, "t\n"), *by_reflex, (where, "mail\n"), (section, "y\n"), (section, "-\n"), (TAKE_UP, "a\n")],
        *[(TAKE_UP, "t\n"), (where, "new\n"), (r"Its name\? ", "R\n"), (TAKE_UP, "a\n")],
        *[(TAKE_UP, "q\n"), SETTLE, WORD],
    ]

    seen = at_terminal(house, steps, "review")

    assert seen.left == [] and "2 accepted" in seen.screen, seen
    assert seen.screen.count("any other name of two letters or more, or `new`, makes a new topic") == len(by_reflex)
    assert {file.name for file in (house.root / "topics").iterdir()} == {"cats.md", "mail.md", "r.md"}


def test_every_question_tells_what_may_be_answered(house: House, proposal: str) -> None:
    house.write("mail", topic(house) + "\nIt hums.\n")
    helped = {
        r"Adopt it \[y,n,\?\]\? ": "y - you have looked at it",
        TAKE_UP: "t - put it in another topic or section",
        r"Why not\? ": "A reason in your own words",
        r"Where\? \[mail\] / new ": "Tab completes",
        r"Section\? \[none\] ": "makes a new section",
        r"as it stands \[y,n,\?\]\? ": "n - look at it again",
        SETTLE[0]: "u - take back what you chose last",
    }
    adopt, asked, why, where, section, unchanged, settle = helped
    steps = [
        *[(adopt, "?\n"), (adopt, "n\n"), (asked, "?\n"), (asked, "t\n"), (where, "?\n"), (where, "\n")],
        *[(section, "?\n"), (section, "-\n"), (asked, "e\n"), (unchanged, "?\n"), (unchanged, "n\n")],
        *[(asked, "r\n"), (why, "?\n"), (why, "no\n"), (settle, "?\n"), (settle, "n\n")],
    ]

    seen = at_terminal(house, steps, "review", variables={"EDITOR": "true"})

    assert seen.left == [], seen
    assert [line for line in helped.values() if line not in seen.screen] == []
    assert states_of(house, [proposal]) == [State.PENDING]


def test_what_is_wrong_with_an_edit_stands_above_it_when_the_editor_opens_again(house: House, proposal: str) -> None:
    editor, kept = house.folder / "editor", house.folder / "kept"
    first = f"printf '%s\\n' 'The token is {SECRET}; it, too, is used. Twice.' > \"$1\""
    again = f"cp \"$1\" '{kept}'; sed -i 's/{SECRET}/in the safe/' \"$1\""
    editor.write_text(f"#!/bin/sh\nif grep -q '^> ' \"$1\"; then {again}; else {first}; fi\n", encoding="utf-8")
    editor.chmod(0o755)

    seen = at_terminal(house, [(TAKE_UP, "e\n"), SETTLE, WORD], "review", variables={"EDITOR": str(editor)})

    assert "1 accepted" in seen.screen and seen.left == [], seen
    wrong, text = kept.read_text(encoding="utf-8").split("\n\n")
    assert wrong.startswith("> ") and "holds a secret" in wrong
    assert text == f"The token is {SECRET}; it, too, is used. Twice.\n"
    assert "The token is in the safe; it, too, is used. Twice.[^" in topic(house)


def test_an_editor_that_fails_ends_no_sitting_and_an_interrupt_decides_nothing_by_itself(
    house: House, several: list[str]
) -> None:
    steps = [(TAKE_UP, "a\n"), (TAKE_UP, "e\n"), (TAKE_UP, "\x03"), (SETTLE[0], "\x03")]

    seen = at_terminal(house, steps, "review", variables={"EDITOR": "false"})

    assert "the editor failed" in seen.screen and seen.left == [], seen
    assert "0 accepted" in seen.screen and states_of(house, several) == [State.PENDING] * 4


def test_what_was_said_is_the_prompt_before_the_prompt_and_the_end_of_the_reply(house: House) -> None:
    root, said = house.memory_root, "The relay listens on port 2526."
    records = [
        *(person(1, "First of all."), assistant(2, "Yes."), person(3, "Mails leave late."), assistant(4, "I look.")),
        *(person(5, said), assistant(6, "a" * 3000 + " The last words."), person(7, "Something else.")),
    ]
    transcript = write_transcript(house.folder / "said", *records)
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([transcript])
    proposed(decisions_on(root), replacing(root, said, "2525", number=5))

    seen = at_terminal(house, [(TAKE_UP, "o\n"), (TAKE_UP, "q\n")], "review")

    told = seen.screen.partition(", session 11111111:")[2]
    assert "  person: Mails leave late." in told and f"  person: {said}" in told, seen
    assert "The last words." in told and "a" * 1000 not in told.replace("\n", "")
    assert not any(words in told for words in ("First of all", "I look", "Something else"))


def test_a_review_in_an_editor_does_what_the_file_says(house: House, proposal: str) -> None:
    seen = at_terminal(
        house, [WORD], "review", "--editor", variables={"EDITOR": "sed -i s/^The.relay.*/It.listens.on.2527./"}
    )

    assert seen.code == 0 and "1 reworded" in seen.screen, seen
    assert "It.listens.on.2527.[^1]" in topic(house)


def test_an_accepted_hunk_is_reverted_and_its_line_blamed_from_a_terminal(house: House, proposal: str) -> None:
    before = topic(house)
    assert at_terminal(house, [WORD], "dream", "apply", "2026-03-02-1").code == 0
    blamed = house.command("dream", "blame", "mail:3")

    seen = at_terminal(house, [WORD], "dream", "revert", proposal[:6])

    assert f"hunk {proposal}" in blamed.stdout and "> The relay listens on port 2526." in blamed.stdout
    assert seen.code == 0 and "taken out of topics/mail.md" in seen.screen and topic(house) == before
