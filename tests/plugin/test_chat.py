"""The chat's Claude back end with the genuine client: alone, and without a transcript."""

import json

import pytest

from tests.plugin.genuine_client import GenuineClient, require_client
from tests.plugin.messages_api import MessagesApi
from tests.system.house import House

pytestmark = pytest.mark.client

QUESTION = "Which port does the relay listen on?"
ANSWER = 'It listens on port 2525 [1: "listens on port 2525"]. It is pink [1: "The relay is pink"].'


@pytest.fixture
def bare(house: House, api: MessagesApi) -> GenuineClient:
    """The genuine client of a person who has tools, servers and hooks of their own, all of which leave a trace."""
    require_client()
    house.settle(chat_backend="claude-cli")
    found = GenuineClient(house, api)
    touch = {"type": "command", "command": f"touch {house.folder / 'hooked'}"}
    hooks = {name: [{"hooks": [touch]}] for name in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
    found.settings.mkdir(exist_ok=True)
    (found.settings / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    server = {"type": "stdio", "command": "touch", "args": [str(house.folder / "served")]}
    text = json.dumps({"mcpServers": {"foreign": server}})
    (house.folder / ".claude.json").write_text(text, encoding="utf-8")
    return found


def test_the_genuine_client_answers_with_nothing_of_the_persons_own_and_leaves_nothing(
    bare: GenuineClient, api: MessagesApi
) -> None:
    api.on("My question: Which port", ANSWER)
    done = bare.oneiros("chat", QUESTION, "--json")
    output = json.loads(done.stdout)
    [body] = api.requests

    assert [one["verified"] for one in output["citations"]] == [True, False]
    assert output["citations"][0]["path"] == "topics/mail.md"
    assert body.get("tools", []) == []
    assert "foreign" not in api.said() and "The relay listens on port 2525." in api.said()
    assert not (bare.house.folder / "hooked").exists() and not (bare.house.folder / "served").exists()
    assert list(bare.settings.glob("projects/**/*.jsonl")) == []


def test_a_client_that_is_not_there_is_named(bare: GenuineClient) -> None:
    done = bare.house.command("chat", QUESTION, check=False)

    assert done.returncode == 3
    assert "claude-cli: `claude` does not start" in done.stderr
