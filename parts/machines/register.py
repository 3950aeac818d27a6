"""What is known of the person's other machines: the id that each was given once, and how it was when last seen.

The id is the name under which a machine was first reached. It stays when the name in the settings or the address
changes: a machine is known again by its mark (its own id and the account there), else by its address. Sessions are
filed under the id, so that no renaming reads them twice or parts them from those before.
"""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

import msgspec

from crawler.archive.waiting import CLEANUP_DAYS, SOON_DAYS
from memory_server.errors import NeedsRepair
from memory_server.machine.files import replace_file
from parts.machines.addresses import Address

DAY_SECONDS = 86_400


class KnownMachine(msgspec.Struct, frozen=True):
    """One machine. Times are ISO 8601 in UTC."""

    id: str
    name: str  # in the settings, when it was last asked
    url: str
    mark: str
    seen: str = ""  # when it last answered
    error: str = ""  # why it did not when it was last asked
    tried: str = ""  # when that was
    noise: str = ""  # what its start-up files say before it answers; harmless, and named
    cleanup_days: float = 0.0  # of the client there; 0: not told
    days: dict[int, int] = {}  # since 1970: how many transcripts there were last written on it

    def transcripts(self) -> int:
        """How many there were there."""
        return sum(self.days.values())

    def expiring(self, now: dt.datetime) -> int:
        """How many of these the client there has deleted, or does within a week, if nobody goes on with them."""
        deadline = now.timestamp() + (SOON_DAYS - (self.cleanup_days or CLEANUP_DAYS)) * DAY_SECONDS
        return sum(count for day, count in self.days.items() if (day + 1) * DAY_SECONDS <= deadline)


class Register:
    """The machines of one memory, in a file of the person's state."""

    def __init__(self, file: Path):
        self._file = file
        try:
            self.machines = msgspec.json.decode(file.read_bytes(), type=list[KnownMachine])
        except FileNotFoundError:
            self.machines = []
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            remedy = "Move it away; each machine then gets its id anew, and its transcripts are read once more"
            raise NeedsRepair("what is known of your machines cannot be read", where=file, remedy=remedy) from error

    def find_by_url(self, address: Address) -> KnownMachine | None:
        """The machine that was last reached at an address."""
        return next((one for one in self.machines if one.url == address.url), None)

    def find_machine(self, address: Address) -> KnownMachine | None:
        """The machine that is shown for an entry of the settings, which may not have been reached yet."""
        return self.find_by_url(address) or next((one for one in self.machines if one.name == address.name), None)

    def identify(self, address: Address, mark: str, taken: Iterable[str]) -> KnownMachine:
        """The machine that answered with a mark; a new one gets an id that is none of those `taken`."""
        known = next((one for one in self.machines if one.mark == mark), None) or self.find_by_url(address)
        others = {one.id.casefold() for one in self.machines} | {name.casefold() for name in taken}
        names = [address.name, *(f"{address.name}-{number}" for number in range(2, len(others) + 3))]
        new_id = next(name for name in names if name.casefold() not in others)
        found = known or KnownMachine(new_id, address.name, address.url, mark)
        self._put(msgspec.structs.replace(found, name=address.name, url=address.url, mark=mark))
        return next(one for one in self.machines if one.id == found.id)

    def note(self, machine: KnownMachine) -> None:
        """Keeps what is known of a machine."""
        self._put(machine)
        replace_file(self._file, msgspec.json.format(msgspec.json.encode(self.machines), indent=1))

    def _put(self, machine: KnownMachine) -> None:
        others = [one for one in self.machines if one.id != machine.id]
        moved = [msgspec.structs.replace(one, url="") if one.url == machine.url else one for one in others]
        self.machines = [*moved, machine]
