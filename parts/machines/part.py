"""What the other machines bring: whatever is new on them, fetched by ssh."""

from typing import TYPE_CHECKING

from oneiros.parts import Part

if TYPE_CHECKING:
    from oneiros.served import OtherMachines


def part() -> Part:
    """Sessions and references of the person's other machines."""
    return Part("machines", machines=_machines)


def _machines() -> "OtherMachines":
    from parts.machines import visits

    return visits
