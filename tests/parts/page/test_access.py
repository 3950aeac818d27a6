"""Who may see the page, and what a hostile memory, another server and a daemon that is gone do to it."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memory_server.escaping import HIDDEN
from oneiros.light.endpoint import daemon_state
from tests.loopback import free_port
from tests.parts.page.browser import link, secret_of
from tests.parts.page.filled import fill_hostile
from tests.parts.page.test_views import go
from tests.system.house import House, is_living
from tests.system.test_page import curl

pytestmark = pytest.mark.page
OWN = ".plot *, form.map *"
FOREIGN = f"script, iframe, object, embed, img, svg:not({OWN}), [onerror], [onload], [onfocus], a[href^=javascript]"
SENT = """async port => {
  const tell = promise => promise.then(answer => String(answer.status), error => error.name);
  const at = "http://localhost:" + port;
  return [await tell(fetch(at + "/page/today")), await tell(fetch(at + "/page/today", {mode: "no-cors"})),
          await tell(fetch(at + "/page/today", {headers: {"Oneiros-Page": "guessed"}})),
          await tell(fetch("/replay")), JSON.stringify({...sessionStorage})];
}"""


class Listening(ThreadingHTTPServer):
    """A server on another port of this machine that keeps what a browser tells it."""

    def __init__(self) -> None:
        super().__init__(("localhost", 0), Answering)
        self.heard: list[dict[str, str]] = []


class Answering(BaseHTTPRequestHandler):
    """Answers with an empty page."""

    server: Listening

    def do_GET(self) -> None:
        self.server.heard.append(dict(self.headers))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_server() -> Iterator[Listening]:
    with Listening() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_server_on_another_port_learns_nothing_that_opens_the_page(
    chrome: Any, filled: House, other_server: Listening
) -> None:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link(filled))
    page.wait_for_selector("#view h1")
    elsewhere = context.new_page()
    elsewhere.goto(f"http://localhost:{other_server.server_port}/")

    seen = elsewhere.evaluate(SENT, daemon_state(filled.state)["port"])

    assert seen == ["TypeError", "0", "TypeError", "200", "{}"]  # 0: an answer that no script may read
    for headers in other_server.heard:  # replayed to the daemon as the browser sent them
        assert not {"cookie", "oneiros-page", "authorization"} & {name.casefold() for name in headers}
        replayed = [part for name, value in headers.items() if name != "Host" for part in ("-H", f"{name}: {value}")]
        assert curl(filled, "/page/today", *replayed)[0] in (401, 403)
    framed = f"const f = document.createElement('iframe'); f.src = '{page.url}'; document.body.append(f)"
    elsewhere.evaluate(framed)
    elsewhere.wait_for_timeout(300)
    assert not any(frame.query_selector("#view") for frame in elsewhere.frames[1:])
    context.close()


def test_nothing_of_a_hostile_memory_is_executed(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        hunk = fill_hostile(house)
        house.warm_up()
        secret = secret_of(house, link(house))
        context = chrome.new_context()
        context.add_init_script(secret.script)
        context.add_init_script("addEventListener('securitypolicyviolation', e => { window.broken = e.blockedURI })")
        page = context.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"http://localhost:{daemon_state(house.state)['port']}/today")
        page.wait_for_selector("#view h1")
        notes = json.loads(json.dumps(house.client.ask("GET", "/api/episodes")))["episodes"]
        views = ["/today", "/search", "/topics", "/sessions", "/review", "/notes", "/settings", "/trainers"]
        views += ["/topics/mail", "/topics/mail?show=source", "/topics/long"]
        views += ["/topics/%3Cimg%20src=x%20onerror=alert(1)%3E"]
        views += ["/sessions/0badc0de", "/sessions/0badc0de?depth=file", "/sessions/0badc0de?depth=raw"]
        views += [f"/review/{hunk.id}", f"/notes/{notes[0]['id']}"]
        views += ["/search?q=relay", "/search?q=relay&arms=1", "/search?q=%3Cscript%3Ewindow.executed=1%3C/script%3E"]
        for address in views:
            go(page, address)
            page.wait_for_timeout(150)
            found = page.evaluate(f"[...document.querySelectorAll('#view :is({FOREIGN})')].map(one => one.outerHTML)")
            assert found == [], address
            assert not HIDDEN.search(page.inner_text("#view")), address
            assert page.evaluate("[window.executed || 0, window.broken || '']") == [0, ""], address
        assert [url for url in requests if not url.startswith("http://localhost:")] == []
        context.close()


def test_a_page_says_so_when_its_daemon_was_started_anew(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        house.settle(http_port=free_port())
        house.serve()
        page = chrome.new_context(viewport={"width": 360, "height": 740}).new_page()
        page.goto(link(house, "topics"))
        page.wait_for_selector("text=Mail")
        house.command("stop")
        page.click("header nav >> text=Search")
        page.wait_for_selector("h1:has-text('does not answer')")
        assert "oneiros open" in page.inner_text("#view")

        house.serve()
        page.click("header nav >> text=Topics")
        page.wait_for_selector("h1:has-text('has expired')")
        assert "oneiros open" in page.inner_text("#view")  # another daemon knows nothing of this page
        page.goto(link(house, "topics"))
        page.wait_for_selector("a:has-text('Mail')")
        page.context.close()


def test_two_daemons_do_not_disturb_each_other(chrome: Any, filled: House) -> None:
    with contextlib.closing(House()) as house:
        house.serve()
        context = chrome.new_context()
        pages = [context.new_page(), context.new_page()]
        for page, one in zip(pages, (filled, house), strict=True):
            page.goto(link(one, "topics"))
            page.wait_for_selector("a:has-text('Mail')")
        for page in pages:
            page.reload()
            page.wait_for_selector("a:has-text('Mail')")
        assert "Search and query syntax" in pages[0].inner_text("#view")
        assert "Search and query syntax" not in pages[1].inner_text("#view")
        context.close()


def test_a_window_of_the_same_page_needs_no_link_of_its_own(chrome: Any, filled: House) -> None:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link(filled))
    page.wait_for_selector("#view h1")
    second = context.new_page()
    second.goto(page.url.replace("/today", "/topics/cats"))

    second.wait_for_selector("text=oven")
    assert "#" not in second.url and second.locator("#trouble").is_hidden()
    assert context.cookies() == []
    context.close()


def test_a_page_that_lies_open_keeps_no_idle_daemon_alive(chrome: Any) -> None:
    with contextlib.closing(House()) as house:
        house.settle(idle_minutes=0.15)
        house.serve()
        page = chrome.new_context().new_page()
        page.goto(link(house, "today"))
        page.wait_for_selector("#view h1")
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        daemon = house.daemon()

        for _ in range(240):  # the page goes on asking meanwhile
            page.wait_for_timeout(500)
            if not is_living(daemon):
                break

        assert not is_living(daemon)
        assert any("/page/pulse" in url for url in requests)
        page.context.close()
