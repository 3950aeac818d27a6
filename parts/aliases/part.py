"""What the aliases bring: routes."""

from typing import TYPE_CHECKING

from oneiros.parts import Part

if TYPE_CHECKING:
    from fastapi import FastAPI

    from oneiros.served import ServedMemory


def part() -> Part:
    """Addresses of earlier systems."""
    return Part("aliases", routes=_add_routes)


def _add_routes(api: "FastAPI", served: "ServedMemory") -> None:
    from parts.aliases.table import add_aliases

    add_aliases(api, served)
