"""The team's MCP tools: those of a personal memory by the same names, answered for the tenant of the token.

Each call takes its scope from the HTTP request it came with; there is no session, so any process can answer it.
"""

import dataclasses
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from pydantic import Field

from memory_server.document import SourcePath
from memory_server.faces.answer_text import answer_text
from memory_server.faces.mcp_server import INSTRUCTIONS, Limit, PerSource, Query, Several, strict_tool
from memory_server.faces.memory_text import reading_text, topics_text
from memory_server.layers.topics import TopicHead, topic_name
from memory_server.search.query import filter_of, parse_query
from memory_server.search.question import DEFAULT_LIMIT, Question, Search, several
from team.access.scope import Scope
from team.memory import TeamAnswer
from team.server.desk import Desk, reading_of
from team.server.gate import scope_of

TEAM = INSTRUCTIONS.replace("this person's memory", "this team's memory")
ANSWER_TOKENS = 2_000  # as the default of a personal memory


def create_mcp(desk: Desk, version: str) -> MCPServer[Any]:
    """The server over a desk. Its tools answer requests that came through the gate, and no others."""

    def answered(context: Context[Any, Any], question: Question) -> str:
        found = desk.search(_scope(context), question)
        return f"{answer_text(found.answer, ANSWER_TOKENS)}{_standing(found)}"

    def search_memory(
        context: Context[Any, Any], query: Query, limit: Limit = DEFAULT_LIMIT, per_source: PerSource = 1
    ) -> str:
        """Finds passages by meaning, whatever words they use."""
        return answered(context, parse_query(query, Search.MEANING, limit=limit, per_source=per_source))

    def search_exact(
        context: Context[Any, Any], query: Query, limit: Limit = DEFAULT_LIMIT, per_source: PerSource = 1
    ) -> str:
        """Finds passages in which every word or quoted phrase occurs: names, paths, errors, versions, numbers."""
        return answered(context, parse_query(query, Search.EXACT, limit=limit, per_source=per_source))

    def recall(
        context: Context[Any, Any],
        query: Query,
        limit: Limit = DEFAULT_LIMIT,
        per_source: PerSource = 1,
        project: Annotated[Several, Field(description="only of it")] = "",
    ) -> str:
        """What the team knows about something: by meaning and words together, the best answer first."""
        beside = filter_of({"project": several(project)})
        return answered(context, parse_query(query, beside=beside, limit=limit, per_source=per_source))

    def read_memory(
        context: Context[Any, Any],
        name: Annotated[str, Field(description="a topic, or the path of a hit; empty lists the topics")] = "",
        first: Annotated[int, Field(description="first line", ge=1)] = 1,
        last: Annotated[int | None, Field(description="last line")] = None,
    ) -> str:
        """Reads a topic, or lines of it; without a name lists the topics."""
        scope = _scope(context)
        if not name.strip():
            return topics_text(
                [
                    TopicHead(topic_name(SourcePath(one.path)), one.title, None, "", SourcePath(one.path))
                    for one in desk.topics(scope)
                ]
            )
        return reading_text(reading_of(desk.read(scope, name, first, last)))

    def memory_status(context: Context[Any, Any]) -> str:
        """What this memory holds, and which commit its index stands at."""
        status = desk.status(_scope(context))
        return "\n".join(f"{key}: {value}" for key, value in dataclasses.asdict(status).items())

    tools = [strict_tool(function) for function in (search_memory, search_exact, recall, read_memory, memory_status)]
    return MCPServer("oneiros-team", version=version, instructions=TEAM, log_level="WARNING", tools=tools)


def _scope(context: Context[Any, Any]) -> Scope:
    request = context.request_context.request
    assert request is not None  # every call comes by HTTP
    return scope_of(request)


def _standing(found: TeamAnswer) -> str:
    if found.is_current:
        return f"\n(index at commit {found.commit[:12]})"
    return f"\n(index at commit {found.commit[:12]}, older than {found.head[:12]}, which was accepted since)"
