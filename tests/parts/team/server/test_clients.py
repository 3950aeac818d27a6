"""Genuine clients at `oneiros-team serve`, set up as docs/team.md says: Claude Code, MCP's suite and its Inspector."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.conformance import inspect, run_conformance
from parts.team.access.tokens import list_tokens, revoke_token
from tests.conftest import MakeEngine
from tests.loopback import free_port
from tests.memories import new_root, open_memory, write_topic
from tests.parts.team.access.test_identity import AUDIENCE, KEY, public_jwk
from tests.parts.team.serving import Process, served_process
from tests.parts.team.test_commands_of_the_server import typed
from tests.plugin.genuine_client import GenuineClient, require_client
from tests.plugin.messages_api import Call, MessagesApi
from tests.system.house import House

pytestmark = pytest.mark.client

TOOLS = "mcp__team__"
QUESTION = "Which port does the relay use?"
ANSWER = "The relay listens on port 2525."
CALLS = {"recall": [f"query={QUESTION}"], "search_memory": [f"query={QUESTION}"], "search_exact": ["query=port 2525"]}
CALLS |= {"read_memory": ["name=mail"], "memory_status": []}


@pytest.fixture(scope="module")
def server_settings(
    owner_dsn: str, app_dsn: str, make_engine: MakeEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Settings of a server with a team that knows something, and one that knows nothing; of this process too."""
    require_client()
    folder = tmp_path_factory.mktemp("team")
    root = new_root(folder / "memory")
    write_topic(root, "mail", ANSWER)
    with open_memory(root.path, make_engine) as memory:
        memory.reindex()
    listen = f"127.0.0.1:{free_port()}"
    settings = {"dsn": app_dsn, "folder": str(folder / "data"), "listen": listen, "public_url": f"http://{listen}"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(f"ONEIROS_TEAM_{name.upper()}", value)
        for name in ("ants", "bees"):
            typed(owner_dsn, "tenant", "create", name)
        typed(owner_dsn, "migrate", "ants", str(root.path))
        yield settings


@pytest.fixture(scope="module")
def server(server_settings: dict[str, str]) -> Iterator[Process]:
    with served_process(**server_settings) as process:
        yield process


@pytest.fixture
def client(house: House) -> Iterator[GenuineClient]:
    with contextlib.closing(MessagesApi()) as api:
        yield GenuineClient(house, api)


def made_token(owner_dsn: str, tenant: str) -> str:
    return typed(owner_dsn, "token", "create", tenant, "ada@example.org", "--may", "read", "--days", "90").strip()


def read_status(client: GenuineClient, server: Process, token: str = "") -> str:
    """How the client says that it stands with a server, once that was added."""
    header = ["--header", f"Authorization: Bearer {token}"] if token else []
    client.command("mcp", "add", "--transport", "http", "team", f"{server.url}/mcp", *header)
    return client.command("mcp", "list", check=False).stdout


@pytest.mark.timeout(900)
def test_the_conformance_suite_and_the_inspector_pass(server: Process, owner_dsn: str, house: House) -> None:
    token = made_token(owner_dsn, "ants")
    named = [f"{server.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {token}"]

    scenarios = inspect(house, named, CALLS) | run_conformance(house, httpx.URL(server.url).port or 0, token)

    assert [name for name, has_passed in scenarios.items() if not has_passed] == []
    assert len(scenarios) > 20


def test_the_model_asks_its_own_team_and_no_other(client: GenuineClient, server: Process, owner_dsn: str) -> None:
    client.api.on("Which port", Call(f"{TOOLS}recall", {"query": QUESTION}), "2525.")
    found = []
    for tenant in ("ants", "bees"):
        assert "Connected" in read_status(client, server, made_token(owner_dsn, tenant))
        found += client.ask(QUESTION, allowed=["mcp__team"]).results()
        client.command("mcp", "remove", "team")

    assert ANSWER in found[0] and "topics/mail.md" in found[0]
    assert re.search(r"\(index at commit [0-9a-f]{12}\)", found[0])
    assert len(found) == 2 and ANSWER not in found[1] and "mail" not in found[1]


def test_a_token_that_was_revoked_is_told_to_the_person_with_the_remedy(
    client: GenuineClient, server: Process, owner_dsn: str
) -> None:
    token = made_token(owner_dsn, "ants")
    revoke_token(owner_dsn, list_tokens(owner_dsn, "ants")[0].id)

    said = read_status(client, server, token)

    assert "HTTP 401" in said and "Send `Authorization: Bearer`" in said
    assert token not in said + "".join(server.log)


@contextlib.contextmanager
def provider() -> Iterator[tuple[str, list[str]]]:
    """An identity provider that says where it lets people in: its address, and what it was asked."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
            requests.append(self.path)

        def do_GET(self) -> None:
            ends = {f"{end}_endpoint": f"{url}/{end}" for end in ("authorization", "token", "registration")}
            flow = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
            body = json.dumps({"issuer": url, **ends, **flow}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        url = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield url, requests
        listening.shutdown()
        thread.join()


def test_without_a_token_the_client_finds_the_identity_provider(
    client: GenuineClient, server_settings: dict[str, str], tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [public_jwk(KEY, "one")]}), encoding="utf-8")
    listen = f"127.0.0.1:{free_port()}"
    own = server_settings | {"listen": listen, "public_url": f"http://{listen}", "identity_keys": str(keys)}
    with contextlib.ExitStack() as stack:
        issuer, asked = stack.enter_context(provider())
        server = stack.enter_context(served_process(**own, identity_issuer=issuer, identity_audience=AUDIENCE))
        said = read_status(client, server)

    routes = [line["says"].rpartition(",")[0] for line in map(json.loads, server.log[1:])]
    assert "Needs authentication" in said
    assert routes == ["POST /mcp 401", "GET /.well-known/oauth-protected-resource/mcp 200"]
    assert asked == ["/.well-known/oauth-authorization-server"]
