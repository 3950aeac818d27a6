"""Where a person speaks in a turn: what they typed, chose, gave as the reason of a refusal, or put behind a command.

Everything else of such a turn is the client's or the assistant's. Which clauses the words make is read in
`statements/`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crawler.facts import ASKING_TOOL, arguments_of
from crawler.outcome import REFUSED
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Turn

ANSWERED = re.compile(
    r"(?:: |, )(?P<pair>\"(?P<question>[^\n]+?)\"=\"(?P<answer>.*?)\")(?=, \"|\. You can now| user notes:"
    r"| selected |\Z)",
    re.DOTALL,
)  # how a client writes the answers to its questions
CLIENTS_FRAME = re.compile(r"The user wants to clarify these questions|\n\nNote: The user's next message")
WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A stretch of a turn in which the person speaks. The places count characters of the turn's text."""

    first: int
    end: int
    question: str = ""  # of the client, which it answers
    is_chosen: bool = (
        False  # from the options shown: then the stretch holds the question too, since both say it together
    )


def spoken_in(turn: Turn) -> list[Spoken]:
    """The stretches in which the person speaks, in order; none for a turn without their words."""
    if turn.is_prompt:
        return [Spoken(0, len(turn.text))]
    if turn.kind is PartKind.COMMAND:
        return _with_words(turn, turn.text.find(" ") + 1 or len(turn.text), len(turn.text))
    if turn.kind is not PartKind.RESULT:
        return []
    if refusal := REFUSED.match(turn.text):
        frame = CLIENTS_FRAME.search(turn.text, refusal.end())
        return _with_words(turn, refusal.end(), frame.start() if frame else len(turn.text))
    return list(_answers(turn)) if turn.tool == ASKING_TOOL and not turn.is_error else []


def _with_words(turn: Turn, first: int, end: int) -> list[Spoken]:
    return [Spoken(first, end)] if WORD.search(turn.text, first, end) else []


def _answers(turn: Turn) -> Iterator[Spoken]:
    labels = tuple(_labels(turn))
    for answer in ANSWERED.finditer(turn.text):
        if labels and answer["answer"].startswith(labels):
            yield Spoken(*answer.span("pair"), answer["question"], is_chosen=True)
        elif WORD.search(answer["answer"]):
            yield Spoken(*answer.span("answer"), answer["question"])


def _labels(turn: Turn) -> Iterator[str]:
    """The options that the client showed."""
    questions = arguments_of(turn).get("questions")
    for question in questions if isinstance(questions, list) else ():
        options = question.get("options") if isinstance(question, dict) else None
        for option in options if isinstance(options, list) else ():
            if isinstance(option, dict) and isinstance(option.get("label"), str) and option["label"]:
                yield option["label"]
