"""How sure a hit is to answer the question, as a word that a person understands; it never rises down an answer.

sure       what is shown stands there as it was asked, or a topic says it so plainly that hardly one is wrong, and
           has each word of the question, or one near it, and in the place of none another
likely     what speaks for it spoke for an answer in seven of ten questions; a topic must have the more of the words of
           the question, the less that is
perhaps    a passage near the question, and everything in an answer that little speaks for

Of recall the words are learnt, see `benchmarks.certainty`: two logistic curves, one for topics and one for what was
said, by what told answers from the rest in projects that had no say. What the model does not read is at most likely, by
its words alone. A perhaps decides nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log

from memory_server.document import Answer, Certainty, Hit, Layer, Standing
from memory_server.language.spelling import unify
from memory_server.language.words import FUNCTION_WORDS, extra_words
from memory_server.search.literal import holds
from memory_server.search.precedence import falling, fit
from memory_server.search.question import Question, Search
from memory_server.search.ranking.ranking import MOST_EXPONENT
from memory_server.search.ranking.terms import IndexedTerm, rarity
from memory_server.search.retrieval import AS_WRITTEN, IN_ANOTHER_CASE, OF_TIME

WORD = re.compile(r"[^\W_]+")
LIKELY_MEANING = 3.5  # scaled cosine, where meaning alone is asked
FEW_PASSAGES = 30  # of a tiny memory, whose scale says little
LIKELY_COVERED = 0.7  # of the telling words, where the model does not read what is asked or shown
LEAST_COVERED = 0.5  # of them, where a tiny memory, or the few lines of a type, are more than near
LEAST_ODDS = 1e-4  # of a confidence, so that its logarithm has an end
TOPIC_WEIGHTS: Mapping[str, float] = {"bias": -5.34, "tokens": 1.4, "meaning": 1.1}
SESSION_WEIGHTS: Mapping[str, float] = {"bias": -1.16, "confidence": 0.24, "gap": 1.05, "settled": 0.54}
SURE, LIKELY_TOPIC, LIKELY_SESSION = 0.87, 0.65, 0.52  # of the curves; what each costs stands in benchmarks/RESULTS.md
SURE_WORDS = 0.53  # of how well a passage holds each word: what differs in one thing alone is near, and answers nothing
LEAST_ODDS_HELD = 0.25  # odds of a topic times the square of that: below, it is of another thing and decides nothing
LEAST_MATCH = 0.02  # of a word, so that its logarithm has an end


@dataclass(frozen=True, slots=True)
class Telling:
    """The telling words of a question, by stem, each with its rarity in the memory."""

    weights: Mapping[str, float]
    stems_of: Callable[[Sequence[str]], Sequence[str]]
    is_of_tiny: bool = False  # whose scores say little
    match_words: Callable[[Hit], Mapping[str, float]] = lambda _: {}  # how near a passage comes to each, by stem, to 1
    text: str = ""  # the question

    def measure_coverage(self, hit: Hit) -> float:
        """The share of them, by rarity, that a hit shows; 0 for a question without any."""
        held, total = self._find_held(hit), sum(self.weights.values())
        return sum(weight for stem, weight in self.weights.items() if stem in held) / total if total else 0.0

    def measure_words(self, hit: Hit) -> float:
        """How well a hit holds each of them, 0 to 1: the geometric mean by rarity, low where one is missing."""
        held, replaced = self._find_held(hit), self._find_replaced(hit)
        matches = {stem: 0.0 if stem in replaced else match for stem, match in self.match_words(hit).items()}
        near = {stem: 1.0 if stem in held else max(match, LEAST_MATCH) for stem, match in matches.items()}
        total = sum(self.weights.get(stem, 0.0) for stem in near)
        return exp(sum(self.weights.get(stem, 0.0) * log(one) for stem, one in near.items()) / total) if total else 1.0

    def _find_replaced(self, hit: Hit) -> set[str]:
        """The words in whose place a passage has others, however near these are: it tells of *access logs* alone where
        *audit logs* are asked for.
        """
        asked, before = self._list_pairs(self.text), defaultdict[str, set[str]](set)
        for first, second in self._list_pairs(hit.passage):
            before[second].add(first)
        known = {"", *(stem for _, stem in asked)}
        return {
            first
            for first, second in asked
            if first and second in self.weights and before[second] and known.isdisjoint(before[second])
            if not any(one.startswith(first) or first.startswith(one) for one in before[second])
        }

    def _list_pairs(self, text: str) -> list[tuple[str, str]]:
        """The stems of a text, each behind that of the word before it; behind "" where that is not next to it, or tells
        nothing.
        """
        words = [*WORD.finditer(text)]
        stems = self.stems_of([word.group() for word in words])
        pairs = [("", stem) for stem in stems[:1]]
        for (one, stem), (other, following) in pairwise(zip(words, stems, strict=True)):
            tells = text[one.end() : other.start()] == " " and one.group().casefold() not in FUNCTION_WORDS
            pairs.append((stem if tells else "", following))
        return pairs

    def _find_held(self, hit: Hit) -> set[str]:
        text = unify(f"{hit.title} {hit.passage}")
        return set(self.stems_of(WORD.findall(f"{text} {extra_words(text)}")))


def telling_words(
    text: str,
    indices: Sequence[Sequence[IndexedTerm]],
    passages: int,
    stems_of: Callable[[Sequence[str]], Sequence[str]],
    match_words: Callable[[Hit], Mapping[str, float]],
) -> Telling:
    """What tells in a question of this text, by its terms in each of some indices, which hold so many passages."""
    holders: dict[str, int] = {}
    for terms in indices:
        for stem, held in {term.stem: term.holders for term in terms if not term.is_stop}.items():
            holders[stem] = holders.get(stem, 0) + held
    weights = {stem: rarity(min(held, passages), passages) for stem, held in holders.items()}
    return Telling(weights, stems_of, passages <= FEW_PASSAGES, match_words, text)


def compute_features(hit: Hit, answer: Answer) -> dict[str, float]:
    """What speaks for a hit of recall.

    Of a topic its token match and its meaning on the memory's scales. Of what was said how likely the memory answers at
    all, as the logarithm of odds, how far the hit is above the best other one, and whether somebody agreed or did it.
    """
    if hit.layer is Layer.TOPIC:
        return {name: hit.parts.get(name, 0.0) for name in ("tokens", "meaning")}
    others = [fit(other) for other in answer.hits if other.chunk != hit.chunk]
    odds = (answer.confidence + LEAST_ODDS) / (1 - answer.confidence + LEAST_ODDS)
    settled = hit.standing in (Standing.AGREED, Standing.DONE)
    return {"confidence": log(odds), "gap": fit(hit) - max(others, default=fit(hit)), "settled": float(settled)}


def probability(hit: Hit, answer: Answer) -> float:
    """How likely a hit of recall answers, by what speaks for it."""
    weights = TOPIC_WEIGHTS if hit.layer is Layer.TOPIC else SESSION_WEIGHTS
    features = {"bias": 1.0, **compute_features(hit, answer)}
    lacking = -sum(weight * features[name] for name, weight in weights.items())
    return 1 / (1 + exp(min(lacking, MOST_EXPONENT)))


def with_certainty(
    answer: Answer, question: Question, telling: Telling, reads: Callable[[str], bool]
) -> tuple[Hit, ...]:
    """The hits of an answer with their words. `reads`: whether the model reads a text.

    Behind a perhaps all are that, and no passage is looked at.
    """
    known = reads(question.text)
    marked, words = [], []
    for hit in answer.hits:
        is_open = not answer.is_doubtful and Certainty.PERHAPS not in words
        is_read = is_open and known and reads(f"{hit.title}. {hit.passage}")
        of_words = {"each_word": telling.measure_words(hit)} if is_read and hit.layer is Layer.TOPIC else {}
        marked.append(replace(hit, decides=hit.decides and is_read, parts={**hit.parts, **of_words}))
        words.append(how_sure(marked[-1], answer, question, telling, is_read=is_read) if is_open else Certainty.PERHAPS)
    return tuple(falling(marked, words))


def how_sure(hit: Hit, answer: Answer, question: Question, telling: Telling, *, is_read: bool) -> Certainty:
    """The word of one hit by itself. `is_read`: by the model, the question and the passage."""
    details = {reason.detail for reason in hit.why if reason.arm == "literal"}
    if any(reason.detail == OF_TIME for reason in hit.why):
        return Certainty.SURE
    if question.search is Search.EXACT or AS_WRITTEN in details:
        if AS_WRITTEN in details and holds(question.expression, hit.passage):
            return Certainty.SURE
        return Certainty.LIKELY if {AS_WRITTEN, IN_ANOTHER_CASE} & details else Certainty.PERHAPS
    if not is_read:
        return Certainty.LIKELY if telling.measure_coverage(hit) >= LIKELY_COVERED else Certainty.PERHAPS
    if question.search is Search.MEANING:
        return Certainty.LIKELY if hit.parts.get("meaning", 0.0) >= LIKELY_MEANING else Certainty.PERHAPS
    if (telling.is_of_tiny or question.types) and telling.measure_coverage(hit) < LEAST_COVERED:
        return Certainty.PERHAPS
    return choose_certainty(hit.layer, probability(hit, answer), hit.parts.get("each_word", 1.0))


def choose_certainty(layer: Layer, right: float, each_word: float) -> Certainty:
    """The word for how likely a hit of a layer answers, and how well it holds each word of the question.

    What was said is no authority, however near it is.
    """
    if layer is Layer.TOPIC and right >= SURE and each_word >= SURE_WORDS:
        return Certainty.SURE
    if layer is Layer.TOPIC:
        is_likely = right >= LIKELY_TOPIC and right * each_word**2 >= LEAST_ODDS_HELD * (1 - right)
    else:
        is_likely = right >= LIKELY_SESSION
    return Certainty.LIKELY if is_likely else Certainty.PERHAPS
