"""A trainer that answers is shown with its card, its loss and its log, and its token stays with the daemon."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from oneiros.served import ServedMemory
from parts.page.person import trainer_routes
from parts.page.rendering import Renderer
from tests.loopback import served

TOKEN = "of-this-desk-alone-7f3a"
CARD = {  # as `trainer.serving.gauges.Gauge` is sent
    "name": "A card <b>",
    "kind": "nvidia",
    "busy_percent": 73.0,
    "memory_used_gb": 20.5,
    "memory_total_gb": 80.0,
    "celsius": 61.0,
    "watts": 410.0,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "/status": {
        "state": "training",
        "run": "2026-11-20-mail",
        "step": 40,
        "total": 160,
        "seconds_left": 600,
        "error": "",
        "loss_history": [[10, 2.5], [20, 1.75]],
    },
    "/gpu": {"available": True, "reason": "", "time": 0.0, "devices": [CARD]},
    "/inference/status": {"loaded": True, "model": "small-1", "waiting": 2},
    "/log/tail": {"text": "step 40 <script>", "next": 16},
}


@contextmanager
def answering() -> Iterator[str]:
    """The URL of a trainer that answers whoever brings its token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
            self.send_response(200 if is_known else 401)
            self.end_headers()
            self.wfile.write(json.dumps(ANSWERS[self.path] if is_known else {}).encode())

    with served(Handler) as url:
        yield url


def shown(home: Path, url: str, token: str) -> str:
    """The fragment of the trainer `desk`."""
    variables = {"HOME": str(home), "ONEIROS_TRAINER_URLS": f"desk={url}", "ONEIROS_TRAINER_TOKEN_DESK": token}
    running = SimpleNamespace(environment=SimpleNamespace(variables=variables))
    api = FastAPI()
    api.include_router(trainer_routes(cast("ServedMemory", SimpleNamespace(running=running)), Renderer()))
    return TestClient(api).get("/pulse/trainers/desk").text


def test_a_trainer_is_shown_with_card_loss_and_log_and_without_its_token(tmp_path: Path) -> None:
    with answering() as url:
        html = shown(tmp_path, url, TOKEN)

    assert "2026-11-20-mail, step 40 of 160" in html and "10 min left" in html
    assert "A card &lt;b&gt;, 73 % busy, 20.5 of 80.0 GB, 61 °C, 410 W" in html
    assert "small-1, 2 waiting" in html and "step 40 &lt;script&gt;" in html
    assert 'points="0.00,0.00 100.00,30.00"' in html and '<td class="num">1.75</td>' in html
    assert TOKEN not in html


def test_a_trainer_that_refuses_the_token_says_so_and_nothing_else(tmp_path: Path) -> None:
    with answering() as url:
        html = shown(tmp_path, url, "another")

    assert "does not answer" in html and "another" not in html


def test_where_no_trainer_is_named_or_runs_the_page_says_so_and_shows_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parts.trainers.client.DEFAULT_URL", "http://127.0.0.1:1")
    running = SimpleNamespace(environment=SimpleNamespace(variables={"HOME": "/nowhere"}))
    api = FastAPI()
    api.include_router(trainer_routes(cast("ServedMemory", SimpleNamespace(running=running)), Renderer()))

    html = TestClient(api).get("/trainers").text

    assert "none runs on this machine" in html
    assert "Asking" not in html and "rrno" not in html
