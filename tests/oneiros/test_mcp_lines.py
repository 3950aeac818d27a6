"""Serving clients of MCP over one socket."""

import asyncio
import logging
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from oneiros.daemon.mcp_lines import LineServer


def test_a_fault_with_one_client_is_logged_and_leaves_the_others_served(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server: MCPServer[Any] = MCPServer("test")
    run, met = server._lowlevel_server.run, list[str]()

    async def faulty_once(*arguments: Any) -> None:
        if not met:
            met.append("a fault")
            async with arguments[0], arguments[1]:
                raise RuntimeError("a fault of the first client")
        await run(*arguments)

    monkeypatch.setattr(server._lowlevel_server, "run", faulty_once)

    async def serve(path: str) -> tuple[bytes, bytes]:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            serving = asyncio.create_task(LineServer(server, lambda: None).serve(listener))
            reader, writer = await asyncio.open_unix_connection(path)
            first = await reader.read()
            writer.close()
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            second = await reader.readline()
            writer.close()
            await reader.read()
            serving.cancel()
        return first, second

    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder, caplog.at_level(logging.ERROR):
        first, second = asyncio.run(asyncio.wait_for(serve(str(Path(folder) / "s")), 60))

    assert first == b""
    assert b'"id":1' in second.replace(b" ", b"")
    assert "a fault of the first client" in caplog.text
