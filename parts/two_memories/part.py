"""What two memories bring: inside a project whose memory is trusted the account's answers too."""

from typing import TYPE_CHECKING

from oneiros.parts import Part

if TYPE_CHECKING:
    from memory_server.memory import Memory
    from oneiros.environment import Environment
    from parts.two_memories.door import TwoMemories
    from parts.two_memories.here import AccountBeside


def part() -> Part:
    """The account's memory beside a project's."""
    return Part("two memories", door=_open_door, beside=_find_beside)


def _open_door(environment: "Environment", memory: "Memory") -> "TwoMemories":
    from parts.two_memories.door import TwoMemories

    return TwoMemories(environment, memory)


def _find_beside(environment: "Environment") -> "AccountBeside | None":
    from parts.two_memories.wanted import uses_both_memories

    if not uses_both_memories(environment.own_root, environment.choice.root, environment.person):
        return None
    from parts.two_memories.here import AccountBeside

    return AccountBeside(environment)
