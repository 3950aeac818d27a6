"""The extractor that asks a model: what it says is looked up, and where it is silent the finder speaks."""

import datetime as dt
import json
from pathlib import Path

import pytest

from crawler.compress.model.budget import Budget, Price
from crawler.compress.model.compressor import PaidModel
from crawler.quotes import SessionTurns
from crawler.transcripts.injected import is_own_session
from dream.extract import find_candidates
from dream.extract.model import ModelExtractor
from tests.crawler.builders import SESSION, assistant, call, entry_id, person, result
from tests.crawler.scripted_model import ScriptedModel
from tests.dream.house import archived

RULE = "Always run the linter before you push."
TOLD = "The worker is pinned to version 4.2."


@pytest.fixture
def session(tmp_path: Path) -> SessionTurns:
    records = [
        person(1, f"hi there. {RULE}"),
        assistant(2, call("Bash", "c1", command="x")),
        result(3, "c1", "The secret port is 9."),
        assistant(4, TOLD),
        person(5, "Exactly."),
    ]
    return archived(tmp_path, {SESSION: records}).session(SESSION)


def extractor(tmp_path: Path, client: ScriptedModel, usd: float = 1.0) -> ModelExtractor:
    budget = Budget(tmp_path / "spent.json", today=dt.date(2026, 3, 1), run_usd=usd, day_usd=usd)
    return ModelExtractor(PaidModel(client, budget, pause=lambda _: None))


def item(text: str, entry: int, quote: str) -> dict[str, str]:
    return {"text": text, "kind": "preference", "entry": entry_id(entry)[:8], "quote": quote, "topic": "workflow"}


def test_a_statement_is_taken_with_the_place_of_its_words(tmp_path: Path, session: SessionTurns) -> None:
    client = ScriptedModel(json.dumps([item(RULE, 1, RULE), item(TOLD, 4, TOLD)]))

    found = [one for one in extractor(tmp_path, client)(session) if one.extractor == "scripted"]

    assert [(one.text, one.quotes[0].first, len(one.quotes)) for one in found] == [(RULE, 10, 1), (TOLD, 0, 2)]


@pytest.mark.parametrize(
    "answer",
    [
        "no list",
        "[1, {}]",
        json.dumps([item("The port is 9.", 3, "The secret port is 9.")]),
        json.dumps([item(RULE, 1, RULE.upper())]),
        json.dumps([item(RULE, 4, RULE)]),
        json.dumps([item(RULE, 1, "")]),
    ],
)
def test_what_the_session_does_not_say_is_dropped(tmp_path: Path, session: SessionTurns, answer: str) -> None:
    assert extractor(tmp_path, ScriptedModel(answer))(session) == find_candidates(session)


def test_where_the_model_refuses_or_costs_too_much_the_finder_speaks(tmp_path: Path, session: SessionTurns) -> None:
    dear = ScriptedModel("[]", Price(1e6, 1e6))

    assert extractor(tmp_path, ScriptedModel(None))(session) == find_candidates(session)
    assert extractor(tmp_path, dear, usd=0.01)(session) == find_candidates(session)
    assert dear.prompts == []


def test_the_prompt_holds_no_tools_result_and_is_known_as_our_own(tmp_path: Path, session: SessionTurns) -> None:
    client = ScriptedModel("[]")

    extractor(tmp_path, client)(session)

    (prompt,) = client.prompts
    assert "secret port" not in prompt.session
    assert is_own_session(prompt.instructions)
