"""What somebody tries against the page: from another name, port or process, by a code, a path, or a memory's words."""

import http.client
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from dream.decisions.page import PageSessions
from memory_server.errors import UsageError
from oneiros.environment import now
from oneiros.light.endpoint import daemon_state, read_token
from oneiros.light.person_only import PERSON_SETTINGS
from tests.dream.builders import archive_statements, decisions_on, new_topic, proposed
from tests.parts.page.browser import link
from tests.system.house import House

pytestmark = pytest.mark.page

LONG = "x" * 5_000
SCRIPT = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
HOSTILE = f"""# {SCRIPT} title

[a](javascript:window.hacked=1) [b](JaVaScRiPt&#58;window.hacked=1) [c](data:text/html,<script>1</script>)
[d](//evil.example/x) [e](vbscript:x) [f](../../../../etc/passwd) [g](/etc/passwd) [h](a%00b.md)
[i]({LONG}) [j](http:evil.example)
![k](http://evil.example/pixel.png) <http://evil.example/auto> [l]: javascript:window.hacked=1

{SCRIPT} <a href="javascript:window.hacked=1" onclick="window.hacked=1">m</a>
<div hx-get="/page/settings" hx-trigger="load" data-key="a" data-plot='{{}}'>n</div>

[^x]: {SCRIPT} <b hx-on::load="window.hacked=1">o</b>

| {SCRIPT} |
|---|
| {SCRIPT}[^"><script>window.hacked=1</script>] |

```html
{SCRIPT}
```
"""


class Intercepted:
    """One request as it goes over the wire, and its answer."""

    def __init__(self, house: House, method: str, path: str, body: object = None, **headers: str):
        port = int(str(daemon_state(house.state)["port"]))
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            text = json.dumps(body) if body is not None else None
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, text, {"Content-Type": "application/json", **given})
            answer = connection.getresponse()
            self.status, self.headers, self.text = answer.status, answer.headers, answer.read().decode()


@pytest.fixture(scope="module")
def attacked() -> Iterator[House]:
    """A memory whose words are an attacker's, served."""
    with closing(House()) as house:
        house.write("hostile", HOSTILE)
        house.write("plain", "# Plain\n\nThe relay listens on port 2525.\n")
        text = f"The relay {SCRIPT} listens on port 2526."
        archive_statements(house.memory_root, text)
        proposed(decisions_on(house.memory_root), new_topic(text, "relay"))
        house.serve()
        yield house


@pytest.fixture(scope="module")
def secret(attacked: House) -> str:
    """That of a page which a person has opened."""
    code = link(attacked, "review").partition("#code=")[2]
    return str(json.loads(Intercepted(attacked, "POST", "/page/open", {"code": code}).text)["secret"])


def read_all(folder: Path) -> list[str]:
    """The files of a folder in which a daemon works: one of them may go before it is read."""
    texts = []
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError, IsADirectoryError):
            texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return texts


def hunk_of(house: House) -> str:
    return decisions_on(house.memory_root).store.hunks()[0].id


# -- who may ask ----------------------------------------------------------------------------------------------------

SHELL = ("/", "/review", "/static/page.js", "/static/passkey.js", "/passkey")


@pytest.mark.parametrize("path", [*SHELL, "/page/review", "/page/topics/plain"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost:1", "localhost.evil.example:{port}", ""]
)
def test_a_name_that_was_bound_to_this_machine_is_not_served(
    attacked: House, secret: str, path: str, host: str
) -> None:
    named = host.format(port=daemon_state(attacked.state)["port"])

    assert Intercepted(attacked, "GET", path, Host=named, Oneiros_Page=secret).status == 421


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "http://localhost:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/page/review"), ("POST", "/page/open")])
def test_a_page_of_another_port_or_site_gets_nothing(
    attacked: House, secret: str, foreign: dict[str, str], method: str, path: str
) -> None:
    body = {"code": "x"} if method == "POST" else None

    assert Intercepted(attacked, method, path, body, Oneiros_Page=secret, **foreign).status == 403


def test_the_token_alone_prepares_decides_and_changes_nothing_on_the_page(attacked: House, secret: str) -> None:
    """Any program of the account can read the token; what a person chose is not its to change."""
    bearer = f"Bearer {read_token(attacked.state)}"
    hunk = hunk_of(attacked)
    for method, path, body in [
        ("POST", f"/page/review/{hunk}", {"verdict": "accept"}),
        ("POST", f"/page/review/{hunk}/rest", {}),
        ("POST", "/page/review/undo", {}),
        ("POST", "/page/passkey/ask", {"choices": [{"hunk": hunk, "verdict": "accept", "shown": "0" * 64}]}),
        ("PUT", "/page/settings/idle_minutes", {"value": "5"}),
    ]:
        assert Intercepted(attacked, method, path, body, Authorization=bearer).status == 403, path

    shown = Intercepted(attacked, "GET", "/page/review", Oneiros_Page=secret)
    assert "1 chosen" not in shown.text


@pytest.mark.parametrize("key", sorted(PERSON_SETTINGS))
def test_a_page_changes_no_setting_of_the_persons_alone(attacked: House, secret: str, key: str) -> None:
    refused = Intercepted(attacked, "PUT", f"/page/settings/{key}", {"value": "1"}, Oneiros_Page=secret)

    assert refused.status in (400, 403) and "error" in json.loads(refused.text)
    assert not (attacked.folder / ".config" / "oneiros" / "config.toml").exists()


# -- codes and secrets ----------------------------------------------------------------------------------------------


def test_a_code_that_many_send_at_once_opens_one_page(tmp_path: Path) -> None:
    pages = PageSessions(now, tmp_path / "chosen.json")
    code = pages.new_code()

    def opens(_: int) -> bool:
        try:
            return bool(pages.open(code))
        except UsageError:
            return False

    with ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(opens, range(200))) == 1


def test_no_code_and_no_secret_stands_in_an_address_a_log_or_another_request(chrome: Any, attacked: House) -> None:
    address = link(attacked, "review")
    code = address.partition("#code=")[2]
    requests: list[str] = []
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        page.on("request", lambda one: requests.append(f"{one.url} {one.headers.get('referer', '')}"))
        page.goto(address)
        page.locator("#statement").wait_for()
        held = page.evaluate("sessionStorage.getItem('oneiros')")
        shown = page.evaluate("location.href + history.length + document.cookie")

    assert held and not any(code in one or held in one for one in requests) and code not in shown
    logs = read_all(attacked.state)
    assert logs and not any(code in text or held in text for text in logs)


def test_no_two_shells_share_a_nonce_and_none_allows_more_than_its_own_scripts(attacked: House) -> None:
    policies = [Intercepted(attacked, "GET", "/review").headers["Content-Security-Policy"] for _ in range(2)]

    nonces = {re.findall(r"nonce-([\w-]+)", policy)[0] for policy in policies}
    assert len(nonces) == 2
    for policy in policies:
        assert "unsafe" not in policy and "default-src 'none'" in policy and "base-uri 'none'" in policy
        assert not re.search(r"\*|https?:|data:|blob:", policy)


# -- paths ----------------------------------------------------------------------------------------------------------

OUTSIDE = (
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/oneiros.toml",
    "/etc/passwd",
    "%00",
    "*",
    "a" * 5_000,
    "..",
    "topics/../../.config/oneiros/config.toml",
)


@pytest.mark.parametrize("view", ["topics", "blame", "sessions", "turns", "notes", "review"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_leads_out_of_the_memory(attacked: House, secret: str, view: str, name: str) -> None:
    for more in ("", "?show=source", "?line=1", "?depth=raw", "?show=history"):
        answer = Intercepted(attacked, "GET", f"/page/{view}/{name}{more}", Oneiros_Page=secret)

        assert answer.status in (400, 404, 405, 422), (view, name, more, answer.status)
        assert "root:" not in answer.text and "Traceback" not in answer.text


@pytest.mark.parametrize("name", ["../page.js", "%2e%2e%2fpage.js", "..%2f..%2fshell.py", "page.css%00", ""])
def test_no_static_name_leads_elsewhere(attacked: House, name: str) -> None:
    assert Intercepted(attacked, "GET", f"/static/{name}").status in (401, 404)


@pytest.mark.parametrize(
    "question",
    [
        "/page/topics/plain?commit=--output%3D/tmp/x",
        "/page/topics/plain?day=x",
        "/page/sessions?first=-1",
        "/page/search?q=%22&how=x",
        "/page/notes?page=99999999999999999999",
    ],
)
def test_an_odd_question_is_refused_in_a_sentence(attacked: House, secret: str, question: str) -> None:
    answer = Intercepted(attacked, "GET", question, Oneiros_Page=secret)

    assert 400 <= answer.status < 500 and "Traceback" not in answer.text


# -- words ----------------------------------------------------------------------------------------------------------


FOLLOW = """address => {
  const link = Object.assign(document.createElement("a"), {href: address});
  document.body.append(link);
  link.click();
}"""
FOUND = """[
  window.hacked,
  document.querySelectorAll("main script, main img, main iframe, main [onclick], main [onerror]").length,
  [...document.querySelectorAll("main a")].map(one => one.getAttribute("href")),
]"""


@pytest.mark.parametrize("view", ["topics/hostile", "topics", "review", "topics/hostile?show=source", "today"])
def test_a_hostile_memory_can_be_looked_at(attacked: House, secret: str, view: str) -> None:
    answer = Intercepted(attacked, "GET", f"/page/{view}", Oneiros_Page=secret)

    assert answer.status == 200 and "<script>" not in answer.text and '<div hx-get="/page/settings"' not in answer.text


def test_a_hostile_topic_and_hunk_run_nothing_and_lead_nowhere(chrome: Any, attacked: House) -> None:
    remarks: list[str] = []
    asked: list[str] = []
    with closing(chrome.new_context()) as opened:
        page = opened.new_page()
        page.on("console", lambda one: remarks.append(one.text))
        page.on("pageerror", lambda one: remarks.append(str(one)))
        page.on("dialog", lambda one: remarks.append("dialog"))
        page.on("request", lambda one: asked.append(one.url))
        page.goto(link(attacked, "review"))
        page.locator("#statement").wait_for()
        page.keyboard.press("a")
        page.locator(".decide").get_by_text("1 chosen").wait_for()
        for address in (
            "/topics",
            "/topics/hostile",
            "/topics/hostile?show=source",
            "/search?q=relay+script",
            "/notes",
        ):
            page.evaluate(FOLLOW, address)
            page.wait_for_url("**" + address.replace("?", "\\?"))
            page.wait_for_timeout(500)
            found: Any = page.evaluate(FOUND)
            assert found[0] is None and found[1] == 0, address
            links = [one for one in found[2] if one]
            assert all(one.startswith(("/", "#", "http://evil.example", "mailto:")) for one in links), links
            assert not any(one.startswith("//") for one in links)

    port = daemon_state(attacked.state)["port"]
    assert all(one.startswith((f"http://localhost:{port}/", "about:", "data:")) for one in asked), asked
    assert not [one for one in remarks if "Content Security Policy" in one or "dialog" in one], remarks
