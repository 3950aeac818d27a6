"""Readings on disk: what is kept comes back the same, and what cannot be read counts as not there."""

import re
from pathlib import Path

import pytest

from crawler.reading.record import Failure, Holds, Line, LineKind, Outcome, Reading, Readings, Request
from tests.crawler.builders import OTHER_SESSION, SESSION, entry_id, person
from tests.crawler.reading.builders import RULE, quoted, session_of


def reading(folder: Path, session: str = SESSION) -> Reading:
    """One with a value in every field."""
    quote = quoted(session_of(folder, person(1, RULE), session=session), RULE)
    line = Line(LineKind.RULE, RULE, (quote,), Holds.SURELY, "Lint later.", ("What runs before a commit?",), "testing")
    return Reading(
        session_id=session,
        mark="abc",
        reader="claude-cli",
        version=1,
        project="shop",
        title="Linting",
        goal="Lint it.",
        outcome=Outcome.SHIPPED,
        proof=entry_id(1),
        open=("The docs.",),
        lines=(line,),
        requests=(Request("linter run", quote),),
        failures=(Failure("no linter", entry_id(1), "No linter", "uv sync"),),
        unfounded=("Nobody said so.",),
        input_tokens=7,
        output_tokens=3,
    )


def test_a_reading_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    stored = reading(tmp_path)

    readings.save(stored)

    assert readings.load(SESSION) == stored
    assert list(Readings(tmp_path / "readings").every()) == [stored]


def test_the_newest_reading_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    readings.save(reading(tmp_path))
    readings.save(Reading(SESSION, "later", "rules", 1))

    assert [(one.mark, one.reader) for one in readings.every()] == [("later", "rules")]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"session_id": 7}',
        b"\xff\xfe",
        b'{"session_id":"a","mark":"b","reader":"c"}',
        b"[" * 99_999,
    ],
)
def test_a_damaged_reading_counts_as_none_and_hides_no_other(tmp_path: Path, damage: bytes) -> None:
    readings = Readings(tmp_path / "readings")
    readings.save(reading(tmp_path))
    readings.save(reading(tmp_path, OTHER_SESSION))
    (tmp_path / "readings" / f"{SESSION}.json").write_bytes(damage)

    assert readings.load(SESSION) is None
    assert [one.session_id for one in readings.every()] == [OTHER_SESSION]


@pytest.mark.parametrize("session_id", ["../../secret", "", "a/b", ".", "..", "a\nb", "/etc/passwd", "a\0b", "abc\n"])
def test_an_id_that_is_a_path_is_refused(tmp_path: Path, session_id: str) -> None:
    readings = Readings(tmp_path / "in" / "readings")
    shown = f"^{re.escape(session_id)}$"
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")

    assert readings.load(session_id) is None
    with pytest.raises(ValueError, match=shown):
        readings.save(Reading(session_id, "m", "rules", 1))
    with pytest.raises(ValueError, match=shown):
        readings.forget([session_id])
    assert [path.name for path in tmp_path.rglob("*.json")] == ["secret.json"]


def test_what_is_forgotten_is_gone_and_forgetting_again_does_nothing(tmp_path: Path) -> None:
    readings = Readings(tmp_path / "readings")
    readings.forget([SESSION])  # there is not even a folder
    readings.save(reading(tmp_path))
    readings.save(reading(tmp_path, OTHER_SESSION))

    readings.forget([SESSION])
    readings.forget([SESSION])

    assert [one.session_id for one in readings.every()] == [OTHER_SESSION]
    assert [path.name for path in (tmp_path / "readings").iterdir()] == [f"{OTHER_SESSION}.json"]
