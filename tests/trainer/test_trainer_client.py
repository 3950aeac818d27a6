"""The client over several trainers and `oneiros trainer status`, against real servers on loopback."""

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from memory_server.errors import NeedsRepair, UsageError
from oneiros.cli.main import main
from parts.trainers.client import URLS, TrainerClient, TrainerMachine, TrainerUnreachable, parse_machines
from parts.trainers.command import add_commands, choose_at_terminal, look, sparkline

GPU = {
    "available": True,
    "reason": "",
    "time": 1.0,
    "devices": [
        {
            "name": "Card",
            "kind": "nvidia",
            "busy_percent": 87.0,
            "memory_used_gb": 4.2,
            "memory_total_gb": 6.0,
            "celsius": 71.0,
            "watts": 98.0,
        }
    ],
}
STATUS = {
    "state": "running",
    "run": "run-3",
    "step": 50,
    "total": 200,
    "seconds_left": 300,
    "error": "",
    "metrics": {"learning_rate": 0.0002, "accuracy": 0.75},
    "loss_history": [[step, 3.0 - step / 50] for step in range(1, 51)],
}
INFERENCE = {"loaded": True, "model": "run-2", "waiting": 1}


class Trainer(ThreadingHTTPServer):
    """A trainer's service in miniature: the same routes and the same stream."""

    daemon_threads = True

    def __init__(
        self,
        name: str,
        *,
        pieces: tuple[str, ...] = ("Port ", "25."),
        refuses: int = 0,
        breaks: bool = False,
        hangs: bool = False,
    ):
        super().__init__(("127.0.0.1", 0), Routes)
        self.name = name
        self.pieces = pieces
        self.refuses = refuses
        self.breaks = breaks
        self.may_answer = threading.Event()
        if not hangs:
            self.may_answer.set()
        self.asked = 0
        self.tokens: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def machine(self) -> TrainerMachine:
        return TrainerMachine(self.name, f"http://127.0.0.1:{self.server_port}", "secret")

    def kill(self) -> None:
        self.may_answer.set()
        self.shutdown()
        self.server_close()


class Routes(BaseHTTPRequestHandler):
    server: Trainer

    def do_GET(self) -> None:
        self.server.may_answer.wait()
        self.server.tokens.append(str(self.headers["Authorization"]))
        bodies = {"/health": {"status": "ok"}, "/status": STATUS, "/gpu": GPU, "/inference/status": INFERENCE}
        bodies["/log/tail"] = {"text": "step 50"}
        self.answer(200, bodies[self.path])

    def do_POST(self) -> None:
        self.server.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.refuses:
            self.answer(self.server.refuses, {"error": {"message": "no model is loaded."}})
            return
        self.send_response(200)
        self.end_headers()
        for piece in ("", *self.server.pieces):
            chunk = {"choices": [{"delta": {"content": piece}}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        if not self.server.breaks:
            self.wfile.write(b": still here\n\ndata: [DONE]\n\n")

    def answer(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in the base class)
        pass


@pytest.fixture
def trainers() -> Iterator[list[Trainer]]:
    started: list[Trainer] = []
    yield started
    for trainer in started:
        trainer.kill()


def start(trainers: list[Trainer], trainer: Trainer) -> Trainer:
    trainers.append(trainer)
    return trainer


QUESTION = [{"role": "user", "content": "Which port?"}]


def test_the_environment_names_machines_in_order_with_their_tokens() -> None:
    machines = parse_machines(
        {
            "ONEIROS_TRAINER_URLS": "desk=http://10.0.0.5:3011, https://gpu.example",
            "ONEIROS_TRAINER_TOKEN": "common",
            "ONEIROS_TRAINER_TOKEN_DESK": "own",
        }
    )

    assert [(machine.name, machine.url, machine.token) for machine in machines] == [
        ("desk", "http://10.0.0.5:3011", "own"),
        ("gpu.example:443", "https://gpu.example:443", "common"),
    ]
    assert [machine.url for machine in parse_machines({"HOME": "/nowhere"})] == ["http://127.0.0.1:3011"]


@pytest.mark.parametrize("urls", ["desk", "ftp://desk", "http://me:secret@desk", "a=http://x,a=http://y"])
def test_an_address_that_cannot_be_used_is_refused(urls: str) -> None:
    with pytest.raises(UsageError, match="ONEIROS_TRAINER_URLS"):
        parse_machines({"ONEIROS_TRAINER_URLS": urls})


def test_the_first_machine_answers_while_it_can(trainers: list[Trainer]) -> None:
    first, second = start(trainers, Trainer("first")), start(trainers, Trainer("second"))
    client = TrainerClient([first.machine, second.machine])

    assert list(client.stream(QUESTION)) == ["Port ", "25."]
    assert (first.asked, second.asked) == (1, 0)


def test_the_second_machine_answers_when_the_first_is_dead_and_is_asked_first_for_a_while(
    trainers: list[Trainer],
) -> None:
    time = [0.0]
    first, second = Trainer("first"), start(trainers, Trainer("second", pieces=("Port 26.",)))
    client = TrainerClient([first.machine, second.machine], clock=lambda: time[0])
    assert client.complete(QUESTION) == "Port 25."

    first.kill()

    assert client.complete(QUESTION) == "Port 26."
    assert [machine.name for machine in client._in_order()] == ["second", "first"]
    time[0] = 31.0
    assert [machine.name for machine in client._in_order()] == ["first", "second"]


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_a_machine_that_refuses_is_passed_over(status: int, trainers: list[Trainer]) -> None:
    first, second = start(trainers, Trainer("first", refuses=status)), start(trainers, Trainer("second"))

    assert TrainerClient([first.machine, second.machine]).complete(QUESTION) == "Port 25."


def test_a_machine_that_hangs_is_passed_over_before_it_is_asked(trainers: list[Trainer]) -> None:
    first, second = start(trainers, Trainer("first", hangs=True)), start(trainers, Trainer("second"))

    assert TrainerClient([first.machine, second.machine]).complete(QUESTION) == "Port 25."
    assert (first.asked, second.asked) == (0, 1)


def test_half_an_answer_is_never_continued_by_another_machine(trainers: list[Trainer]) -> None:
    first, second = start(trainers, Trainer("first", breaks=True)), start(trainers, Trainer("second"))
    pieces = TrainerClient([first.machine, second.machine]).stream(QUESTION)

    assert [next(pieces), next(pieces)] == ["Port ", "25."]
    with pytest.raises(TrainerUnreachable, match="went away in the middle of an answer"):
        next(pieces)
    assert second.asked == 0


def test_when_nobody_answers_the_error_says_what_each_machine_said(trainers: list[Trainer]) -> None:
    first, second = Trainer("first"), start(trainers, Trainer("second", refuses=409))
    first.kill()

    with pytest.raises(NeedsRepair, match=r"first: .*does not answer.*; second: no model is loaded"):
        TrainerClient([first.machine, second.machine]).complete(QUESTION)


def app() -> typer.Typer:
    """The group as an application of its own."""
    made = typer.Typer()
    add_commands(made)
    return made


def test_status_of_several_machines_is_one_json_object(
    trainers: list[Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, gone = start(trainers, Trainer("desk")), Trainer("gone")
    gone.kill()
    monkeypatch.setenv("ONEIROS_TRAINER_URLS", f"desk={desk.machine.url},gone={gone.machine.url}")
    monkeypatch.setenv("ONEIROS_TRAINER_TOKEN", "secret")

    result = CliRunner().invoke(app(), ["trainer", "status", "--once", "--json"])

    machines = json.loads(result.stdout)["machines"]
    assert result.exit_code == 1
    assert machines[0] == {
        "name": "desk",
        "url": desk.machine.url,
        "reachable": True,
        "error": "",
        "training": STATUS,
        "gpu": GPU,
        "inference": INFERENCE,
    }
    assert (machines[1]["name"], machines[1]["reachable"], machines[1]["training"]) == ("gone", False, None)
    assert desk.tokens[-1] == "Bearer secret"


def test_status_shows_a_person_progress_loss_rate_card_and_model(
    trainers: list[Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = start(trainers, Trainer("desk"))
    monkeypatch.setenv("ONEIROS_TRAINER_URLS", f"desk={desk.machine.url},other=http://127.0.0.1:1")

    result = CliRunner().invoke(app(), ["trainer", "status", "desk", "--once"])

    assert result.exit_code == 0
    for shown in (
        "running run-3",
        "step 50 of 200, 5 min left",
        "█",
        "2.000",
        "2.00e-04",
        "75.0%",
        "Card, 87 % busy, 4.2 of 6.0 GB, 71 °C, 98 W",
        "run-2, 1 waiting",
    ):
        assert shown in result.stdout
    assert "other" not in result.stdout


@pytest.mark.parametrize(
    ("typed", "named"), [("2\n", ["other"]), ("desk\n", ["desk"]), ("\n", ["desk", "other"]), ("x\n", [])]
)
def test_the_machines_are_offered_where_none_is_named(
    typed: str, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = list(parse_machines({"ONEIROS_TRAINER_URLS": "desk=http://127.0.0.1:1,other=http://127.0.0.1:2"}))
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    if named:
        assert [machine.name for machine in choose_at_terminal(machines)] == named
    else:
        with pytest.raises(UsageError, match="there is no trainer 'x'"):
            choose_at_terminal(machines)


def test_an_unknown_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEIROS_TRAINER_URLS", "desk=http://127.0.0.1:1")

    result = CliRunner().invoke(app(), ["trainer", "status", "desc", "--once"])

    assert isinstance(result.exception, UsageError)
    assert "there is no trainer 'desc'. Did you mean desk?" in str(result.exception)


def test_a_machine_that_the_setting_does_not_name_is_asked_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEIROS_TRAINER_URLS", "desk=http://127.0.0.1:1")

    result = CliRunner().invoke(app(), ["trainer", "status", "--host", "http://127.0.0.1:2", "--once", "--json"])

    assert [machine["name"] for machine in json.loads(result.stdout)["machines"]] == ["127.0.0.1:2"]


@pytest.mark.parametrize("arguments", [["--help"], ["split", "--help"], ["serve", "--help"], ["train", "--help"]])
def test_help_needs_none_of_the_trainers_libraries(arguments: list[str]) -> None:
    hidden = "import sys; sys.modules.update(dict.fromkeys(('torch', 'transformers', 'docx', 'pynvml', 'trl'))); "
    program = f"{hidden}sys.argv[1:] = {arguments!r}; from trainer.cli.main import run; run()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0 and "Usage:" in done.stdout


def test_a_stage_without_its_libraries_says_what_to_install() -> None:
    hidden = "import sys; sys.modules['trl'] = sys.modules['uvicorn'] = None"
    program = f"{hidden}; sys.argv[1:] = ['serve']; from trainer.cli.main import run; run()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 3 and "uvicorn is missing. Install the trainer's libraries" in done.stderr


def test_a_machine_that_is_off_is_a_line_and_no_crash() -> None:
    machine = TrainerMachine("off", "http://127.0.0.1:1", "")

    seen = look(TrainerClient([machine]))["machines"][0]

    assert seen["reachable"] is False
    assert "does not answer" in seen["error"]


def test_a_falling_curve_is_drawn_as_falling_bars() -> None:
    assert sparkline([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == "█▇▆▅▄▃▂▁"
    assert len(sparkline([1.0] * 1_000)) == 40


def test_where_no_trainer_is_named_or_runs_the_command_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("parts.trainers.client.DEFAULT_URL", "http://127.0.0.1:1")
    monkeypatch.delenv(URLS, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert main(["trainer", "status", "--once"]) == 1
    assert capsys.readouterr().err == (
        "ONEIROS_TRAINER_URLS names no trainer, and none runs on this machine: `python -m trainer serve` starts one.\n"
    )
