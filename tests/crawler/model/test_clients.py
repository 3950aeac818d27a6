"""The ways to a model, against servers on the loopback that speak the services' protocols."""

import gzip
import json
import stat
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import zstandard

from crawler.model.budget import Budget, Price, Spent
from crawler.model.claude_cli import LIMIT_MET, ClaudeCliClient, parse_completion
from crawler.model.client import Completion, LimitReached, PaidModel, Prompt, Refused
from crawler.model.openai_url import is_loopback_url
from crawler.model.table import CLIENTS, ModelSettings, build_client
from crawler.transcripts.injected import OWN_SESSION_MARK, is_own_session
from memory_server.errors import UsageError
from tests.crawler.model_service import as_openai, serving
from tests.loopback import served

PROMPT = Prompt(f"{OWN_SESSION_MARK} read>\nRead this.", "The relay hangs.", 100)


def as_anthropic(text: str) -> tuple[int, Any]:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "end_turn"}
    content = [{"type": "text", "text": text}]
    return 200, message | {"content": content, "usage": {"input_tokens": 1000, "output_tokens": 100}}


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=1.0, day_usd=1.5, day_tokens=100_000)


def paid(settings: ModelSettings, budget: Budget, pause: Callable[[float], None] = lambda _: None) -> PaidModel:
    return PaidModel(build_client(settings), budget, pause=pause)


def test_an_openai_compatible_service_answers(budget: Budget) -> None:
    with serving(as_openai("[]")) as service:
        settings = ModelSettings("openai-url", model="small", url=f"{service.url}/v1", api_key="k")
        answer = paid(settings, budget).ask(PROMPT)

    assert answer == Completion("[]", 1000, 100)
    asked = service.asked[0]
    assert (asked["path"], asked["model"], asked["max_tokens"]) == ("/v1/chat/completions", "small", 100)
    assert [one["content"] for one in asked["messages"]] == [PROMPT.instructions, PROMPT.session]
    assert service.headers[0]["authorization"] == "Bearer k"
    assert budget.spent_today() == Spent(tokens=1100)


def test_the_anthropic_api_answers_for_its_price(budget: Budget) -> None:
    with serving(as_anthropic("[]")) as service:
        answer = paid(ModelSettings("anthropic", "claude-x", service.url, "key", Price(3, 15)), budget).ask(PROMPT)

    assert answer == Completion("[]", 1000, 100)
    assert (service.asked[0]["path"], service.asked[0]["system"]) == ("/v1/messages", PROMPT.instructions)
    assert service.headers[0]["authorization"] == "Bearer key"
    assert budget.spent_today().usd == pytest.approx((1000 * 3 + 100 * 15) / 1e6)


def a_command(folder: Path, script: str) -> ClaudeCliClient:
    """The client of a command line that is this Python script."""
    fake = folder / "claude"
    fake.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    return ClaudeCliClient(folder / "own", Price(), command=str(fake), model="haiku", environment={})


def test_the_claude_command_line_is_asked_without_hooks_tools_or_transcript(tmp_path: Path) -> None:
    answer = {"result": "[]", "is_error": False, "usage": {"input_tokens": 9, "output_tokens": 8}}
    note = "json.dump([sys.argv, sys.stdin.read(), os.environ['ONEIROS_OWN_CALL']], open('asked.json', 'w'))"
    client = a_command(tmp_path, f"import json, os, sys\n{note}\nprint({json.dumps(json.dumps(answer))})")

    assert client.complete(PROMPT) == Completion("[]", 9, 8)

    arguments, text, guard = json.loads((tmp_path / "own" / "asked.json").read_text(encoding="utf-8"))
    assert {"--no-session-persistence", "--strict-mcp-config", '{"disableAllHooks":true}'} <= set(arguments)
    assert arguments[arguments.index("--tools") + 1] == ""
    assert arguments[arguments.index("--model") + 1] == "haiku"
    assert (is_own_session(text), guard) == (True, "1")


@pytest.mark.parametrize(
    "script",
    [
        """print('{"is_error": true, "result": "Claude AI usage limit reached|1767"}')""",
        """print('5-hour limit reached, resets 3pm'); raise SystemExit(1)""",
        """print('{"is_error": true, "result": "You have hit your limit"}'); raise SystemExit(1)""",
    ],
)
def test_a_subscription_whose_limit_is_met_stops_the_day(tmp_path: Path, budget: Budget, script: str) -> None:
    model = PaidModel(a_command(tmp_path, script), budget, pause=lambda _: None)

    with pytest.raises(LimitReached, match=LIMIT_MET):
        model.ask(PROMPT)
    with pytest.raises(LimitReached, match=LIMIT_MET):  # of the budget: nobody is asked
        PaidModel(a_command(tmp_path, "raise SystemExit(9)"), budget, pause=lambda _: None).ask(PROMPT)

    assert budget.spent_today() == Spent(stopped=LIMIT_MET)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ('{"is_error": true, "result": "no such model"}', "no such model"),
        ('{"usage": {}}', "no JSON"),
        ("[]", "no JSON"),
        ("Welcome!", "no JSON"),
        ('{"result": "x", "usage": {"input_tokens": "many"}}', "no JSON"),
        ('{"result": "x", "usage": {"input_tokens": Infinity}}', "no JSON"),
        ("[" * 200_000, "no JSON"),
    ],
)
def test_an_output_of_the_command_line_that_is_no_answer_is_a_refusal(output: str, message: str) -> None:
    with pytest.raises(Refused, match=message) as refused:
        parse_completion(output)

    assert not isinstance(refused.value, LimitReached)


def test_a_command_line_that_fails_is_asked_again_and_one_that_is_missing_is_not(
    tmp_path: Path, budget: Budget
) -> None:
    pauses: list[float] = []

    with pytest.raises(Refused, match=r"no answer after 4 attempts: .* ended with 7"):
        PaidModel(a_command(tmp_path, "raise SystemExit(7)"), budget, pause=pauses.append).ask(PROMPT)
    with pytest.raises(Refused, match="is not installed"):
        missing = ClaudeCliClient(tmp_path / "own", Price(), command=str(tmp_path / "none"), environment={})
        PaidModel(missing, budget, pause=pauses.append).ask(PROMPT)

    assert pauses == [2.0, 4.0, 8.0]


def test_a_busy_service_is_asked_again_after_growing_pauses(budget: Budget) -> None:
    pauses: list[float] = []

    with serving((429, {}), (503, {}), as_openai("[]")) as service:
        answer = paid(ModelSettings("openai-url", url=service.url), budget, pauses.append).ask(PROMPT)

    assert (answer.text, pauses) == ("[]", [2.0, 4.0])


@pytest.mark.parametrize("name", ["openai-url", "anthropic"])
@pytest.mark.parametrize(("status", "calls"), [(500, 4), (401, 1)])
def test_a_service_that_fails_is_a_refusal_and_costs_nothing(
    budget: Budget, name: str, status: int, calls: int
) -> None:
    failed = (status, {"type": "error", "error": {"type": "x", "message": "no"}})
    with serving(failed) as service, pytest.raises(Refused):
        paid(ModelSettings(name, "m", service.url, "key", Price(3, 15)), budget).ask(PROMPT)

    assert len(service.asked) == calls
    assert budget.spent_today().usd == pytest.approx(0)


def test_a_service_that_is_not_there_is_a_refusal(budget: Budget) -> None:
    with pytest.raises(Refused, match="cannot be reached"):
        paid(ModelSettings("openai-url", url="http://127.0.0.1:9"), budget).ask(PROMPT)


def set_proxy(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Names a proxy for every address, as an environment does."""
    monkeypatch.setenv("http_proxy", url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_no_proxy_sees_what_a_service_on_this_machine_is_sent(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving((500, {})) as proxy, serving(as_openai("[]")) as service:
        set_proxy(monkeypatch, proxy.url)
        paid(ModelSettings("openai-url", "m", service.url, "key"), budget).ask(PROMPT)

    assert (len(service.asked), proxy.asked) == (1, [])


def test_a_service_elsewhere_is_asked_through_the_proxy_of_the_environment(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(as_openai("[]")) as proxy:
        set_proxy(monkeypatch, proxy.url)
        paid(ModelSettings("openai-url", url="http://models.example/v1"), budget).ask(PROMPT)

    assert proxy.asked[0]["path"] == "http://models.example/v1/chat/completions"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://LOCALHOST:3011", True),
        ("http://[::1]:80/v1", True),
        ("http://192.168.1.9/v1", False),
        ("https://localhost.example/v1", False),
        ("", False),
    ],
)
def test_an_address_of_the_loopback_is_of_this_machine(url: str, expected: bool) -> None:
    assert is_loopback_url(url) is expected


class Leaving(BaseHTTPRequestHandler):
    """A service that goes away in the middle of its answer."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')


def test_a_service_that_goes_away_in_the_middle_of_an_answer_is_a_refusal_and_costs_nothing(budget: Budget) -> None:
    with served(Leaving) as url, pytest.raises(Refused, match="no answer after 4 attempts"):
        paid(ModelSettings("openai-url", "m", url, price=Price(3, 15)), budget).ask(PROMPT)

    assert budget.spent_today().usd == pytest.approx(0)


def answering(content: bytes, **headers: str) -> type[BaseHTTPRequestHandler]:
    """A service that answers these bytes, whatever it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            with suppress(OSError):  # whoever asked has gone
                self.wfile.write(content)

    return Handler


SAID = '{"choices": [{"message": {"content": "[]"}}]'


@pytest.mark.parametrize(
    "content",
    [
        SAID + ', "usage": "x"}',
        SAID + ', "usage": [1]}',
        SAID + ', "usage": {"prompt_tokens": Infinity}}',
        SAID + ', "usage": {"prompt_tokens": 1e400}}',
        SAID + ', "usage": {"prompt_tokens": -100000}}',
        SAID + ', "usage": {"completion_tokens": 1' + "0" * 30 + "}}",
        '{"choices": [{"message": {"content": 7}}]}',
        '{"choices": []}',
        '{"choices": "x"}',
        "[1]",
        "",
        "[" * 200_000,
        '{"choices": ' + "[" * 200_000,
        '{"other": ' + "[" * 200_000,
    ],
)
def test_an_answer_that_is_none_of_the_protocol_is_a_refusal_and_changes_no_budget(
    budget: Budget, content: str
) -> None:
    budget.spend(0, tokens=7)

    with served(answering(content.encode())) as url, pytest.raises(Refused, match="answered in another protocol"):
        paid(ModelSettings("openai-url", url=url), budget).ask(PROMPT)

    assert budget.spent_today() == Spent(tokens=7)


@pytest.mark.parametrize(
    ("coding", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress), ("identity", bytes)]
)
def test_an_answer_that_is_or_becomes_too_large_is_a_refusal_in_little_memory(
    budget: Budget, coding: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b" " * (64 << 20))
    tracemalloc.start()

    try:
        with served(answering(packed, Content_Encoding=coding)) as url, pytest.raises(Refused):
            paid(ModelSettings("openai-url", url=url), budget).ask(PROMPT)
        (_, most) = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 32 << 20


def test_no_count_of_a_service_gives_back_what_was_spent(budget: Budget) -> None:
    budget.spend(0.5, tokens=7)
    budget.spend(0, tokens=-7)
    client = Free(Price(3, 15), answer=Completion("[]", -(10**30), -1))

    answer = PaidModel(client, budget, pause=lambda _: None).ask(PROMPT)

    assert answer == Completion("[]", 0, 0)
    assert budget.spent_today().usd == pytest.approx(0.5)
    assert budget.spent_today().tokens == 7 + answer.count_tokens(PROMPT)


def test_an_answer_without_text_is_empty(budget: Budget) -> None:
    with serving((200, {"choices": [{"message": {"content": None}}]})) as service:
        answer = paid(ModelSettings("openai-url", url=service.url), budget).ask(PROMPT)

    assert answer.text == parse_completion('{"result": null}').text == ""


def test_a_command_line_that_may_not_be_run_is_a_refusal(tmp_path: Path) -> None:
    client = a_command(tmp_path, "")
    Path(client.command).chmod(0o600)

    with pytest.raises(Refused, match="cannot be run: Permission denied"):
        client.complete(PROMPT)


def test_an_output_of_the_command_line_in_another_encoding_is_a_refusal(tmp_path: Path) -> None:
    client = a_command(tmp_path, r"import sys; sys.stdout.buffer.write(b'{\xff')")

    with pytest.raises(Refused, match="no JSON"):
        client.complete(PROMPT)


def test_a_call_that_is_interrupted_costs_nothing(budget: Budget) -> None:
    class Interrupted(Free):
        def complete(self, prompt: Prompt) -> Completion:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PaidModel(Interrupted(Price(3, 15)), budget, pause=lambda _: None).ask(PROMPT)

    assert budget.spent_today().usd == pytest.approx(0)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org", "relay"])
def test_an_address_that_is_none_of_a_service_is_never_opened(budget: Budget, url: str) -> None:
    with pytest.raises(Refused, match="is no address of a service"):
        paid(ModelSettings("openai-url", url=url), budget).ask(PROMPT)


@dataclass
class Free:
    """A client in the process that counts its calls."""

    price: Price
    name: str = "free"
    calls: int = 0
    answer: Completion = field(default_factory=lambda: Completion("[]", 1000, 100))

    def complete(self, prompt: Prompt) -> Completion:
        self.calls += 1
        return self.answer


@pytest.mark.parametrize(("price", "calls"), [(Price(), 40), (Price(0, 390), 25)])
def test_the_budget_stops_before_it_is_spent(budget: Budget, price: Price, calls: int) -> None:
    client = Free(price)
    model = PaidModel(client, budget, pause=lambda _: None)
    refused = 0

    for _ in range(40):
        try:
            model.ask(PROMPT)
        except LimitReached:
            refused += 1

    assert budget.spent_in_run <= 1.0 + 1e-9
    assert (client.calls, refused) == (calls, 40 - calls)


def test_a_call_that_the_tokens_of_the_day_do_not_allow_is_never_made(tmp_path: Path) -> None:
    client = Free(Price())
    tight = Budget(tmp_path / "spent.json", today=date(2026, 3, 1), run_usd=1, day_usd=1, day_tokens=1_105)
    model = PaidModel(client, tight, pause=lambda _: None)
    model.ask(PROMPT)

    with pytest.raises(LimitReached, match="1,105 tokens a day"):
        model.ask(PROMPT)

    assert client.calls == 1 and tight.spent_today().stopped == ""


def test_tokens_are_estimated_where_nobody_counts_them() -> None:
    assert Completion("x" * 35).count_tokens(Prompt("i" * 35, "s" * 70, 100)) == 40
    assert Completion("x" * 35, 3, 4).count_tokens(Prompt("i" * 35, "s" * 70, 100)) == 7


def test_each_way_is_built_under_its_name_and_shows_no_key() -> None:
    for name in CLIENTS:
        client = build_client(ModelSettings(name, "m", "http://127.0.0.1:9", "hunter22x"))
        assert client.name == name and "hunter22x" not in repr(client)


def test_an_unknown_way_is_the_persons_error() -> None:
    with pytest.raises(UsageError, match="Choose one of: rules, anthropic, claude-cli, openai-url"):
        build_client(ModelSettings("magic"))
