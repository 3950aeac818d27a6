"""The static shell of the page and its files, which hold nothing of a memory and which anybody may ask for.

A navigation carries no header, so the shell comes first; its script asks for the fragments with the page's secret.
Nothing is loaded from elsewhere, no script runs without the nonce of its answer, and none is made of text.
"""

import gzip
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from parts.page.rendering import GUARDED, Renderer
from parts.page.views import BAR, LESS_USED

STATIC = Path(__file__).with_name("static")
FILES = {
    "icon.svg": "image/svg+xml",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "passkey.js": "text/javascript",
    "htmx.min.js": "text/javascript",
}
MOVED = {"/dashboard": "/today", "/overview": "/today"}  # bookmarks of earlier versions, and where they lead
POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


class Shell:
    """The shell of a page with these views."""

    def __init__(self, views: Sequence[str]):
        self._views = views
        self._addresses = (*views, "passkey")  # where a terminal's link leads
        self._open = re.compile(rf"/(?:(?:{'|'.join(map(re.escape, self._addresses))})(?:/.*)?)?")

    def is_open_to_all(self, method: str, path: str) -> bool:
        """Whether a request tells nothing of a memory: for the shell, its files, and the exchange of a code."""
        if method == "POST":
            return path == "/page/open"
        is_file = path in MOVED or path.removeprefix("/static/") in FILES
        return method == "GET" and (is_file or self._open.fullmatch(path) is not None)

    def routes(self, render: Renderer) -> APIRouter:
        """The shell under every address that a person may open or bookmark."""
        routes = APIRouter(include_in_schema=False)
        files = {name: (STATIC / name).read_bytes() for name in FILES}
        packed = {name: gzip.compress(text) for name, text in files.items()}  # a third of the bytes of every visit

        # asynchronous, though nothing waits: what anybody may ask for must not hold up a thread of those that work

        async def shell() -> HTMLResponse:
            nonce = secrets.token_urlsafe(16)
            answer = render("shell.html", nonce=nonce, views=self._views, bar=BAR, less_used=LESS_USED)
            answer.headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
            return answer

        whole = (f"/{view}" for view in self._addresses)
        below = (f"/{view}/{{rest:path}}" for view in self._addresses)
        for path in ("/", *whole, *below):
            routes.get(path)(shell)

        async def redirect(request: Request) -> Response:
            return RedirectResponse(MOVED[request.url.path], 308, headers=GUARDED)

        for path in MOVED:
            routes.get(path)(redirect)

        @routes.get("/static/{name}")
        async def static(name: str, request: Request) -> Response:
            if name not in files:
                raise HTTPException(404, "there is no such file")
            if "gzip" not in request.headers.get("Accept-Encoding", ""):
                return Response(files[name], media_type=FILES[name], headers=GUARDED)
            headers = {**GUARDED, "Content-Encoding": "gzip"}
            return Response(packed[name], media_type=FILES[name], headers=headers)

        return routes
