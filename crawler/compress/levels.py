"""A session at four depths: a line, a digest, the compressed file, the archive's entries. Each names the next.

And the whole of it to take along, as Markdown to read or as data for a program: no source of a memory, as the mark at
its beginning says wherever it lies. The text is data out of transcripts: who shows it to a model says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from crawler.archive.store import Archive, PrunedSessions, SessionRecord, resolve_session
from crawler.transcripts.injected import CHAT_MARK, EXPORT_MARK
from crawler.transcripts.turns import Role, Turn
from memory_server.errors import ContentError, UsageError
from memory_server.escaping import escape_line, escape_text, plural
from memory_server.language.shortening import clip
from memory_server.layers.sessions import (
    DIGEST_SECTIONS,
    DIGEST_STATEMENTS,
    CompressedSession,
    Section,
    cut_id8,
    newest_files,
    read_session,
)
from memory_server.machine.clock import local

DIGEST_CHARS = 200  # about 50 tokens a statement
RAW_TURNS = 20
RAW_CHARS = 1_500  # of one turn; more with `entry`


class Depth(StrEnum):
    """How closely to look at a session."""

    LINE = "line"
    DIGEST = "digest"
    FILE = "file"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class SessionReader:
    """Reads sessions of one memory root: `archive` is layer 3, `compressed` the folder of layer 2."""

    archive: Archive
    compressed: Path
    next_step: "NextStep" = field(default_factory=lambda: next_command)

    def read(self, session: str, depth: Depth, *, entry: str = "", first: int = 0, turns: int = RAW_TURNS) -> str:
        """The session at a depth. `session` may be a prefix of its id; `entry`, `first` and `turns` choose raw turns.

        `first` counts turns from 0; `entry` (an id or a prefix) starts at the turn that was joined from it. Raises
        ContentError where there is no such session or entry.
        """
        session_id = self.resolve(session)
        if depth is Depth.RAW or entry:
            return self._raw(session_id, entry, first, turns)
        path = newest_files(self.compressed).get(session_id)
        if path is None:
            raise ContentError(
                f"session {session_id} is not compressed yet",
                remedy=f"Read it with `{self.next_step(session_id, 'raw')}`",
            )
        if depth is Depth.FILE:
            more = f"\nThe entries: {self.next_step(session_id, 'raw')}\n" if self.archive.holds(session_id) else ""
            return path.read_text(encoding="utf-8") + more
        compressed = read_session(path)
        write = one_line if depth is Depth.LINE else format_digest
        return write(compressed, self.next_step)

    def resolve(self, session: str) -> str:
        """The id of the one session that begins so."""
        known = {
            *self.archive.session_ids(),
            *newest_files(self.compressed),
            *PrunedSessions(self.archive).session_ids(),
        }
        found = [session_id for session_id in sorted(known) if session_id.startswith(session)]
        if len(found) == 1 or session in found:
            return session if session in found else found[0]
        return resolve_session(self.archive, session)

    def _raw(self, session_id: str, entry: str, first: int, count: int) -> str:
        if first < 0 or count < 1:
            raise UsageError(
                "turns are counted from 0, and at least one must be read", remedy="Use --first 0 --turns 20"
            )
        if moved := PrunedSessions(self.archive).where(session_id):
            raise ContentError(
                f"the turns of session {session_id} were moved out on {local(moved.at):%Y-%m-%d}",
                where=Path(moved.file),
                remedy=f"Bring them back: oneiros archive restore {moved.file}",
            )
        if not self.archive.holds(session_id):  # it came with an example, or from elsewhere
            raise ContentError(
                f"session {session_id} came without its turns",
                remedy=f"Its file is all there is: `{self.next_step(session_id, 'file')}`",
            )
        all_turns = list(self.archive.turns(session_id))
        full = entry and self.archive.entry(session_id, entry).id
        if full:
            first = next((i for i, turn in enumerate(all_turns) if full in turn.entries), 0)
            count = 1 if count == RAW_TURNS else count
        shown = all_turns[first : first + count]
        limit = 10 * RAW_CHARS if full else RAW_CHARS
        lines = [show_turn(turn, limit) for turn in shown]
        after = first + len(shown)
        if after < len(all_turns):
            lines.append(f"{len(all_turns) - after} turns more: {self.next_step(session_id, 'raw', after)}")
        return "\n\n".join(lines) + "\n"


def one_line(session: CompressedSession, next_step: "NextStep") -> str:
    """When, what, how it ended."""
    date = f"{local(session.started):%Y-%m-%d}" if session.started else "undated"
    commits = f", {plural(len(session.commits), 'commit')}" if session.commits else ""
    return f"{date}  {session.title}  ({session.outcome}{commits})  more: {next_step(session.session_id, 'digest')}\n"


def list_digest_sections(session: CompressedSession) -> Iterator[Section]:
    """What a digest says: the first statements of some sections, each cut to a few words."""
    for section in session.sections:
        if section.title in DIGEST_SECTIONS:
            first = section.statements[:DIGEST_STATEMENTS]
            yield Section(section.title, tuple(replace(one, text=clip(one.text, DIGEST_CHARS)) for one in first))


def format_digest(session: CompressedSession, next_step: "NextStep") -> str:
    """Goal, decisions, outcome, what is open and what came of each request, some 50 tokens a statement."""
    lines = [one_line(session, next_step).split("  more:")[0]]
    for section in list_digest_sections(session):
        lines.append(f"{section.title}:")
        lines += [f"- {statement.text}" for statement in section.statements]
    lines.append(f"The whole file: {next_step(session.session_id, 'file')}")
    return "\n".join(lines) + "\n"


def show_turn(turn: Turn, max_chars: int = RAW_CHARS) -> str:
    """A turn as text: who, when, which entries, and the words."""
    when = f"{local(turn.time):%Y-%m-%d %H:%M}" if turn.time else "undated"
    who = f"{turn.role} {turn.tool}".strip() if turn.role is Role.TOOL else str(turn.role)
    notes = [note for note, holds in (("failed", turn.is_error), ("abandoned branch", not turn.is_live)) if holds]
    head = f"[{', '.join(entry[:8] for entry in turn.entries)}] {when} {who}" + (
        f" ({', '.join(notes)})" if notes else ""
    )
    body = clip_text(f"{turn.arguments}\n{turn.text}".strip(), max_chars)
    return f"{head}\n{body}"


def clip_text(text: str, max_chars: int) -> str:
    """The text with its end cut off, and how much that was."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}\n… {len(text) - max_chars} characters more"


def next_command(session_id: str, depth: str, first: int = 0) -> str:
    """How a person reads on."""
    return f"oneiros drill {cut_id8(session_id)} --depth {depth}" + (f" --first {first}" if first else "")


NextStep = Callable[..., str]  # of session id, depth, and the raw turn to begin at


def render_session(record: SessionRecord, turns: Sequence[Turn]) -> Iterator[str]:
    """A page with a heading a turn; what a tool was called with and returned is set in as code."""
    yield f"{EXPORT_MARK}\n\n# Session {escape_line(record.session_id)}\n"
    for number, turn in enumerate(turns, start=1):
        when = f", {turn.time.isoformat()}" if turn.time else ""
        yield f"## {number}. {escape_line(f'{turn.role} {turn.tool}'.strip())}{when}\n"
        text = escape_text("\n".join(filter(None, [turn.arguments, turn.text])))
        yield "".join(f"    {line}\n" for line in text.splitlines()) if turn.tool else f"{text}\n"


def session_json(record: SessionRecord, turns: Sequence[Turn]) -> dict[str, Any]:
    """The same as one object."""
    rows = [
        {
            "number": number,
            "role": str(turn.role),
            "time": turn.time.isoformat() if turn.time else None,
            "tool": turn.tool,
            "arguments": turn.arguments,
            "text": turn.text,
            "is_error": turn.is_error,
            "is_live": turn.is_live,
            "entries": list(turn.entries),
        }
        for number, turn in enumerate(turns, start=1)
    ]
    about = {"session_id": record.session_id, "project": record.project, "folder": record.cwd}
    return {"oneiros": CHAT_MARK, **about, "turns": rows}
