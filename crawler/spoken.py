"""Where a person speaks in a turn: what they typed, chose, gave as the reason of a refusal, put behind a command."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crawler.facts import ASKING_TOOL, parse_arguments
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Turn
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import Span, sentence_spans

REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with|take) this.*?(?:the user said:|reason for the rejection:|\Z)", re.DOTALL
)  # how a client words a call that the person refused; what they said instead follows
ANSWER_END = re.compile(
    r"\"(?=, \"|\. (?:You can now|Read the answers carefully)| user notes:| selected |\Z)"
)  # of an answer, as clients write it
MOST_QUESTIONS = 20  # of one call; a client shows four, and each is compared with all that the assistant wrote there
CLIENTS_FRAME = re.compile(r"The user wants to clarify these questions|\n\nNote: The user's next message")
WORD = re.compile(r"\w")

OPTION = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?(?:[Oo]ption[ \t]+)?\(?(?P<sign>[A-Ha-h]|\d{1,2})[.):][ \t]*(?P<text>\S.*)$",
    re.MULTILINE,
)
PICK = ignore_case(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|let'?s|lets|just|do|go|use|with|for|options?|number|the|i|i'd|would|prefer|like|want|choose"
    r"|pick|take)\b[\s,]*)*\(?([a-h]|\d{1,2})\)?(?:\s*(?:and|&|,|\+)\s*\(?([a-h]|\d{1,2})\)?)?\W*(?:please|then)?\W*$"
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A stretch of a turn in which the person speaks. The places count characters of the turn's text."""

    first: int
    end: int
    question: str = ""  # of the client, which it answers
    is_chosen: bool = False  # from the options shown: then the stretch holds the question too, as both say it together


def find_spoken(turn: Turn) -> list[Spoken]:
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
    text, written = turn.text, [*_strings(parse_arguments(turn))]
    for question, labels in parse_questions(turn):
        head = f'"{question}"="'
        if head not in text or any(head in f'"{other}"="' for other in written if other != question):
            continue
        start = text.index(head)
        first = start + len(head)
        label = max((label for label in labels if text.startswith(label, first)), key=len, default="")
        end = ANSWER_END.search(text, first + len(label))
        if end is None:
            continue
        if label:
            yield Spoken(start, end.end(), question, is_chosen=True)
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


def parse_questions(turn: Turn) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The questions that the client showed, each with the labels of its options."""
    questions = parse_arguments(turn).get("questions")
    for one in questions[:MOST_QUESTIONS] if isinstance(questions, list) else ():
        if isinstance(one, dict) and isinstance(one.get("question"), str):
            shown = one.get("options")
            options = [option for option in shown if isinstance(option, dict)] if isinstance(shown, list) else []
            labels = (option.get("label") for option in options)
            yield one["question"], tuple(label for label in labels if isinstance(label, str) and label)


def find_picked(reply: str, answer: str) -> Iterator[Span]:
    """The first sentence of each option of a reply that an answer picks, and does nothing else."""
    pick = PICK.match(answer)
    listed = {option["sign"].casefold(): option for option in OPTION.finditer(reply)}
    for sign in filter(None, pick.groups()) if pick else ():
        if option := listed.get(sign.casefold()):
            first, end = next(iter(sentence_spans(option["text"])), (0, len(option["text"])))
            yield option.start("text") + first, option.start("text") + end
