"""The model back ends, against servers on the loopback that speak the services' protocols."""

import json
import stat
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from crawler.archive.store import SessionRecord
from crawler.compress.backends import BackEndSettings, build_client
from crawler.compress.candidates import DigestCandidate, candidates_of
from crawler.compress.duties import duties_of, left_out
from crawler.compress.extractive import chars_for, compress_extractively
from crawler.compress.model.budget import Budget, Price
from crawler.compress.model.claude_cli import ClaudeCliClient
from crawler.compress.model.compressor import Completion, ModelCompressor
from crawler.compress.model.prompt import PROMPT_CHARS, Prompt, prompt_for
from crawler.compress.model.validation import RejectedDigest, validated
from crawler.facts import facts_of
from crawler.transcripts.entry import PartKind
from crawler.transcripts.injected import is_own_session
from crawler.transcripts.turns import Role, Turn
from memory_server.errors import UsageError
from memory_server.layers.sessions import CompressedSession, Statement
from tests.crawler.builders import SESSION, person, turns_of, working_session
from tests.crawler.model_service import as_openai, serving

RECORD = SessionRecord(SESSION)
GOOD: dict[str, Any] = {
    "title": "Relay keepalive",
    "sections": {
        "Goal": [{"text": "The relay loses its connection", "entries": ["00000001"]}],
        "Decisions": [{"text": "Keepalive every 300 s in src/relay.py", "entries": ["00000005"]}],
    },
}


def as_anthropic(text: str) -> tuple[int, Any]:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn"}
    content = [{"type": "text", "text": text}]
    return 200, message | {"content": content, "usage": {"input_tokens": 1000, "output_tokens": 100}}


@pytest.fixture
def turns(tmp_path: Path) -> list[Turn]:
    return turns_of(tmp_path, *working_session())


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=1.0, day_usd=1.5)


def compress(
    settings: BackEndSettings, budget: Budget, turns: Sequence[Turn], pauses: list[float]
) -> CompressedSession:
    compressor = ModelCompressor(build_client(settings), budget, pause=pauses.append)
    return compressor.compress(turns, facts_of(turns), RECORD)


def test_two_runs_that_spend_at_once_are_both_counted(tmp_path: Path) -> None:
    budgets = [Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=9, day_usd=9) for _ in range(4)]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda budget: [budget.spend(0.25) for _ in range(25)], budgets))

    assert budgets[0].spent_today() == 25.0


def test_an_openai_compatible_service_writes_the_digest(turns: list[Turn], budget: Budget) -> None:
    with serving(as_openai(json.dumps(GOOD))) as service:
        settings = BackEndSettings("openai-url", model="small", url=f"{service.url}/v1", api_key="k")
        session = compress(settings, budget, turns, [])

    assert (session.title, session.compressor, session.fallback) == ("Relay keepalive", "openai-url", "")
    assert session.sections[1].statements[0].entries == ("00000005",)
    assert service.asked[0]["path"] == "/v1/chat/completions"
    assert service.headers[0]["authorization"] == "Bearer k"


def test_the_anthropic_api_writes_the_digest(turns: list[Turn], budget: Budget) -> None:
    with serving(as_anthropic(json.dumps(GOOD))) as service:
        settings = BackEndSettings("anthropic", "claude-x", service.url, "key", Price(3, 15))
        session = compress(settings, budget, turns, [])

    assert (session.title, session.compressor) == ("Relay keepalive", "anthropic")
    assert service.asked[0]["path"] == "/v1/messages"
    assert service.headers[0]["authorization"] == "Bearer key"
    assert budget.spent_today() == pytest.approx((1000 * 3 + 100 * 15) / 1e6)


def test_the_claude_command_line_writes_the_digest_without_hooks_or_transcript(
    tmp_path: Path, turns: list[Turn], budget: Budget
) -> None:
    fake = tmp_path / "claude"
    answer = {"result": json.dumps(GOOD), "is_error": False, "usage": {"input_tokens": 9, "output_tokens": 8}}
    note = "json.dump([sys.argv, sys.stdin.read(), os.environ['ONEIROS_OWN_CALL']], open('asked.json', 'w'))"
    script = f"import json, os, sys\n{note}\nprint({json.dumps(json.dumps(answer))})\n"
    fake.write_text(f"#!{sys.executable}\n{script}")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    client = ClaudeCliClient(tmp_path / "own", Price(), command=str(fake), environment={})

    session = ModelCompressor(client, budget, pause=lambda seconds: None).compress(turns, facts_of(turns), RECORD)

    asked = json.loads((tmp_path / "own" / "asked.json").read_text())
    assert session.compressor == "claude-cli"
    assert {"--no-session-persistence", "--strict-mcp-config", '{"disableAllHooks":true}'} <= set(asked[0])
    assert asked[0][asked[0].index("--tools") + 1] == ""
    assert (is_own_session(asked[1]), asked[2]) == (True, "1")


def test_a_busy_service_is_asked_again_after_growing_pauses(turns: list[Turn], budget: Budget) -> None:
    pauses: list[float] = []
    with serving((429, {}), (503, {}), as_openai(json.dumps(GOOD))) as service:
        session = compress(BackEndSettings("openai-url", url=service.url), budget, turns, pauses)

    assert (session.fallback, pauses) == ("", [2.0, 4.0])


@pytest.mark.parametrize("name", ["openai-url", "anthropic"])
@pytest.mark.parametrize(("status", "calls"), [(500, 4), (401, 1)])
def test_a_service_that_fails_leaves_the_extractive_digest_and_says_so(
    turns: list[Turn], budget: Budget, name: str, status: int, calls: int
) -> None:
    with serving((status, {"type": "error", "error": {"type": "x", "message": "no"}})) as service:
        session = compress(BackEndSettings(name, "m", service.url, "key", Price(3, 15)), budget, turns, [])

    assert session.sections == compress_extractively(turns, facts_of(turns), RECORD).sections
    assert (session.compressor, session.fallback.split(":")[0], len(service.asked)) == ("extractive", name, calls)
    assert budget.spent_today() == pytest.approx(0)


def test_a_service_that_is_not_there_leaves_the_extractive_digest(turns: list[Turn], budget: Budget) -> None:
    session = compress(BackEndSettings("openai-url", url="http://127.0.0.1:9"), budget, turns, [])

    assert "cannot be reached" in session.fallback


def test_a_refused_digest_is_asked_for_once_more_with_the_reason(turns: list[Turn], budget: Budget) -> None:
    invented = {"title": "x", "sections": {"Decisions": [{"text": "Edited src/invented.py", "entries": ["00000005"]}]}}
    with serving(as_openai(json.dumps(invented)), as_openai(json.dumps(GOOD))) as service:
        session = compress(BackEndSettings("openai-url", url=service.url), budget, turns, [])

    assert session.compressor == "openai-url"
    assert "`src/invented.py` does not occur in the session" in service.asked[1]["messages"][0]["content"]


def test_two_refused_digests_leave_the_extractive_one(turns: list[Turn], budget: Budget) -> None:
    with serving(as_openai("I would rather not.")) as service:
        session = compress(BackEndSettings("openai-url", url=service.url), budget, turns, [])

    assert (session.fallback, len(service.asked)) == ("openai-url: the answer is no JSON object", 2)


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"Goal": [{"text": "x", "entries": ["ffffffff"]}]}, "names no entry of this session"),
        ({"Goal": [{"text": "x", "entries": []}]}, "names no entry of this session"),
        ({"Goal": [{"text": "listens on 10.9.9.9", "entries": ["00000005"]}]}, "`10.9.9.9` does not occur"),
        ({"Goal": [{"text": "since version 7.8.9", "entries": ["00000005"]}]}, "`7.8.9` does not occur"),
        ({"Goal": [{"text": "run `make relay`", "entries": ["00000005"]}]}, "`make relay` does not occur"),
        ({"Goal": [{"text": "w " * 300, "entries": ["00000005"]}]}, "characters; 1 to 400"),
        ({"Goal": [{"text": "w " * 150, "entries": ["00000005"]}] * 20}, "where 700 were allowed"),
        ({"Musings": [{"text": "x", "entries": ["00000005"]}]}, "not one statement in a known section"),
        ({"Goal": ["just text"]}, "needs text and entries"),
    ],
)
def test_what_a_model_invents_is_refused(turns: list[Turn], sections: dict[str, Any], reason: str) -> None:
    with pytest.raises(RejectedDigest, match=reason.replace(".", r"\.")):
        validated(json.dumps({"title": "Relay", "sections": sections}), turns, max_chars=700)


def duties_in(turns: Sequence[Turn]) -> list[DigestCandidate]:
    facts = facts_of(turns)
    return duties_of(turns, facts, candidates_of(turns, facts), max_chars=chars_for(facts))


def test_the_extractive_digest_fulfils_its_duties(turns: list[Turn]) -> None:
    duties = duties_in(turns)

    assert [duty.section for duty in duties] == ["Goal", "Outcome", "Outcome"]
    assert left_out(duties, compress_extractively(turns, facts_of(turns), RECORD).sections) == []


def test_a_duty_that_a_model_left_out_is_added_as_the_rules_put_it(turns: list[Turn]) -> None:
    _, sections = validated(json.dumps(GOOD), turns, max_chars=700, duties=duties_in(turns))

    assert [section.title for section in sections] == ["Goal", "Decisions", "Outcome"]
    assert sections[2].statements == (Statement("Committed 1a2b3c4d: Keep the relay alive", ("00000009",)),)


def test_a_digest_that_leaves_most_duties_out_is_refused(turns: list[Turn]) -> None:
    lazy = {"title": "Relay", "sections": {"Decisions": GOOD["sections"]["Decisions"]}}

    with pytest.raises(RejectedDigest, match="it leaves out 3 of 3 duties"):
        validated(json.dumps(lazy), turns, max_chars=700, duties=duties_in(turns))


def test_the_prompt_holds_the_duties_with_their_entries(turns: list[Turn]) -> None:
    prompt = prompt_for(turns, max_chars=700, duties=duties_in(turns))

    assert "[00000009] Committed 1a2b3c4d: Keep the relay alive" in prompt.session.partition("<duties>")[2]


def test_a_command_with_quotes_may_be_quoted_as_it_was_typed(turns: list[Turn]) -> None:
    searching = 'grep -n "idle timeout" src/relay.py'
    told = [Turn(Role.TOOL, PartKind.CALL, "", ("00000011",), arguments=json.dumps({"command": searching}))]
    sections = {"Work done": [{"text": f"`{searching}`", "entries": ["00000011"]}]}

    assert validated(json.dumps({"title": "Relay", "sections": sections}), [*turns, *told], max_chars=700)


@dataclass
class Free:
    """A client in the process that counts its calls."""

    price: Price
    name: str = "free"
    calls: int = 0

    def complete(self, prompt: Prompt) -> Completion:
        self.calls += 1
        return Completion(json.dumps(GOOD), 1000, 100)


@pytest.mark.parametrize(("price", "calls"), [(Price(), 40), (Price(0, 400), 10)])
def test_the_budget_stops_before_it_is_spent(turns: list[Turn], budget: Budget, price: Price, calls: int) -> None:
    client = Free(price)
    compressor = ModelCompressor(client, budget, pause=lambda seconds: None)
    ask: Callable[[], CompressedSession] = lambda: compressor.compress(turns, facts_of(turns), RECORD)  # noqa: E731

    sessions = [ask() for _ in range(40)]

    assert budget.spent_in_run <= 1.0
    assert client.calls >= calls
    assert ("the budget does not allow" in sessions[-1].fallback) is (price != Price())


def test_a_days_spending_is_seen_by_the_next_run(tmp_path: Path) -> None:
    first = Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=1.0, day_usd=1.5)
    first.spend(1.0)

    second = Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=1.0, day_usd=1.5)
    tomorrow = Budget(tmp_path / "spent.json", today=date(2026, 3, 2), run_usd=1.0, day_usd=1.5)

    assert (second.allows(0.4), second.allows(0.6), tomorrow.allows(0.6)) == (True, False, True)


def test_the_prompt_is_marked_as_our_own_and_bounded(tmp_path: Path) -> None:
    long = [person(number, f"question {number} " * 150) for number in range(1, 200)]

    prompt = prompt_for(turns_of(tmp_path, *long), max_chars=1000)

    assert is_own_session(prompt.instructions)
    assert prompt.chars < PROMPT_CHARS + 5000
    assert "question 1 " in prompt.session and "question 199 " in prompt.session


def test_an_unknown_back_end_is_the_persons_error() -> None:
    with pytest.raises(UsageError, match="Choose one of: extractive, anthropic, claude-cli, openai-url"):
        build_client(BackEndSettings("magic"))
