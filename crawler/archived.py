"""The archive as the memory sees it: sessions with their turns as text, for the index of layer 3 and for reading, and
the notes that a session wrote or read whole: plans, handoffs, decisions, rules for assistants, memory files.

Arguments of tools are shown as `name: value` with their line ends, not as JSON, so that what stands in them can be
searched for as it is written elsewhere. Which files are notes is told by their names. What a session last knew of one
is kept: as it wrote it, or read it from the first line on, with its later edits. Of a file that was seen in part alone
nothing is known. Everything else that tools returned is no source of its own.
"""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crawler.archive.store import Archive
from crawler.compress.levels import Depth, SessionReader
from crawler.facts import gather_facts, parse_arguments, relative
from crawler.outcome import TurnOutcome, find_accepted_plan, find_outcomes, words_of_person
from crawler.quotes import session_turns
from crawler.reading.proof import keep_proved
from crawler.reading.record import FOLDER, RULES, Line, Reading, Readings
from crawler.reading.titles import make_title
from crawler.transcripts.turns import Role, Turn
from memory_server.document import CLAUDE, Document, Layer
from memory_server.errors import ContentError, UsageError
from memory_server.index.raw import ArchivedSession, ArchivedTurn, bare, raw_path
from memory_server.layers.notes import SessionNote
from memory_server.layers.sessions import project_name
from memory_server.machine.clock import local_day

SPEAKERS = frozenset({Role.ASSISTANT, Role.SUB_AGENT})
NOTE_BYTES = 16 * 1024  # of a note: four of five are shorter, and the others hold more than half of all
MARKDOWN = re.compile(r"\.(?:md|markdown|txt)\Z", re.IGNORECASE)
NOTE_NAMES = frozenset({"agents.md", "claude.md", "claude.local.md", "gemini.md"})
NOTE_WORDS = frozenset(
    "adr adrs decision decisions handoff handoffs handover learnings memory note notes plan planning plans roadmap "
    "todo todos".split()
)  # of a path, below the folder of the session; of a file elsewhere, of its folder and name
WORDS = re.compile(r"[a-z]+")
NUMBERED = re.compile(r" *(\d+)(?:→|\t)(.*)")  # a line as the client's tool shows it


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
        facts, project = gather_facts(turns), project_name(record.project or record.cwd)
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
        return project_name(record.project or record.cwd), find_notes(list(self._archive.turns(session_id)))

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


# -- notes that a session wrote or read whole -----------------------------------------------------------------------


def find_notes(turns: Sequence[Turn]) -> list[SessionNote]:
    """The last state of every note of a session that is known whole and no longer than NOTE_BYTES."""
    known: dict[str, SessionNote] = {}
    for number, turn in enumerate(turns, start=1):
        path = note_path(turn)
        if not path or turn.is_error or not turn.is_answered:
            continue
        before = known.pop(path, None)
        if text := apply_call(turn, before.text if before else ""):
            known[path] = SessionNote(path, text, turn.time, number)
    return [note for note in known.values() if len(note.text.encode("utf-8")) <= NOTE_BYTES]


def note_path(turn: Turn) -> str:
    """The path of the note that a call is about, from the session's folder on; empty where it is about none."""
    path = parse_arguments(turn).get("file_path") if turn.tool in ("Read", "Write", "Edit", "MultiEdit") else None
    if not isinstance(path, str) or not MARKDOWN.search(path):
        return ""
    below = relative(path.replace("\\", "/"), turn.cwd.replace("\\", "/"))
    is_elsewhere = below.startswith("/") or below[1:2] == ":"
    if is_elsewhere and "/topics/" in below:
        return ""  # it may be a memory's own, which answers for itself
    *folders, name = below.lower().split("/")
    telling = [*folders[-1:], name] if is_elsewhere else [*folders, name]
    is_note = name in NOTE_NAMES or not NOTE_WORDS.isdisjoint(WORDS.findall("/".join(telling)))
    return below if is_note else ""


def apply_call(turn: Turn, before: str) -> str:
    """What a file holds after a call, which held `before` if that was known; empty where it is not known whole."""
    arguments = parse_arguments(turn)
    if turn.tool == "Write":
        return str(arguments.get("content", ""))
    if turn.tool == "Read":
        return before if {"offset", "limit"} & arguments.keys() else "\n".join(lines_read(turn.text))
    edits = arguments.get("edits", [arguments])
    for edit in edits if isinstance(edits, list) else ():
        before = apply_edit(before, edit) if isinstance(edit, dict) else ""
    return before


def lines_read(shown: str) -> Iterator[str]:
    """The lines of a file as the client showed them, from the first on; what it says behind them is left out."""
    for expected, line in enumerate(shown.split("\n"), start=1):
        match = NUMBERED.fullmatch(line)
        if match is None or int(match[1]) != expected:
            return
        yield match[2]


def apply_edit(text: str, edit: dict[str, Any]) -> str:
    """A text with a passage exchanged; empty where it does not hold the passage, so that it was another."""
    old, new = str(edit.get("old_string", "")), str(edit.get("new_string", ""))
    if not old or old not in text:
        return ""
    return text.replace(old, new) if edit.get("replace_all") else text.replace(old, new, 1)
