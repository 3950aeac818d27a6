"""A server on the loopback for as long as a test asks it, and ports for those that must know theirs before."""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext


@contextmanager
def served(handler: type[BaseHTTPRequestHandler], tls: SSLContext | None = None) -> Iterator[str]:
    """The address at which the handler answers, each request in a thread of its own; it prints nothing of them."""
    quiet = type(handler.__name__, (handler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), quiet) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    """A port that nobody listens at, below those that systems give to whoever connects: it is still free a while later,
    when a server that was told it begins or comes back."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
