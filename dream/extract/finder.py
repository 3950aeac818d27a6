"""The extractor that needs no language model: the clauses of a session, each with how sure the scorer is of it."""

import itertools
from collections.abc import Iterator

from crawler.quotes import SessionTurns, quote_of
from crawler.spoken import picked_in
from crawler.transcripts.turns import Role
from dream.extract.features import MARKS, Situation, is_explicit, is_reply, marks_of, situations_in
from dream.extract.scorer import OFFERED, Scorer, reasons_of
from dream.records import Candidate, Kind
from dream.statements.acts import SILENT, Act, Clause, clauses_in
from dream.statements.deeds import IDEA
from dream.statements.halves import MAX_CHARS, NAMED_SUBJECT, halves_of
from dream.statements.values import ValueKind, values_in
from dream.statements.wording import REJECTS, respelt, statement_of, vocabulary_of
from memory_server.language.cues import folded, is_agreement
from memory_server.language.words import content_words

NAME = "deterministic"
MIN_WORDS = 2  # telling words; less says nothing by itself
MAX_SENTENCES = 3  # of the last paragraph
REASONS = 3  # shown of one clause
OF_ITSELF = folded(
    r"^\W*(?:i\b|i'(?:ll|m|ve|d)\b|let me|let's|now\b|next\b|ready\b|done\b|want me|shall i|good\b|you're right)"
)
EXACT = frozenset({ValueKind.ADDRESS, ValueKind.VERSION, ValueKind.PATH, ValueKind.DATE, ValueKind.TIME})
PLAIN = frozenset({Act.ASSERTS, Act.REQUESTS, Act.DENIES})
PASSING = 0.35  # the confidence of what is said in passing
NAMED = (ValueKind.NAME, ValueKind.PATH)  # what a pronoun may stand for


class Finder:
    """Finds candidates and asks the scorer how sure it is of each."""

    def __init__(self, scorer: Scorer):
        self._scorer = scorer

    def __call__(self, session: SessionTurns) -> list[Candidate]:
        """Everything a session says that a topic might take up, in its order; what is offered, once."""
        situations = [at for at in (*situations_in(session), *agreed_in(session)) if is_candidate(at.clause)]
        confidences = self._scorer.confidences(situations)
        vocabulary = vocabulary_of(turn.text for turn in session.spoken)
        found = [_candidate(session, *told, vocabulary) for told in zip(situations, confidences, strict=True)]
        first: dict[str, Candidate] = {}
        return [one for one in found if one.confidence < OFFERED or first.setdefault(one.text, one) is one]


def find_candidates(session: SessionTurns) -> list[Candidate]:
    """The candidates of a session by plain features alone."""
    return Finder(Scorer())(session)


def is_candidate(clause: Clause) -> bool:
    """Whether a clause says enough to be scored, and not more than one statement holds; a wish for a script is none."""
    text = clause.text
    for value in reversed(values_in(text)):
        text = text[: value.first] + text[value.end :]
    says_something = len(content_words(clause.text)) >= MIN_WORDS and any(letter.isalpha() for letter in text)
    if IDEA.search(clause.text):
        return False
    return clause.act not in SILENT and says_something and (len(clause.text) <= MAX_CHARS or clause.act is Act.CHOOSES)


def agreed_in(session: SessionTurns) -> Iterator[Situation]:
    """What the assistant said and the person agreed to in so many words, or picked from what it listed.

    A yes answers what stood last, so only the last paragraph counts, and only where it holds few sentences: nobody
    agrees to ten things with one word. A yes to a question is a task given, not a statement confirmed.
    """
    for turn, answer in itertools.pairwise(session.spoken):
        if not is_reply(turn) or answer.role is not Role.PERSON:
            continue
        for first, end in picked_in(turn.text, answer.text):
            clause = Clause(turn.text[first:end], first, end, (first, end), Act.CHOOSES, first)
            yield Situation(turn, clause, before=turn.text, answer=answer, is_picked=True)
        if is_agreement(answer.text):
            for clause in _last_clauses(turn.text):
                if clause.act not in SILENT and not OF_ITSELF.match(clause.text):
                    yield Situation(turn, clause, before=turn.text, answer=answer)


def _last_clauses(text: str) -> list[Clause]:
    clauses = clauses_in(text)
    start = text.rstrip().rfind("\n\n")
    last = [part for clause in clauses if clause.first > start for part in halves_of(clause)]
    asks = text.rstrip().rstrip("*_`)").endswith(("?", "？"))
    return [] if asks or len({clause.sentence for clause in last}) > MAX_SENTENCES else last


def _candidate(session: SessionTurns, at: Situation, confidence: float, vocabulary: frozenset[str]) -> Candidate:
    clause, turn = at.clause, at.turn
    confidence = _by_rule(at, confidence)
    quotes = [quote_of(session, turn, clause.first, clause.end)]
    if at.answer:
        quotes.append(quote_of(session, at.answer, 0, len(at.answer.text)))
    text = statement_of(clause.text, turn.time)
    why = [*_whence(at), *reasons_of(at)[:REASONS]] or ["like what people keep"]
    if "leans" in marks_of(clause.text):
        named = _named_before(at)
        why.append(f"needs words: its subject may be {named}" if named else "needs words: its subject stands elsewhere")
        confidence = confidence if named else min(confidence, (confidence + OFFERED) / 2)
    if turn.role is Role.PERSON and (right := respelt(text, vocabulary)) != text:
        why.append(f"spelt right: {right}")
    return Candidate(
        text,
        _kind(at),
        tuple(quotes),
        confidence,
        "; ".join(why),
        NAME,
        project=session.project,
        context=turn.text[slice(*clause.sentence)],
    )


def _by_rule(at: Situation, confidence: float) -> float:
    """The confidence, which two rules overrule: what takes a rule back is no rule, and what is explicit is offered."""
    clause, marks = at.clause, marks_of(at.clause.text)
    if "limits" in marks:
        return min(confidence, PASSING)
    values = values_in(clause.text) if clause.act is not Act.DENIES else ()
    is_exact = any(value.kind in EXACT or value.unit for value in values)
    is_exact = is_exact or ("corrects" in marks and any(value.kind is not ValueKind.NAME for value in values))
    is_plain = clause.act in PLAIN and (is_explicit(marks, is_exact=is_exact) or _is_put_right(at))
    return max(confidence, OFFERED) if is_plain else confidence


def _is_put_right(at: Situation) -> bool:
    """Whether a clause says what is right, where the one ahead of it says that something was wrong."""
    return bool(REJECTS.match(at.ahead) and NAMED_SUBJECT.match(at.clause.text))


def _whence(at: Situation) -> Iterator[str]:
    if at.is_picked:
        yield "picked from the assistant's options"
    elif at.answer:
        yield "said by the assistant and agreed to"
    elif at.clause.act is Act.CHOOSES:
        yield "chosen where the client asked"


def _kind(at: Situation) -> Kind:
    if at.clause.act is Act.CHOOSES:
        return Kind.DECISION
    if _is_put_right(at):
        return Kind.CORRECTION
    told = next((mark.kind for mark in MARKS if mark.kind and mark.pattern.search(at.clause.text)), None)
    return told or (Kind.DECISION if at.clause.act is Act.REQUESTS else Kind.FACT)


def _named_before(at: Situation) -> str:
    """The one thing that was named right before a clause; empty where there is none or more than one."""
    told = at.ahead or at.before.strip().rpartition("\n")[2]
    named = {told[value.first : value.end] for value in values_in(told) if value.kind in NAMED}
    return named.pop() if len(named) == 1 else ""
