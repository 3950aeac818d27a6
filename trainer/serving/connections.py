"""One connection of the service: how long its request may take to arrive, and who makes room for the next.

Whoever reaches the port can open connections and say little or nothing, before any token is asked for. So a request
that is not whole in time is cut off, and where all room is taken the oldest connection without a whole request goes.
How many answers may be under way is bounded elsewhere, by the model's line.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 100
REQUEST_SECONDS = 20.0  # for the whole of a request: at most 1 MB, perhaps over a slow line


class Connection(H11Protocol):
    """A connection of uvicorn that does not wait for ever."""

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_off_unfinished)

    @property
    def is_answering(self) -> bool:
        """Whether a request has come whole and its answer has not gone whole."""
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, Connection) and not one.is_answering]
            min(idle, key=lambda one: one._since)._cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._deadline.cancel()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_off_unfinished)
        super().on_response_complete()

    def _cut_off_unfinished(self) -> None:
        if not self.is_answering:
            self._cut_off()

    def _cut_off(self) -> None:
        self.connections.discard(self)
        self.transport.abort()
