"""Builds quotes, updates and memories for the tests of dream."""

import datetime as dt
import subprocess
from pathlib import Path

from crawler.archive.append import Ingester
from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.decisions.accept import Decisions
from dream.decisions.presence import Consent, How
from dream.records import Candidate, Hunk, Kind, Place, Relation, Update
from memory_server.chunking import split_lines
from memory_server.document import LineRange, SourcePath
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from tests.crawler.builders import SESSION, entry_id, person, settings_in, write_transcript

SPOKEN_AT = dt.datetime(2026, 3, 1, 10, 0, tzinfo=dt.UTC)
NOW = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
TODAY = NOW.date()
PERSON = Consent(How.WORD)


def quote(text: str, number: int = 1, **more: object) -> Quote:
    """Words of entry `number`, from its first character on."""
    time = SPOKEN_AT + dt.timedelta(seconds=number)  # as the builders of transcripts have it
    known = {"session_id": SESSION, "entry": entry_id(number), "role": Role.PERSON, "time": time, "first": 0}
    return Quote(**{**known, "end": len(text), "text": text, **more})  # type: ignore[arg-type]  # a builder


def candidate(text: str, number: int = 1, *quotes: Quote, **more: object) -> Candidate:
    known: dict[str, object] = {"kind": Kind.FACT, "confidence": 0.8, "why": "stated", "extractor": "deterministic"}
    known |= {"quotes": quotes or (quote(text, number),)}
    return Candidate(text, **{**known, **more})  # type: ignore[arg-type]  # a builder


def archive_statements(root: MemoryRoot, *texts: str) -> None:
    """Archives a session in which a person says these things, as entries 1, 2, ..."""
    records = [person(number, text) for number, text in enumerate(texts, start=1)]
    transcript = write_transcript(root.path.parent / "said", *records)
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([transcript])


def new_topic(text: str, name: str = "mail", number: int = 1, **more: object) -> Update:
    """A statement that founds a topic."""
    place = Place(SourcePath(f"topics/{name}.md"), 0, title=name.capitalize())
    return Update(candidate(text, number, **more), Relation.NEW, place, "no topic speaks of it")


def new_lesson(text: str, number: int = 1) -> Update:
    place = Place(SourcePath("lessons.md"), 0, title="Lessons")
    return Update(candidate(text, number, kind=Kind.LESSON), Relation.NEW, place, "it happened twice")


def extending(root: MemoryRoot, text: str, after: str, name: str = "mail", number: int = 1, **more: object) -> Update:
    """A statement behind the line that holds `after`."""
    path = SourcePath(f"topics/{name}.md")
    place = Place(path, line_holding(root, path, after))
    return Update(candidate(text, number, **more), Relation.EXTENDS, place, "the same subject")


def replacing(root: MemoryRoot, text: str, old: str, name: str = "mail", number: int = 1, **more: object) -> Update:
    """A statement in the place of the line that holds `old`."""
    path = SourcePath(f"topics/{name}.md")
    line = line_holding(root, path, old)
    old_text = split_lines(root.file(path).read_text(encoding="utf-8"))[line - 1]
    place = Place(path, line, replaces=LineRange(line, line), old_text=old_text)
    return Update(candidate(text, number, **more), Relation.SUPERSEDES, place, "another value")


def line_holding(root: MemoryRoot, path: str, words: str) -> int:
    lines = split_lines((root.path / path).read_text(encoding="utf-8"))
    return next(number for number, line in enumerate(lines, start=1) if words in line)


def decisions_on(root: MemoryRoot, **settings: object) -> Decisions:
    return Decisions(root, PersonSettings(**{"dream_hunks_a_day": 50, **settings}), lambda: NOW, is_true=lambda _: True)  # type: ignore[arg-type]  # a builder


def proposed(decisions: Decisions, *updates: Update, today: dt.date = TODAY) -> list[Hunk]:
    """The hunks of these updates, in a proposal."""
    queue = decisions.queue
    ids = [hunk.id for hunk in queue.add(updates, today)]
    queue.offer(today)
    return [decisions.store.hunk(name) for name in ids]


def git(folder: Path, *arguments: str) -> str:
    """What git prints, of a person with a name."""
    names = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    done = subprocess.run(["git", *names, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def begin_history(folder: Path) -> None:
    """A repository with all that lies there in its first commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of layer 1 with its bytes."""
    paths = [folder / "MEMORY.md", folder / "lessons.md", *sorted((folder / "topics").rglob("*.md"))]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.exists()}
