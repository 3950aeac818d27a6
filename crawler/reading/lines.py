"""Which lines of a reading may be used: those that their quotes support, and that speak to nobody."""

import msgspec

from crawler.quotes import SessionTurns
from crawler.reading.proof import find_objections
from crawler.reading.record import Line, Reading
from memory_server.escaping import HIDDEN
from memory_server.language.cues import INJECTION


def keep_proved(reading: Reading, session: SessionTurns) -> Reading:
    """The reading with those lines alone that their quotes in the session support."""
    proved = tuple(
        line for line in reading.lines if is_safe(line) and not find_objections(line.text, line.quotes, session)
    )
    return msgspec.structs.replace(reading, lines=proved)


def is_safe(line: Line) -> bool:
    """Whether nothing in a line is hidden or reads as if it were said to an assistant."""
    texts = (line.text, line.takes_back, *line.questions, *(quote.text for quote in line.quotes))
    return all(map(is_safe_text, texts))


def is_safe_text(text: str) -> bool:
    """Whether a text hides nothing and does not speak to an assistant."""
    return not (INJECTION.search(text) or HIDDEN.search(text.replace("\n", " ")))
