"""One HTTP connection of a server: for how long it is waited for, and who it must make room for.

Whoever reaches a port can connect and say nothing: to the loopback address any account of the machine. So a request
that does not come whole in time is cut off, and where all room is taken it goes to the newest: the oldest connection
that has no request let through goes. What anybody may ask for lets nothing through, so that whoever asks for it and
does not read the answer goes too. Whoever sends a request at once always finds room.
"""

import asyncio
import socket
import struct
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0  # for the whole of a first request
KEEP_ALIVE_SECONDS = 30  # for the whole of the next
MACOS_PEER = (0, 2)  # SOL_LOCAL, LOCAL_PEERPID; unknown to the socket module


class HttpConnection(H11Protocol):
    """Gives the application `process`, the one behind a private socket, and takes `let_through`, both by the state."""

    room = 200  # connections of one server

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.is_answering = False
        self._since = self.loop.time()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base has it
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._cut_off_late)
        self.app_state = {"process": find_process(transport), "let_through": self._let_through}
        waiting = [one for one in self.connections if isinstance(one, HttpConnection) and not one.is_answering]
        if len(self.connections) > self.room:
            min(waiting, key=lambda one: one._since).cut_off()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self.is_answering = False
        self._deadline.cancel()
        self._deadline = self.loop.call_later(KEEP_ALIVE_SECONDS, self._cut_off_late)
        super().on_response_complete()

    def cut_off(self) -> None:
        """Ends the connection, which has no answer under way."""
        self.connections.discard(self)
        self.transport.abort()

    def _let_through(self) -> None:
        """The request is here as a whole, and whoever sent it may ask."""
        self.is_answering = True

    def _cut_off_late(self) -> None:
        if not self.is_answering:
            self.cut_off()


def find_process(transport: asyncio.BaseTransport) -> int | None:
    """The process at the other end of a private socket; None where it is not one, or the system does not tell."""
    found = transport.get_extra_info("socket")
    if found.family != socket.AF_UNIX:
        return None
    if sys.platform == "linux":
        process: int = struct.unpack("3i", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        return process or None
    return found.getsockopt(*MACOS_PEER) or None
