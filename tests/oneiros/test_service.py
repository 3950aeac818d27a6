"""How the daemon runs behind its open sockets."""

import asyncio
import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from oneiros.daemon import service as module


def test_garbage_is_collected_from_the_moment_all_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[bool, bool]] = []

    async def serve_http(_: object) -> None:
        served.append((gc.isenabled(), gc.get_freeze_count() > 0))

    daemon: Any = SimpleNamespace(environment=SimpleNamespace(person_file=tmp_path / "config.toml"))
    monkeypatch.setattr(module, "_http_server", lambda: serve_http)
    gc.disable()
    try:
        anyio.run(module.Service(daemon)._serve_http, asyncio.Event())
    finally:
        gc.unfreeze()
        gc.enable()

    assert served == [(True, True)]
