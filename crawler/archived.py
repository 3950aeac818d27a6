"""The archive as the memory sees it: sessions with their turns as text, for the index of layer 3 and for reading.

Arguments of tools are shown as `name: value` with their line ends, not as JSON, so that what stands in them can be
searched for as it is written elsewhere.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from crawler.archive.store import Archive
from crawler.compress.levels import Depth, SessionReader
from crawler.facts import gather_facts, parse_arguments
from crawler.notes import find_notes
from crawler.outcome import TurnOutcome, find_accepted_plan, find_outcomes, words_of_person
from crawler.quotes import session_turns
from crawler.reading.proof import keep_proved
from crawler.reading.record import FOLDER, RULES, Line, Reading, Readings
from crawler.reading.titles import make_title
from crawler.transcripts.turns import Role, Turn
from memory_server.document import CLAUDE, Document, Layer, raw_path
from memory_server.errors import ContentError, UsageError
from memory_server.index.raw import ArchivedSession, ArchivedTurn, bare
from memory_server.layers.notes import SessionNote
from memory_server.machine.clock import local_day

SPEAKERS = frozenset({Role.ASSISTANT, Role.SUB_AGENT})


class ArchivedSessions:
    """The sessions of one memory root. `archive` is layer 3, `compressed` the folder of layer 2."""

    def __init__(self, archive: Path, compressed: Path):
        self._records = archive / "sessions"
        self._archive = Archive(archive)
        self._reader = SessionReader(self._archive, compressed)
        self._readings = Readings(compressed.parent / FOLDER)

    def marks(self) -> Mapping[str, str]:
        """Every archived session with size and time of its record, which is replaced whenever entries come, and of its
        reading.
        """
        read = {path.stem: read_stamp(path) for path in self._readings.folder.glob("*.json")}
        return {
            path.stem: f"{read_stamp(path)} {read.get(path.stem, '')}".rstrip()
            for path in sorted(self._records.glob("*.json"))
        }

    def read_sizes(self) -> Mapping[str, int]:
        """The bytes of every session's record."""
        return {path.stem: path.stat().st_size for path in self._records.glob("*.json")}

    def read_days(self) -> Mapping[str, dt.date]:
        """The day of every session's record, which is replaced whenever entries come."""
        return {
            path.stem: local_day(dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC))
            for path in self._records.glob("*.json")
        }

    def session(self, session_id: str) -> ArchivedSession:
        """One session with all its turns; with none while its archive is damaged, which every ingest names."""
        try:
            record, turns = self._archive.record(session_id), list(self._archive.turns(session_id))
        except ContentError:
            return ArchivedSession(bare(session_id), ())
        facts, project = gather_facts(turns), record.project_name
        reading = self._readings.load(session_id)
        if reading is None or not reading.is_by_model:
            reading = Reading(session_id, "", RULES, 0, project, make_title(turns, facts))
        document = Document(
            path=raw_path(session_id),
            layer=Layer.RAW,
            title=reading.title,
            date=local_day(facts.ended) if facts.ended else None,
            kind="episodic",
            project=project,
            machine=record.machine,
            agent=record.agent or CLAUDE,
            branch=facts.branch,
        )
        proved = keep_proved(reading, session_turns(session_id, project, turns))
        return ArchivedSession(document, make_archived_turns(turns, proved.lines if proved.is_by_model else ()))

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        """The project of a session, and the notes that it wrote or read. Raises ContentError for a damaged archive."""
        record = self._archive.record(session_id)
        return record.project_name, find_notes(list(self._archive.turns(session_id)))

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        """A session as text. Raises UsageError for a depth that there is not."""
        if depth not in set(Depth):
            raise UsageError(f"there is no depth {depth!r}", remedy=f"Choose one of: {', '.join(Depth)}")
        reader = replace(self._reader, next_step=next_reading)
        return reader.read(session_id, Depth(depth), first=first)


def read_stamp(path: Path) -> str:
    """Size and time of a file."""
    stat = path.stat()
    return f"{stat.st_size}/{stat.st_mtime_ns}"


def make_archived_turns(turns: Sequence[Turn], lines: Sequence[Line] = ()) -> list[ArchivedTurn]:
    """The turns of a session as text, each with what came of it and what a reader's `lines` say of it.

    A line and the questions that it answers are searched beside the turn that it quotes first.
    """
    outcomes = find_outcomes(turns)
    by_entry: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_entry[line.quotes[0].entry].append(line)
    found = []
    for number, turn in enumerate(turns, start=1):
        said = [line for entry in turn.entries for line in by_entry[entry]]
        keys = tuple(key for line in said for key in (line.text, *line.questions))
        ended = tuple(line.takes_back for line in said if line.takes_back)
        noted = tuple(line.text for line in said)
        found.append(replace(make_archived_turn(turn, outcomes.get(number)), keys=keys, noted=noted, takes_back=ended))
    return found


def make_archived_turn(turn: Turn, outcome: TurnOutcome | None = None) -> ArchivedTurn:
    """A turn as text: what was called with what, and what came back."""
    who = f"tool {turn.tool}".strip() if turn.role is Role.TOOL else str(turn.role)
    arguments = "\n".join(f"{name}: {plain(value)}" for name, value in parse_arguments(turn).items())
    words = words_of_person(turn)
    spoken = words or (turn.text.strip() if turn.role in SPEAKERS else find_accepted_plan(turn))
    standing, settled_at = (outcome.standing, outcome.turn) if outcome else (None, 0)
    return ArchivedTurn(who, f"{arguments}\n{turn.text}".strip(), spoken, bool(words), standing, settled_at)


def plain(value: object) -> str:
    """A value of a tool call without the marks of JSON around its texts."""
    if isinstance(value, dict):
        return "\n".join(f"{name}: {plain(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "\n".join(plain(item) for item in value)
    return str(value)


def next_reading(session_id: str, depth: str, first: int = 0) -> str:
    """How a model reads on: the session's lines by its name, its turns by a number."""
    return f'read_memory("{session_id}{f":{first + 1}" if depth == Depth.RAW else ""}")'
