"""One run of ssh: what the other side is told, and its answer piece by piece, within limits of time and room."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from memory_server.escaping import escape_line

READ_BYTES = 1 << 18
PIPE_BYTES = 1 << 20  # where the system lets a pipe be so large
NOISE_BYTES = 64 * 1024  # of start-up files there, before the answer begins
ERROR_BYTES = 8 * 1024  # of what ssh says on its error output, the end of it
QUIET_SECONDS = 60.0  # without a byte; the other side says now and then that it is at work
END_SECONDS = 5.0


class ConnectionLost(Exception):
    """The other side cannot be reached, or its answer ended before it was whole. The text says why."""


class SshConnection:
    """What a command is told, and what it answers. A context manager; nothing of it runs on behind its end."""

    def __init__(
        self,
        command: Sequence[str],
        request: bytes,
        variables: Mapping[str, str],
        *,
        seconds: float,
        quiet_seconds: float = QUIET_SECONDS,
    ):
        self._end = time.monotonic() + seconds
        self._quiet_seconds = quiet_seconds
        self._unsent = memoryview(request)
        self._heard = bytearray()
        self._errors = bytearray()
        self._selector = selectors.DefaultSelector()
        self.bytes_sent, self.bytes_received = len(request), 0
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(variables),
                start_new_session=True,  # its ProxyCommand ends with it
                pipesize=PIPE_BYTES,
            )
        except OSError as error:
            raise ConnectionLost(f"ssh cannot be started ({error.strerror})") from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._input, self._output, self._error_output = self._process.stdin, self._process.stdout, self._process.stderr
        for pipe in (self._input, self._output, self._error_output):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_WRITE if pipe is self._input else selectors.EVENT_READ)

    def __enter__(self) -> "SshConnection":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._selector.close()
        for pipe in (self._input, self._output, self._error_output):
            with suppress(BrokenPipeError):
                pipe.close()
        try:
            self._process.wait(timeout=0 if error else END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def read_noise(self, marker: bytes) -> bytes:
        """What comes before the answer. Raises ConnectionLost where no answer comes."""
        while (found := self._heard.find(marker)) < 0:
            if len(self._heard) > NOISE_BYTES:
                raise ConnectionLost(f"it says something else than the answer: {noise_text(bytes(self._heard))}")
            self._listen()
        noise = bytes(self._heard[:found])
        del self._heard[: found + len(marker)]
        return noise

    def take(self, size: int) -> bytes:
        """The next so many bytes. Raises ConnectionLost where they do not come."""
        while len(self._heard) < size:
            self._listen()
        taken = bytes(self._heard[:size])
        del self._heard[:size]
        return taken

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next so many bytes as they come."""
        while size:
            if not self._heard:
                self._listen()
            piece = bytes(self._heard[:size])
            del self._heard[:size]
            size -= len(piece)
            yield piece

    def _listen(self) -> None:
        """Waits for something to be heard, and says the rest of what is to be said meanwhile."""
        quiet_until = min(self._end, time.monotonic() + self._quiet_seconds)
        while True:
            ready = self._selector.select(max(0.0, quiet_until - time.monotonic()))
            if not ready:
                raise ConnectionLost(
                    "it did not answer in time" if time.monotonic() < self._end else "it took too long"
                )
            for key, _ in ready:
                if key.fileobj is self._input:
                    self._say()
                elif key.fileobj is self._output:
                    self._hear()
                    return
                else:
                    self._hear_errors()

    def _say(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._input.fileno(), self._unsent[:READ_BYTES]) :]
        except BrokenPipeError:
            self._unsent = self._unsent[:0]  # what ends it is heard on the other pipes
        if not self._unsent:
            self._selector.unregister(self._input)
            with suppress(BrokenPipeError):
                self._input.close()  # on which Python there begins

    def _hear(self) -> None:
        piece = os.read(self._output.fileno(), READ_BYTES)
        if not piece:
            raise ConnectionLost(self._reason())
        self._heard += piece
        self.bytes_received += len(piece)

    def _hear_errors(self) -> None:
        piece = os.read(self._error_output.fileno(), ERROR_BYTES)
        if not piece:
            self._selector.unregister(self._error_output)
        self._errors = (self._errors + piece)[-ERROR_BYTES:]

    def _reason(self) -> str:
        """Why the answer ended, by the last line that ssh, or Python there, said of it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=END_SECONDS)
        with suppress(BlockingIOError):
            self._errors += os.read(self._error_output.fileno(), ERROR_BYTES)
        lines = bytes(self._errors).decode("utf-8", "replace").strip().splitlines()
        return escape_line(lines[-1])[:300] if lines else f"its answer ended early (exit {self._process.returncode})"


def noise_text(noise: bytes) -> str:
    """The beginning of what was said before the answer, as one line."""
    return escape_line(noise.decode("utf-8", "replace"))[:120]
