"""One model in memory, one answer at a time, streamed, and ended when nobody listens any more.

A background thread runs `generate` with the key-value cache; its words come through a queue. The answer ends at the
end-of-turn token, at a stop string, at the limit of tokens, at the deadline, or when its `cancel` is called. Adapter
switching is not safe between threads, so the model has one lock; the waiting line before it is bounded.
"""

import gc
import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import StoppingCriteria, StoppingCriteriaList, TextIteratorStreamer

from trainer.errors import Busy, DataError, NeedsRepair, QueueFull, UsageError
from trainer.training.adapter import attach_adapter
from trainer.training.base_model import BaseFiles, load_model, load_tokenizer
from trainer.training.machine import Machine

logger = logging.getLogger(__name__)

Finish = Literal["stop", "length", "cancelled"]
PATIENCE_SECONDS = 120.0  # the first word of a long prompt on a slow processor
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the model."""

    messages: Sequence[dict[str, str]]
    max_tokens: int = 256
    temperature: float = 0.0  # 0 = always the likeliest token
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(slots=True, eq=False)
class Answer:
    """What became of it; filled while the pieces are read. Each is itself alone, however alike two are."""

    text: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    finish: Finish = "stop"
    cancelled: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """End the answer at the next token."""
        self.cancelled.set()


class Model:
    """Base and adapter in memory. Use `close()` to give the memory back."""

    def __init__(self, base: BaseFiles, adapter: Path | None, machine: Machine, *, max_waiting: int, seconds: float):
        """Load the model, in NF4 on a card. Raises DataError where the adapter does not fit the base."""
        self.base = base
        self.adapter = adapter
        self.tokenizer = load_tokenizer(base)
        model = load_model(base, machine, quantised=machine.device == "cuda")
        if adapter is not None:
            try:
                model = attach_adapter(model, adapter)
            except (OSError, RuntimeError, ValueError) as error:
                raise DataError("this adapter does not fit its base", where=adapter, remedy="Train it again") from error
        self._model: Any = model.eval()
        self._seconds = seconds
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(max_waiting + 1)
        self._active: set[int] = set()
        self._answers: list[Answer] = []
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many answers are under way or wait."""
        return len(self._answers)

    def reserve(self) -> Answer:
        """A place in the line. Raises QueueFull where there is none. `pieces` gives the place back."""
        if self._closed:
            raise Busy("the model is being unloaded", remedy="Load it again")
        if not self._places.acquire(blocking=False):
            raise QueueFull(f"{self.waiting} answers are waited for", remedy="Ask again later")
        answer = Answer()
        self._answers.append(answer)
        return answer

    def release(self, answer: Answer) -> None:
        """Give a place back; harmless when that was done before."""
        if answer in self._answers:
            self._answers.remove(answer)
            self._places.release()

    def pieces(self, question: Question, answer: Answer) -> Iterator[str]:
        """The answer's text, piece by piece; closing the iterator cancels the answer."""
        try:
            while not self._turn.acquire(timeout=POLL_SECONDS):
                if answer.cancelled.is_set():
                    answer.finish = "cancelled"
                    return
            try:
                yield from self._generate(question, answer)
            finally:
                self._turn.release()
        finally:
            self.release(answer)

    def text(self, question: Question) -> Answer:
        """The whole answer at once."""
        answer = self.reserve()
        for _ in self.pieces(question, answer):
            pass
        return answer

    def close(self) -> None:
        """Cancel what is under way and give the memory back."""
        self._closed = True
        for answer in list(self._answers):
            answer.cancel()
        with self._turn:
            self._model = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _generate(self, question: Question, answer: Answer) -> Iterator[str]:
        if self._model is None:
            raise Busy("the model was unloaded", remedy="Load it again")
        encoded = self._encode_prompt(question)
        answer.prompt_tokens = encoded["input_ids"].shape[1]
        limit = min(question.max_tokens, self._count_room(answer.prompt_tokens))
        streamer = TextIteratorStreamer(
            self.tokenizer, skip_prompt=True, skip_special_tokens=True, timeout=PATIENCE_SECONDS
        )
        ending = Ending(answer, time.monotonic() + self._seconds, answer.prompt_tokens)
        failure: list[BaseException] = []
        options = sampling(question) | {
            "max_new_tokens": limit,
            "streamer": streamer,
            "stopping_criteria": StoppingCriteriaList([ending]),
            "pad_token_id": self.tokenizer.pad_token_id or self.tokenizer.eos_token_id,
        }
        worker = threading.Thread(target=self._run, args=(encoded, options, question.seed, streamer, failure))
        worker.start()
        try:
            yield from until_stop(streamer, question.stop, answer)
        except queue.Empty as error:
            raise NeedsRepair(
                f"the model wrote nothing for {PATIENCE_SECONDS:.0f} s", remedy="Send less text or use a smaller base"
            ) from error
        finally:
            if ending.seen < limit:
                answer.cancel()  # nobody reads on, or a stop string came; harmless where the answer ended by itself
            worker.join()
            answer.answer_tokens = ending.seen
        if failure:
            raise DataError(f"the model failed ({failure[0]})", remedy="See the service's log") from failure[0]
        cut = ending.seen >= limit and not ending.has_ended(self.tokenizer.eos_token_id)
        if ending.late or (cut and answer.finish == "stop"):
            answer.finish = "length"

    def _encode_prompt(self, question: Question) -> Any:
        """The prompt as tensors on the model's device, by its chat template."""
        return self.tokenizer.apply_chat_template(
            list(question.messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(self._model.device)

    def _count_room(self, prompt_tokens: int) -> int:
        """How many tokens the model can still hold. Raises UsageError where there is no room for one."""
        room = int(getattr(self._model.config, "max_position_embeddings", 1 << 30)) - prompt_tokens
        if room < 1:
            raise UsageError(f"the prompt of {prompt_tokens} tokens fills the model", remedy="Send less text")
        return room

    def _run(
        self,
        encoded: Any,
        options: dict[str, Any],
        seed: int | None,
        streamer: TextIteratorStreamer,
        failure: list[BaseException],
    ) -> None:
        try:
            if seed is not None:
                torch.manual_seed(seed)
            with torch.inference_mode():
                self._model.generate(**encoded, **options)
        except Exception as error:  # the outermost frame of the thread; the reader raises it
            logger.exception("generation failed")
            failure.append(error)
            streamer.on_finalized_text("", stream_end=True)


class Ending(StoppingCriteria):  # type: ignore[misc]  # transformers is not typed for us
    """Ends generation when the answer is cancelled or late, and counts its tokens."""

    def __init__(self, answer: Answer, deadline: float, prompt_tokens: int):
        self._answer = answer
        self._deadline = deadline
        self._prompt_tokens = prompt_tokens
        self._last = -1
        self.seen = 0
        self.late = False

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:  # noqa: ARG002
        self.seen = input_ids.shape[1] - self._prompt_tokens
        self._last = int(input_ids[0, -1])
        self.late = time.monotonic() > self._deadline
        done = self.late or self._answer.cancelled.is_set()
        return torch.full((input_ids.shape[0],), done, dtype=torch.bool, device=input_ids.device)

    def has_ended(self, end_token: int | None) -> bool:
        """Whether the last token was the end of the turn."""
        return self._last == end_token


def sampling(question: Question) -> dict[str, Any]:
    """The question's sampling as `generate` takes it."""
    if question.temperature <= 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": question.temperature, "top_p": question.top_p, "top_k": 0}


def until_stop(pieces: Iterator[str], stops: Sequence[str], answer: Answer) -> Iterator[str]:
    """The pieces up to the first stop string, which is cut off even when it comes in two pieces."""
    held = ""
    longest = max((len(stop) for stop in stops), default=1)
    for piece in pieces:
        if answer.cancelled.is_set():
            answer.finish = "cancelled"
            return
        held += piece
        found = [held.find(stop) for stop in stops if stop in held]
        ready = held[: min(found)] if found else held[: max(len(held) - longest + 1, 0)]
        held = held[len(ready) :]
        if ready:
            answer.text += ready
            yield ready
        if found:
            return
    if held:
        answer.text += held
        yield held
