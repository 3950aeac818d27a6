"""The reader that asks nobody: of lines only what the person typed and surely meant for good."""

from pathlib import Path

import pytest

from crawler.reading.record import RULES, Holds, LineKind, Outcome
from crawler.reading.rules import MAX_LINES, find_kind, trim_sentence
from crawler.transcripts.turns import Role
from tests.crawler.builders import assistant, call, entry_id, person, result, working_session
from tests.crawler.reading.builders import RULE, read


def texts(folder: Path, *words: str) -> list[str]:
    """The lines of a session in which the person says these things."""
    return [line.text for line in read(folder, *(person(n, text) for n, text in enumerate(words, start=1))).lines]


def test_a_working_session_is_read_by_what_was_said_and_done(tmp_path: Path) -> None:
    reading = read(tmp_path, *working_session())

    assert (reading.reader, reading.is_by_model, reading.mark, reading.project) == (RULES, False, "mark", "shop")
    assert reading.title == "The relay in src/relay.py loses its connection after an hour."
    assert reading.goal.startswith("The relay in src/relay.py loses its connection after an hour. Please")
    assert (reading.outcome, reading.proof) == (Outcome.SHIPPED, entry_id(9))
    assert reading.lines == ()
    assert [one.error for one in reading.failures] == ["ConnectionResetError: [Errno 104] peer closed"]


def test_a_sentence_that_is_meant_for_good_is_a_line_whole_with_its_quote(tmp_path: Path) -> None:
    [line] = read(tmp_path, person(1, f"Mend the relay, please. Ok, {RULE[0].lower()}{RULE[1:]} Thanks.")).lines

    assert (line.kind, line.holds, line.text) == (LineKind.RULE, Holds.SURELY, RULE)
    [quote] = line.quotes
    assert (quote.entry, quote.role) == (entry_id(1), Role.PERSON)
    assert quote.text == "Ok, always run the linter before a commit."


@pytest.mark.parametrize(
    "sentence",
    [
        "Should we always run the linter before a commit?",
        "Maybe we should always run the linter before a commit.",
        "Always run the linter before this commit, for now.",
        "That should never happen to a linter of ours.",
        "It always fails when the linter runs before a commit.",
        "The linter runs before a commit in the pipeline.",
        "Always lint.",
        "Always run the linter before a commit, " + "and the others too, " * 20 + "always.",
    ],
)
def test_a_sentence_that_asks_doubts_points_reports_or_passes_is_none(sentence: str) -> None:
    assert find_kind(sentence) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Please fix the failing test now.",
        "Add a button to the page, please.",
        "Stop the server and restart it.",
        "Make sure the tests pass.",
        "Make sure it compiles and push.",
        "Go ahead and make sure the migration runs.",
        "Now make sure the docs mention the flag.",
        "Remove the sentence at the top and make sure the modal covers the frame.",
        "I want you to go through all comments and remove what doesn't need to be there.",
        "You don't need to run the build, just push.",
        "Let's use the second option please.",
        "Make a note of this in the sharing phase.",
        "Note that the library is checked out in ~/lib, but needs a pull.",
        "Keep in mind that I have changed the file just now.",
        "Whenever I click the button the page reloads, fix it.",
        "The same root cause makes an edge to a file that it never touches.",
    ],
)
def test_an_order_of_the_hour_is_none(sentence: str) -> None:
    assert find_kind(sentence) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Stop adding comments to generated files.",
        "Make sure the tests pass before you commit.",
        "I want you to always ask before a deploy.",
        "Remove the temporary files after every run, always.",
        "We should now never deploy on a Friday.",
        "Whenever I open a pull request, squash the commits.",
    ],
)
def test_a_rule_that_looks_like_an_order_is_a_line(sentence: str) -> None:
    assert find_kind(sentence) is not None


def test_only_what_the_person_typed_is_a_line(tmp_path: Path) -> None:
    pasted = f"The docs say:\n\n{RULE}\n"
    fenced = f"See this:\n```\n{RULE}\n```"
    quoted = f"> {RULE}\n\nWhat do you think of it?"

    assert texts(tmp_path, pasted, fenced, quoted) == []
    said = read(
        tmp_path,
        person(1, "Go on."),
        assistant(2, RULE, call("Read", "c1", file_path="/x")),
        result(3, "c1", RULE),
        person(4, RULE, isMeta=True),
        person(5, RULE, isSidechain=True, parent=3),
    )
    assert said.lines == ()


def test_the_reason_of_a_refusal_is_typed_too_and_an_option_that_was_chosen_is_not(tmp_path: Path) -> None:
    refusal = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    question = {"question": "What about the linter?", "options": [{"label": RULE}, {"label": "Leave it"}]}
    reading = read(
        tmp_path,
        person(1, "Go on."),
        assistant(2, call("Bash", "c1", command="git commit")),
        result(3, "c1", f"{refusal}{RULE}", is_error=True),
        assistant(4, call("AskUserQuestion", "c2", questions=[question])),
        result(5, "c2", f'User has answered your questions: "{question["question"]}"="{RULE}". You can now continue.'),
    )

    assert [(line.text, line.quotes[0].entry) for line in reading.lines] == [(RULE, entry_id(3))]


def test_the_same_sentence_is_one_line_and_a_session_has_a_few(tmp_path: Path) -> None:
    assert texts(tmp_path, RULE, f"ok, {RULE}") == [RULE]
    assert len(texts(tmp_path, *(f"Always run the linter number {n} before a commit." for n in range(20)))) == MAX_LINES


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("ok so please always use tabs here", "Always use tabs here."),
        ("and never use `npm` in this shop!", "Never use `npm` in this shop!"),
        ("node_modules is never to be committed", "node_modules is never to be committed."),
        ("iOS-builds always run at night -", "iOS-builds always run at night."),
        ("`relay.py` always listens on 2525,", "`relay.py` always listens on 2525."),
        ("please always do it", "Please always do it."),
        ("please remember that the label printer is at 10.0.0.8", "The label printer is at 10.0.0.8."),
        ("Don't forget that Marta owns the billing", "Marta owns the billing."),
        ("remember that it works", "Remember that it works."),
        ("note that `make wheel` needs the network", "`make wheel` needs the network."),
        ("Remember that week when the relay was down", "Remember that week when the relay was down."),
        ("note that down in the relay file please", "Note that down in the relay file please."),
        ("remember that Slack thread about the relay", "Remember that Slack thread about the relay."),
        ("keep in mind that one from the last review", "Keep in mind that one from the last review."),
        ("do not forget that in the next release notes", "Do not forget that in the next release notes."),
    ],
)
def test_a_line_loses_the_words_of_the_talk_and_keeps_identifiers(sentence: str, text: str) -> None:
    assert trim_sentence(sentence) == text


@pytest.mark.parametrize(
    ("words", "outcome"), [("never mind, forget it", Outcome.ABANDONED), ("thanks", Outcome.UNKNOWN)]
)
def test_without_a_commit_nothing_is_called_shipped(tmp_path: Path, words: str, outcome: Outcome) -> None:
    reading = read(tmp_path, person(1, "Mend the relay."), assistant(2, "It is mended and shipped."), person(3, words))

    assert (reading.outcome, reading.proof) == (outcome, "")
