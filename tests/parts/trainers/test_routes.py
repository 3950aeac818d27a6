"""The routes to trainers: an answer in pieces, and what is said where one goes away."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from oneiros.environment import Environment
from oneiros.served import ServedMemory
from parts.trainers.routes import add_trainer_routes
from tests.trainer.test_trainer_client import Trainer

BODY = {"messages": [{"role": "user", "content": "Which port?"}]}
Serve = Callable[[Trainer], TestClient]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """The routes over one trainer."""
    started: list[Trainer] = []

    def run(trainer: Trainer) -> TestClient:
        started.append(trainer)
        variables = {"ONEIROS_TRAINER_URLS": f"desk={trainer.machine.url}", "ONEIROS_TRAINER_TOKEN": "secret"}
        environment, api = Environment(variables, tmp_path, tmp_path), FastAPI()
        running = SimpleNamespace(environment=environment)
        add_trainer_routes(api, cast("ServedMemory", SimpleNamespace(running=running)))
        return TestClient(api)

    yield run
    for trainer in started:
        trainer.kill()


def test_an_answer_comes_as_server_sent_events(serve: Serve) -> None:
    answer = serve(Trainer("desk")).post("/api/generate", json=BODY)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == 'data: {"text": "Port "}\n\ndata: {"text": "25."}\n\ndata: [DONE]\n\n'


def test_a_whole_answer_comes_as_one_object(serve: Serve) -> None:
    answer = serve(Trainer("desk")).post("/api/generate", json={**BODY, "stream": False})

    assert answer.json() == {"text": "Port 25."}


def test_a_trainer_that_goes_away_in_the_middle_is_the_last_event(serve: Serve) -> None:
    events = serve(Trainer("desk", breaks=True)).post("/api/generate", json=BODY).text.split("\n\n")

    kind, _, told = events[-2].partition("\n")
    assert kind == "event: error"
    assert "went away" in json.loads(told.removeprefix("data: "))["error"]["what"]


def test_trainers_are_told_with_what_they_do_and_without_their_token(serve: Serve) -> None:
    answer = serve(Trainer("desk")).get("/api/trainers")

    (desk,) = answer.json()["trainers"]
    assert (desk["name"], desk["error"], desk["training"]["state"], desk["log"]) == ("desk", "", "running", "step 50")
    assert "secret" not in answer.text
