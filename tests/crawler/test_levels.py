from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from crawler.closed import ClosedWhen
from crawler.compress.levels import Depth, SessionReader
from crawler.compress.run import compress_closed
from crawler.reading.record import Readings
from memory_server.errors import ContentError
from tests.crawler.builders import settings_in, working_session, write_transcript


@pytest.fixture
def reader(tmp_path: Path) -> SessionReader:
    write_transcript(tmp_path / "live", *working_session())
    closed = ClosedWhen(datetime(2026, 3, 5, tzinfo=UTC), process_start=lambda pid: None)
    with Ingester(settings_in(tmp_path / "root")) as ingester:
        ingester.ingest([tmp_path / "live"])
        compress_closed(ingester.archive, tmp_path / "compressed", Readings(tmp_path / "readings"), closed)
        return SessionReader(ingester.archive, tmp_path / "compressed")


def test_a_session_in_one_line_names_the_digest(reader: SessionReader) -> None:
    assert reader.read("1111", Depth.LINE) == (
        "2026-03-01  The relay in src/relay.py loses its connection after an hour.  (shipped, 1 commit)"
        "  more: oneiros drill 11111111 --depth digest\n"
    )


def test_the_digest_names_the_file(reader: SessionReader) -> None:
    text = reader.read("1111", Depth.DIGEST)

    assert "- I decided to send a keepalive every 300 seconds instead of raising the timeout." in text
    assert text.endswith("The whole file: oneiros drill 11111111 --depth file\n")


def test_the_file_names_the_entries(reader: SessionReader) -> None:
    text = reader.read("1111", Depth.FILE)

    assert text.startswith("---\nid: ")
    assert text.endswith("The entries: oneiros drill 11111111 --depth raw\n")


def test_the_entries_are_read_page_by_page(reader: SessionReader) -> None:
    text = reader.read("1111", Depth.RAW, turns=1)

    assert text == (
        "[00000001] 2026-03-01 10:00 person\n"
        "The relay in src/relay.py loses its connection after an hour. Please find out why.\n\n"
        "6 turns more: oneiros drill 11111111 --depth raw --first 1\n"
    )


def test_one_entry_leads_to_its_turn(reader: SessionReader) -> None:
    text = reader.read("1111", Depth.RAW, entry="00000004")

    assert text.startswith("[00000003, 00000004] 2026-03-01 10:00 tool Bash (failed)")
    assert "ConnectionResetError" in text


def test_an_unknown_session_is_an_error_that_says_what_to_do(reader: SessionReader) -> None:
    with pytest.raises(ContentError, match="Recall shows the ids below its hits"):
        reader.read("9999", Depth.LINE)


def test_a_session_that_came_without_its_turns_is_read_down_to_its_file(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "memory" / "sessions" / "compressed"
    reader = SessionReader(Archive(tmp_path / "archive"), shipped)

    line, digest, file = (reader.read("a1227e93", depth) for depth in (Depth.LINE, Depth.DIGEST, Depth.FILE))

    assert line.startswith("2026-11-12  Filters in the semantic index")
    assert digest.endswith("The whole file: oneiros drill a1227e93 --depth file\n")
    assert file.startswith("---\n") and "--depth raw" not in file
    with pytest.raises(ContentError, match=r"came without its turns.*--depth file"):
        reader.read("a1227e93", Depth.RAW)
