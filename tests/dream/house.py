"""Builds an archive of small sessions, for everything that needs evidence."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from crawler.quotes import Quote, SessionTurns, make_quote
from dream.evidence import Evidence
from dream.records import Candidate, Kind
from dream.topics import Topics, build_topics
from memory_server.document import SourcePath
from tests.crawler.builders import SESSION, Record, settings_in, write_transcript


def archived(folder: Path, sessions: Mapping[str, Sequence[Record]]) -> Evidence:
    """Evidence from an archive that took in these sessions, by id."""
    for session_id, records in sessions.items():
        write_transcript(folder / "transcripts", *records, session=session_id)
    settings = settings_in(folder / "memory")
    with Ingester(settings) as ingester:
        ingester.ingest([folder / "transcripts"])
    return Evidence(Archive(settings.archive))


def quoted(session: SessionTurns, words: str) -> Quote:
    """A true quote of these words, wherever a turn of the session holds them first."""
    turn = next(turn for turn in session.turns if words in turn.text)
    first = turn.text.index(words)
    return make_quote(session, turn, first, first + len(words))


def make_candidate(session: SessionTurns, words: str, text: str = "") -> Candidate:
    """A candidate that rests on these words of a session; it says them, or `text`."""
    quote = quoted(session, words)
    return Candidate(text or words, Kind.FACT, (quote,), 0.9, "test", "test", project="app")


def topics(**texts: str) -> Topics:
    """Topics by name."""
    return build_topics({SourcePath(f"topics/{name}.md"): text for name, text in texts.items()})


__all__ = ["SESSION", "archived", "make_candidate", "quoted", "topics"]
