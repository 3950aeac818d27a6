"""Quotes: what was said in a session's main conversation, and whether a quote of it is true.

Only words of the person and of the assistant count, on the living branch. What a tool returned, a sub-agent wrote or
this memory recalled is never evidence; recalled text does not even reach the archive. Of a quote as a model gives it
white space, typographic marks, case and Markdown may differ from the archive's own characters, a word may not.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crawler.outcome import find_accepted_plan
from crawler.spoken import find_spoken
from crawler.transcripts.entry import PartKind, is_id
from crawler.transcripts.injected import is_own_session
from crawler.transcripts.turns import Role, Turn
from memory_server.language.cues import is_agreement

ALIKE = {"'": "['’‘`´]", '"': '["“”„]', "-": "[-–—]"}
ALIKE |= {mark: shape for shape in ALIKE.values() for mark in "’‘“”„–—" if mark in shape}
AROUND = "\"'“”„’‘`*_… \t\n"  # what a model sets around a quote, and Markdown around a word
CUT = re.compile(r"\s*(?:…|\.\.\.)\s*")  # where a page or a model left something out
LEAST_CHARS = 2  # the shortest yes


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of one turn, as the archive holds them."""

    session_id: str
    entry: str  # id of the entry, a uuid
    role: Role  # person or assistant; anything else does not pass the gate
    time: dt.datetime | None  # aware
    first: int  # of the turn's text: characters from 0
    end: int  # the character after the last; text == turn.text[first:end]
    text: str

    @property
    def mark(self) -> str:
        """What tells these words from others."""
        return f"{self.entry}:{self.first}-{self.end}"

    def overlaps(self, other: object) -> bool:
        """Whether two quotes share characters of one entry."""
        if not isinstance(other, Quote):
            return False
        return self.entry == other.entry and self.first < other.end and other.first < self.end


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """The turns of one session that dream looks at, in the order of the session."""

    session_id: str
    project: str
    turns: tuple[Turn, ...]  # of the living main conversation; tools' turns too, since errors are looked up in them

    @property
    def spoken_turns(self) -> tuple[Turn, ...]:
        """What the person and the assistant said."""
        return tuple(turn for turn in self.turns if is_evidence(turn))


def is_evidence(turn: Turn) -> bool:
    """Whether a turn's words may be quoted: typed by the person or said by the assistant, on a living branch."""
    is_by_assistant = turn.role is Role.ASSISTANT and turn.kind in (PartKind.TEXT, PartKind.PLAN)
    is_by_person = turn.role is Role.PERSON and bool(find_spoken(turn))
    return turn.is_live and not turn.agent and (is_by_person or is_by_assistant)


def session_turns(session_id: str, project: str, turns: Sequence[Turn]) -> SessionTurns:
    """A session as dream sees it; without turns where a model call of our own was the whole session."""
    own = (turn for turn in turns if turn.is_live and not turn.agent and turn.kind is not PartKind.TITLE)
    quotable = tuple(map(heard, own))
    first = next((turn.text for turn in quotable if turn.is_prompt), "")
    return SessionTurns(session_id, project, () if is_own_session(first) else quotable)


def heard(turn: Turn) -> Turn:
    """A turn as the person's own where they answered the client's question or gave a reason for refusing a call; as
    the plan itself where they accepted one.
    """
    if plan := find_accepted_plan(turn):
        return replace(turn, role=Role.ASSISTANT, kind=PartKind.PLAN, text=plan, entries=turn.entries[:1], tool="")
    if turn.role is not Role.TOOL or not find_spoken(turn):
        return turn
    return replace(turn, role=Role.PERSON, entries=turn.entries[-1:])


def make_quote(session: SessionTurns, turn: Turn, first: int, end: int) -> Quote:
    """The words of a turn from character `first` up to `end`, as evidence."""
    return Quote(session.session_id, turn.entries[0], turn.role, turn.time, first, end, turn.text[first:end])


def is_true_of(quote: Quote, turn: Turn) -> bool:
    """Whether a turn says what the quote says it says. Nothing is true of an entry whose id is more than an id."""
    if not is_id(quote.entry):
        return False
    if quote.entry not in turn.entries or quote.role is not turn.role or quote.time != turn.time:
        return False
    return 0 <= quote.first < quote.end <= len(turn.text) and turn.text[quote.first : quote.end] == quote.text


# -- quotes as a model gives them -----------------------------------------------------------------------------------


def find_quotes(session: SessionTurns, entry: str, words: str) -> Iterator[Quote]:
    """Where an entry, given by the beginning of its id, says these words, whatever their form."""
    pattern = _pattern(words)
    for turn in session.spoken_turns:
        if any(known.startswith(entry) for known in turn.entries) and (place := _place(turn, words, pattern)):
            yield make_quote(session, turn, *place)


def find_quote(session: SessionTurns, entry: str, words: str) -> Quote | None:
    """The quote of these words: in the named entry, else in the only turn that holds them; None where there is none.

    Of words with a mark of what was left out the longest part is looked for.
    """
    longest = max(CUT.split(words), key=len)
    if len(longest.strip(AROUND)) < LEAST_CHARS:
        return None
    if entry and (found := next(find_quotes(session, entry, longest), None)):
        return found
    anywhere = list(find_quotes(session, "", longest))
    return anywhere[0] if len(anywhere) == 1 else None


def _place(turn: Turn, words: str, pattern: re.Pattern[str] | None) -> tuple[int, int] | None:
    exact = re.search(_whole(re.escape(words), words), turn.text) if words else None
    match = exact or (pattern.search(turn.text) if pattern else None)
    return match.span() if match else None


def _pattern(words: str) -> re.Pattern[str] | None:
    """What finds the words with other white space, quotation marks, dashes, case or Markdown."""
    tokens = [token.strip("*`_") for token in words.strip(AROUND).split()]
    shapes = ["".join(ALIKE.get(char, re.escape(char)) for char in token) for token in tokens if token]
    whole = _whole(r"[\s>*`_]+".join(shapes), words.strip(AROUND))
    return re.compile(whole, re.IGNORECASE) if shapes else None


def _whole(shape: str, words: str) -> str:
    """A shape of words that begins and ends where a word does: `able` is not said by `unable`."""
    begins, ends = (re.match(r"\w", end) is not None for end in (words[:1], words[-1:]))
    return r"(?<!\w)" * begins + shape + r"(?!\w)" * ends


def with_agreement(session: SessionTurns, quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """The quotes; behind one statement of the assistant the person's next words, where these agree to it."""
    if len(quotes) != 1 or quotes[0].role is not Role.ASSISTANT:
        return tuple(quotes)
    answer = find_answer(session, quotes[0])
    agrees = answer is not None and is_agreement(answer.text)
    return (*quotes, make_quote(session, answer, 0, len(answer.text))) if answer and agrees else tuple(quotes)


def find_answer(session: SessionTurns, quote: Quote) -> Turn | None:
    """The person's next turn behind a quote."""
    spoken = session.spoken_turns
    place = next((place for place, turn in enumerate(spoken) if quote.entry in turn.entries), len(spoken))
    return next((turn for turn in spoken[place + 1 :] if turn.role is Role.PERSON), None)
