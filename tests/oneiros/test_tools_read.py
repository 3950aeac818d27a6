"""What a model reads before it asks anything: instructions and tools, within a budget."""

import asyncio
import json

import pytest
from mcp import Client

from memory_server.faces.mcp_server import INSTRUCTIONS, create_server
from memory_server.memory import Memory
from oneiros.daemon.assistant_tools import assistant_tools
from oneiros.environment import Environment

CHARS_A_TOKEN = 4
MOST_TOKENS = 900


@pytest.fixture
def texts(garden: Memory) -> list[str]:
    """Name, description and schema of each of the eight tools, as they are offered."""

    async def listed() -> list[str]:
        tools = assistant_tools(Environment({}, garden.root.path, garden.root.path), garden)
        async with Client(create_server(garden, "1.0", more_tools=tools)) as client:
            found = (await client.list_tools()).tools
        return [json.dumps([tool.name, tool.description, tool.input_schema], separators=(",", ":")) for tool in found]

    return asyncio.run(listed())


def test_instructions_and_all_tools_cost_at_most_900_tokens(texts: list[str]) -> None:
    assert len(texts) == 8
    assert sum(map(len, [INSTRUCTIONS, *texts])) / CHARS_A_TOKEN <= MOST_TOKENS
