"""The recorder that asks a model: what does not hold is dropped, and rules speak where the model does not."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

from crawler.compress.model.budget import Budget, Price
from crawler.compress.model.compressor import PaidModel, Refused
from crawler.facts import facts_of
from crawler.model_recorder import ModelRecorder, beside_rules, lines_in, most_lines, unasked, unknown_names
from crawler.recorder import DigestLine, DigestType, digest_lines
from crawler.transcripts.injected import is_own_session
from crawler.transcripts.turns import Turn
from tests.crawler.builders import entry_id, turns_of, working_session
from tests.crawler.scripted_model import ScriptedModel

DECIDED = "I decided to send a keepalive every 300 seconds instead of raising the timeout."
GOOD = {
    "type": "decision",
    "text": "A keepalive is sent every 300 seconds. The timeout stays.",
    "why": "chosen over a longer timeout",
    "entries": ["00000005"],
}


@pytest.fixture
def turns(tmp_path: Path) -> list[Turn]:
    return turns_of(tmp_path, *working_session())


def recorder(tmp_path: Path, client: ScriptedModel) -> ModelRecorder:
    budget = Budget(tmp_path / "spent.json", today=dt.date(2026, 3, 1), run_usd=0.01, day_usd=0.01)
    return ModelRecorder(PaidModel(client, budget, pause=lambda _: None))


def recorded(tmp_path: Path, turns: list[Turn], *items: object) -> list[DigestLine]:
    written = recorder(tmp_path, ScriptedModel(json.dumps(items))).written(unasked(turns, ""), "shop")
    return beside_rules(written, digest_lines(turns, facts_of(turns), "shop"), turns)


def test_a_line_that_holds_takes_the_place_of_the_rules_line_of_its_turn(tmp_path: Path, turns: list[Turn]) -> None:
    lines = recorded(tmp_path, turns, GOOD)

    written = next(line for line in lines if line.text == GOOD["text"])
    assert (written.type, written.project, written.entries) == ("decision", "shop", (entry_id(5),))
    assert written.why == "a model: chosen over a longer timeout"
    assert DECIDED not in [line.text for line in lines]


def test_what_the_model_passes_over_is_told_by_rules_in_the_order_of_the_session(
    tmp_path: Path, turns: list[Turn]
) -> None:
    types = [line.type for line in recorded(tmp_path, turns, GOOD)]

    plain = digest_lines(turns, facts_of(turns), "shop")
    assert sorted(types) == sorted(line.type for line in plain)
    assert types.index(DigestType.TOPIC) < types.index(DigestType.DECISION)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "opinion"},
        {"type": 7},
        {"type": "preference"},  # the assistant said it
        {"type": "preference", "entries": ["00000001", "00000005"]},
        {"type": "decision", "entries": ["00000004"], "text": "The peer closed."},  # a tool returned it
        {"text": "A keepalive is sent every 30 seconds."},
        {"text": "A keepalive is sent by src/relay.py."},  # said elsewhere in the session
        {"text": "A keepalive. It is sent. It is sent often. It never stops."},
        {"text": "  "},
        {"text": "keepalive " * 100},
        {"why": "as RFC 1122 says"},
        {"why": None},
        {"entries": []},
        {"entries": "00000005"},
        {"entries": ["99999999"]},
        {"entries": ["00000005", "99999999"]},
    ],
)
def test_a_line_that_does_not_hold_is_dropped_and_the_rules_line_stands(
    tmp_path: Path, turns: list[Turn], change: dict[str, object]
) -> None:
    assert recorded(tmp_path, turns, GOOD | change) == digest_lines(turns, facts_of(turns), "shop")


@pytest.mark.parametrize("answer", ["", "no list", "{}", "[1, null, []]", "[" * 100_000, "][", '[{"type": "fact"}'])
def test_an_answer_that_is_no_list_of_lines_holds_none(turns: list[Turn], answer: str) -> None:
    assert list(lines_in(answer, turns, "shop")) == []


def test_a_refusal_is_handed_on_and_a_call_beyond_the_budget_is_never_made(tmp_path: Path, turns: list[Turn]) -> None:
    dear = ScriptedModel("[]", Price(1e6, 1e6))

    for client in (dear, ScriptedModel(None)):
        with pytest.raises(Refused):
            recorder(tmp_path, client).written(turns, "shop")
    assert dear.prompts == []


def test_a_turn_gets_three_lines_at_most_and_is_not_shown_twice(tmp_path: Path, turns: list[Turn]) -> None:
    lines = [GOOD | {"text": f"A keepalive is sent, {word}."} for word in ("often", "early", "late", "always")]
    client = ScriptedModel(json.dumps(lines))
    behind = unasked(turns, entry_id(4))

    written = recorder(tmp_path, client).written(behind, "shop")

    assert (len(written), most_lines(behind)) == (3, 3)
    shown = client.prompts[0].session
    assert "00000005" in shown and "00000001" not in shown
    assert unasked(turns, behind[-1].entries[-1]) == []


def test_a_sub_agents_turns_which_stand_last_hide_nothing_that_was_told_since(turns: list[Turn]) -> None:
    helper = replace(turns[0], agent="a1", entries=("x",))

    assert (
        [turn.entries for turn in unasked([*turns, helper], entry_id(5))]
        == [turn.entries for turn in unasked(turns, entry_id(5))]
        != []
    )


def test_the_prompt_is_known_as_our_own(tmp_path: Path, turns: list[Turn]) -> None:
    client = ScriptedModel("[]")

    recorder(tmp_path, client).written(turns, "shop")

    assert is_own_session(client.prompts[0].instructions)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("It waits 300 s on 10.0.0.7.", []),
        ("It waits 30 s.", ["30"]),
        ("See `relay.py` and keep_alive.", ["keep_alive"]),
        ("It calls keepAlive.", ["keepAlive"]),
        ("Port 2525, then.", ["2525"]),
    ],
)
def test_names_and_numbers_must_stand_in_the_source_as_whole_words(text: str, unknown: list[str]) -> None:
    assert unknown_names(text, "relay.py waits 300 s for 10.0.0.7, not 25250") == unknown
