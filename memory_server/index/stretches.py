"""What was said in a session, in stretches of a size to be ranked and shown: what recall reads an answer from.

Neighbouring turns of an exchange are joined, since replies between two calls of tools are a line or two; long ones are
cut. What tools returned is left out: it is sixteen times as much, and whatever of it mattered was said. A stretch
never begins in one exchange and ends in the next, and it knows the request that it answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_server.document import LineRange, Standing
from memory_server.index.raw import ArchivedTurn, split_pieces

STRETCH_CHARS = 800
REQUEST_CHARS = 200
PERSON = "you: "  # before the words of the person; all others are the assistant's
REPLY = "reply: "  # before what an assistant said to them, where both are shown


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of what was said in one exchange, at most STRETCH_CHARS characters and the marks of who speaks."""

    text: str
    turns: LineRange  # the first and the last turn that it holds words of, from 1
    request: str  # what the person had asked for or said, on one line; empty before the first
    standing: Standing  # of the turn that most of its words are from
    settled_at: int = 0  # the turn that shows it, from 1
    person_chars: int = 0  # at its beginning that the person said, with the mark
    keys: tuple[str, ...] = ()  # of its turns, searched with it and never shown
    takes_back: tuple[str, ...] = ()  # what its turns end, in a reader's words


def split_stretches(turns: Sequence[ArchivedTurn]) -> list[Stretch]:
    """What was said in a session, in its order."""
    exchanges = split_exchanges(turns)
    return [_stretch(part, request, turns) for request, pieces in exchanges for part in _group_pieces(pieces)]


Pieces = list[tuple[int, str]]  # the number of a turn, and words of it


def _stretch(part: Pieces, request: str, turns: Sequence[ArchivedTurn]) -> Stretch:
    longest, _ = max(part, key=lambda piece: len(piece[1]))
    turn = turns[longest - 1]
    standing = turn.standing or (Standing.YOU if turn.is_person else Standing.CLAUDE)
    where = LineRange(part[0][0], part[-1][0])
    own = "\n".join(text for number, text in part if turns[number - 1].is_person)
    text = "\n".join(text for _, text in part)
    held = list(dict.fromkeys(number for number, _ in part))
    keys = tuple(key for number in held for key in turns[number - 1].keys)
    ended = tuple(one for number in held for one in turns[number - 1].takes_back)
    return Stretch(text, where, request, standing, turn.settled_at, len(own), keys, ended)


def split_exchanges(turns: Sequence[ArchivedTurn]) -> Iterator[tuple[str, Pieces]]:
    """Every time the person spoke: their words on one line, cut, and all that was said from there on."""
    request, pieces = "", Pieces()
    for number, turn in enumerate(turns, start=1):
        if turn.is_person and turn.spoken:
            if pieces:
                yield request, pieces
            request, pieces = " ".join(turn.spoken.split())[:REQUEST_CHARS], []
        mark = PERSON if turn.is_person else ""
        pieces += [(number, f"{mark}{piece}") for piece in split_pieces(turn.spoken, STRETCH_CHARS)]
    if pieces:
        yield request, pieces


def _group_pieces(pieces: Pieces) -> Iterator[Pieces]:
    """Pieces in groups of at most STRETCH_CHARS characters; a longer piece stands alone."""
    part, chars = Pieces(), 0
    for number, text in pieces:
        if part and chars + len(text) > STRETCH_CHARS:
            yield part
            part, chars = [], 0
        part.append((number, text))
        chars += len(text) + 1
    if part:
        yield part
