"""Evidence: what was said in a session or written in a file, and whether a quote of it is true.

Only words of the person and of the assistant count, in the session's main conversation and on its living branch. What a
tool returned, a sub-agent wrote or this memory recalled is never evidence; recalled text does not even reach the
archive. Whether a sentence asserts anything is judged in `statements/`; whether a candidate may pass, in `judge/`.
What a person told directly is kept nowhere, so nothing that is read from a disk can pass for it.
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crawler.archive.store import Archive, SessionRecord
from crawler.facts import ASKING_TOOL, arguments_of
from crawler.outcome import REFUSED
from crawler.transcripts.entry import PartKind
from crawler.transcripts.grammar import is_id
from crawler.transcripts.injected import is_own_session
from crawler.transcripts.turns import Role, Turn
from dream.records import Quote, Words, Written
from memory_server.language.cues import folded
from memory_server.language.sentences import Span, sentence_spans
from memory_server.layers.sessions import project_name

SESSIONS_KEPT = 4  # read sessions held at a time: a gate asks for one session's turns many times in a row
ANSWER_END = re.compile(
    r"\"(?=, \"|\. You can now| user notes:| selected |\Z)"
)  # of an answer, as the client writes it
MOST_QUESTIONS = 20  # of one call; a client shows four, and each is compared with all that the assistant wrote there
MAX_FILE_BYTES = 2_000_000  # of a file that a person wrote
CLIENTS_FRAME = re.compile(r"The user wants to clarify these questions|\n\nNote: The user's next message")
WORD = re.compile(r"\w")

OPTION = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?(?:[Oo]ption[ \t]+)?\(?(?P<sign>[A-Ha-h]|\d{1,2})[.):][ \t]*(?P<text>\S.*)$",
    re.MULTILINE,
)
PICK = folded(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|let'?s|lets|just|do|go|use|with|for|options?|number|the|i|i'd|would|prefer|like|want|choose"
    r"|pick|take)\b[\s,]*)*\(?([a-h]|\d{1,2})\)?(?:\s*(?:and|&|,|\+)\s*\(?([a-h]|\d{1,2})\)?)?\W*(?:please|then)?\W*$"
)


@dataclass(frozen=True, slots=True)
class SessionTurns:
    """The turns of one session that dream looks at, in the order of the session."""

    session_id: str
    project: str
    turns: tuple[Turn, ...]  # of the living main conversation; tools' turns too, since errors are looked up in them

    @property
    def spoken(self) -> tuple[Turn, ...]:
        """What the person and the assistant said."""
        return tuple(turn for turn in self.turns if is_evidence(turn))

    def quotes(self, entry: str, words: str) -> Iterator[tuple[Quote, Turn | None]]:
        """Where an entry, given by the beginning of its id, says these words; and the person's turn behind it."""
        spoken = self.spoken
        for place, turn in enumerate(spoken):
            first = turn.text.find(words)
            if words and first >= 0 and any(known.startswith(entry) for known in turn.entries):
                answer = next((later for later in spoken[place + 1 :] if later.role is Role.PERSON), None)
                yield quote_of(self, turn, first, first + len(words)), answer


def is_evidence(turn: Turn) -> bool:
    """Whether a turn's words may be quoted: typed by the person or said by the assistant, on a living branch."""
    said_by_assistant = turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT
    said_by_person = turn.role is Role.PERSON and bool(spoken_in(turn))
    return turn.is_live and not turn.agent and (said_by_person or said_by_assistant)


def session_turns(session_id: str, project: str, turns: Sequence[Turn]) -> SessionTurns:
    """A session as dream sees it; without turns where a model call of our own was the whole session."""
    kept = tuple(heard(turn) for turn in turns if turn.is_live and not turn.agent and turn.kind is not PartKind.TITLE)
    first = next((turn.text for turn in kept if turn.is_prompt), "")
    return SessionTurns(session_id, project, () if is_own_session(first) else kept)


def heard(turn: Turn) -> Turn:
    """A turn as the person's own where they answered the client's question or gave a reason for refusing a call."""
    if turn.role is not Role.TOOL or not spoken_in(turn):
        return turn
    return replace(turn, role=Role.PERSON, entries=turn.entries[-1:])


def quote_of(session: SessionTurns, turn: Turn, first: int, end: int) -> Quote:
    """The words of a turn from character `first` up to `end`, as evidence."""
    return Quote(session.session_id, turn.entries[0], turn.role, turn.time, first, end, turn.text[first:end])


class Evidence:
    """Reads sessions from the archive and finds quotes in them again, and words of files below `home` or elsewhere."""

    def __init__(self, archive: Archive, home: Path | None = None):
        self._archive = archive
        self._home = home
        self._read: OrderedDict[str, tuple[SessionRecord, SessionTurns]] = OrderedDict()

    def session(self, session_id: str) -> SessionTurns:
        """One archived session; without turns where the archive does not have it. The last few are kept."""
        if not is_id(session_id):
            return SessionTurns(session_id, "", ())
        record = self._archive.record(session_id)
        known = self._read.get(session_id)
        if known is None or known[0] != record:  # a session that goes on has more to say each time
            turns = list(self._archive.turns(session_id))
            read = session_turns(session_id, project_name(record.project or record.cwd), turns)
            self._read[session_id] = (record, read)
            if len(self._read) > SESSIONS_KEPT:
                self._read.popitem(last=False)
        self._read.move_to_end(session_id)
        return self._read[session_id][1]

    def turn_of(self, quote: Quote) -> Turn | None:
        """The turn that a quote is from, where every field of the quote is true of it."""
        return next((turn for turn in self.session(quote.session_id).spoken if is_true_of(quote, turn)), None)

    def resolve(self, words: Words) -> bool:
        """Whether words are found as they stand: of a quote session, entry, role, time and every character.

        A file must still hold them, on whatever line. What a person told is found nowhere.
        """
        if isinstance(words, Quote):
            return self.turn_of(words) is not None
        return isinstance(words, Written) and holds(self._text_of(words.file), words.text)

    def _text_of(self, file: str) -> str:
        """The text of a file by the name it is shown under; empty where there is none that can be read."""
        place = self._home / file[2:] if self._home and file.startswith("~/") else Path(file)
        try:
            is_readable = place.is_absolute() and place.is_file() and place.stat().st_size <= MAX_FILE_BYTES
            return place.read_text(encoding="utf-8", errors="replace") if is_readable else ""
        except (OSError, ValueError):  # ValueError: a name with a zero byte
            return ""


def holds(text: str, words: str) -> bool:
    """Whether a text holds these words whole and in a row, whatever white space stands between them."""
    shape = r"\s+".join(map(re.escape, words.split()))
    return bool(shape) and re.search(rf"(?<!\w){shape}(?!\w)", text) is not None


def is_true_of(quote: Quote, turn: Turn) -> bool:
    """Whether a turn says what the quote says it says. Nothing is true of an entry whose id is more than an id."""
    if not is_id(quote.entry):
        return False
    if quote.entry not in turn.entries or quote.role is not turn.role or quote.time != turn.time:
        return False
    return 0 <= quote.first < quote.end <= len(turn.text) and turn.text[quote.first : quote.end] == quote.text


# -- where a person speaks in a turn: what they typed, chose, gave as the reason of a refusal, put behind a command ---


@dataclass(frozen=True, slots=True)
class Spoken:
    """A stretch of a turn in which the person speaks. The places count characters of the turn's text."""

    first: int
    end: int
    question: str = ""  # of the client, which it answers
    is_chosen: bool = False  # from the options shown: then the stretch holds the question too, as both say it together


def spoken_in(turn: Turn) -> list[Spoken]:
    """The stretches in which the person speaks, in order; none for a turn without their words."""
    if turn.is_prompt:
        return [Spoken(0, len(turn.text))]
    if turn.kind is PartKind.COMMAND:
        return _with_words(turn, turn.text.find(" ") + 1 or len(turn.text), len(turn.text))
    if turn.kind is not PartKind.RESULT:
        return []
    if refusal := REFUSED.match(turn.text) if is_clients(turn) else None:
        frame = CLIENTS_FRAME.search(turn.text, refusal.end())
        return _with_words(turn, refusal.end(), frame.start() if frame else len(turn.text))
    return list(_answers(turn)) if turn.tool == ASKING_TOOL and not turn.is_error else []


def _with_words(turn: Turn, first: int, end: int) -> list[Spoken]:
    return [Spoken(first, end)] if WORD.search(turn.text, first, end) else []


def is_clients(turn: Turn) -> bool:
    """Whether the client itself wrote a result that says no: what a server or a file says of refusals is no refusal,
    nor is a result whose call is not known.
    """
    is_clients_tool = bool(turn.tool) and not turn.tool.startswith("mcp__")
    return turn.is_error and is_clients_tool and not turn.text.startswith("Exit code")


def _answers(turn: Turn) -> Iterator[Spoken]:
    """What the person answered, found by the questions as asked: nothing in a question or option passes for an answer.

    A question whose beginning of an answer other words of the assistant hold too is passed over.
    """
    text, written = turn.text, [*_strings(arguments_of(turn))]
    for question, labels in _questions(turn):
        head = f'"{question}"="'
        if head not in text or any(head in f'"{other}"="' for other in written if other != question):
            continue
        asked = text.index(head)
        first = asked + len(head)
        label = max((label for label in labels if text.startswith(label, first)), key=len, default="")
        end = ANSWER_END.search(text, first + len(label))
        if end is None:
            continue
        if label:
            yield Spoken(asked, end.end(), question, is_chosen=True)
        elif WORD.search(text, first, end.start()):
            yield Spoken(first, end.start(), question)


def _strings(value: object) -> Iterator[str]:
    """Every text in a value of JSON."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


def _questions(turn: Turn) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The questions that the client showed, each with the labels of its options."""
    asked = arguments_of(turn).get("questions")
    for one in asked[:MOST_QUESTIONS] if isinstance(asked, list) else ():
        if isinstance(one, dict) and isinstance(one.get("question"), str):
            shown = one.get("options")
            options = [option for option in shown if isinstance(option, dict)] if isinstance(shown, list) else []
            labels = (option.get("label") for option in options)
            yield one["question"], tuple(label for label in labels if isinstance(label, str) and label)


def picked_in(reply: str, answer: str) -> Iterator[Span]:
    """The first sentence of each option of a reply that an answer picks, and does nothing else."""
    pick = PICK.match(answer)
    listed = {option["sign"].casefold(): option for option in OPTION.finditer(reply)}
    for sign in filter(None, pick.groups()) if pick else ():
        if option := listed.get(sign.casefold()):
            first, end = next(iter(sentence_spans(option["text"])), (0, len(option["text"])))
            yield option.start("text") + first, option.start("text") + end
