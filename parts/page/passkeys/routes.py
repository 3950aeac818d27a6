"""The REST side of passkeys: a page registers one that a terminal waits for, and sends what one has signed.

Beside the page's secret each step needs what no program has: a word from a terminal, or the answer of the person's own
device. Passkeys need the port that the settings name, since a browser knows a page by it.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from fastapi import FastAPI, HTTPException, Request
from pydantic import Field

from dream.decisions.accept import MAX_TEXT_CHARS, Decisions
from dream.decisions.page import Chosen, PageSessions
from dream.routes import NO_PAGE, Secret, require_person
from memory_server.errors import UsageError
from memory_server.faces.body import Body
from oneiros.served import ServedMemory
from parts.page.passkeys.browser import make_origin
from parts.page.passkeys.signing import PendingPasskeys

NO_FIXED_PORT = "a passkey needs a page on a fixed port, and this one is on another"
SET_PORT = "`oneiros key passkey` in a terminal of your own sets one"
MAX_CHOICES = 200

Word = Annotated[str, Field(max_length=100)]


class Begun(Body):
    """What a passkey is to be called."""

    name: str = Field(min_length=1, max_length=40, pattern=r"^[\w .-]+$")


class WordBody(Body):
    """The word that a terminal showed."""

    word: Word


class Made(Body):
    """What `navigator.credentials.create` gave."""

    word: Word
    answer: dict[str, Any]


class SignedChoice(Body):
    """One choice, and what the page showed of its hunk."""

    hunk: str = Field(pattern="^[0-9a-f]{12}$")
    verdict: Literal["accept", "reject", "later"]
    text: str | None = Field(None, min_length=1, max_length=MAX_TEXT_CHARS)
    reason: str = Field("", max_length=500)
    shown: str = Field(pattern="^[0-9a-f]{64}$")


class Choices(Body):
    """What is to be signed."""

    choices: list[SignedChoice] = Field(min_length=1, max_length=MAX_CHOICES)


class Signed(Body):
    """What `navigator.credentials.get` gave."""

    answer: dict[str, Any]


def add_passkey_routes(api: FastAPI, served: ServedMemory, pending: PendingPasskeys) -> None:
    """Adds the routes."""
    decisions, pages = served.decisions, served.pages

    def find_origin(request: Request, secret: str) -> str:
        """The origin of the page that asks. Raises where it has no session, or no fixed port."""
        if not pages.holds(secret):
            raise HTTPException(403, NO_PAGE)
        port = (request.scope.get("server") or ("", None))[1]
        if not port or port != served.memory.person.http_port:
            raise UsageError(NO_FIXED_PORT, remedy=SET_PORT)
        return make_origin(port)

    _add_registering(api, decisions, pages, pending, find_origin)

    @api.post("/page/passkey/ask", include_in_schema=False)
    def ask(wanted: Choices, request: Request, secret: Secret = "") -> dict[str, Any]:
        """Freezes what was chosen; what the browser is asked so that it is signed."""
        origin = find_origin(request, secret)
        chosen = [Chosen(one.hunk, one.verdict, one.text, one.reason) for one in wanted.choices]
        return pending.freeze(decisions(), chosen, {one.hunk: one.shown for one in wanted.choices}, origin)

    @api.post("/page/passkey/sign", include_in_schema=False)
    def sign(given: Signed, request: Request, secret: Secret = "") -> dict[str, Any]:
        """Decides what was frozen, where a passkey has signed it."""
        done = pending.sign(decisions(), given.answer, find_origin(request, secret))
        pages.end_sitting([one.hunk.id for one in done])
        return {"decided": [{"hunk": one.hunk.id, "state": one.hunk.state, "commit": one.commit} for one in done]}


def _add_registering(
    api: FastAPI,
    decisions: Callable[[], Decisions],
    pages: PageSessions,
    pending: PendingPasskeys,
    page_of: Callable[[Request, str], str],
) -> None:
    @api.post("/page/passkey/begin", include_in_schema=False)
    def begin(wanted: Begun, request: Request) -> dict[str, str]:
        """A word for the person behind the process that asks at the private socket; it opens the page, too."""
        require_person(request)
        word = pages.new_code()
        pending.begin(word, wanted.name)
        return {"word": word}

    @api.post("/page/passkey/made", include_in_schema=False)
    def take_passkey(body: WordBody, request: Request) -> dict[str, Any]:
        """The passkey that the page has made, for the terminal that waits for it."""
        require_person(request)
        return {"passkey": msgspec.to_builtins(pending.take_registered(body.word))}

    @api.post("/page/passkey/options", include_in_schema=False)
    def options(body: WordBody, request: Request, secret: Secret = "") -> dict[str, Any]:
        """What the browser is asked so that it makes a passkey."""
        origin = page_of(request, secret)
        return pending.options_to_register(body.word, origin, list(decisions().chain().passkeys()))

    @api.post("/page/passkey/register", include_in_schema=False)
    def register(body: Made, request: Request, secret: Secret = "") -> dict[str, str]:
        """Takes what the browser made, for the terminal to take up."""
        page_of(request, secret)
        passkey = pending.register(body.word, body.answer)
        return {"name": passkey.name, "fingerprint": passkey.fingerprint}
