"""The gate every generated pair passes, whoever wrote it.

A generator invents. A pair is kept only where the chunk bears its answer: every number, path and identifier of the
answer stands in the chunk, and most of its words do.
"""

import re
from collections.abc import Iterable, Iterator

from trainer.extract.chunks import Chunk
from trainer.hygiene import find_fault
from trainer.pairs import Pair

MIN_SUPPORT = 0.6  # share of the answer's content words that must stand in the chunk
MIN_ANSWER_CHARS, MAX_ANSWER_CHARS = 8, 1_200  # an answer is a sentence or a paragraph, about 300 tokens at most
MIN_QUESTION_CHARS, MAX_QUESTION_CHARS = 8, 400
WORD = re.compile(r"\w+")
IDENTIFIER = re.compile(r"(?=[^\s]*[\d_/])[\w./:@~-]*\w")
POINTS_AWAY = re.compile(r"(?i)\b(?:this|the) (?:passage|text|chunk|section|paragraph|document|excerpt)\b")
STOP_WORDS = frozenset(
    word
    for line in (
        "a an and are as at be by can do does for from has have how if in into is it its may no not of on or so that",
        "the their them then there these they this to was what when where which who why will with you your",
    )
    for word in line.split()
)


def fault_of_pair(pair: Pair, chunk: Chunk) -> str | None:
    """Why the pair is refused, as a clause; None where the chunk bears it."""
    if not MIN_QUESTION_CHARS <= len(pair.question) <= MAX_QUESTION_CHARS:
        return "the question is too short or too long"
    if not MIN_ANSWER_CHARS <= len(pair.answer) <= MAX_ANSWER_CHARS:
        return "the answer is too short or too long"
    if POINTS_AWAY.search(pair.question):
        return "the question points at a text that its reader does not see"
    if fault := find_fault(pair.question) or find_fault(pair.answer):
        return f"it holds {fault}"
    text = chunk.text.casefold()
    for identifier in IDENTIFIER.findall(pair.answer.casefold()):
        if identifier.rstrip(".:") not in text:
            return "a number or name of the answer does not stand in the chunk"
    if support(pair.answer, chunk.text) < MIN_SUPPORT:
        return "the chunk does not bear the answer"
    return None


def support(answer: str, text: str) -> float:
    """The share, 0 to 1, of the answer's content words that stand in the text."""
    wanted = content_words(answer)
    return len(wanted & content_words(text)) / len(wanted) if wanted else 0.0


def content_words(text: str) -> set[str]:
    """The words that carry meaning, in small letters, a plural s cut off."""
    return {word.rstrip("s") or word for word in WORD.findall(text.casefold()) if word not in STOP_WORDS}


def filter_pairs(pairs: Iterable[Pair], chunk: Chunk, faults: list[str]) -> Iterator[Pair]:
    """The pairs that pass, each question once; the reasons of the others are added to `faults`."""
    questions = set()
    for pair in pairs:
        question = " ".join(WORD.findall(pair.question.casefold()))
        fault = "the question was asked before" if question in questions else fault_of_pair(pair, chunk)
        if fault:
            faults.append(fault)
        else:
            questions.add(question)
            yield pair
