"""Sessions by the day of the person who asks: in another zone than UTC, and written by clocks that go wrong."""

import datetime as dt
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import assistant, person, write_transcript
from tests.memories import without_daemon

TUESDAY = dt.datetime(2026, 11, 24, 20, tzinfo=dt.UTC)  # noon in Los Angeles
Oneiros = Callable[..., tuple[int, str, str]]


@pytest.fixture
def oneiros(
    tmp_path: Path, founded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Oneiros]:
    """The command line in Los Angeles, at noon of a Tuesday."""
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    for module in ("opening", "cli.ingest", "ingest.settings", "ingest.run"):
        monkeypatch.setattr(f"oneiros.{module}.now", lambda: TUESDAY)
    shutil.copytree(founded, tmp_path / "mem")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(without_daemon(arguments), Environment({"ONEIROS_ROOT": str(tmp_path / "mem")}, tmp_path, tmp_path))
        out, err = capsys.readouterr()
        return code, out, err

    yield run
    monkeypatch.undo()
    time.tzset()


def say(home: Path, session: str, *words: tuple[str, str]) -> None:
    """A transcript of what a person said at some times, each answered with a yes."""
    records = []
    for number, (text, moment) in enumerate(words):
        records += [
            person(2 * number + 1, text, timestamp=moment),
            assistant(2 * number + 2, "Noted.", timestamp=moment),
        ]
    write_transcript(home / ".claude" / "projects" / "-work-app", *records, session=session)


def found(oneiros: Oneiros, question: str) -> list[str]:
    return [Path(hit["path"]).name[:10] for hit in json.loads(oneiros("recall", question, "--json")[1])["hits"]]


def test_the_sessions_of_a_day_are_those_of_the_persons_day(tmp_path: Path, oneiros: Oneiros) -> None:
    say(
        tmp_path,
        "00000000-0000-4000-8000-00000000000a",
        ("The ferry leaves at half past ten.", "2026-11-24T06:30:00.000Z"),
    )
    say(tmp_path, "00000000-0000-4000-8000-00000000000b", ("Lunch is at the harbour.", "2026-11-23T20:00:00.000Z"))
    say(tmp_path, "00000000-0000-4000-8000-00000000000c", ("The tide is low.", "2026-11-24T09:00:00.000Z"))
    oneiros("ingest")

    assert found(oneiros, "what did I do yesterday") == ["2026-11-23"] * 2
    assert found(oneiros, "what did I do on Monday") == ["2026-11-23"] * 2
    assert found(oneiros, "what did I do this morning") == ["2026-11-24"]
    assert "2026-11-23" in oneiros("exact", "ferry before:2026-11-24")[1]
    assert oneiros("exact", "ferry after:2026-11-24")[0] == 1


def test_a_session_over_midnight_is_of_both_days(tmp_path: Path, oneiros: Oneiros) -> None:
    said = [("The ferry leaves late.", "2026-11-23T07:50:00.000Z"), ("It left at last.", "2026-11-23T08:20:00.000Z")]
    say(tmp_path, "00000000-0000-4000-8000-00000000000a", *said)
    oneiros("ingest")

    assert found(oneiros, "what did I do on Sunday") == found(oneiros, "what did I do on Monday") == ["2026-11-22"]


@pytest.mark.parametrize(
    "wrong",
    [
        {0: "1970-01-01T00:00:03.000Z"},
        {2: "2099-01-01T00:00:00.000Z"},
        {0: "1970-01-01T00:00:03.000Z", 2: "2099-01-01T00:00:00.000Z"},
    ],
)
def test_a_wrong_clock_dates_no_session_and_keeps_none_open(
    tmp_path: Path, oneiros: Oneiros, wrong: dict[int, str]
) -> None:
    texts = [(f"The gauge of the manatee reads {n}.", wrong.get(n, f"2026-11-20T18:0{n}:00.000Z")) for n in range(3)]
    say(tmp_path, "00000000-0000-4000-8000-00000000000a", *texts)

    code, _, err = oneiros("ingest")

    [file] = (tmp_path / "mem" / "sessions" / "compressed").rglob("*.md")
    assert (file.parent.name, file.name[:10]) == ("2026", "2026-11-20")
    assert f"stamped by a wrong clock, {min(wrong.values())}" in err
    assert code == 0
