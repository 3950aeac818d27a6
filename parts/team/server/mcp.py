"""The team's MCP tools: those of a personal memory by the same names, answered for the tenant of the token.

Each call takes its asker from the HTTP request it came with; there is neither session nor stream, so any
process can answer it and nothing stays open.
"""

from dataclasses import asdict
from typing import Annotated, Any, TypeAlias

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from pydantic import Field

from memory_server.document import parse_place
from memory_server.faces.answer_text import answer_text
from memory_server.faces.mcp_server import INSTRUCTIONS, compute_max_tokens, search_tool, strict_tool
from memory_server.faces.memory_text import reading_text, topics_text
from memory_server.search.question import Question, Search
from memory_server.settings import PersonSettings
from parts.team.access.asker import Asker
from parts.team.server.entrance import find_asker
from parts.team.server.guarded import GuardedMemory

Call: TypeAlias = Context[Any, Any]
UNLISTED = ("include_raw", "type", "after", "before")  # a query says most of it too
SEARCHES = {  # the description of each, and which arguments a model is not offered
    Search.MEANING: ("Finds passages by meaning, whatever words they use.", (*UNLISTED, "project")),
    Search.EXACT: (
        "Finds passages in which every word or quoted phrase occurs: names, paths, errors, versions, numbers.",
        (*UNLISTED, "project"),
    ),
    Search.RECALL: (
        "What the team knows about something: by meaning and words together, the best answer first.",
        UNLISTED,
    ),
}


def create_mcp(guarded: GuardedMemory, version: str) -> MCPServer[Any]:
    """The server over a guarded memory. Its tools answer requests that came through the entrance, and no others."""

    def answer(question: Question, call: Call) -> str:
        found = guarded.search(_asker(call), question)
        text = answer_text(found.answer, compute_max_tokens(question, PersonSettings().answer_tokens))
        behind = "" if found.is_current else f", older than {found.head[:12]}, which was accepted since"
        return f"{text}\n(index at commit {found.commit[:12]}{behind})"

    def read_memory(
        call: Call,
        name: Annotated[str, Field(description="topic, PLACE, NAME:FIRST-LAST; empty: list of topics")] = "",
        first: int | None = None,
        last: int | None = None,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> str:
        """A topic, or lines of it."""
        if name.strip():
            place = parse_place(name)
            first, last = (place.first, place.last) if first is None and last is None else (first, last)
            return reading_text(guarded.read(_asker(call), place.name, first or 1, last).reading, offset=offset)
        return topics_text(guarded.topics(_asker(call)))

    def memory_status(call: Call) -> str:
        """What this memory holds, and which commit its index stands at."""
        return "\n".join(f"{key}: {value}" for key, value in asdict(guarded.status(_asker(call))).items())

    searches = [search_tool(search, answer, *offered) for search, offered in SEARCHES.items()]
    tools = [*searches, *map(strict_tool, (read_memory, memory_status))]
    instructions = INSTRUCTIONS.replace("this person's memory", "this team's memory")
    return MCPServer(
        "oneiros-team",
        version=version,
        instructions=instructions,
        log_level="WARNING",
        tools=tools,
        subscriptions=False,
    )


def _asker(call: Call) -> Asker:
    request = call.request_context.request
    assert request is not None  # every call comes by HTTP
    return find_asker(request)
