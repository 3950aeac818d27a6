"""A loopback stand-in for the Messages API, so that the genuine client runs with no network and no model.

It answers by rules: the newest text of the person that a rule's pattern matches decides, and the number of replies the
assistant has given since then picks the next one. So it keeps no state, and resumed, parallel and compacted sessions
work. Every request is kept for the test to look at.
"""

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
COMPACTION = "Respond with TEXT ONLY"  # how the client's request for a summary can be told
SUMMARY = "<analysis>a</analysis><summary>What was said before.</summary>"


@dataclass(frozen=True, slots=True)
class Call:
    """A reply of the assistant: it calls a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Body = Mapping[str, Any]  # the body of a request
Reply = str | Call | Sequence[Call]
Replier = Reply | Callable[[Body], Reply]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the assistant says, one reply after the other, once the person has said something that matches."""

    match: str
    replies: Sequence[Replier]


class MessagesApi:
    """Serves on a free port of the loopback address until it is closed."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.requests: list[dict[str, Any]] = []  # bodies, in the order of their arrival
        self._replies: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def on(self, match: str, *replies: Replier) -> None:
        """Adds a rule, which goes before the older ones."""
        self.rules.insert(0, Rule(match, replies))

    def said(self) -> str:
        """Everything that the client has sent, as one text of JSON."""
        return "\n".join(json.dumps(body, ensure_ascii=False) for body in self.requests)

    def replies(self) -> str:
        """Everything that was answered, as one text."""
        return "\n".join(self._replies)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        for place, text in _persons_texts(body):
            if COMPACTION in text:
                return SUMMARY
            for rule in self.rules:
                if re.search(rule.match, text, re.DOTALL):
                    step = sum(message["role"] == "assistant" for message in body["messages"][place + 1 :])
                    reply = rule.replies[step] if step < len(rule.replies) else "That is all."
                    return reply(body) if callable(reply) else reply
        return "ok"

    def note_reply(self, message: Mapping[str, Any]) -> None:
        self._replies.append(json.dumps(message["content"]))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _persons_texts(body: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """The texts of user messages, newest first, each with the number of its message."""
    messages = body.get("messages", [])
    for place in range(len(messages) - 1, -1, -1):
        if messages[place]["role"] != "user":
            continue
        content = messages[place]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in reversed(blocks):
            text = REMINDER.sub("", block.get("text", "")).strip() if block.get("type") == "text" else ""
            if text:
                yield place, text


def _handler(api: MessagesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
            pass

        def do_HEAD(self) -> None:
            self._send(200, b"{}", "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                self._send(200, json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode(), "application/json")
                return
            api.requests.append(body)
            try:
                message = _message(body, api.reply_to(body))
            except Exception as error:  # noqa: BLE001  a mistake of the test must end the client, not be tried again
                message = _message(body, f"The test failed to answer: {error!r}")
            api.note_reply(message)
            if body.get("stream"):
                self._send(200, b"".join(_events(message)), "text/event-stream")
            else:
                self._send(200, json.dumps(message).encode(), "application/json")

        def _send(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.send_header("request-id", f"req_{uuid.uuid4().hex[:24]}")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    return Handler


def _message(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    for part in [reply] if isinstance(reply, str | Call) else reply:
        if isinstance(part, str):
            blocks.append({"type": "text", "text": part})
        else:
            name = f"toolu_{uuid.uuid4().hex[:24]}"
            blocks.append({"type": "tool_use", "id": name, "name": part.tool, "input": dict(part.arguments)})
    is_call = blocks[-1]["type"] == "tool_use"
    usage = {
        "input_tokens": len(json.dumps(body)) // 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 10,
        "service_tier": "standard",
    }
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": blocks,
        "stop_reason": "tool_use" if is_call else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _events(message: Mapping[str, Any]) -> Iterator[bytes]:
    """The message as a stream of server-sent events."""

    def event(name: str, **more: Any) -> bytes:
        return f"event: {name}\ndata: {json.dumps({'type': name, **more})}\n\n".encode()

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=index, content_block=start)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ending, usage=message["usage"])
    yield event("message_stop")
