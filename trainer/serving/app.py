"""The service: every route in one table, each a few lines over the objects that do the work."""

import importlib.metadata
import logging
import os
import platform
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Self

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from trainer.errors import TrainerError
from trainer.serving.answering import Question
from trainer.serving.gauges import Gauges, Source
from trainer.serving.guard import Guard
from trainer.serving.names import check_base, check_run
from trainer.serving.openai_protocol import ChatRequest, Completion, Message, event, usage
from trainer.serving.pump import Pump
from trainer.serving.served_model import ServedModel
from trainer.serving.settings import Settings
from trainer.serving.training_jobs import Start, TrainingJobs

logger = logging.getLogger(__name__)

Name = Annotated[str, Field(max_length=200)]
RunName = Annotated[str | None, Query(max_length=64)]


class StartBody(BaseModel):
    """The body of `/start`."""

    model_config = ConfigDict(extra="forbid")

    training: Name = ""
    validation: Name = ""
    calibration: Name = ""
    base: Name = ""
    run: Name = ""
    preset: Name = ""
    epochs: Annotated[int, Field(ge=0, le=1_000)] = 0
    max_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    seed: int = 7
    resume: bool = False


class LoadBody(BaseModel):
    """The body of `/inference/load`: a run or a base."""

    model_config = ConfigDict(extra="forbid")

    run: Name = ""
    base: Name = ""
    force: bool = False


class GenerateBody(BaseModel):
    """The body of `/generate`: a prompt, or messages."""

    model_config = ConfigDict(extra="forbid")

    prompt: Annotated[str, Field(max_length=32_000)] = ""
    messages: Annotated[list[Message], Field(max_length=128)] = []
    max_tokens: Annotated[int, Field(ge=1)] = 256
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    stop: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=8)] = []
    seed: int | None = None
    stream: bool = False

    @model_validator(mode="after")
    def require_prompt(self) -> Self:
        """Refuse a body that asks nothing."""
        if not self.prompt and not self.messages:
            raise ValueError("send a prompt or messages")
        return self

    def question(self, max_tokens: int) -> Question:
        """The request as the model takes it."""
        messages = [message.plain() for message in self.messages] or [{"role": "user", "content": self.prompt}]
        limit = min(self.max_tokens, max_tokens)
        return Question(messages, limit, self.temperature, self.top_p, tuple(self.stop), self.seed)


class Service:
    """The routes' state: the jobs, the model and the gauges."""

    def __init__(self, settings: Settings, source: Source):
        self.settings = settings
        self.jobs = TrainingJobs(settings)
        self.served = ServedModel(settings)
        self.gauges = Gauges(source)

    def close(self) -> None:
        """End the model and the gauges; a training run goes on, unless the settings end it."""
        self.served.close()
        if self.settings.stop_training:
            self.jobs.end()
        self.gauges.close()

    def health(self) -> dict[str, Any]:
        cards = [device for device in self.gauges.gauges() if device.kind != "cpu"] if self.settings.use_card else []
        return {
            "status": "ok",
            "service": "oneiros-trainer",
            "version": version(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "card": f"{cards[0].name}, {cards[0].memory_total_gb:.0f} GB" if cards else None,
        }

    def status(self, run: RunName = None) -> dict[str, Any]:
        return self.jobs.status(run)

    def gpu(self) -> dict[str, Any]:
        return self.gauges.latest()

    def start(self, body: StartBody) -> dict[str, Any]:
        return self.jobs.start(Start(**body.model_dump()), self.gauges.gauges(), self.served.name)

    def stop(self) -> dict[str, Any]:
        return self.jobs.stop()

    def log_tail(
        self,
        run: RunName = None,
        offset: Annotated[int | None, Query(ge=0)] = None,
        max_bytes: Annotated[int, Query(ge=1, le=1 << 20)] = 16_000,
    ) -> dict[str, Any]:
        return self.jobs.log_tail(run, offset, max_bytes)

    def inference_status(self) -> dict[str, Any]:
        return self.served.status()

    def inference_load(self, body: LoadBody) -> dict[str, Any]:
        if body.run:
            check_run(body.run)
        if body.base:
            check_base(body.base, self.settings.cache)
        return self.served.load(run=body.run, base=body.base, force=body.force)

    def inference_unload(self) -> dict[str, Any]:
        return self.served.unload()

    def models(self) -> dict[str, Any]:
        name = self.served.name
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "oneiros"}] if name else []
        return {"object": "list", "data": listed}

    async def generate(self, body: GenerateBody, request: Request) -> Response:
        pump = Pump(self.served.current(), body.question(self.settings.max_tokens))
        if not body.stream:
            answer = await pump.whole(request.is_disconnected)
            return JSONResponse({"text": answer.text, "finish_reason": answer.finish, "usage": usage(answer)})
        first = await pump.next(request.is_disconnected)
        return stream(pieces(pump, first, lambda text: event({"text": text}), lambda: event({"done": True})))

    async def chat(self, body: ChatRequest, request: Request) -> Response:
        completion = Completion(self.served.name or "")
        pump = Pump(self.served.current(), body.question(self.settings.max_tokens))
        if not body.stream:
            return JSONResponse(completion.whole(await pump.whole(request.is_disconnected)))
        first = await pump.next(request.is_disconnected)
        with_usage = body.stream_options.include_usage
        opening = completion.piece("", first=True)
        return stream(
            pieces(pump, first, completion.piece, lambda: completion.end(pump.answer, with_usage=with_usage), opening)
        )


async def pieces(
    pump: Pump, first: str | None, piece: Callable[[str], str], end: Callable[[], str], opening: str = ""
) -> AsyncIterator[str]:
    """The events of a stream; an error after the first piece becomes an event, since the status has been sent."""
    try:
        if opening:
            yield opening
        if first is not None:
            yield piece(first)
            async for text in pump.rest():
                yield ": still here\n\n" if text is None else piece(text)
        yield end()
    except TrainerError as error:
        yield event(refusal(error))
    finally:
        pump.answer.cancel()


def stream(events: AsyncIterator[str]) -> StreamingResponse:
    """The response that carries server-sent events past proxies that would gather them."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def build_app(settings: Settings, source: Source) -> FastAPI:
    """The application with all its routes; its `state.service` is the Service, closed at shutdown."""
    service = Service(settings, source)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:  # noqa: ARG001  (what FastAPI hands over)
        yield
        service.close()

    app = FastAPI(title="oneiros trainer", version=version(), lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.service = service
    routes: tuple[tuple[str, str, Callable[..., Any]], ...] = (
        ("GET", "/health", service.health),
        ("GET", "/status", service.status),
        ("GET", "/gpu", service.gpu),
        ("POST", "/start", service.start),
        ("POST", "/stop", service.stop),
        ("GET", "/log/tail", service.log_tail),
        ("POST", "/generate", service.generate),
        ("GET", "/inference/status", service.inference_status),
        ("POST", "/inference/load", service.inference_load),
        ("POST", "/inference/unload", service.inference_unload),
        ("GET", "/v1/models", service.models),
        ("POST", "/v1/chat/completions", service.chat),
    )
    for method, path, handler in routes:
        app.add_api_route(path, handler, methods=[method], response_model=None)
    app.add_exception_handler(TrainerError, answer_refusal)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_middleware(Guard, token=settings.token, hosts=frozenset({settings.host, *settings.names}))
    return app


async def answer_refusal(request: Request, error: Exception) -> Response:  # noqa: ARG001  (what FastAPI hands over)
    """A foreseen failure as the sentence it is."""
    assert isinstance(error, TrainerError)
    return JSONResponse(refusal(error), status_code=error.http_status)


async def answer_invalid(request: Request, error: Exception) -> Response:  # noqa: ARG001  (what FastAPI hands over)
    """A body or a parameter out of bounds, in one sentence without the value that was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    message = f"{place}: {first['msg']}."
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": 422}}, status_code=422)


def refusal(error: TrainerError) -> dict[str, Any]:
    """An error as the OpenAI protocol shapes it."""
    return {"error": {"message": str(error), "type": type(error).__name__, "code": error.http_status}}


def version() -> str:
    """The distribution's version."""
    return importlib.metadata.version("oneiros")
