"""The service as its clients see it: a real process, a real model, real sockets."""

import asyncio
import http.client
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from parts.trainers.client import TrainerClient, parse_machines
from trainer.errors import Busy, UsageError
from trainer.serving.answering import Answer, Model, Question, until_stop
from trainer.serving.connections import MAX_CONNECTIONS
from trainer.serving.foreign_log import read_progress
from trainer.serving.gauges import AmdSource, CpuSource, Gauge, Gauges, RocmSmiSource
from trainer.serving.pump import Pump
from trainer.serving.settings import Settings
from trainer.serving.training_jobs import Start, TrainingJobs, thin_points
from trainer.training.base_model import find_base
from trainer.training.events import read_heartbeat
from trainer.training.machine import this_machine
from trainer.training.run_folder import RunFolder, newest_adapter

pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(900),  # a process that imports torch takes a minute on a busy machine
    # Deprecations inside transformers, TRL and torch that concern their authors; ours stay errors.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

LONG = {"messages": [{"role": "user", "content": "Which port?"}], "max_tokens": 1000}
ASK = {"role": "user", "content": "Which port does service 3 use?"}


@pytest.fixture(scope="module")
def service(tiny_base: Path, service_process: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service that serves the tiny base, with a line of two."""
    home = tmp_path_factory.mktemp("service")
    shutil.copytree(tiny_base, home / "models" / "tiny")
    process = service_process(home, "--base", "tiny", "--max-waiting", "2")
    yield process
    process.close()


def send(service: Any, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=240)
    try:
        sent = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"} | headers
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def opened_stream(service: Any, body: dict[str, Any]) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=240)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body | {"stream": True}), headers)
    return connection, connection.getresponse()


def waiting(service: Any) -> int:
    return int(send(service, "GET", "/inference/status")[1]["waiting"])


def test_the_openai_client_lists_models_and_gets_whole_and_streamed_answers(service: Any) -> None:
    client = openai.OpenAI(base_url=f"{service.url}/v1", api_key=service.token)

    name = client.models.list().data[0].id
    whole = client.chat.completions.create(model=name, messages=[ASK], max_tokens=12, temperature=0)
    stream = client.chat.completions.create(
        model=name, messages=[ASK], max_tokens=12, temperature=0, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)

    assert name == "tiny"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == (
        whole.choices[0].message.content
    )
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 12
    assert chunks[-1].usage == whole.usage
    client.close()


def test_the_openai_client_gets_its_own_errors(service: Any) -> None:
    client = openai.OpenAI(base_url=f"{service.url}/v1", api_key="wrong", max_retries=0)

    with pytest.raises(openai.AuthenticationError):
        client.models.list()
    with pytest.raises(openai.UnprocessableEntityError, match="temperature"):
        client.with_options(api_key=service.token).chat.completions.create(
            model="x", messages=[ASK], temperature=9, max_tokens=1
        )
    client.close()


def test_generate_answers_plainly_and_as_a_stream(service: Any) -> None:
    body = {"prompt": "Which port?", "max_tokens": 8}
    status, plain = send(service, "POST", "/generate", body)

    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=240)
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection.request("POST", "/generate", json.dumps(body | {"stream": True}), headers)
    lines = connection.getresponse().read().decode("utf-8").split("\n\n")
    connection.close()

    assert status == 200
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert "".join(event.get("text", "") for event in events) == plain["text"]
    assert events[-1] == {"done": True}


def test_an_answer_ends_when_its_client_goes_away(service: Any, wait_until: Callable[..., None]) -> None:
    connection, response = opened_stream(service, LONG)
    assert response.status == 200
    assert response.readline().startswith(b"data: ")

    shut(connection, response)

    wait_until(lambda: waiting(service) == 0)
    assert send(service, "POST", "/generate", {"prompt": "x", "max_tokens": 2})[0] == 200


def test_a_whole_answer_ends_too_when_its_client_goes_away_while_the_model_speaks(
    tiny_base: Path, wait_until: Callable[..., None]
) -> None:
    model = Model(find_base(str(tiny_base), tiny_base), None, this_machine(use_card=False), max_waiting=0, seconds=600)

    async def left_early() -> Answer:
        pump = Pump(model, Question([ASK], max_tokens=2000))

        async def is_gone() -> bool:
            return bool(pump.answer.text)

        return await pump.whole(is_gone)

    answer = asyncio.run(left_early())

    wait_until(lambda: model.waiting == 0)
    assert 0 < answer.answer_tokens < 2000


def shut(connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
    """Cut the line without a farewell, as a closed laptop does."""
    response.close()
    connection.close()


def test_twenty_clients_that_leave_at_once_leave_no_place_taken(service: Any, wait_until: Callable[..., None]) -> None:
    def visit(_: int) -> int:
        connection, response = opened_stream(service, LONG)
        status = response.status
        shut(connection, response)
        return status

    with ThreadPoolExecutor(20) as crowd:
        statuses = set(crowd.map(visit, range(20)))

    assert statuses <= {200, 429}
    wait_until(lambda: waiting(service) == 0)


def test_a_full_line_turns_the_next_one_away(service: Any, wait_until: Callable[..., None]) -> None:
    with ThreadPoolExecutor(3) as crowd:
        under_way = [crowd.submit(send, service, "POST", "/v1/chat/completions", LONG) for _ in range(3)]
        wait_until(lambda: waiting(service) == 3)

        status, body = send(service, "POST", "/v1/chat/completions", LONG)

        assert (status, body["error"]["type"]) == (429, "QueueFull")
        assert {answer.result()[0] for answer in under_way} == {200}


@pytest.mark.parametrize(
    ("pieces", "stops", "words"),
    [
        (["Port 25", ".\nQ", ": no"], ("\nQ:",), "Port 25."),
        (["a", "b", "STOP", "c"], ("STOP",), "ab"),
        (["ab", "ST"], ("STOP",), "abST"),
        (["one", " two"], (), "one two"),
    ],
)
def test_a_stop_string_ends_the_answer_even_in_two_pieces(
    pieces: list[str], stops: tuple[str, ...], words: str
) -> None:
    answer = Answer()

    assert "".join(until_stop(iter(pieces), stops, answer)) == words
    assert answer.text == words


def test_fifty_polls_at_once_are_answered_from_one_look() -> None:
    class Counted(CpuSource):
        looks = 0

        def read(self) -> list[Gauge]:
            self.looks += 1
            return super().read()

    source = Counted()
    gauges = Gauges(source, seconds=3600)
    with ThreadPoolExecutor(50) as crowd:
        seen = list(crowd.map(lambda _: gauges.latest(), range(50)))
    gauges.close()

    assert source.looks == 1
    assert seen == [seen[0]] * 50


def test_the_service_answers_fifty_concurrent_gpu_polls(service: Any) -> None:
    with ThreadPoolExecutor(50) as crowd:
        answers = list(crowd.map(lambda _: send(service, "GET", "/gpu"), range(50)))

    assert {status for status, _ in answers} == {200}
    assert all(body["available"] is False and body["devices"][0]["kind"] == "cpu" for _, body in answers)


@pytest.mark.parametrize("power", ["power1_average", "power1_input"])
def test_an_amd_card_is_read_from_its_drivers_files(power: str, tmp_path: Path) -> None:
    card = tmp_path / "card0" / "device"
    (card / "hwmon" / "hwmon3").mkdir(parents=True)
    for name, value in {
        "gpu_busy_percent": "37",
        "mem_info_vram_used": str(3 << 30),
        "mem_info_vram_total": str(16 << 30),
        "hwmon/hwmon3/temp1_input": "61000",
        f"hwmon/hwmon3/{power}": "145000000",
    }.items():
        (card / name).write_text(f"{value}\n", encoding="ascii")

    assert AmdSource(tmp_path).read() == [Gauge("AMD card0", "amd", 37.0, 3.0, 16.0, 61.0, 145.0)]


def test_an_amd_card_is_read_from_rocm_smi_where_the_files_are_missing() -> None:
    printed = {
        "card0": {
            "GPU use (%)": "12",
            "VRAM Total Memory (B)": str(8 << 30),
            "VRAM Total Used Memory (B)": str(2 << 30),
            "Temperature (Sensor edge) (C)": "44.0",
            "Average Graphics Package Power (W)": "20.0",
        }
    }

    assert RocmSmiSource(lambda: json.dumps(printed)).read() == [Gauge("AMD card0", "amd", 12.0, 2.0, 8.0, 44.0, 20.0)]


def test_without_a_token_or_from_a_foreign_page_nothing_is_served(service: Any) -> None:
    assert send(service, "GET", "/health", Authorization="")[0] == 200
    assert send(service, "GET", "/status", Authorization="")[0] == 401
    assert send(service, "GET", "/status", Origin="https://evil.example")[0] == 403
    assert send(service, "GET", "/status", Host="evil.example")[0] == 421
    assert send(service, "GET", "/status")[0] == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/generate", {"prompt": "x" * 32_001}),
        ("/generate", {"prompt": "x", "max_tokens": 0}),
        ("/generate", {"prompt": "x", "surprise": 1}),
        ("/generate", {}),
        ("/start", {"training": "../../etc/passwd"}),
        ("/start", {"training": "x.jsonl", "run": "../up"}),
        ("/inference/load", {"run": "../../runs/run-1"}),
        ("/inference/load", {}),
        ("/v1/chat/completions", {"messages": []}),
    ],
)
def test_what_is_out_of_bounds_is_refused_in_one_sentence(path: str, body: dict[str, Any], service: Any) -> None:
    status, answer = send(service, "POST", path, body)

    assert status == 422
    assert answer["error"]["message"].endswith(".")


def test_a_request_loads_and_trains_no_model_from_outside_of_the_home(service: Any, tiny_base: Path) -> None:
    paths = (str(tiny_base), os.path.relpath(tiny_base), f"../{service.home.name}/../{tiny_base.name}")

    loaded = [send(service, "POST", "/inference/load", {"base": path}) for path in paths]
    trained = [send(service, "POST", "/start", {"training": "pairs.jsonl", "base": path}) for path in paths]

    assert {status for status, _ in (*loaded, *trained)} == {422}
    assert all("there is no base" in body["error"]["message"] for _, body in loaded)
    assert send(service, "POST", "/inference/load", {"base": "tiny"})[0] == 200
    assert send(service, "GET", "/inference/status")[1]["model"] == "tiny"


def test_a_header_that_is_sent_twice_gets_nothing(service: Any) -> None:
    host, token = f"Host: 127.0.0.1:{service.port}", f"Authorization: Bearer {service.token}"
    once = "GET /status HTTP/1.1", host, token, "Connection: close"
    twice = (host, token, "Authorization: Bearer other", "Content-Length: 0", "Transfer-Encoding: chunked")

    assert raw_status(service.port, *once) == 200
    assert [raw_status(service.port, *once, line) for line in twice[:3]] == [400] * 3
    assert raw_status(service.port, *once, *twice[3:]) == 400


def raw_status(port: int, *lines: str) -> int:
    """The status of the answer to a request that no library would send."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall("\r\n".join((*lines, "", "")).encode("ascii"))
        return int(client.makefile("rb").readline().split()[1])


def test_connections_that_say_nothing_are_bounded_and_keep_nobody_out(
    service: Any, wait_until: Callable[..., None]
) -> None:
    with ExitStack() as held:
        silent = [held.enter_context(socket.create_connection(("127.0.0.1", service.port))) for _ in range(150)]
        for one in silent:
            one.setblocking(False)

        assert send(service, "GET", "/status")[0] == 200
        wait_until(lambda: sum(map(is_ended, silent)) >= 150 - MAX_CONNECTIONS)


def is_ended(connection: socket.socket) -> bool:
    """Whether the other side has ended it."""
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_body_that_is_too_large_is_refused_unread(service: Any) -> None:
    assert send(service, "POST", "/generate", {"prompt": "x" * (1 << 20)})[0] == 413


def test_a_foreign_log_gives_its_last_bar_and_figures(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "  1%|▏         | 1/100 [00:01<01:39]\r{'loss': '2.5', 'epoch': '0.1'}\n"
        " 42%|████▏     | 42/100 [00:42<00:58]\r{'loss': 1.25, 'learning_rate': 2e-05}\n",
        encoding="utf-8",
    )

    found = read_progress(log)

    assert found is not None
    assert (found.step, found.total, found.figures) == (42, 100, {"loss": 1.25, "learning_rate": 2e-05})
    assert read_progress(tmp_path / "missing.txt") is None


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points = [(step, 1.0) for step in range(1_234)]

    thin = thin_points(points)

    assert len(thin) <= 501
    assert thin[-1] == (1_233, 1.0)


@pytest.fixture
def home_with_pairs(pairs_file: Path, tiny_base: Path, tmp_path: Path) -> Path:
    """A trainer's home with data and a base to train."""
    shutil.copytree(tiny_base, tmp_path / "home" / "models" / "tiny")
    (tmp_path / "home" / "data").mkdir(parents=True)
    shutil.copy(pairs_file, tmp_path / "home" / "data" / "pairs.jsonl")
    return tmp_path / "home"


@pytest.fixture
def trainable(start_service: Callable[..., Any], home_with_pairs: Path) -> Any:
    """A service with data to train on."""
    return start_service(home_with_pairs)


def status_of(service: Any) -> dict[str, Any]:
    body: dict[str, Any] = send(service, "GET", "/status")[1]
    return body


def test_of_many_starts_at_once_one_wins_and_a_kill_from_outside_is_reported(
    trainable: Any, wait_until: Callable[..., None]
) -> None:
    assert status_of(trainable)["state"] == "idle"
    order = {"training": "pairs.jsonl", "base": "tiny", "max_steps": 100_000}

    with ThreadPoolExecutor(8) as crowd:
        answers = list(crowd.map(lambda _: send(trainable, "POST", "/start", order), range(8)))

    assert sorted(status for status, _ in answers) == [200] + [409] * 7
    wait_until(lambda: status_of(trainable).get("step", 0) >= 3, 300)
    running = status_of(trainable)
    assert running["state"] == "running"
    assert len(running["loss_history"]) >= 1
    assert running["metrics"]["learning_rate"] > 0

    os.kill(running["pid"], signal.SIGKILL)
    wait_until(lambda: status_of(trainable)["state"] == "killed")
    assert status_of(trainable)["error"] == "the training process was killed from outside by SIGKILL"
    assert send(trainable, "POST", "/stop")[0] == 409


def test_a_service_that_was_killed_finds_its_training_again_and_stops_it(
    trainable: Any, start_service: Callable[..., Any], wait_until: Callable[..., None]
) -> None:
    order = {"training": "pairs.jsonl", "base": "tiny", "max_steps": 100_000}
    assert send(trainable, "POST", "/start", order)[0] == 200
    wait_until(lambda: status_of(trainable).get("step", 0) >= 1, 300)

    trainable.kill()
    again = start_service(trainable.home)

    assert status_of(again)["state"] == "running"
    assert send(again, "POST", "/start", order)[0] == 409
    with ThreadPoolExecutor(4) as crowd:
        statuses = {status for status, _ in crowd.map(lambda _: send(again, "POST", "/stop"), range(4))}
    assert statuses <= {200, 409}
    wait_until(lambda: status_of(again)["state"] == "stopped", 300)
    assert "Stopped with a checkpoint" in send(again, "GET", "/log/tail")[1]["text"]


def test_a_service_in_a_container_stops_its_training_with_a_checkpoint_before_it_ends(
    start_service: Callable[..., Any], home_with_pairs: Path, wait_until: Callable[..., None]
) -> None:
    service = start_service(home_with_pairs, "--stop-training")
    order = {"training": "pairs.jsonl", "base": "tiny", "max_steps": 100_000}
    assert send(service, "POST", "/start", order)[0] == 200
    wait_until(lambda: status_of(service).get("step", 0) >= 1, 300)

    service.close()

    run = home_with_pairs / "runs" / "run-1"
    beat = read_heartbeat(run)
    assert beat is not None
    assert beat.state == "stopped"
    assert RunFolder(run).last_checkpoint() is not None


def test_a_full_card_is_refused_before_a_run_begins_and_the_loaded_model_is_named(home_with_pairs: Path) -> None:
    jobs = TrainingJobs(Settings(home_with_pairs, "token"))
    card = Gauge("a card", "nvidia", 0.0, memory_used_gb=4.8, memory_total_gb=6.0)

    with pytest.raises(
        Busy, match=r"1.2 GB free, the preset 6gb needs 4.5. Unload run-7 first \(POST /inference/unload"
    ):
        jobs.start(Start(training="pairs.jsonl"), [card], "run-7")

    assert jobs.status(None) == {"state": "idle", "run": None}


def test_a_run_that_is_stopped_before_it_began_is_called_stopped(
    trainable: Any, wait_until: Callable[..., None]
) -> None:
    assert send(trainable, "POST", "/start", {"training": "pairs.jsonl", "base": "tiny"})[0] == 200

    assert send(trainable, "POST", "/stop")[0] == 200

    wait_until(lambda: status_of(trainable)["state"] == "stopped", 300)


def test_a_run_that_cannot_begin_is_reported_with_its_last_words(
    trainable: Any, wait_until: Callable[..., None]
) -> None:
    assert send(trainable, "POST", "/start", {"training": "pairs.jsonl", "base": "nobody/nothing"})[0] == 200

    wait_until(lambda: status_of(trainable)["state"] == "failed", 300)

    assert "is not on this machine" in status_of(trainable)["error"]


def test_of_two_services_the_second_answers_when_the_first_is_killed(
    start_service: Callable[..., Any], tiny_base: Path, tmp_path: Path
) -> None:
    first = start_service(tmp_path / "first", "--base", str(tiny_base))
    second = start_service(tmp_path / "second", "--base", str(tiny_base))
    urls = f"first={first.url},second={second.url}"
    client = TrainerClient(parse_machines({"ONEIROS_TRAINER_URLS": urls, "ONEIROS_TRAINER_TOKEN": first.token}))
    before = client.complete([ASK], max_tokens=8)

    first.kill()

    assert client.complete([ASK], max_tokens=8) == before
    assert [machine.name for machine in client._in_order()] == ["second", "first"]


def test_what_was_loaded_last_is_loaded_again_unless_it_was_given_back(
    start_service: Callable[..., Any], home_with_pairs: Path
) -> None:
    first = start_service(home_with_pairs)
    assert send(first, "GET", "/inference/status")[1]["loaded"] is False
    assert send(first, "POST", "/inference/load", {"base": "tiny"})[0] == 200
    first.close()

    second = start_service(home_with_pairs)
    assert send(second, "GET", "/inference/status")[1]["model"] == "tiny"
    second.close()

    third = start_service(home_with_pairs, "--no-load")
    assert send(third, "GET", "/inference/status")[1]["loaded"] is False
    third.close()

    fourth = start_service(home_with_pairs)
    assert send(fourth, "POST", "/inference/unload")[0] == 200
    fourth.close()
    assert send(start_service(home_with_pairs), "GET", "/inference/status")[1]["loaded"] is False


def test_of_the_runs_with_an_adapter_the_newest_is_loaded_when_told_so(tmp_path: Path) -> None:
    for number, run in enumerate(("run-1", "run-3", "run-2"), start=1):
        (tmp_path / run / "adapter").mkdir(parents=True)
        os.utime(tmp_path / run / "adapter", (number, number))
    (tmp_path / "run-4").mkdir()  # which is not done

    assert newest_adapter(tmp_path) == "run-2"
    with pytest.raises(UsageError, match="no run below"):
        newest_adapter(tmp_path / "run-4")


def test_a_service_without_a_run_says_so_where_the_newest_is_wanted(home_with_pairs: Path) -> None:
    command = [sys.executable, "-m", "trainer", "serve", "--newest", "--port", "0"]
    done = subprocess.run(
        command,
        env=os.environ | {"ONEIROS_TRAINER_HOME": str(home_with_pairs)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2 and "has an adapter" in done.stderr


def test_the_log_of_a_run_that_the_command_line_began_is_its_events(tmp_path: Path) -> None:
    (tmp_path / "runs" / "run-1").mkdir(parents=True)
    (tmp_path / "runs" / "run-1" / "events.jsonl").write_text('{"event": "log", "step": 4}\n', encoding="utf-8")

    told = TrainingJobs(Settings(tmp_path, "")).log_tail("run-1", None, 1_000)

    assert told == {"text": '{"event": "log", "step": 4}\n', "next": 28}


def test_a_model_that_is_gone_is_named_and_the_service_begins_without_it(
    start_service: Callable[..., Any], home_with_pairs: Path
) -> None:
    (home_with_pairs / "served.json").write_text('{"run": "run-9"}', encoding="utf-8")

    service = start_service(home_with_pairs)

    assert send(service, "GET", "/inference/status")[1]["loaded"] is False
    assert "What was loaded last is not loaded again" in (home_with_pairs / "service.log").read_text(encoding="utf-8")


def test_a_model_whose_weights_are_torn_is_named_and_the_service_begins_without_it(
    start_service: Callable[..., Any], home_with_pairs: Path
) -> None:
    torn = home_with_pairs / "models" / "torn"
    shutil.copytree(home_with_pairs / "models" / "tiny", torn)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    (home_with_pairs / "served.json").write_text('{"base": "torn"}', encoding="utf-8")

    service = start_service(home_with_pairs)

    assert send(service, "GET", "/inference/status")[1]["loaded"] is False
    assert "What was loaded last is not loaded again" in (home_with_pairs / "service.log").read_text(encoding="utf-8")


def test_health_names_the_machine_and_its_card(service: Any) -> None:
    answer = send(service, "GET", "/health")[1]

    assert answer["status"] == "ok" and platform.machine() in answer["machine"] and answer["card"] is None


def test_a_run_is_started_with_calibration_and_may_download_where_the_service_may(home_with_pairs: Path) -> None:
    jobs = TrainingJobs(Settings(home_with_pairs, "token", allow_download=True))
    wanted = Start(training="pairs.jsonl", calibration="pairs.jsonl", base="tiny")

    command, _ = jobs._command(wanted)

    assert command[command.index("--calibration") + 1] == str((home_with_pairs / "data" / "pairs.jsonl").resolve())
    assert "--download" in command
    with pytest.raises(UsageError, match=r"there is no data file 'none\.jsonl'"):
        jobs._command(replace(wanted, calibration="none.jsonl"))
