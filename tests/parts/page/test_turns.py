"""The turns of a session, as a window, as a picture, and as one looks for them."""

from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from parts.page.markdown import render_text
from parts.page.turns import COLUMNS, TURNS, TurnReader, TurnsOfSession
from tests.crawler.builders import SESSION, assistant, call, person, result, settings_in, write_transcript

COMMITTED = "[main 1a2b3c4] Close the port\n 1 file changed"


@pytest.fixture
def reader(tmp_path: Path) -> TurnReader:
    records = [person(1, "Close the old port."), assistant(2, "I look.", call("Bash", "c1", command="ss -l"))]
    records += [result(3, "c1", "not permitted", is_error=True)]
    records += [assistant(4, "Closed.", call("Bash", "c2", command="git commit -m port")), result(5, "c2", COMMITTED)]
    with Ingester(settings_in(tmp_path / "memory")) as ingester:
        ingester.ingest([write_transcript(tmp_path / "said", *records)])
        return TurnReader(ingester.archive)


def test_each_turn_is_drawn_as_what_it_was(reader: TurnReader) -> None:
    found = reader.read(SESSION)

    assert list(found.kinds) == ["you", "claude", "failed", "claude", "commit"]
    assert found.counts == {"claude": 2, "you": 1, "commit": 1, "failed": 1}
    assert found.map.count("<path") == 5


def test_turns_are_narrowed_by_kind_and_by_words(reader: TurnReader) -> None:
    found = reader.read(SESSION)

    assert list(found.select("errors", "")) == [3] and list(found.select("mine", "")) == [1]
    assert list(found.select("", "PORT")) == [1, 5] and list(found.select("commits", "ss -l")) == []


def test_a_session_of_many_turns_is_drawn_in_as_many_columns_as_can_be_seen(reader: TurnReader) -> None:
    few = reader.read(SESSION)
    many = TurnsOfSession([*few.turns] * 2_000, {})

    assert f'viewBox="0 0 {COLUMNS} 24"' in many.map and len(many.map) < 40_000
    assert [one.number for one in many.window(range(1, 10_001), 9_990)] == list(range(9_990, 10_001))
    assert len(many.window(range(1, 10_001), 40)) == TURNS


def test_another_window_of_the_same_session_reads_no_archive(
    reader: TurnReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reader.read(SESSION)
    monkeypatch.setattr(reader._archive, "turns", None)

    assert reader.read(SESSION) is first
    assert reader.read("0badc0de-0000-4000-8000-000000000000").turns == ()


def test_what_was_said_is_rendered_and_nothing_in_it_runs() -> None:
    html = render_text("**Bold**\nand <script>x</script> [a](javascript:x) [b](src/a.py) ![i](http://x/i)")

    assert "<strong>Bold</strong><br>" in html.replace("<br />", "<br>") and "&lt;script&gt;" in html
    assert "javascript" not in html.replace("[a](javascript:x)", "") and "<img" not in html and "href" not in html
