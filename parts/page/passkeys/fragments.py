"""The passkey's part of the page: where one is made, and what one is asked to sign of the review."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from dream.decisions.page import Chosen
from dream.decisions.passkey import Passkey
from dream.records import Hunk
from oneiros.served import ServedMemory
from parts.page.passkeys.browser import make_origin
from parts.page.passkeys.routes import MAX_CHOICES
from parts.page.passkeys.signing import hash_shown
from parts.page.rendering import Renderer


@dataclass(frozen=True, slots=True)
class ToSign:
    """One choice as it is about to be signed."""

    hunk: Hunk
    choice: Chosen

    @property
    def as_json(self) -> str:
        """What the page sends of it, in ASCII: a template would write out what is hidden in a wording."""
        return json.dumps(msgspec.to_builtins(self.choice))


@dataclass(frozen=True, slots=True)
class Signing:
    """What was chosen, and the passkeys that can sign it: without one the terminal decides."""

    passkeys: Sequence[Passkey]
    choices: Sequence[ToSign]
    changed: Sequence[Hunk] = ()  # not as they were shown when they were chosen for: to be looked at again
    left: int = 0  # choices beyond what is signed at once


def build_signing(served: ServedMemory, waiting: Sequence[Hunk]) -> Signing:
    """The choices for the hunks that wait, but for those left for later."""
    passkeys, chosen, decisions = find_passkeys(served), served.pages.choices(), served.decisions()
    if not passkeys:
        return Signing((), ())
    meant = [ToSign(hunk, chosen[hunk.id]) for hunk in waiting if hunk.id in chosen]
    decided = [one for one in meant if one.choice.verdict != "later"]
    fresh = [one for one in decided if one.choice.shown == hash_shown(decisions, one.hunk)]
    changed = [one.hunk for one in decided if one not in fresh]
    return Signing(passkeys, fresh[:MAX_CHOICES], changed, max(0, len(fresh) - MAX_CHOICES))


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
