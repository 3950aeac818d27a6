"""Whether the files of a memory root are as they should be."""

from memory_server.errors import Problem
from memory_server.root import MemoryRoot
from memory_server.settings import MemorySettings


def validate_root(root: MemoryRoot, settings: MemorySettings) -> list[Problem]:
    """What is wrong with the files of a root, by path and line."""
    return []
