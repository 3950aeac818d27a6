"""Cuts prose into sentences and clauses, as character ranges of the text, so that each can be quoted byte for byte.

Chat is the case in mind: sentences that start in lower case, lines that end without a full stop, lines broken by a
terminal in the middle of a sentence. Which lines are prose at all is judged in `regions.py`.
"""

import itertools
import re
from collections.abc import Iterator

Span = tuple[int, int]  # first character and the one after the last

STOP = re.compile(r"(?:[.!?…]+[\"'”’)\]*_]*|;)(?=\s|\Z)|[。！？]+")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|ca|approx|resp|incl|excl|mr|mrs|ms|dr|prof|st|no|nr|fig|sec|vol|inc|ltd|z\.b|bzw|u\.a"
    r"|p\.ex|ej)|(?<![\w.])[A-Za-z]|^\s*\d+)\.\Z",
    re.IGNORECASE,
)
CODE_SPAN = re.compile(r"`[^`\n]+`")
LIST_SIGN = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|[A-Za-z]\))\s+(?:\[[ xX]\]\s+)?")
ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'”’)\]*_]*\s*\Z")
CLAUSE_EDGE = re.compile(
    r"(?:,|\s[-–—])\s+(?=(?:but|so(?! that\b)|and(?= (?:i|we|you|it|they|he|she|that|this|the|now|then|also|my|our"
    r"|please|let'?s|can|could|what|how|which|never|always)\b)|however|though|although|while|whereas|which|who"
    r"|considering|given that|can you|could you|what|how|why|should i|do you|i'm|i am|i've|i want|i was"
    r"|i (?:just |already |also )?(?:checked|looked|tested|verified))\b)"
    r"|^\W*(?:no,? )?(?:(?:that|this|it|the (?:first|second|last|other) (?:part|one|point|line|sentence))"
    r"(?:'s| is| was)|thats|you(?:'re| are)) (?:wrong|incorrect|mistaken|not (?:quite )?(?:right|correct|true"
    r"|accurate))(?:,|:|\s[-–—])\s+(?=\w)"
    r"|\s+(?=but (?:an? (?!bit\b|little\b|lot\b)|there\b|people\b|users\b|someone\b|nobody\b))"
    r"|\s+(?=now that\b|especially since\b)|\s+(?=but (?:i|we|you|it|they|that|this|the|my|our|can|could|how|what"
    r"|make sure|always|never|please|don'?t|only)\b)",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a prose text, without the white space and list signs around them."""
    return [span for first, end in _logical_lines(text) for span in _sentences(text, first, end)]


def clause_spans(text: str, first: int, end: int) -> list[Span]:
    """The clauses of the sentence at `first` to `end`, each beginning with the word that joins it to the one before."""
    edges = [first, *(first + match.end() for match in CLAUSE_EDGE.finditer(text[first:end])), end]
    spans = (_trimmed(text, start, stop) for start, stop in itertools.pairwise(edges))
    return [(start, _without_comma(text, start, stop)) for start, stop in spans if start < stop]


def _logical_lines(text: str) -> Iterator[Span]:
    """The lines of a text, those joined that a terminal broke: no end of sentence before, lower case after."""
    first = position = 0
    for line in text.splitlines(keepends=True):
        before = text[first:position]
        goes_on = line[:1].islower() or (line.lstrip()[:1].islower() and line[:1] == " ")
        if before.strip() and (ENDS_SENTENCE.search(before) or not goes_on):
            yield first, position
            first = position
        elif not before.strip():
            first = position
        position += len(line)
    if text[first:position].strip():
        yield first, position


def _sentences(text: str, first: int, end: int) -> Iterator[Span]:
    sign = LIST_SIGN.match(text, first, end)
    start = sign.end() if sign else first
    code = [match.span() for match in CODE_SPAN.finditer(text, start, end)]
    for stop in STOP.finditer(text, start, end):
        if any(opened < stop.start() < closed for opened, closed in code):
            continue
        if ABBREVIATION.search(text[start : stop.end()].rstrip("\"'”’)]*_")):
            continue
        span = _trimmed(text, start, stop.end())
        if span[0] < span[1]:
            yield span
        start = stop.end()
    span = _trimmed(text, start, end)
    if span[0] < span[1]:
        yield span


def _trimmed(text: str, first: int, end: int) -> Span:
    while first < end and text[first].isspace():
        first += 1
    while end > first and text[end - 1].isspace():
        end -= 1
    return first, end


def _without_comma(text: str, first: int, end: int) -> int:
    while end > first and (text[end - 1] in ",-–—" or text[end - 1].isspace()):
        end -= 1
    return end
