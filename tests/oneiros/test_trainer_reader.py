"""Reading by several trainers, against servers on the loopback that speak the trainer's protocol."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from crawler.reading.record import Reading
from memory_server.settings_file import change_setting
from oneiros.environment import Environment
from oneiros.ingest.readings import ModelReadings, ReadReport, build_asking, open_readings
from oneiros.ingest.run import Wanted, run_ingest
from tests.crawler.builders import SESSION, working_session, write_transcript
from tests.crawler.reading.builders import answer, as_json, make_line
from tests.loopback import served
from tests.memories import new_root

DECIDED = "I decided to send a keepalive every 300 seconds"
ANSWER = as_json(answer(make_line("00000005", DECIDED, kind="decision"), title="Relay keepalive"))
LATER = datetime(2030, 1, 1, tzinfo=UTC)


@contextmanager
def trainer(pieces: list[str] | None) -> Iterator[str]:
    """The URL of a trainer that streams these pieces; with None it has no model loaded."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "ok"}')

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(503 if pieces is None else 200)
            self.end_headers()
            if pieces is None:
                self.wfile.write(b'{"error": {"message": "no model is loaded"}}')
                return
            for piece in pieces:
                self.wfile.write(f"data: {json.dumps({'choices': [{'delta': {'content': piece}}]})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

    with served(Handler) as url:
        yield url


def read(home: Path, *urls: str) -> tuple[ReadReport, Reading | None]:
    """What these trainers read of one finished session."""
    write_transcript(home / ".claude" / "projects" / "-work-app", *working_session())
    change_setting(home / ".config" / "oneiros" / "config.toml", "reader", "trainer")
    root = new_root(home / "memory")
    environment = Environment({"ONEIROS_TRAINER_URLS": ",".join(urls)}, home, home)
    run_ingest(environment, root, Wanted(), LATER)
    report = ModelReadings(root, lambda _: build_asking(environment, root, lambda _: None)).run_once()
    return report, open_readings(root).load(SESSION)


def test_the_first_trainer_that_can_answer_reads_the_session(tmp_path: Path) -> None:
    with ExitStack() as stack:
        urls = [stack.enter_context(trainer(pieces)) for pieces in (None, [ANSWER[:20], ANSWER[20:]])]

        report, reading = read(tmp_path, *urls)

    assert reading is not None
    assert (report.read, reading.reader, reading.title) == (1, "trainer", "Relay keepalive")
    assert [line.text for line in reading.lines] == [DECIDED]


def test_a_model_that_writes_no_list_leaves_what_rules_read(tmp_path: Path) -> None:
    with trainer(["I am a small model."]) as url:
        report, reading = read(tmp_path, url)

    assert reading is not None
    assert (report.read, report.left, reading.reader) == (0, 1, "rules")
