"""What hooks are told over HTTP, by the hook's own small program and by whoever sends its input."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from pydantic import Field

from memory_server.faces.rest import Body


class Hook(Body):
    """What a hook was told by its client."""

    event: str = Field("", max_length=100)
    client_pid: str = Field("", max_length=20)
    input: Any = None

    @property
    def told(self) -> Any:
        """The client's own input, with the number of its process."""
        return {**self.input, "client_pid": self.client_pid} if isinstance(self.input, dict) else self.input


def add_hook_routes(api: FastAPI, on_hook: Callable[[str, object], str]) -> None:
    """Adds the routes. `on_hook` answers an event."""

    @api.post("/api/hook")
    def hook(told: Hook) -> dict[str, Any]:
        """Takes note of an event of the client. `output` is what the hook prints."""
        return {"event": told.event, "output": on_hook(told.event, told.told)}

    @api.post("/api/hook/output", response_class=PlainTextResponse)
    def hook_output(told: Hook) -> PlainTextResponse:
        """The same for the hook's own small program: what it prints, and nothing else."""
        return PlainTextResponse(on_hook(told.event, told.told))
