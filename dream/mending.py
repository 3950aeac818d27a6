"""Quotes as a model gives them: what differs in form alone is mended, and what is refused is answered with what passes.

A quote is mended to the archive's own characters: white space, typographic marks, case and Markdown may differ, a word
may not. Nothing is taken for said that was not: the gate looks every mended quote up again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from crawler.quotes import Quote, SessionTurns, quote_of
from crawler.transcripts.turns import Role, Turn
from dream.judge.gate import Refusal, RefusalReason
from dream.records import Candidate
from dream.statements.acts import clauses_in
from dream.statements.wording import statement_of
from memory_server.language.cues import is_agreement
from memory_server.language.words import content_words

Check = Callable[[Candidate], Sequence[Refusal]]

MENDABLE = frozenset(
    {RefusalReason.NOT_FOUND, RefusalReason.BEYOND_QUOTE, RefusalReason.SEVERAL, RefusalReason.NOT_SAID}
)  # what other words of the same place may mend; the rest is about what was said
ALIKE = {"'": "['’‘`´]", '"': '["“”„]', "-": "[-–—]", "…": r"(?:…|\.\.\.)"}
ALIKE |= {mark: shape for shape in ALIKE.values() for mark in "’‘“”„–—" if mark in shape}
AROUND = "\"'“”„’‘`*_… \t\n"  # what a model sets around a quote, and Markdown around a word
NEAR = 0.5  # of 1.5: from which on a clause may be what was meant; a quote that was given always may
TRIED = 6  # clauses offered to the gate for one refusal


def found_quotes(session: SessionTurns, entry: str, words: str) -> Iterator[Quote]:
    """Where an entry, given by the beginning of its id, says these words, whatever their form."""
    pattern = _pattern(words)
    for turn in session.spoken:
        if any(known.startswith(entry) for known in turn.entries):
            first = turn.text.find(words) if words else -1
            match = pattern.search(turn.text) if pattern and first < 0 else None
            if first >= 0:
                yield quote_of(session, turn, first, first + len(words))
            elif match:
                yield quote_of(session, turn, *match.span())


def _pattern(words: str) -> re.Pattern[str] | None:
    """What finds the words with other white space, quotation marks, dashes, case or Markdown."""
    tokens = [token.strip("*`_") for token in words.strip(AROUND).split()]
    shapes = ["".join(ALIKE.get(char, re.escape(char)) for char in token) for token in tokens if token]
    return re.compile(r"[\s>*`_]+".join(shapes), re.IGNORECASE) if shapes else None


def with_agreement(session: SessionTurns, quotes: Sequence[Quote]) -> tuple[Quote, ...]:
    """The quotes; behind one statement of the assistant the person's next words, where these agree to it."""
    if len(quotes) != 1 or quotes[0].role is not Role.ASSISTANT:
        return tuple(quotes)
    places = (place for place, turn in enumerate(session.spoken) if quotes[0].entry in turn.entries)
    later = session.spoken[next(places, 0) + 1 :]
    answer = next((turn for turn in later if turn.role is Role.PERSON), None)
    return (*quotes, _whole(session, answer)) if answer and is_agreement(answer.text) else tuple(quotes)


def _whole(session: SessionTurns, turn: Turn) -> Quote:
    return quote_of(session, turn, 0, len(turn.text))


def nearest(session: SessionTurns, wanted: Candidate, words: str, check: Check) -> Candidate | None:
    """Of the words given and a session's clauses the most like what is wanted that the gate lets pass by itself."""
    stated, quoted = content_words(wanted.text), content_words(words)

    def likeness(quote: Quote) -> float:
        return _likeness(quote.text, stated) + _likeness(quote.text, quoted) / 2

    near = [quote for quote in (*wanted.quotes[:1], *_clauses(session)) if likeness(quote) >= NEAR]
    for quote in sorted(near, key=likeness, reverse=True)[:TRIED]:
        text, quotes = statement_of(quote.text, quote.time), with_agreement(session, [quote])
        candidate = replace(wanted, text=text, quotes=quotes)
        if not check(candidate):
            return candidate
    return None


def _clauses(session: SessionTurns) -> Iterator[Quote]:
    for turn in session.spoken:
        if turn.role is Role.PERSON:
            yield from (quote_of(session, turn, clause.own, clause.end) for clause in clauses_in(turn.text))


def _likeness(text: str, meant: Sequence[str]) -> float:
    """How many telling words two texts share in their order, 0 to 1."""
    told = content_words(text)
    return SequenceMatcher(None, told, meant, autojunk=False).ratio() if told else 0.0
