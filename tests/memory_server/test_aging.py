"""What time does to one memory, as a question and a plan see it."""

import datetime as dt
import os
from dataclasses import replace
from pathlib import Path

import pytest

from memory_server.document import SourcePath
from tests.conftest import MakeEngine
from tests.crawler.builders import SESSION
from tests.memories import recall, write_session
from tests.memory_server.test_spoken_answers import NOW, opened


@pytest.mark.parametrize(("days", "value"), [(0, 0.5), (7, 0.2)])  # since the ingest, at a half-life of 7
def test_an_old_session_just_taken_in_is_as_strong_in_an_answer_as_in_a_plan(
    tmp_path: Path, make_engine: MakeEngine, days: int, value: float
) -> None:
    taken_in = (NOW - dt.timedelta(days=days)).timestamp()
    with opened(tmp_path, make_engine) as memory:
        name = f"2020-03-01-cat-{SESSION[:8]}"
        write_session(memory, name, "The old cat sleeps on the heater.", type="episodic", created="2020-03-01")
        for record in (memory.root.path / "sessions" / "archive").rglob("*.json"):
            os.utime(record, (taken_in, taken_in))
        memory.person = replace(memory.person, query_log=True)
        memory.use.count_found("which cat", ["topics/relay.md"])  # use is known from now on
        memory.reindex()
        path = SourcePath(f"sessions/compressed/2020/{name}.md")

        [planned] = [step for step in memory.aging().plan({}).steps if step.source.path == path]
        answer = memory.with_use(recall(memory, "cat heater"))
        [shown] = {hit.parts["strength"] for hit in answer.hits if hit.path == path}

    assert shown == planned.strength.value == pytest.approx(value)
