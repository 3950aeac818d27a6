"""What passes in the place of a statement that the gate refused: a sentence that was said about the same.

What a reader of sessions found and worded beyond its proof is offered in the words of its quote; whoever proposes one
statement is told which sentence of the session would pass.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from crawler.quotes import Quote, SessionTurns, make_quote
from crawler.reading.quoting import with_agreement
from crawler.reading.rules import find_typed_sentences, trim_sentence
from crawler.reading.signs import find_signs
from crawler.transcripts.turns import Role
from dream.judge.gate import Refusal, RefusalReason
from dream.records import Candidate, Kind
from dream.statements.values import find_values
from memory_server.language.words import content_words

Check = Callable[[Candidate], Sequence[Refusal]]

MENDABLE = frozenset(
    {RefusalReason.NOT_FOUND, RefusalReason.BEYOND_QUOTE}
)  # what other words of the same place may mend; the rest is about what was said
NEAR = 0.5  # of 1.5: from which on a clause may be what was meant; a quote that was given always may
LEAST_LIKENESS = 0.4  # of 1: of a sentence to the wording in whose place it stands; below are orders of the hour
TRIED = 6  # clauses offered to the gate for one refusal


def settle(candidate: Candidate, session: SessionTurns, check: Check) -> tuple[Candidate, Sequence[Refusal]]:
    """A line of a reading as it passes: where its wording is more than its proof, a sentence of its own quote that may
    stand by itself; else as it is, with what is against it. A habit rests on several quotes, and stays as it is.
    """
    refusals = check(candidate)
    is_wording = all(refusal.reason in MENDABLE for refusal in refusals) and candidate.kind is not Kind.HABIT
    if (
        refusals
        and is_wording
        and (near := nearest(session, candidate, candidate.quotes[0].text, check, is_within=True))
    ):
        quote, stated = near.quotes[0], content_words(candidate.text)
        has_veto = any(find_signs(quote.text, "veto", is_persons=quote.role is Role.PERSON))
        if _likeness(near.text, stated) >= LEAST_LIKENESS and not has_veto:
            return replace(near, questions=(), why=f"{near.why}; in the words of its quote"), ()
    return candidate, refusals


def nearest(
    session: SessionTurns, wanted: Candidate, words: str, check: Check, *, is_within: bool = False
) -> Candidate | None:
    """Of the words given and a session's sentences the most like what is wanted that the gate lets pass by itself, with
    the same values. `is_within`: of sentences of its first quote alone.
    """
    wanted_values = {value.value for value in find_values(wanted.text)}
    stated, quoted = content_words(wanted.text), content_words(words)

    def likeness(quote: Quote) -> float:
        return _likeness(quote.text, stated) + _likeness(quote.text, quoted) / 2

    given = wanted.quotes[:1]
    sentences = (one for one in _sentences(session) if not is_within or one.overlaps(given[0]))
    near = [quote for quote in (*given, *sentences) if likeness(quote) >= NEAR]
    for quote in sorted(near, key=likeness, reverse=True)[:TRIED]:
        candidate = replace(wanted, text=trim_sentence(quote.text), quotes=with_agreement(session, [quote]))
        has_same = wanted_values <= {value.value for value in find_values(quote.text)}
        if has_same and not check(candidate):
            return candidate
    return None


def _sentences(session: SessionTurns) -> Iterator[Quote]:
    for turn in session.spoken_turns:
        yield from (make_quote(session, turn, *span) for span in find_typed_sentences(turn))


def _likeness(text: str, meant: Sequence[str]) -> float:
    """How many telling words two texts share in their order, 0 to 1."""
    words = content_words(text)
    return SequenceMatcher(None, words, meant, autojunk=False).ratio() if words else 0.0
