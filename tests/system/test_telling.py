"""A person says something at a terminal of their own, and it is in a topic."""

import subprocess

from tests.system.at_terminal import ONEIROS, WORD, at_terminal
from tests.system.house import House
from tests.system.test_consent import SIGN, keyed

__all__ = ["keyed"]

SAID = "The relay listens on port 2526."


def topic(house: House) -> str:
    return (house.root / "topics" / "mail.md").read_text(encoding="utf-8")


def test_a_person_says_what_is_true_and_it_is_found(house: House) -> None:
    seen = at_terminal(house, [WORD], "remember", SAID)

    assert seen.code == 0 and not seen.left and "replaces lines" in seen.screen, seen
    assert "2526" in topic(house) and "2525" not in topic(house)
    assert "]: said directly, 20" in topic(house) and "topics/mail.md" in house.command("exact", "2526").stdout


def test_a_wrong_word_takes_nothing_up(house: House) -> None:
    before = topic(house)
    line = 1 + next(number for number, row in enumerate(before.splitlines()) if "2525" in row)

    seen = at_terminal(house, [(WORD[0], "\n")], "wrong", f"topics/mail.md:{line}", SAID)

    assert seen.code == 2 and "not the word" in seen.screen and topic(house) == before, seen
    assert not list((house.root / "proposals").glob("*/hunks.json"))


def test_with_a_key_a_no_takes_nothing_up_and_a_yes_is_signed(keyed: House) -> None:
    asked = r"Do this \[y,n\]\? "

    refused = at_terminal(keyed, [(asked, "n\n")], "remember", SAID)
    before = topic(keyed)
    taken = at_terminal(keyed, [(asked, "y\n"), SIGN], "remember", SAID)

    assert refused.code == 2 and "2526" not in before, refused
    assert taken.code == 0 and not taken.left and "2526" in topic(keyed), taken


def test_the_assistant_can_say_nothing_for_the_person(house: House) -> None:
    before = topic(house)

    posing = at_terminal(house, [WORD], "remember", SAID, variables={"CLAUDECODE": "1"})
    piped = subprocess.run(
        [*ONEIROS, "remember"],
        input=f"{SAID}\n",
        env=dict(house.variables),
        cwd=house.folder,
        start_new_session=True,
        capture_output=True,
        text=True,
    )

    assert posing.code == 2 and "the assistant cannot accept" in posing.screen, posing
    assert piped.returncode == 2 and "there is no terminal" in piped.stderr and topic(house) == before, piped
