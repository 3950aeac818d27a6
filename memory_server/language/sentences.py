"""Sentences and clauses of prose. Where a sentence ends depends on what it is cut for, so there are several ways.

To be quoted byte for byte (`sentence_spans`, `clause_spans`): character ranges of chat, where sentences start in lower
case, lines end without a full stop, and a terminal breaks a line in the middle. To stand in a digest
(`split_sentences`): one line each without Markdown, cut at a colon too, since what follows one stands by itself. To be
counted in what a model wrote (`MODEL_SENTENCE_END`), to introduce a topic (`first_sentence`), to part a line too long
to be embedded (`PASSAGE_END`): at full stops alone.
"""

import itertools
import re
from collections.abc import Iterator

from memory_server.language.cues import ignore_case

Span = tuple[int, int]  # first character and the one after the last

STOP = re.compile(r"(?:[.!?…]+[\"'”’)\]*_]*|;)(?=\s|\Z)|[。！？]+")
ABBREVIATION = ignore_case(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|ca|approx|resp|incl|excl|mr|mrs|ms|dr|prof|st|no|nr|fig|sec|vol|inc|ltd|z\.b|bzw"
    r"|u\.a|p\.ex|ej)|(?<![\w.])[A-Za-z]|^\s*\d+)\.\Z"
)
CODE_SPAN = re.compile(r"`[^`\n]+`")
LIST_SIGN = re.compile(r"\s*(?:[-*+•]|\(?\d{1,3}[.)]|[A-Za-z]\))\s+(?:\[[ xX]\]\s+)?")
ENDS_SENTENCE = re.compile(r"[.!?:;…。！？][\"'”’)\]*_]*\s*\Z")
CLAUSE_EDGE = ignore_case(
    r"(?:,|\s[-–—])\s+(?=(?:but|so(?! that\b)|and(?= (?:i|we|you|it|they|he|she|that|this|the|now|then|also|my|our"
    r"|please|let'?s|can|could|what|how|which|never|always)\b)|however|though|although|while|whereas|which|who"
    r"|considering|given that|can you|could you|what|how|why|should i|do you|i'm|i am|i've|i want|i was|i (?:just "
    r"|already |also )?(?:checked|looked|tested|verified))\b)|^\W*(?:no,? )?(?:(?:that|this|it|the (?:first|second"
    r"|last|other) (?:part|one|point|line|sentence))(?:'s| is| was)|thats|you(?:'re| are)) (?:wrong|incorrect|mistaken"
    r"|not (?:quite )?(?:right|correct|true|accurate))(?:,|:|\s[-–—])\s+(?=\w)|\s+(?=but (?:an? (?!bit\b|little\b"
    r"|lot\b)|there\b|people\b|users\b|someone\b|nobody\b))|\s+(?=now that\b|especially since\b)|\s+(?=but (?:i|we|you"
    r"|it|they|that|this|the|my|our|can|could|how|what|make sure|always|never|please|don'?t|only)\b)"
)

CAPITAL = r"\s+(?=[\"'`(\[]?[A-Z0-9À-Þ])"
DIGEST_SENTENCE_END = re.compile(rf"(?<=[.!?:;]){CAPITAL}|(?<=[。！？])")
MODEL_SENTENCE_END = re.compile(rf"(?<=[.!?]){CAPITAL}|(?<=[。！？])(?=.)")
FIRST_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
PASSAGE_END = re.compile(r"[.!?。！？]\s+")
FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
MARKUP = re.compile(r"^[\s>#*+|-]+|^\s*\d+[.)]\s+|[*_]{2,}|\s*\|\s*$|<[^<>\s][^<>]*>")
SPACE = re.compile(r"\s+")


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a prose text, without the white space and list signs around them."""
    return [span for first, end in _logical_lines(text) for span in _sentences(text, first, end)]


def clause_spans(text: str, first: int, end: int) -> list[Span]:
    """The clauses of the sentence at `first` to `end`, each beginning with the word that joins it to the one before."""
    edges = [first, *(first + match.end() for match in CLAUSE_EDGE.finditer(text[first:end])), end]
    spans = (_trim_span(text, start, stop) for start, stop in itertools.pairwise(edges))
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
        span = _trim_span(text, start, stop.end())
        if span[0] < span[1]:
            yield span
        start = stop.end()
    span = _trim_span(text, start, end)
    if span[0] < span[1]:
        yield span


def _trim_span(text: str, first: int, end: int) -> Span:
    while first < end and text[first].isspace():
        first += 1
    while end > first and text[end - 1].isspace():
        end -= 1
    return first, end


def _without_comma(text: str, first: int, end: int) -> int:
    while end > first and (text[end - 1] in ",-–—" or text[end - 1].isspace()):
        end -= 1
    return end


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text without code blocks, tables' rules and Markdown's signs."""
    for line in FENCE.sub("\n", text).splitlines():
        for sentence in DIGEST_SENTENCE_END.split(line):
            cleaned = without_markup(sentence)
            if len(cleaned) > 3 and any(c.isalpha() for c in cleaned):
                yield cleaned


def without_markup(text: str) -> str:
    """One line without Markdown's signs."""
    return SPACE.sub(" ", MARKUP.sub(" ", text)).strip(" -*|>")


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence."""
    return FIRST_SENTENCE_END.split(text, maxsplit=1)[0]
