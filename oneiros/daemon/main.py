"""The daemon of one memory root: one process that holds model and indices for everyone who asks.

    python -P -m oneiros.daemon.main ROOT

It takes the daemon's lock, listens on its sockets at once and imports everything heavy behind them: whoever connects
meanwhile waits in the socket's queue. It ends on SIGTERM and SIGINT, when nobody has asked for a while, and it starts
anew where it holds too much memory. A lock or socket that a killed daemon left behind is taken over.
"""

import contextlib
import gc
import os
import signal
import sys
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.machine.files import find_refusal
from oneiros.daemon.sockets import AlreadyRunning, listening, take_daemon_lock
from oneiros.light.endpoint import DaemonUnreachable

EXIT_UNUSABLE = 3


def run() -> None:
    """The entry of the daemon's process."""
    os.umask(0o077)
    arguments = sys.argv[1:]
    ready = int(arguments[1]) if arguments[:1] == ["--ready"] else None
    root = Path(arguments[-1]).resolve()
    sys.exit(serve(root, ready=ready))


def serve(root: Path, *, ready: int | None = None) -> int:
    """Serves a root until it is told to end; the exit code. `ready`: a pipe that is told when it listens."""
    try:
        with listening(root, take_daemon_lock(root)) as sockets:
            _say(ready, b"ok")
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # until the service has a handler of its own
            gc.disable()  # until all is imported: of what modules make nothing is garbage
            from oneiros.daemon.service import run_service  # noqa: PLC0415  a second of imports, behind the open sockets

            again = run_service(sockets)
    except AlreadyRunning:
        _say(ready, b"ok")
        return 0
    except (DaemonUnreachable, NeedsRepair, OSError) as error:
        reason = str(find_refusal(error, root) or error)
        print(f"oneiros: {reason}", file=sys.stderr)  # noqa: T201  the log, or the terminal of `serve --foreground`
        _say(ready, reason.encode())
        return EXIT_UNUSABLE
    if again:
        os.execv(sys.executable, [sys.executable, "-P", "-m", "oneiros.daemon.main", str(root)])  # noqa: S606  ourselves
    return 0


def _say(descriptor: int | None, text: bytes) -> None:
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(descriptor, text)
            os.close(descriptor)


if __name__ == "__main__":
    run()
