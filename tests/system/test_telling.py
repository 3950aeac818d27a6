"""A person says something at a terminal of their own, and it is in a topic."""

import subprocess

from tests.system.at_terminal import ONEIROS, WORD, at_terminal
from tests.system.house import House
from tests.system.test_consent import SIGN, keyed

__all__ = ["keyed"]

STATEMENT = "The relay listens on port 2526."


INSTEAD = r"Replace it, add yours beside it, or nothing \[r,b,n,\?\]\? "


def topic(house: House) -> str:
    return (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_a_person_says_what_is_true_and_it_is_found(house: House) -> None:
    seen = at_terminal(house, [(INSTEAD, "r\n"), WORD], "remember", STATEMENT)

    assert seen.code == 0 and not seen.left and "in place of a line:" in seen.screen, seen
    assert "2526" in topic(house) and "2525" not in topic(house)
    assert "]: said directly, 20" in topic(house) and "topics/mail.md" in house.command("exact", "2526").stdout


def test_a_wrong_word_takes_nothing_up(house: House) -> None:
    before = topic(house)
    line = 1 + next(number for number, row in enumerate(before.splitlines()) if "2525" in row)

    seen = at_terminal(
        house, [(WORD[0], "\n"), (WORD[0], "no\n"), (WORD[0], "\x04")], "wrong", f"topics/mail.md:{line}", STATEMENT
    )

    assert seen.code == 2 and seen.screen.count("Once more") == 2 and topic(house) == before, seen
    assert not list((house.root / "proposals").glob("*/hunks.json"))


def test_with_a_key_a_no_takes_nothing_up_and_a_yes_is_signed(keyed: House) -> None:
    text = r"Do this \[y,n\]\? "

    refused = at_terminal(keyed, [(INSTEAD, "r\n"), (text, "n\n")], "remember", STATEMENT)
    before = topic(keyed)
    taken = at_terminal(keyed, [(INSTEAD, "r\n"), (text, "y\n"), SIGN], "remember", STATEMENT)

    assert refused.code == 2 and "2526" not in before, refused
    assert taken.code == 0 and not taken.left and "2526" in topic(keyed), taken


def test_the_assistant_can_say_nothing_for_the_person(house: House) -> None:
    before = topic(house)

    posing = at_terminal(house, [(INSTEAD, "r\n"), WORD], "remember", STATEMENT, variables={"CLAUDECODE": "1"})
    piped = subprocess.run(
        [*ONEIROS, "remember"],
        input=f"{STATEMENT}\n",
        env=dict(house.variables),
        cwd=house.folder,
        start_new_session=True,
        capture_output=True,
        text=True,
    )

    assert posing.code == 2 and "the assistant cannot accept" in posing.screen, posing
    assert piped.returncode == 2 and "there is no terminal" in piped.stderr and topic(house) == before, piped


WHERE = r"Where\? \[mail\] / new "
TWO = "the relay needs TLS; the printer, too. Both are old"


def test_where_it_goes_is_asked_the_nearest_topic_first_and_it_is_not_cut(house: House) -> None:
    house.write("printers", "# Printers\n\n## Toner\n\n- The printer prints.\n")

    taken = at_terminal(house, [(WHERE, "\n"), WORD], "remember", TWO)
    completed = at_terminal(
        house,
        [(WHERE, "?\n"), (WHERE, "pr\t\n"), (r"Section\? \[none\] ", "To\t\n"), WORD],
        "remember",
        "The relay is blue.",
    )
    new = at_terminal(house, [(WHERE, "new\n"), (r"Its name\? ", "Old things\n"), WORD], "remember", "The relay hums.")

    assert not any(seen.code or seen.left for seen in (taken, completed, new)), (taken, completed, new)
    assert "The relay needs TLS; the printer, too. Both are old.[^" in topic(house)
    assert "Tab completes" in completed.screen and "  printers" in completed.screen
    printers = (house.root / "topics" / "printers.md").read_text(encoding="utf-8")
    assert printers.index("## Toner") < printers.index("The relay is blue.[^1]")
    assert "The relay hums.[^1]" in (house.root / "topics" / "old-things.md").read_text(encoding="utf-8")


def test_what_is_wrong_with_it_stands_above_the_editor_that_opens_again(house: House) -> None:
    editor = house.folder / "editor"
    again, first = "sed -i 's/ghp_[A-Za-z0-9]*/in the safe/' \"$1\"", f"echo 'The token is ghp_{'a1B2' * 9}.' > \"$1\""
    editor.write_text(f"#!/bin/sh\nif grep -q '^> .*secret' \"$1\"; then {again}; else {first}; fi\n", encoding="utf-8")
    editor.chmod(0o755)

    seen = at_terminal(house, [(r"Where\? ", "\n"), WORD], "remember", "--editor", variables={"EDITOR": str(editor)})

    assert seen.code == 0 and "The token is in the safe." in seen.screen, seen


def test_what_stands_beside_a_line_that_says_otherwise_leaves_it(house: House) -> None:
    beside = at_terminal(house, [(INSTEAD, "b\n"), (WHERE, "\n"), WORD], "remember", STATEMENT)
    other = "The relay of Lyon needs TLS."
    added = at_terminal(house, [(WHERE, "\n"), WORD], "remember", other)
    known = at_terminal(house, [(r"nothing \[b,n,\?\]\? ", "n\n")], "remember", other)
    replaced = at_terminal(house, [(INSTEAD, "r\n"), WORD], "remember", "The relay of Lille needs TLS.")

    assert beside.code == added.code == replaced.code == 0 and known.code == 130, (beside, added, known, replaced)
    assert "says this already: The relay of Lyon needs TLS." in known.screen
    text = topic(house)
    assert "2525" in text and "2526" in text and "Lyon" not in text and text.count("needs TLS") == 1, text


def test_an_end_of_input_at_a_question_takes_nothing_up(house: House) -> None:
    before = topic(house)

    for key in ("\x03", "\x04"):
        assert at_terminal(house, [(WHERE, key)], "remember", "The relay hums.").code == 130
    assert topic(house) == before
