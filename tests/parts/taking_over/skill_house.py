"""Builds archives in which the same is done in several sessions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from tests.crawler.builders import Record, assistant, call, person, result, settings_in, write_transcript

STEPS = ("make fmt", "make lint", "make test")
REQUEST = "please fmt and lint before the test run"


def session_id(number: int) -> str:
    return f"{number}{number}{number}{number}{number}{number}{number}{number}-1111-4111-8111-111111111111"


def did(
    number: int,
    *commands: str,
    words: str = REQUEST,
    failed: Sequence[str] = (),
    later: str = "",
    printed: str = "done",
    **more: Any,
) -> list[Record]:
    """A session in which a person asks and these commands are run; the entries of each session are its own."""
    first = number * 100
    head = {"session": session_id(number), **more}
    records = [person(first, words, **head)]
    for place, command in enumerate(commands):
        at = first + 1 + 2 * place
        records.append(assistant(at, call("Bash", f"c{at}", command=command), **head))
        records.append(result(at + 1, f"c{at}", printed, is_error=command in failed, **head))
    if later:
        records.append(person(first + 90, later, parent=first + 2 * len(commands), **head))
    records[0]["parentUuid"] = None
    return records


def archive_of_sessions(folder: Path, *sessions: Sequence[Record]) -> Archive:
    """An archive that took these in; it lies in the memory `folder`/memory."""
    for records in sessions:
        write_transcript(folder / "transcripts", *records, session=records[0]["sessionId"])
    settings = settings_in(folder / "memory")
    with Ingester(settings) as ingester:
        ingester.ingest([folder / "transcripts"])
    return Archive(settings.archive)
