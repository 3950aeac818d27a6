"""How the daemon runs behind its open sockets."""

import asyncio
import gc
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from oneiros.daemon import service as module


class KeepsItself:
    """What no count of references frees."""

    def __init__(self) -> None:
        self.own = self


def test_garbage_is_collected_from_the_moment_all_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[bool, bool, bool, tuple[int, int, int]]] = []

    async def serve_http(_: object) -> None:
        served.append((gc.isenabled(), gc.get_freeze_count() > 0, garbage() is None, gc.get_threshold()))

    daemon: Any = SimpleNamespace(environment=SimpleNamespace(person_file=tmp_path / "config.toml"))
    monkeypatch.setattr(module, "_http_server", lambda: serve_http)
    usual = gc.get_threshold()
    gc.disable()
    gc.set_threshold(50_000)
    garbage = weakref.ref(KeepsItself())  # of a question that was answered meanwhile
    try:
        anyio.run(module.Service(daemon)._serve_http, asyncio.Event())
    finally:
        gc.unfreeze()
        gc.enable()
        gc.set_threshold(*usual)

    assert served == [(True, True, True, (700, 10, 10))]
