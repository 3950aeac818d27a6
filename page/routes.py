"""All routes of the page, on the application that the daemon serves. The guard in front of it opens the fragments."""

from fastapi import APIRouter, Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from dream.proposals.order import waiting_for_person
from dream.routes import NO_PAGE, Secret
from page.chat import chat_routes
from page.overview import overview_routes
from page.passkey import passkey_fragments
from page.person import note_routes, setting_routes, trainer_routes
from page.rendering import Renderer
from page.review import review_routes
from page.search import search_routes
from page.served import ServedMemory
from page.sessions import session_routes
from page.shell import is_open_to_all, shell_routes
from page.topics import topic_routes

PULSE = "/page/pulse"  # what an open page asks for every few seconds begins so

__all__ = ["PULSE", "add_page", "is_open_to_all"]


def add_page(api: FastAPI, served: ServedMemory) -> None:
    """Adds shell and fragments. A fragment lies at the address of its view, below `/page`."""
    render = Renderer()
    api.include_router(shell_routes(render))

    def require_page(secret: Secret = "") -> None:
        """The token of programs passes the guard, too; what a person prepares on their page is not theirs."""
        if not served.pages.holds(secret):
            raise HTTPException(403, NO_PAGE)

    fragments = APIRouter(prefix="/page", include_in_schema=False, dependencies=[Depends(require_page)])
    found = (overview_routes, search_routes, chat_routes, topic_routes, session_routes, review_routes)
    own = (note_routes, setting_routes, trainer_routes, passkey_fragments)
    for view in (*found, *own, _pulse):
        fragments.include_router(view(served, render))
    api.include_router(fragments)


def _pulse(served: ServedMemory, render: Renderer) -> APIRouter:
    routes = APIRouter()

    @routes.get(PULSE.removeprefix("/page"))
    def pulse() -> HTMLResponse:
        """What may change while a page lies open."""
        hunks = served.decisions().store.hunks()
        return render("pulse.html", waiting=len(waiting_for_person(hunks)), chosen=len(served.pages.choices()))

    return routes
