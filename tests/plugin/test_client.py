"""The genuine client with the plugin installed from a local marketplace, in scripted conversations."""

import concurrent.futures
import signal

import pytest

from crawler.archive.store import Archive
from crawler.model.budget import Price
from crawler.model.claude_cli import ClaudeCliClient
from crawler.model.client import Prompt
from crawler.transcripts.turns import Role
from oneiros.light.endpoint import daemon_state, read_token
from tests.plugin.genuine_client import (
    CLIENT,
    PATH_WITHOUT_PROGRAM,
    PROGRAMS,
    GenuineClient,
    new_session_id,
    require_client,
)
from tests.plugin.messages_api import Call, MessagesApi
from tests.system.house import CHECKOUT, House, wait_until

pytestmark = pytest.mark.client
TOOLS = "mcp__plugin_oneiros_memory__"


def test_the_plugin_and_its_marketplace_are_valid_to_the_letter(client: GenuineClient) -> None:
    for folder in (CHECKOUT, CHECKOUT / "plugin"):
        assert "Validation passed" in client.command("plugin", "validate", "--strict", str(folder)).stdout


def test_the_model_calls_recall_and_gets_a_hit(client: GenuineClient) -> None:
    client.api.on("Which port", Call(f"{TOOLS}recall", {"query": "which port does the relay use"}), "2525.")

    reply = client.ask("Which port does the relay use?", allowed=["mcp__plugin_oneiros_memory"])

    assert f"{TOOLS}recall" in reply.tools
    assert "topics/mail.md" in reply.results()[0]
    assert "The relay listens on port 2525." in reply.results()[0]


def test_a_reader_that_asks_the_client_offers_the_model_no_tool(client: GenuineClient) -> None:
    client.api.on("Which port", Call("Bash", {"command": "touch taken", "description": "x"}), "2525.")
    own = client.house.folder / "own"
    reader = ClaudeCliClient(own, Price(), command=str(CLIENT), environment=client.variables)

    reply = reader.complete(Prompt("Answer shortly.", "Which port does the relay use?", 100))

    assert client.api.requests and not any(request.get("tools") for request in client.api.requests)
    assert reply.text == "2525." and not (own / "taken").exists()


def test_a_session_is_told_of_the_memory_its_prompt_of_a_topic_and_a_write_past_the_person_is_denied(
    client: GenuineClient,
) -> None:
    topic = client.house.root / "topics" / "mail.md"
    before = topic.read_text(encoding="utf-8")
    client.house.warm_up()
    client.api.on(
        "relay",
        Call(f"{TOOLS}search_exact", {"query": "2525"}),
        Call("Write", {"file_path": str(topic.with_name("new.md")), "content": "The relay listens on port 1.\n"}),
        Call("Bash", {"command": f"echo gone > {topic}", "description": "write"}),
        "It is 2525.",
    )

    reply = client.ask(
        "Which port does the relay listen on?", allowed=["mcp__plugin_oneiros_memory", "Write", "Bash(echo *)"]
    )

    start = reply.hooks("SessionStart")[0]["output"]
    assert "oneiros: 2 topics" in start
    at_start, at_prompt = reply.injected()[:2]
    assert "- [Mail](topics/mail.md): The relay listens on port 2525." in at_start
    assert "- Mail (topics/mail.md:" in at_prompt
    search, write, shell = reply.results()
    assert "2525" in search
    assert "approved memory" in write and "approved memory" in shell
    assert topic.read_text(encoding="utf-8") == before
    assert reply.stderr == ""


def test_without_the_plugin_the_client_denies_by_the_rules_of_setup(house: House, api: MessagesApi) -> None:
    require_client()
    client = GenuineClient(house, api)
    topic = house.root / "topics" / "mail.md"
    before = topic.read_text(encoding="utf-8")
    written = client.oneiros("setup", "--yes")
    assert written.returncode == 0, written.stderr
    shell = (f"echo gone > {topic}", f"sed -i s/a/b/ {topic}", f"cd {house.root} && rm topics/mail.md", f"cat {topic}")
    editors = (topic.with_name("new.md"), house.root / ".oneiros" / "x", house.folder / ".config" / "oneiros" / "x")
    api.on(
        "relay",
        *(Call("Write", {"file_path": str(file), "content": "x\n"}) for file in editors),
        *(Call("Bash", {"command": command, "description": "try"}) for command in shell),
        "Done.",
    )

    *denied, shown = client.ask("The relay?", allowed=["Write", "Bash"]).results()

    assert len(denied) == 6
    assert all("denied" in result or "deny rule" in result for result in denied)
    assert "2525" in shown
    assert topic.read_text(encoding="utf-8") == before


def test_a_prompt_on_which_the_memory_knows_nothing_leaves_no_trace(client: GenuineClient) -> None:
    client.house.warm_up()
    client.api.on("painting", "Yes.")

    reply = client.ask("Shall we go on with the painting?")

    noted = [entry.get("attachment", {}) for entry in client.transcript(reply.session_id)]
    assert any(one.get("hookEvent") == "SessionStart" for one in noted)
    assert [one for one in noted if one.get("hookEvent") == "UserPromptSubmit"] == []
    assert "UserPromptSubmit hook success" not in client.api.said()


def test_what_a_session_said_is_found_by_the_next_one(client: GenuineClient) -> None:
    client.api.on("zebra crossing", "We decided to paint the zebra crossing yellow, because white is slippery.")
    first = client.ask("Shall we paint the zebra crossing yellow?")
    sessions = client.house.root / "sessions" / "compressed"

    wait_until(lambda: any(sessions.rglob("*.md")), 60)
    client.api.on("what did we decide", Call(f"{TOOLS}recall", {"query": "zebra crossing colour"}), "Yellow.")
    relay = client.house.relay().initialize()
    wait_until(lambda: "zebra" in relay.text("recall", query="zebra crossing"), 60)
    wait_until(lambda: "paint the zebra crossing yellow" in relay.text("read_memory", name="handoff"), 60)
    decided = relay.text("recall", query="zebra crossing", type="decision")
    second = client.ask("what did we decide about that crossing?", allowed=["mcp__plugin_oneiros_memory"])

    assert first.stderr == ""
    assert "We decided to paint the zebra crossing yellow" in decided
    assert "paint the zebra crossing yellow, because white is slippery" in second.results()[0]
    assert "raw (rank 3)" in second.results()[0]


def list_entries(client: GenuineClient, session_id: str) -> list[str]:
    """What person and assistant said in a session, as the archive holds it."""
    archive = Archive(client.house.root / "sessions" / "archive")
    return [turn.text for turn in archive.turns(session_id) if turn.role in (Role.PERSON, Role.ASSISTANT)]


def taken_in(client: GenuineClient, session_id: str, *words: str) -> None:
    """Waits until the archive holds a session with exactly these turns."""
    wait_until(lambda: list_entries(client, session_id) == list(words), 60)


def test_a_resumed_session_a_fork_and_a_compaction_are_taken_in_with_the_right_turns(client: GenuineClient) -> None:
    client.api.on("first", "one")
    client.api.on("second", "two")
    client.api.on("third", "three")
    session_id = client.ask("say first").session_id
    taken_in(client, session_id, "say first", "one")

    resumed = client.ask("say second", "--resume", session_id)
    taken_in(client, session_id, "say first", "one", "say second", "two")
    fork = client.ask("say third", "--resume", session_id, "--fork-session")
    client.ask("/compact", "--resume", session_id)
    client.ask("say third", "--resume", session_id)

    assert len(resumed.injected()) == 1, "the start of a resumed session must give the same bytes, which add nothing"
    assert fork.session_id != session_id
    taken_in(client, session_id, "say first", "one", "say second", "two", "say third", "three")
    taken_in(client, fork.session_id, "say third", "three")  # what it copied belongs to the session that said it
    assert "oneiros-memory" not in "".join(list_entries(client, session_id))


def test_a_session_whose_client_was_killed_is_taken_in_at_the_next_start(client: GenuineClient) -> None:
    (client.folder / "count.sh").write_text("exec sleep 600\n", encoding="utf-8")  # the client refuses a plain sleep
    client.api.on("count the sheep", Call("Bash", {"command": "sh count.sh", "description": "count"}))
    session_id = new_session_id()
    with client.started("count the sheep", "--session-id", session_id, "--allowedTools", "Bash(sh *)") as running:
        wait_until(lambda: bool(client.house.running("sleep")), 60)
        wait_until(lambda: client.has_written(session_id, "count the sheep"), 60)
        (command,) = client.house.running("sleep")
        assert len(client.house.running("oneiros-mcp")) == 1
        running.kill()
        assert running.wait() == -signal.SIGKILL, "it must be killed, not have ended by itself"
        command.kill()

    client.ask("hello")

    wait_until(lambda: list_entries(client, session_id) == ["count the sheep"], 60)
    wait_until(lambda: client.house.running("oneiros-mcp") == [])
    wait_until(client.house.has_one_daemon)


def test_two_sessions_at_once_share_one_daemon(client: GenuineClient) -> None:
    client.api.on("relay", Call(f"{TOOLS}recall", {"query": "relay port"}), "2525")
    prompts = [f"which port has the relay, question {number}?" for number in range(2)]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda prompt: client.ask(prompt, allowed=["mcp__plugin_oneiros_memory"]), prompts))

    assert all("2525" in one.results()[0] for one in replies)
    wait_until(client.house.has_one_daemon)


def test_without_the_program_one_tool_tells_how_to_install_it_and_nothing_else_is_said(client: GenuineClient) -> None:
    client.api.on("hello", Call(f"{TOOLS}install_oneiros"), "Install it.")

    reply = client.ask("hello", allowed=["mcp__plugin_oneiros_memory"], PATH=PATH_WITHOUT_PROGRAM)

    assert [tool for tool in reply.tools if tool.startswith(TOOLS)] == [f"{TOOLS}install_oneiros"]
    assert "pipx install" in reply.results()[0]
    assert reply.injected() == [] and reply.stderr == ""
    assert client.house.processes() == []


def test_a_broken_memory_stands_in_no_sessions_way(client: GenuineClient) -> None:
    client.house.state.mkdir(mode=0o700, parents=True)
    (client.house.state / "token").write_text("open to all", encoding="utf-8")
    (client.house.state / "token").chmod(0o644)  # the daemon refuses to start on it

    reply = client.ask("hello")

    assert reply.answer == "ok" and reply.code == 0 and reply.stderr == ""
    assert reply.injected() == []


def test_the_client_connects_over_http_with_the_token_from_its_environment(client: GenuineClient) -> None:
    client.house.serve()
    client.api.on("relay", Call("mcp__oneiros__recall", {"query": "relay port"}), "2525")
    state = daemon_state(client.house.state)
    wait_until(lambda: "port" in daemon_state(client.house.state), 60)
    config = str(CHECKOUT / "plugin" / "http.mcp.json")

    reply = client.ask(
        "which port has the relay?",
        *("--mcp-config", config, "--strict-mcp-config"),
        allowed=["mcp__oneiros"],
        ONEIROS_TOKEN=read_token(client.house.state),
        ONEIROS_URL=f"http://127.0.0.1:{state['port']}/mcp",
    )

    assert "topics/mail.md" in reply.results()[0]


def test_the_line_of_the_readme_adds_the_memory_without_the_plugin(client: GenuineClient) -> None:
    client.command("plugin", "uninstall", "oneiros@oneiros")
    client.api.on("relay", Call("mcp__oneiros__recall", {"query": "relay port"}), "2525")

    reply = client.command("mcp", "add", "oneiros", "--", str(PROGRAMS / "oneiros"), "mcp").stdout
    output = client.ask("which port has the relay?", allowed=["mcp__oneiros"], ENABLE_TOOL_SEARCH="false")

    assert "Added stdio MCP server oneiros" in reply
    assert "topics/mail.md" in output.results()[0]


def test_setup_has_the_client_install_the_plugin_of_this_program_and_take_it_out(client: GenuineClient) -> None:
    client.command("plugin", "uninstall", "oneiros@oneiros")
    client.command("plugin", "marketplace", "remove", "oneiros")
    client.api.on("relay", Call(f"{TOOLS}recall", {"query": "relay port"}), "2525")

    assert client.oneiros("setup", "--plugin", "--yes").returncode == 0
    reply = client.ask("which port has the relay?", allowed=["mcp__plugin_oneiros_memory"])
    undone = client.oneiros("setup", "--undo", "--yes")

    assert "topics/mail.md" in reply.results()[0]
    assert undone.returncode == 0 and "oneiros" not in client.command("plugin", "list").stdout
    assert client.oneiros("setup", "--undo").stdout == ""
