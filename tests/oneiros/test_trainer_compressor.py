"""Compression over several trainers, against servers on the loopback that speak the trainer's protocol."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from memory_server.layers.sessions import CompressedSession, newest_files, read_session
from memory_server.settings_file import change_setting
from oneiros.environment import Environment
from oneiros.ingest.run import Wanted, run_ingest
from tests.crawler.builders import SESSION, working_session, write_transcript
from tests.loopback import served
from tests.memories import new_root

DECISION = {"text": "Keepalive every 300 s in src/relay.py", "entries": ["00000005"]}
GOAL = {"text": "The relay loses its connection", "entries": ["00000001"]}
DIGEST = json.dumps({"title": "Relay keepalive", "sections": {"Goal": [GOAL], "Decisions": [DECISION]}})
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


def compressed(home: Path, *urls: str) -> CompressedSession:
    """What an ingest writes of one finished session with these trainers."""
    write_transcript(home / ".claude" / "projects" / "-work-app", *working_session())
    change_setting(home / ".config" / "oneiros" / "config.toml", "compressor", "trainer")
    root = new_root(home / "memory")
    environment = Environment({"ONEIROS_TRAINER_URLS": ",".join(urls)}, home, home)
    run_ingest(environment, root, Wanted(), LATER)
    return read_session(newest_files(root.sessions)[SESSION])


def test_the_first_trainer_that_can_answer_writes_the_digest(tmp_path: Path) -> None:
    with ExitStack() as stack:
        urls = [stack.enter_context(trainer(pieces)) for pieces in (None, [DIGEST[:20], DIGEST[20:]])]

        session = compressed(tmp_path, *urls)

    assert (session.compressor, session.title, session.fallback) == ("trainer", "Relay keepalive", "")


def test_a_model_that_writes_no_digest_leaves_the_extractive_one_and_says_so(tmp_path: Path) -> None:
    with trainer(["I am a small model."]) as url:
        session = compressed(tmp_path, url)

    assert session.compressor == "extractive"
    assert session.fallback.startswith("trainer: ")
