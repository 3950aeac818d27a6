"""The whole way from a question to an answer.

    retrieve     passages that the words or the meaning of the question propose      retrieval.py, arms.py, literal.py
    fuse         the scores of both arms become one                                  ranking.py, fusion.py
    rerank       the best of it by its token matches                                 ranking.py, second_look.py
    precedence   a higher layer before a lower one that answers the same             precedence.py
    spoken       what was said in the sessions, read where it answers                spoken.py
    turns        the archived turns, where they are asked for or all else is weak    raw_turns.py
    types        what the recorder says of a hit, and the lines that no hit holds    typed.py

A stage takes the question and what the stage before it found, and gives the same kind of thing back. A new one is a
method here and a line in the method that it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory_server.document import Answer, Hit, Layer
from memory_server.index.digest import DigestStore
from memory_server.search.arms import WordScores
from memory_server.search.literal import is_identifier
from memory_server.search.precedence import grouped, with_precedence
from memory_server.search.question import MAX_LIMIT, Question, Search
from memory_server.search.ranking import FLOOR, Ranking
from memory_server.search.raw_turns import SURE_COVERED, WEAK, RawSearcher, appended, joined
from memory_server.search.retrieval import Candidate, Retriever
from memory_server.search.spoken import SPOKEN_FLOOR, reads_spoken, spoken_hits, with_spoken
from memory_server.search.typed import Typing

MEANING_FLOOR = 1.2  # scaled cosine of the best passage below which nothing is near in meaning
FEW_PASSAGES = 30  # of a tiny memory, whose scale says little
JOINED_HITS = 100  # of either search, before the turns are joined

EMPTY = "This memory holds nothing that is indexed yet. Write a topic, then run `oneiros reindex`."
CUT = "The query was cut to its first 10,000 characters."
NOTHING = {
    Search.EXACT: "Nothing holds all of these words. Try `recall`, which needs only some of them or their meaning.",
    Search.MEANING: "Nothing in this memory is near that in meaning. Try `search_exact` for a name or number.",
    Search.RECALL: "Nothing in this memory answers that. Try other words, or `search_exact` for a name or number.",
}
NOTHING_ALLOWED = "No source passes these filters together. Loosen them."
PERHAPS = "Perhaps: this is near the question, but may not answer it."
NO_TURNS = "No archived turn holds that. Try recall without a filter, or other words."
TURNS_TOO = "Raw hits are what was said or done once, found by its words; lines count the turns of a session."
FROM_REFERENCES = "Only references answer that: files of projects, context and no authority."


@dataclass(frozen=True, slots=True)
class Found:
    """What retrieval and ranking give the later stages."""

    candidates: Sequence[Candidate]  # best first
    terms: tuple[str, ...] = ()  # the words that were looked up
    confidence: float = 0.0  # of recall


class Pipeline:
    """Answers questions on the indices as they are now."""

    def __init__(
        self,
        retriever: Retriever,
        stretches: Retriever | None,
        turns: RawSearcher | None,
        digest: DigestStore,
        *,
        floor: float = FLOOR,
        rerank: bool = True,
    ):
        """`stretches` and `turns`: of the archive, where there are any. `floor`, `rerank`: for measurements."""
        self.retriever = retriever
        self._stretches = stretches
        self._turns = turns
        self._digest = digest
        self._floor = floor
        self._rerank = rerank

    # -- the way ------------------------------------------------------------------------------------------------

    def answer(self, question: Question) -> Answer:
        """The answer to a question: of the layers above, with turns, with lines of the types asked for."""
        typing = Typing(self._digest, self.retriever, question)
        answer = self._of_layers(question, typing)
        answer = self._with_spoken(question, answer)
        answer = self._with_turns(question, answer)
        answer = typing.with_lines(answer)
        return replace(answer, hits=typing.told(answer.hits[: question.limit]))

    def _of_layers(self, question: Question, typing: Typing) -> Answer:
        """Topics and sessions, or the layers that are named; references where those say nothing."""
        named = question.filter.layers
        above = tuple(layer for layer in named if layer is not Layer.RAW)
        if named and not above:
            return Answer((), NO_TURNS)
        answer = self._of_passages(question.of_layers(*(above or default_layers(question))), typing)
        if not (named or answer.hits or question.types):
            context = self._of_passages(question.of_layers(Layer.REFERENCE), typing)
            answer = replace(context, note=FROM_REFERENCES) if context.hits else answer
        return replace(answer, hits=context_last(answer.hits))

    def _of_passages(self, question: Question, typing: Typing) -> Answer:
        """The passages of the question's layers, a few a source, in the order of precedence."""
        found = self._found(question)
        candidates = [*found.candidates, *typing.by_words()]
        unless = () if question.search is Search.EXACT else question.excluded()  # which sees to it itself
        hits = typing.kept(self.retriever.hits(candidates, unless))
        hits = grouped(hits, MAX_LIMIT if question.types else question.per_source)[: 3 * most_hits(question)]
        hits += typing.deciding(hits)
        ordered = with_precedence(hits, self.retriever.alikeness(hits), self.retriever.snapshot.superseded)
        ordered = ordered[: most_hits(question)]
        return Answer(ordered, self._note(question, is_found=bool(ordered)), found.terms, found.confidence)

    def _found(self, question: Question) -> Found:
        limit = most_hits(question) * max(question.per_source, 5)
        if question.search is Search.EXACT:
            terms = tuple(term.text for term in question.terms())
            return Found(self.retriever.literal(question, limit), terms)
        if question.search is Search.MEANING:
            near = self.retriever.near(question, limit)
            is_near = near and (near[0].parts["meaning"] >= MEANING_FLOOR or is_tiny(self.retriever))
            return Found(near if is_near else ())
        return self._recalled(question)

    def _recalled(self, question: Question) -> Found:
        """By words and meaning; nothing where the memory does not answer the question.

        What is asked in nothing but identifiers is answered first by the passages that hold them letter by letter.
        """
        words, ranking = self.ranked(question, self.retriever)
        names = all(map(is_identifier, question.terms()))
        literal = self.retriever.literal(question, most_hits(question)) if names else []
        is_silent = ranking.confidence < self._floor and not is_tiny(self.retriever) and not literal
        named = {candidate.row for candidate in literal}
        others = [] if is_silent else [one for one in self.retriever.ranked(ranking) if one.row not in named]
        return Found([*literal, *others], tuple(term.word for term in words.terms), ranking.confidence)

    def ranked(self, question: Question, retriever: Retriever) -> tuple[WordScores, Ranking]:
        """What recall's answer is made of: the question's words as looked up, and the passages in order."""
        ranker, near = retriever.retrieved(question)
        pool = ranker.fused(near)
        return ranker.words, ranker.reranked(pool) if self._rerank else ranker.ordered(pool)

    def _with_spoken(self, question: Question, answer: Answer) -> Answer:
        """An answer whose sessions show what was said in them, where that answers the question."""
        if self._stretches is None or not reads_spoken(question):
            return answer
        words, ranking = self.ranked(question.of_layers(Layer.RAW), self._stretches)
        if ranking.confidence < SPOKEN_FLOOR and not is_tiny(self._stretches):
            return answer
        hits = spoken_hits(self._stretches, self._stretches.ranked(ranking), question)
        terms = answer.terms or tuple(term.word for term in words.terms)
        confidence = max(answer.confidence, ranking.confidence)
        both = with_spoken(answer, hits, most_hits(question))
        note = PERHAPS if confidence < FLOOR and not is_tiny(self._stretches) else both.note
        return replace(both, terms=terms, confidence=confidence, note=note)

    def _with_turns(self, question: Question, answer: Answer) -> Answer:
        """An answer with what archived turns say, where they are asked for or where all above them is weak."""
        asked, limit = question.asks_turns, most_hits(question)
        is_needed = asked or (not question.filter.layers and not question.types and is_weak(answer))
        if not is_needed or self._turns is None:
            return answer
        if question.search is Search.EXACT:
            return appended(answer, self._turns.exact(question, limit), limit, TURNS_TOO)
        if question.search is Search.RECALL and asked:
            return joined(answer, self._turns.recall(question, JOINED_HITS), limit)
        least = 0.0 if asked else SURE_COVERED
        return appended(answer, self._turns.recall(question, limit, least_covered=least), limit, TURNS_TOO)

    # -- what it rests on ---------------------------------------------------------------------------------------

    def _note(self, question: Question, *, is_found: bool) -> str:
        """What to tell the asker; not empty where nothing was found."""
        if is_found:
            return CUT if question.is_cut else ""
        if len(self.retriever.snapshot.passages) == 0:
            return EMPTY
        if not question.filter.is_empty and not self.retriever.may_answer(question):
            return " ".join(self.retriever.unknown_values(question)) or NOTHING_ALLOWED
        return f"{CUT} {NOTHING[question.search]}" if question.is_cut else NOTHING[question.search]


def is_tiny(retriever: Retriever) -> bool:
    """Whether there are so few passages that their scale says little, and no floor holds."""
    return len(retriever.snapshot.passages) <= FEW_PASSAGES


def default_layers(question: Question) -> tuple[Layer, ...]:
    """The layers to be asked where none is named: types are of what sessions said, and topics decide over them."""
    return (Layer.SESSION,) if question.types else ()


def most_hits(question: Question) -> int:
    """How many hits a stage keeps for those behind it: more than are asked for where these join or choose."""
    joins = question.search is Search.RECALL and question.asks_turns
    return MAX_LIMIT if question.types else max(question.limit, JOINED_HITS if joins else 0)


def context_last(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits in their order, but references, which are no authority, behind all others."""
    return tuple(sorted(hits, key=lambda hit: hit.layer is Layer.REFERENCE))


def is_weak(answer: Answer) -> bool:
    """Whether so little was found that the turns may know better."""
    return not answer.hits or answer.hits[0].score < WEAK
