"""Routes to trainers: what they do, and an answer of the first that can give one."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import Field

from memory_server.errors import OneirosError
from memory_server.faces.body import Body
from memory_server.faces.rest import error_json
from oneiros.served import ServedMemory
from parts.trainers.client import TrainerClient, find_machines, inspect_trainer, parse_machines

MAX_PROMPT_CHARS = 100_000
SSE_TYPE = "text/event-stream"


class Message(Body):
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str = Field(max_length=MAX_PROMPT_CHARS)


class Generate(Body):
    """What a model is to go on from."""

    messages: Annotated[list[Message], Field(min_length=1, max_length=200)]
    max_tokens: int = Field(256, ge=1, le=8_192)
    temperature: float = Field(0.0, ge=0.0, le=2.0)
    stream: bool = Field(True, description="false: the whole answer as one object with `text`")


def add_trainer_routes(api: FastAPI, served: ServedMemory) -> None:
    """Adds the routes of this module."""
    variables = served.running.environment.variables

    @lru_cache(maxsize=1)
    def client() -> TrainerClient:
        """One for all requests: it knows which machine failed lately."""
        return TrainerClient(parse_machines(variables))

    @api.get("/api/trainers")
    def trainers() -> dict[str, Any]:
        """Each trainer that ONEIROS_TRAINER_URLS names, as it is now, or why it does not answer."""
        names = [machine.name for machine in find_machines(variables)]
        with ThreadPoolExecutor(len(names) or 1) as pool:  # those that are off are waited for together
            return {"trainers": list(pool.map(partial(inspect_trainer, variables), names))}

    @api.post("/api/generate", response_class=StreamingResponse, responses={200: {"content": {SSE_TYPE: {}}}})
    def generate(wanted: Generate) -> Response:
        """Has the first trainer that can answer go on, piece by piece: `data: {"text": ...}`, then `data: [DONE]`.

        Where the one that answers goes away, the last event is an `error`.
        """
        messages = [message.model_dump() for message in wanted.messages]
        pieces = client().stream(messages, max_tokens=wanted.max_tokens, temperature=wanted.temperature)
        if not wanted.stream:
            return JSONResponse({"text": "".join(pieces)})
        first = next(pieces, "")  # raises before anything is sent
        return StreamingResponse(_events(first, pieces), media_type=SSE_TYPE, headers={"Cache-Control": "no-store"})


def _events(first: str, pieces: Iterator[str]) -> Iterator[str]:
    """The pieces of an answer as server-sent events."""
    yield _event({"text": first})
    try:
        for piece in pieces:
            yield _event({"text": piece})
    except OneirosError as error:
        yield f"event: error\n{_event({'error': error_json(error)})}"
        return
    yield "data: [DONE]\n\n"


def _event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"
