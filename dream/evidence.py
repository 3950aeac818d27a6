"""Evidence: finds quotes in the archive again, and words of files that a person wrote.

What of a session counts is settled in `crawler/quotes.py`; whether a candidate may pass, in `judge/`. What a person
told directly is kept nowhere, so nothing that is read from a disk can pass for it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from crawler.archive.store import Archive, SessionRecord
from crawler.quotes import Quote, SessionTurns, is_true_of, make_quote, session_turns
from crawler.transcripts.entry import PartKind, is_id
from crawler.transcripts.turns import Role, Turn
from dream.records import Words, Written
from memory_server.chunking import code_lines, split_lines
from memory_server.layers.topics import HEADING

CACHED_SESSIONS = 4  # read sessions held at a time: a gate asks for one session's turns many times in a row
MAX_FILE_BYTES = 2_000_000  # of a file that a person wrote


class Evidence:
    """Reads sessions from the archive and finds quotes in them again, and words of files below `home` or elsewhere."""

    def __init__(self, archive: Archive, home: Path | None = None):
        self._archive = archive
        self._home = home
        self._read = lru_cache(maxsize=CACHED_SESSIONS)(self._read_session)

    def session(self, session_id: str) -> SessionTurns:
        """One archived session; without turns where the archive does not have it. The last few are kept."""
        if not is_id(session_id):
            return SessionTurns(session_id, "", ())
        return self._read(self._archive.record(session_id))  # a session that goes on has more to say each time

    def _read_session(self, record: SessionRecord) -> SessionTurns:
        return session_turns(record.session_id, record.project_name, list(self._archive.turns(record.session_id)))

    def find_turn(self, quote: Quote) -> Turn | None:
        """The turn that a quote is from, where every field of the quote is true of it."""
        return next((turn for turn in self.session(quote.session_id).spoken_turns if is_true_of(quote, turn)), None)

    def resolve(self, words: Words) -> bool:
        """Whether words are found as they stand: of a quote session, entry, role, time and every character.

        A file must still hold them, on whatever line. What a person told is found nowhere.
        """
        if isinstance(words, Quote):
            return self.find_turn(words) is not None
        return isinstance(words, Written) and holds(self._read_file(words.file), words.text)

    def quotes_in_section(self, written: Sequence[Written], project: str) -> tuple[list[Quote], SessionTurns]:
        """Words of a file as quotes of its section, as if that were one turn: so a wording of them is proved like one
        of what was said. No quotes where the file does not hold the words.
        """
        text = self._read_file(written[0].file)
        found = _find_words(text, written[0].text)
        section = find_section(text, found.start()) if found else ""
        turn = Turn(Role.ASSISTANT, PartKind.TEXT, section, (written[0].file,))
        session = SessionTurns("", project, (turn,))
        places = (_find_words(section, one.text) for one in written)
        return [make_quote(session, turn, *place.span()) for place in places if place], session

    def _read_file(self, file: str) -> str:
        """The text of a file by the name it is shown under; empty where there is none that can be read."""
        place = self._home / file[2:] if self._home and file.startswith("~/") else Path(file)
        try:
            is_readable = place.is_absolute() and place.is_file() and place.stat().st_size <= MAX_FILE_BYTES
            return place.read_text(encoding="utf-8", errors="replace") if is_readable else ""
        except (OSError, ValueError):  # ValueError: a name with a zero byte
            return ""


def holds(text: str, words: str) -> bool:
    """Whether a text holds these words whole and in a row, whatever white space stands between them."""
    return _find_words(text, words) is not None


def _find_words(text: str, words: str) -> re.Match[str] | None:
    shape = r"\s+".join(map(re.escape, words.split()))
    return re.search(rf"(?<!\w){shape}(?!\w)", text) if shape else None


def find_section(text: str, at: int) -> str:
    """The section of a Markdown text in which a character stands, up to the next heading, behind the headings above."""
    lines, code = split_lines(text), code_lines(text)
    place, above = text.count("\n", 0, at), list[tuple[int, str]]()
    first, end = 0, len(lines)
    for number, line in enumerate(lines):
        heading = HEADING.match(line) if number not in code else None
        if heading and number <= place:
            first, level = number, len(heading[0].strip())
            above = [*(one for one in above if one[0] < level), (level, line)]
        elif heading:
            end = number
            break
    return "".join([*(line for _, line in above[:-1]), *lines[first:end]])
