"""Services on the loopback that stream an answer in the protocols of the chat's back ends."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from ssl import SSLContext
from typing import Any

from tests.loopback import served


@dataclass
class Streaming:
    """A service, what it was asked, and whether its reader left in the middle."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)


@contextmanager
def streaming(
    events: Sequence[bytes], *, status: int = 200, endless: bool = False, tls: SSLContext | None = None
) -> Iterator[Streaming]:
    """Answers each POST with these pieces; `endless`: the last one again and again until the reader leaves."""
    service = Streaming()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            service.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            try:
                for event in events:
                    self.wfile.write(event)
                    self.wfile.flush()
                while endless:
                    self.wfile.write(events[-1])
                    self.wfile.flush()
            except OSError:
                service.left.set()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with served(Handler, tls) as service.url:
        yield service


def event(content: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(content)}\n\n".encode()


def openai_events(*texts: str, whole: bool = True) -> list[bytes]:
    """A chat completion, piece by piece; not `whole`: the service goes away behind the last one."""
    found = [event({"choices": [{"delta": {"content": text}}]}) for text in texts]
    usage = {"prompt_tokens": 900, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 500}}
    return [*found, event({"choices": [], "usage": usage}), b"data: [DONE]\n\n"] if whole else found


def anthropic_events(*parts: str | dict[str, Any], whole: bool = True) -> list[bytes]:
    """A message of text and citations, as the Messages API streams it."""
    usage = {
        "input_tokens": 200,
        "output_tokens": 1,
        "cache_read_input_tokens": 4_000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 200},
    }
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    found = [event({"type": "message_start", "message": message}, "message_start")]
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    found.append(event(start, "content_block_start"))
    for part in parts:
        is_text = isinstance(part, str)
        delta = {"type": "text_delta", "text": part} if is_text else {"type": "citations_delta", "citation": part}
        found.append(event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta"))
    if not whole:
        return found
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    found.append(event({"type": "content_block_stop", "index": 0}, "content_block_stop"))
    found.append(event({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 40}}, "message_delta"))
    return [*found, event({"type": "message_stop"}, "message_stop")]


def search_result_citation(source: str, words: str, *, index: int = 0, first: int = 0, end: int = 1) -> dict[str, Any]:
    """What the Messages API says of a cited `search_result`."""
    return {
        "type": "search_result_location",
        "cited_text": words,
        "source": source,
        "title": "t",
        "search_result_index": index,
        "start_block_index": first,
        "end_block_index": end,
    }
