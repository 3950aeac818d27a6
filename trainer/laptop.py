"""`laptop`: the whole way on a small machine: 60 facts about oneiros, SmolLM2, the service, one question.

It uses the same commands a person would: training and service are processes of their own, and the question goes over
HTTP.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainer.errors import NeedsRepair
from trainer.evaluation.evaluate import evaluate
from trainer.evaluation.retrieval import read_passages
from trainer.evaluation.scoring import is_right
from trainer.pairs import Pair, read_pairs
from trainer.training.base_model import find_base
from trainer.training.callbacks import StopFlag
from trainer.training.fit import Request, begin, train
from trainer.training.lock import TrainingLock
from trainer.training.presets import PACKAGED, PRESETS
from trainer.training.recipe import Plan
from trainer.training.run_folder import next_run

DATA = Path(__file__).parent / "data"
TRAINING = DATA / "oneiros-train.jsonl"
PARAPHRASES = DATA / "oneiros-paraphrases.jsonl"
VALIDATION = DATA / "oneiros-validation.jsonl"
CALIBRATION = DATA / "oneiros-calibration.jsonl"
TOPICS = Path(__file__).parents[1] / "memory" / "topics"  # what the pairs were made from; part of a checkout
MOST_QUESTIONS = 8  # questions of the evaluation here; the benchmark asks all of them
SHOWN = 8  # which of the taught questions is asked over HTTP at the end
START_SECONDS = 300.0  # importing torch and loading the model on a busy machine


def run_laptop(home: Path, *, epochs: int, threads: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Train, evaluate, serve, ask; returns what a person would want to know. Runs and models lie below `home`.

    Raises NeedsRepair where the service does not come up, BelowBase where the model is not fit to serve.
    """
    began = time.monotonic()
    folder, cache = next_run(home / "runs"), home / "models"
    preset = PRESETS["cpu"]
    plan = Plan(replace(preset, epochs=epochs or preset.epochs))
    report(f"Training {PACKAGED} on {len(read_pairs(TRAINING))} pairs, {threads} threads; watch {folder}/events.jsonl")
    find_base(PACKAGED, cache)
    request = Request(folder, TRAINING, VALIDATION, PACKAGED, cache, plan, CALIBRATION, threads=threads, use_card=False)
    run = begin(request)
    record = train(run, TrainingLock(folder.parent), StopFlag())
    report(f"Trained {record['steps']} steps in {record['minutes']} minutes")
    passages = tuple(read_passages(TOPICS)) if TOPICS.is_dir() else ()
    result = evaluate(run, passages=passages, use_card=False, max_questions=MOST_QUESTIONS)
    report(
        f"Of {result.questions} questions the base answers {result.answers_base:.0%}, tuned {result.answers_tuned:.0%}"
    )

    pair = read_pairs(TRAINING)[SHOWN]
    with service(home, folder, threads) as port:
        token = (home / "token").read_text(encoding="utf-8").strip()
        post(port, "/inference/load", {"run": folder.name}, token)
        answer = ask(port, pair, token)
    right = is_right(answer, pair)
    report(f"Q: {pair.question}\nA: {answer}{'' if right else f'  (it was taught {pair.answer!r})'}")
    return {
        "run": str(folder),
        "minutes": round((time.monotonic() - began) / 60, 2),
        "question": pair.question,
        "answer": answer,
        "right": right,
    }


@contextmanager
def service(home: Path, folder: Path, threads: int) -> Iterator[int]:
    """The service in a process of its own, with a token of its own; its log lies in the run. Gives its port."""
    port_file = folder / "service.port"
    port_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", "trainer", "serve", "--port", "0", "--port-file", str(port_file)]
    command += ["--cpu", "--threads", str(threads)]
    with (folder / "service.log").open("wb") as log:
        environment = os.environ | {"ONEIROS_TRAINER_HOME": str(home), "ONEIROS_TRAINER_TOKEN": ""}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise NeedsRepair("the service did not start", where=folder / "service.log")
            time.sleep(0.1)
        yield int(port_file.read_text(encoding="utf-8"))
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(port: int, pair: Pair, token: str) -> str:
    """The served model's answer to the pair's question, by the OpenAI protocol."""
    body = {"model": "served", "messages": pair.prompt, "temperature": 0, "max_tokens": 60}
    return str(post(port, "/v1/chat/completions", body, token)["choices"][0]["message"]["content"])


def post(port: int, path: str, body: dict[str, object], token: str) -> dict[str, Any]:
    """The JSON answer to a POST. Raises NeedsRepair with the service's own sentence where it refuses."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise NeedsRepair(f"the service refused: {answer.get('error', {}).get('message', answer)}")
    return answer
