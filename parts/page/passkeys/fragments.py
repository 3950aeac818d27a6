"""The passkey's part of the page: where one is made, and what one is asked to sign of the review."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from dream.decisions.page import Chosen
from dream.decisions.passkey import Passkey, make_origin
from dream.records import Hunk
from oneiros.served import ServedMemory
from parts.page.rendering import Renderer


@dataclass(frozen=True, slots=True)
class ToSign:
    """One choice as it is about to be signed."""

    hunk: Hunk
    choice: Chosen

    @property
    def as_json(self) -> str:
        """What the page sends of it."""
        return msgspec.json.encode(self.choice).decode()


@dataclass(frozen=True, slots=True)
class Signing:
    """What was chosen, and the passkeys that can sign it."""

    passkeys: Sequence[Passkey]  # none: the terminal decides
    choices: Sequence[ToSign]


def build_signing(served: ServedMemory, waiting: Sequence[Hunk]) -> Signing:
    """The choices for the hunks that wait, but for those left for later."""
    chosen = served.pages.choices()
    meant = [ToSign(hunk, chosen[hunk.id]) for hunk in waiting if hunk.id in chosen]
    return Signing(find_passkeys(served), [one for one in meant if one.choice.verdict != "later"])


def find_passkeys(served: ServedMemory) -> list[Passkey]:
    """Those that were made on the fixed port that the settings name."""
    origin = make_origin(served.memory.person.http_port)
    return [one for one in served.decisions().chain().passkeys().values() if one.origin == origin]


def passkey_fragments(served: ServedMemory, render: Renderer) -> APIRouter:
    """Where a passkey is made."""
    routes = APIRouter()

    @routes.get("/passkey")
    def passkey() -> HTMLResponse:
        return render("passkey.html", passkeys=find_passkeys(served), port=served.memory.person.http_port)

    return routes
