"""The hook tool: hooks of Claude Code call it over the MCP connection that the session has anyway.

It is not listed, so that no model is offered it and it costs no token; the client calls it by its name alone. Each
value is put in by the client as text.
"""

from collections.abc import Callable

import anyio
from anyio.to_thread import run_sync
from mcp.server.mcpserver.tools import Tool

from memory_server.faces.mcp_server import strict_tool

NAME = "hook"
SILENCE = "{}"  # of an empty text the client would note that the hook succeeded
SECONDS = 2.5  # in all; the client gives up after 3


def hook_tool(answer: Callable[[str, object], str]) -> Tool:
    """The tool over what answers an event."""

    async def hook(
        hook_event_name: str = "",
        session_id: str = "",
        transcript_path: str = "",
        cwd: str = "",
        prompt: str = "",
        tool_name: str = "",
        tool_input: str = "",
        tool_response: str = "",
        error: str = "",
        source: str = "",
    ) -> str:
        """What oneiros says to an event of the client."""
        payload = {
            "session_id": session_id,
            "transcript_path": transcript_path,
            "cwd": cwd,
            "prompt": prompt,
            "tool_name": tool_name,
            "tool_input": tool_input,
            "tool_response": tool_response,
            "error": error,
            "source": source,
        }
        reply = ""
        with anyio.move_on_after(SECONDS):
            reply = await run_sync(answer, hook_event_name, payload, abandon_on_cancel=True)
        return reply or SILENCE

    return strict_tool(hook)
