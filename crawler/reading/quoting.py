"""Quotes as a model gives them: what differs in form alone is mended to the archive's own characters.

White space, typographic marks, case and Markdown may differ, a word may not. Nothing is taken for said that was not.
"""

import re
from collections.abc import Iterator, Sequence

from crawler.quotes import Quote, SessionTurns, make_quote
from crawler.transcripts.turns import Role, Turn
from memory_server.language.cues import is_agreement

ALIKE = {"'": "['’‘`´]", '"': '["“”„]', "-": "[-–—]"}
ALIKE |= {mark: shape for shape in ALIKE.values() for mark in "’‘“”„–—" if mark in shape}
AROUND = "\"'“”„’‘`*_… \t\n"  # what a model sets around a quote, and Markdown around a word
CUT = re.compile(r"\s*(?:…|\.\.\.)\s*")  # where a page or a model left something out
LEAST_CHARS = 2  # the shortest yes


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
