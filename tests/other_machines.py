"""Other machines for tests and benchmarks: a real sshd on the loopback, a home of its own for each, and a way in.

`ssh` reads the settings of the account's real home whatever HOME says, so a program of that name hands it the file that
lies in the test's own home. Nothing outside of the given folder is read or written but `/run/sshd`, which sshd wants.
"""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.loopback import free_port
from tests.system.house import wait_until

SSHD = "/usr/sbin/sshd"
SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {key}
PidFile none
AuthorizedKeysFile {authorized}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
SetEnv {variables}
"""


class OtherMachines:
    """Machines that answer at 127.0.0.1, each at a port of its own. A context manager.

    `home` is that of the person here, in which their ssh settings lie.
    """

    def __init__(self, folder: Path, home: Path):
        assert Path(SSHD).exists(), f"there is no {SSHD}: install openssh-server"
        self.folder, self.home = folder, home
        self.homes: dict[str, Path] = {}
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, int] = {}
        self._variables: dict[str, Mapping[str, str]] = {}
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        for key in (home / ".ssh" / "id_ed25519", folder / "host_key"):
            key.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        settings = home / ".ssh" / "config"
        settings.write_text(
            f"IdentityFile {home}/.ssh/id_ed25519\nIdentitiesOnly yes\nIdentityAgent none\n"
            f"UserKnownHostsFile {home}/.ssh/known_hosts\n",
            encoding="utf-8",
        )
        self.way_in = folder / "bin"
        self.way_in.mkdir()
        program = f'#!/bin/sh\nexec {shutil.which("ssh")} -F {settings} "$@"\n'
        (self.way_in / "ssh").write_text(program, encoding="utf-8")
        (self.way_in / "ssh").chmod(0o755)

    def __enter__(self) -> "OtherMachines":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._servers):
            self.stop(name)

    @property
    def variables(self) -> Mapping[str, str]:
        """What a process here is started with."""
        return {"PATH": f"{self.way_in}:{os.environ['PATH']}", "HOME": str(self.home)}

    def add(self, name: str, variables: Mapping[str, str] | None = None) -> Path:
        """Starts a machine, with a home of its own or as these variables say; its home."""
        found = variables or {"HOME": str(self.folder / name), "PATH": os.environ["PATH"]}
        home = self.homes[name] = Path(found["HOME"])
        home.mkdir(exist_ok=True)
        self._variables[name] = found
        self._ports[name] = free_port()
        self.start(name)
        return home

    def start(self, name: str) -> None:
        """Lets a machine answer, at the port that it had."""
        port, key = self._ports[name], self.folder / "host_key"
        settings = self.folder / f"{name}.conf"
        settings.write_text(
            SERVER.format(
                port=port,
                key=key,
                authorized=self.home / ".ssh" / "id_ed25519.pub",
                variables=" ".join(f"{key}={value}" for key, value in self._variables[name].items()),
            ),
            encoding="utf-8",
        )
        public = key.with_name("host_key.pub").read_text(encoding="utf-8").split()
        with (self.home / ".ssh" / "known_hosts").open("a", encoding="utf-8") as known:
            known.write(f"[127.0.0.1]:{port} {public[0]} {public[1]}\n")
        with (self.folder / f"{name}.log").open("ab") as log:
            self._servers[name] = subprocess.Popen([SSHD, "-D", "-e", "-f", str(settings)], stderr=log)
        _wait_for(port)

    def stop(self, name: str) -> None:
        """The machine answers no longer."""
        server = self._servers.pop(name)
        server.terminate()
        server.wait(timeout=10)

    def move(self, name: str) -> None:
        """The same machine answers at another address."""
        self.stop(name)
        self._ports[name] = free_port()
        self.start(name)

    def exchange(self, one: str, other: str) -> None:
        """Each of two machines answers at the address of the other."""
        self.stop(one)
        self.stop(other)
        self._ports[one], self._ports[other] = self._ports[other], self._ports[one]
        self.start(one)
        self.start(other)

    def break_off(self) -> None:
        """Kills whatever is under way on all machines; they answer to the next one who asks."""
        for server in self._servers.values():
            for process in psutil.Process(server.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()

    def url(self, name: str) -> str:
        return f"ssh://127.0.0.1:{self._ports[name]}"


def _wait_for(port: int) -> None:
    def listens() -> bool:
        with socket.socket() as one:
            one.settimeout(1)
            return one.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, 20)
