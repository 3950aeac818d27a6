"""A machine whose only network is its own loopback: runs a command there and counts who tried to get further.

The kernel counts for each network namespace what it could route nowhere, whoever asked and in whatever language. A
look-up of a name is either that or a datagram to a resolver of this machine.

    unshare --map-root-user --net python -m tests.system.without_network COMMAND...
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ISOLATED = ("unshare", "--map-root-user", "--net")
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING
ATTEMPTS = ("IpOutNoRoutes", "Ip6OutNoRoutes", "UdpOutDatagrams", "Udp6OutDatagrams")


def is_permitted() -> bool:
    """Whether this machine lets a program have a network of its own."""
    try:
        return subprocess.run([*ISOLATED, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run_without_network(command: Sequence[str], **options: Any) -> dict[str, Any]:
    """What came of a command: its `code`, what it `said`, and the `attempts` by counter."""
    isolated = [*ISOLATED, sys.executable, "-m", "tests.system.without_network", *command]
    done = subprocess.run(isolated, capture_output=True, text=True, check=True, **options)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))
    before = counted()
    done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=False)
    after = counted()
    attempts = {name: after[name] - before[name] for name in ATTEMPTS}
    sys.stdout.write(json.dumps({"code": done.returncode, "said": done.stdout + done.stderr, "attempts": attempts}))


def counted() -> dict[str, int]:
    """The counters of this namespace, by name: those of IPv4 in pairs of lines, those of IPv6 a line each."""
    old = [line.split() for line in Path("/proc/self/net/snmp").read_text(encoding="ascii").splitlines()]
    found = {
        heads[0].removesuffix(":") + head: int(value)
        for heads, values in zip(old[::2], old[1::2], strict=True)
        for head, value in zip(heads[1:], values[1:], strict=True)
    }
    new = [line.split() for line in Path("/proc/self/net/snmp6").read_text(encoding="ascii").splitlines()]
    return found | {name: int(value) for name, value in new}


if __name__ == "__main__":
    main()
