"""Whether two memories are asked: looked up for every question, and cheap."""

from pathlib import Path

from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings


def uses_both_memories(account: MemoryRoot, root: MemoryRoot, person: PersonSettings) -> bool:
    """Whether the account's memory answers beside that of a root: it is there, and the root is a trusted other one."""
    is_trusted = root.path in {Path(trusted).resolve() for trusted in person.trusted_roots}
    return person.both_memories and is_trusted and root.path != account.path and account.index_page.is_file()
