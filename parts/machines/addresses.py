"""How a person names another machine: `laptop=ssh://user@host:port`."""

import re
from dataclasses import dataclass

from memory_server.errors import UsageError
from memory_server.settings import MACHINE

ADDRESS = re.compile(MACHINE)
PYTHON = "python3 -IS -"  # whatever lies in the home there or is set for Python, this program imports its library alone
SSH_OPTIONS = (
    "BatchMode=yes",  # nobody is asked for a password or about a new host's key
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "ControlMaster=no",  # one that stays would keep our pipes open; one that is there is used
    "RequestTTY=no",
)


@dataclass(frozen=True, slots=True)
class Address:
    """Another machine, as the settings name it."""

    name: str
    user: str
    host: str
    port: str

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"ssh://{f'{self.user}@' if self.user else ''}{host}{f':{self.port}' if self.port else ''}"

    @property
    def command(self) -> list[str]:
        """What starts Python there. Everything else is as the person's own ssh settings say."""
        options = [word for option in SSH_OPTIONS for word in ("-o", option)]
        login = [*(("-l", self.user) if self.user else ()), *(("-p", self.port) if self.port else ())]
        return ["ssh", *options, *login, "--", self.host, PYTHON]


def parse_address(setting: str) -> Address:
    """Reads one entry of the setting `machines`. Raises UsageError for anything but a name, a user, a host, a port."""
    found = ADDRESS.match(setting)
    if found is None or not 0 < int(found["port"] or 22) < 65536:
        raise UsageError(f"machines holds {setting!r}", remedy="Write it as laptop=ssh://user@host, or with :port")
    return Address(found["name"], found["user"] or "", (found["host"] or found["ipv6"]), found["port"] or "")
