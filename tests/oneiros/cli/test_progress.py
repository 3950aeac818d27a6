"""The bar of a long command says what is known, and nothing else."""

import pytest

from memory_server.index.build import EMBEDDING, Progress
from memory_server.upkeep import OneCount
from oneiros.cli.terminal import output, progress
from oneiros.cli.terminal.progress import Bar, rate_text


@pytest.mark.parametrize(
    ("done", "seconds", "text"),
    [(0, 60.0, ""), (64_000_000, 0.5, ""), (340, 20.0, "17/s"), (2, 2.0, "1/s"), (5, 20.0, "1 in 4 s")],
)
def test_a_rate_is_told_where_one_is_known(done: int, seconds: float, text: str) -> None:
    assert rate_text(done, seconds) == text


def test_there_is_one_bar_of_the_stage_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    seen = []
    with Bar() as bar:
        for step in (Progress("reading", 5, 5), Progress(EMBEDDING, 900, 1_000), Progress("reading", 1, 2)):
            bar.show(step)
            seen += [(task.description, task.completed, task.total, task.fields["rate"]) for task in bar._bars.tasks]

    assert seen == [("reading", 5, 5, ""), (EMBEDDING, 900, 1_000, ""), ("reading", 1, 2, "")]


def test_without_a_terminal_that_draws_a_line_says_now_and_then_what_is_under_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with output.show_progress() as show:
        show(Progress(EMBEDDING, 1, 1_000))
        monkeypatch.setattr(output, "TELL_SECONDS", 0.0)
        show(Progress(EMBEDDING, 900, 1_000))

    assert capsys.readouterr().err == f"{EMBEDDING} 900 of 1000\n"


def test_what_is_embedded_of_files_and_turns_is_one_count() -> None:
    steps: list[Progress] = []
    count = OneCount(steps.append)
    count.of_files(Progress("reading", 3, 3))
    count.turns = 20
    count.of_files(Progress(EMBEDDING, 5, 10))
    count.of_files(Progress(EMBEDDING, 10, 10))
    count.of_turns(Progress(EMBEDDING, 20, 20))

    assert [(step.done, step.total) for step in steps] == [(3, 3), (5, 30), (10, 30), (30, 30)]
