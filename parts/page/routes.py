"""All routes of the page, on the application that the daemon serves. The guard in front of it opens the fragments."""

from collections.abc import Sequence

from fastapi import APIRouter, Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from dream.proposals.rendering import waiting_for_person
from dream.routes import NO_PAGE, Secret
from memory_server.completeness import tell_stage
from memory_server.faces.indexing import IndexingState
from oneiros.environment import now
from oneiros.parts import View
from oneiros.served import ServedMemory
from parts.page.passkeys.fragments import passkey_fragments
from parts.page.passkeys.routes import add_passkey_routes
from parts.page.passkeys.signing import PendingPasskeys
from parts.page.person import note_routes, setting_routes, trainer_routes
from parts.page.rendering import Renderer
from parts.page.review import review_routes
from parts.page.search import find_routes, passage_routes, search_routes
from parts.page.sessions import session_routes
from parts.page.shell import Shell
from parts.page.today import today_routes
from parts.page.topics import topic_routes
from parts.page.views import name_views

PULSE = "/page/pulse"  # what an open page asks for every few seconds begins so


class Page:
    """The site that the page is, with the views of other parts."""

    pulse = PULSE

    def __init__(self, views: Sequence[View]):
        self._views = views
        self._names = name_views(views)
        self._shell = Shell(self._names)
        self.is_open_to_all = self._shell.is_open_to_all

    def add_routes(self, api: FastAPI, served: ServedMemory) -> None:
        """Adds shell and fragments. A fragment lies at the address of its view, below `/page`."""
        render = Renderer(view.templates for view in self._views)
        add_passkey_routes(api, served, PendingPasskeys(now))
        api.include_router(self._shell.routes(render))

        def require_page(secret: Secret = "") -> None:
            """The token of programs passes the guard, too; what a person prepares on their page is not theirs."""
            if not served.pages.holds(secret):
                raise HTTPException(403, NO_PAGE)

        fragments = APIRouter(prefix="/page", include_in_schema=False, dependencies=[Depends(require_page)])
        fragments.include_router(find_routes(served, render, self._names))
        found = (
            today_routes,
            search_routes,
            passage_routes,
            *(view.routes for view in self._views),
            topic_routes,
            session_routes,
        )
        own = (review_routes, note_routes, setting_routes, trainer_routes, passkey_fragments)
        for routes in (*found, *own, _pulse):
            fragments.include_router(routes(served, render))
        api.include_router(fragments)


def _pulse(served: ServedMemory, render: Renderer) -> APIRouter:
    routes = APIRouter()

    @routes.get(PULSE.removeprefix("/page"))
    def pulse() -> HTMLResponse:
        """What may change while a page lies open."""
        waiting = waiting_for_person(served.decisions().store.hunks())
        served.pages.forget_others({hunk.id for hunk in waiting})
        return render("pulse.html", waiting=len(waiting), **_tell_state(served.running.indexing.state()))

    return routes


def _tell_state(state: IndexingState) -> dict[str, str]:
    """How the indices stand: the kind of a dot, and its sentence."""
    if state.error:
        return {"kind": "bad", "sentence": "The last index run failed"}
    if state.paused:
        return {"kind": "rest", "sentence": "Embedding rests"}
    if state.stage in ("idle", "waiting"):
        return {"kind": "good", "sentence": "All is indexed"}
    return {"kind": "busy", "sentence": tell_stage(state.stage, state.progress, state.total)}
