"""A service on the loopback that speaks a model service's protocol."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.loopback import served


@dataclass
class Service:
    """A server on the loopback that answers in turn and remembers what it was asked."""

    url: str
    answers: list[tuple[int, Any]]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serving(*answers: tuple[int, Any], until: threading.Event | None = None) -> Iterator[Service]:
    """Answers in turn, the last one again and again; `until`: not before that is set."""
    service = Service("", list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.asked.append({"path": self.path, **json.loads(body)})
            service.headers.append({name.lower(): value for name, value in self.headers.items()})
            if until is not None:
                until.wait(60)
            status, answer = service.answers.pop(0) if len(service.answers) > 1 else service.answers[0]
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with served(Handler) as service.url:
        yield service


def as_openai(text: str) -> tuple[int, Any]:
    message = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return 200, message | {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
