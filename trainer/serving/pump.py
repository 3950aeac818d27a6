"""Carries the pieces of an answer from the model's thread to the event loop, and the word "stop" the other way.

The thread always reads the answer to its end, so that locks and places in the line are given back on the thread that
took them, whatever becomes of the client.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

from trainer.errors import NeedsRepair, TrainerError
from trainer.serving.answering import Answer, Model, Question

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.25  # how often a client that has sent its question and waits is looked at
HEARTBEAT_SECONDS = 15.0  # proxies close a stream that is silent for half a minute


class Pump:
    """One answer under way."""

    def __init__(self, model: Model, question: Question):
        """Take a place in the model's line. Raises QueueFull where there is none."""
        self.answer: Answer = model.reserve()
        self._loop = asyncio.get_running_loop()
        self._look_at = self._loop.time() + LOOK_SECONDS
        self._pieces: asyncio.Queue[str | TrainerError | None] = asyncio.Queue()
        threading.Thread(target=self._run, args=(model, question), name="answer", daemon=True).start()

    async def next(self, is_gone: Callable[[], Awaitable[bool]]) -> str | None:
        """The next piece; None at the answer's end and where the client went away. Raises what the model raised."""
        while True:
            if self._loop.time() >= self._look_at:
                self._look_at = self._loop.time() + LOOK_SECONDS
                if await is_gone():
                    self.answer.cancel()
                    return None
            try:
                piece = await asyncio.wait_for(self._pieces.get(), LOOK_SECONDS)
            except TimeoutError:
                continue
            if isinstance(piece, TrainerError):
                raise piece
            return piece

    async def rest(self) -> AsyncIterator[str | None]:
        """The other pieces; None after each silence, for a heartbeat. Ends the answer when it is closed."""
        try:
            while True:
                try:
                    piece = await asyncio.wait_for(self._pieces.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield None
                    continue
                if piece is None:
                    return
                if isinstance(piece, TrainerError):
                    raise piece
                yield piece
        finally:
            self.answer.cancel()

    async def whole(self, is_gone: Callable[[], Awaitable[bool]]) -> Answer:
        """The answer once it is complete; ended early when the client goes away."""
        while await self.next(is_gone) is not None:
            pass
        return self.answer

    def _run(self, model: Model, question: Question) -> None:
        try:
            for piece in model.pieces(question, self.answer):
                self._put(piece)
            self._put(None)
        except TrainerError as error:
            self._put(error)
        except Exception as error:  # the outermost frame of the thread; a silent end would let the client wait for ever
            logger.exception("an answer failed")
            self._put(NeedsRepair(f"the model failed ({type(error).__name__})", remedy="See the service's log"))

    def _put(self, item: str | TrainerError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, item)
        except RuntimeError:
            self.answer.cancel()  # the loop is closed: the service is going down
