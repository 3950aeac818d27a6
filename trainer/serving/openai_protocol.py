"""The OpenAI protocol, as far as chat completions need it: requests in, objects and chunks out."""

import json
import time
import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trainer.serving.answering import Answer, Finish, Question

Text = Annotated[str, Field(max_length=32_000)]
Stop = Annotated[str, Field(max_length=200)]
FINISH: dict[Finish, str] = {"stop": "stop", "length": "length", "cancelled": "stop"}


class Part(BaseModel):
    """A part of a message; only text is understood."""

    type: Literal["text"]
    text: Text


class Message(BaseModel):
    """A chat message."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[Part], Field(max_length=64)]

    def plain(self) -> dict[str, str]:
        """The message with its text in one piece, under a role that chat templates know."""
        text = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return {"role": "system" if self.role == "developer" else self.role, "content": text}


class StreamOptions(BaseModel):
    """What else a stream carries."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body of `/v1/chat/completions`. Settings that a local model has no use for are passed over."""

    model_config = ConfigDict(extra="ignore")

    messages: Annotated[list[Message], Field(min_length=1, max_length=128)]
    model: Annotated[str, Field(max_length=200)] = ""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    n: Literal[1] = 1
    seed: int | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=8)] | None = None
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()

    def question(self, max_tokens: int) -> Question:
        """The request as the model takes it."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return Question(
            messages=[message.plain() for message in self.messages],
            max_tokens=min(self.max_completion_tokens or self.max_tokens or max_tokens, max_tokens),
            temperature=self.temperature,
            top_p=self.top_p,
            stop=tuple(stop for stop in stops if stop),
            seed=self.seed,
        )


class Completion:
    """The objects that tell of one answer."""

    def __init__(self, model: str):
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    def whole(self, answer: Answer) -> dict[str, Any]:
        """The answer at once."""
        message = {"role": "assistant", "content": answer.text}
        choice = {"index": 0, "message": message, "finish_reason": FINISH[answer.finish]}
        return self._head | {"object": "chat.completion", "choices": [choice], "usage": usage(answer)}

    def piece(self, text: str, *, first: bool = False) -> str:
        """A piece as a server-sent event."""
        delta = {"role": "assistant", "content": text} if first else {"content": text}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def end(self, answer: Answer, *, with_usage: bool) -> str:
        """What comes after the last piece."""
        last = self._chunk([{"index": 0, "delta": {}, "finish_reason": FINISH[answer.finish]}])
        if with_usage:
            last += event(self._head | {"object": "chat.completion.chunk", "choices": [], "usage": usage(answer)})
        return last + "data: [DONE]\n\n"

    def _chunk(self, choices: list[dict[str, Any]]) -> str:
        return event(self._head | {"object": "chat.completion.chunk", "choices": choices})


def usage(answer: Answer) -> dict[str, int]:
    """The tokens that were read and written."""
    total = answer.prompt_tokens + answer.answer_tokens
    return {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.answer_tokens, "total_tokens": total}


def event(value: dict[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
