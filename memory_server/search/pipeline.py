"""The whole way from a question to an answer.

    retrieve     passages that the words or the meaning of the question propose      retrieval.py, arms.py, literal.py
    fuse         the scores of both arms become one                                  ranking.py, scoring.py
    rerank       the best of it by its token matches                                 ranking.py, scoring.py
    precedence   a higher layer before a lower one that answers the same             precedence.py
    spoken       what was said in the sessions, read where it answers                spoken.py
    note         what a session wrote or read as a note, behind the best of that     layers/notes.py
    topic        the topic that answers, above all else                              precedence.py
    turns        the archived turns, where they are asked for or all else is weak    raw_turns.py
    types        what the recorder says of a hit, and the lines that no hit holds    typed.py
    time         the sessions of a time, where nothing else is asked for             retrieval.py
    rejected     what the person rejected, marked                                   precedence.py
    certainty    how sure each hit is, as a word                                     certainty.py

A stage takes the question and what the stage before it found, and gives the same kind of thing back. A new one is a
method here and a line in the method that it belongs to.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from memory_server.document import Answer, Certainty, Hit, Layer, RejectedWords, SourcePath
from memory_server.embedding.engine import Vectors
from memory_server.escaping import escape_line
from memory_server.fields import NO_FILTER_OF_NAME, Filter, find_filter_like, with_nearest_projects
from memory_server.index.expression import Term, is_identifier
from memory_server.language.cues import says_nothing
from memory_server.layers.notes import NOTE, is_of_session
from memory_server.layers.topics import LEFT_OUT, Unapproved, parse_document
from memory_server.search.certainty import FEW_PASSAGES, Telling, telling_words, with_certainty
from memory_server.search.literal import holds
from memory_server.search.precedence import (
    ORDER,
    SPOKEN,
    TOPICS,
    asks_topics,
    falling,
    fit,
    group_hits,
    is_topic_page,
    mark_rejected,
    says_enough,
    select_sessions,
    with_precedence,
    with_topic,
)
from memory_server.search.question import EMPTY, MAX_LIMIT, Question, Search
from memory_server.search.ranking.arms import WordScores
from memory_server.search.ranking.ranking import FLOOR, SHORT_QUESTION, SILENCE, Ranking
from memory_server.search.ranking.terms import Absent, find_absent
from memory_server.search.raw_turns import SURE_COVERED, WEAK, RawSearcher, append_hits, join_hits
from memory_server.search.retrieval import OF_FADED, SPREAD, RankedPassage, Retriever
from memory_server.search.spoken import add_spoken, build_spoken_hits, reads_spoken
from memory_server.search.typed import LinesOfTypes, Typing

MEANING_FLOOR = 1.2  # scaled cosine of the best passage below which nothing is near in meaning
FEW_NOTES = 3  # of which the first that a session knew is shown: a person's file may call itself a note too
FEW_TOPICS = 3  # of which the first that is no index page answers
JOINED_HITS = 100  # of either search, before the turns are joined
BY_WORDS = {"words_near": 1.0, "words_source": 1.0}  # what ranks where the model does not read the question
RARE = 5  # passages that hold a word which is shown for itself, where nothing else is
FEW_HITS = 3  # of those
UNLIKELY_SCORE = 2.5  # below it no best stretch held the answer of 112 questions; of the absent ones four of ten are
NOTE_AHEAD = 0.5  # units by which a note fits better than what it stands before; at 0 two of 64 lose their answer
CROSSED = 50  # passages that a cross-encoder reads, where one is on: more than are shown

CUT = "The query was cut to its first 10,000 characters."
NOTHING = {
    Search.EXACT: "Nothing holds all of these words. Try `recall`, which needs only some of them or their meaning.",
    Search.MEANING: "Nothing in this memory is near that in meaning. Try `search_exact` for a name or number.",
    Search.RECALL: "Nothing in this memory answers that. Try other words, or `search_exact` for a name or number.",
}
NOTHING_THEN = "This memory has no session of that time."
NOTHING_ALLOWED = "No source passes these filters together. Loosen them."
PERHAPS = "Perhaps: this is near the question, but may not answer it."
NO_TURNS = "No archived turn holds that. Try recall without a filter, or other words."
UNAPPROVED = "Nobody has approved %s as it stands; if it is the person's own: `oneiros dream adopt %s`."
IN_MERGE = "A merge is not finished in %s: what it says is not settled before the person has chosen a side."
FADED = "Some of this has faded and was read in the archive, as --raw reads all of it."
TURNS_TOO = "Raw hits are what was said or done once, found by its words; lines count the turns of a session."
FROM_REFERENCES = "Only references answer that: files of projects, context and no authority."


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What retrieval and ranking give the later stages."""

    candidates: Sequence[RankedPassage]  # best first
    terms: tuple[str, ...] = ()  # the words that were looked up
    confidence: float = 0.0  # of recall


class Pipeline:
    """Answers questions on the indices as they are now."""

    def __init__(
        self,
        retriever: Retriever,
        stretches: Retriever | None,
        turns: RawSearcher | None,
        typed_lines: LinesOfTypes,
        unapproved: Unapproved = lambda _: {},
        *,
        floor: float = SILENCE,
        rerank: bool = True,
        cross: Callable[[str, Sequence[str]], Vectors] | None = None,
        unread: Callable[[str], str] = lambda _: "",
        rejected: Callable[[], Sequence[RejectedWords]] = lambda: (),
    ):
        """`stretches` and `turns`: of the archive, where there are any. `floor`, `rerank`: for measurements.

        `unapproved` tells which of some files of layer 1 nobody has answered for. `cross`: what a cross-encoder says of
        a question and some passages, where one is on. `unread`: what to say where the model does not read a text.
        `rejected`: what the person did not want as a statement.
        """
        self.retriever = retriever
        self._stretches = stretches
        self._turns = turns
        self._typed_lines = typed_lines
        self._unapproved = unapproved
        self._floor = floor
        self._rerank = rerank
        self._cross = cross
        self._rejected = rejected
        self._unread = lru_cache(maxsize=MAX_LIMIT)(unread)  # of one question: it is asked at several stages

    # -- the way ------------------------------------------------------------------------------------------------

    def answer(self, question: Question) -> Answer:
        """The answer to a question: of the layers above, with turns, with lines of the types asked for."""
        question, taken = self._with_nearest(question)
        absent = self._absent(question)
        if absent.is_elsewhere:
            notes = [*self._tell_unknown_filters(question), absent.note(is_unsure=False)]
            return Answer((), " ".join(notes))
        typing = Typing(self._typed_lines, self.retriever, question, self._turns)
        answer = self._of_layers(question, typing)
        above = answer.hits
        answer = self._add_spoken(question, answer)
        answer = self._with_note(question, answer)
        answer = self._with_topic(question, answer, above)
        answer = self._with_turns(question, answer)
        answer = typing.with_lines(answer)
        answer = self._with_time(question, answer)
        answer = self._with_rare(question, answer)
        hits = typing.add_types(answer.hits[: question.limit])
        answer = replace(answer, hits=mark_rejected(hits, self._rejected()))
        answer = replace(answer, is_doubtful=bool(absent.names))
        answer = replace(answer, hits=with_certainty(answer, question, self._telling(question), self._reads))
        is_unsure = self._is_unsure(question, answer)
        absence = absent.note(is_unsure=is_unsure) if answer.hits else ""
        unread = self._tell_unread(question, answer)
        filters = self._tell_unknown_filters(question)
        notes = [PERHAPS if is_unsure else "", taken, *filters, answer.note, unread, absence]
        notes.append(format_unapproved_note(answer.hits))
        notes.append(FADED if not question.asks_turns and any(map(is_of_faded, answer.hits)) else "")
        is_doubtful = answer.is_doubtful or (is_unsure and max(map(fit, answer.hits)) < UNLIKELY_SCORE)
        missing = absent.names + absent.words
        return replace(answer, note=" ".join(filter(None, notes)), is_doubtful=is_doubtful, absent=missing)

    def _is_unsure(self, question: Question, answer: Answer) -> bool:
        """Whether recall shows hits although little speaks for their answering the question.

        It is not said of a tiny memory, where it would be said of everything, nor of turns that are asked for.
        """
        is_judged = question.search is Search.RECALL and not question.asks_turns
        if not is_judged or is_tiny(self._stretches or self.retriever):
            return False
        return bool(answer.hits) and answer.hits[0].certainty is Certainty.PERHAPS

    def _reads(self, text: str) -> bool:
        return not self._unread(text)

    def _tell_unread(self, question: Question, answer: Answer) -> str:
        """What to say where the model does not read the question, or what answers it first."""
        texts = (
            [question.text, *(hit.passage for hit in answer.hits[:1])] if question.search is not Search.EXACT else []
        )
        return next(filter(None, map(self._unread, texts)), "")

    def _telling(self, question: Question) -> Telling:
        passages = sum(len(index.snapshot.passages) for index in self._indices())
        terms = [index.terms(question.text) for index in self._indices()]
        match_words = partial(self.retriever.match_words, question.text)
        return telling_words(question.text, terms, passages, self.retriever.stems, match_words)

    def _of_layers(self, question: Question, typing: Typing) -> Answer:
        """Topics and sessions, or the layers that are named; references where those say nothing."""
        named = question.filter.layers
        above = tuple(layer for layer in named if layer is not Layer.RAW)
        if named and not above:
            return Answer((), NO_TURNS)
        answer = self._of_passages(question.of_layers(*(above or default_layers(question))), typing)
        references = question.of_layers(Layer.REFERENCE)
        if not (named or answer.hits or question.types) and self.retriever.may_answer(references):
            context = self._of_passages(references, typing)
            answer = replace(context, note=FROM_REFERENCES) if context.hits else answer
        return replace(answer, hits=context_last(answer.hits))

    def _of_passages(self, question: Question, typing: Typing) -> Answer:
        """The passages of the question's layers, a few a source, in the order of precedence."""
        found = self._retrieve(question)
        candidates = [*found.candidates, *typing.by_words()]
        unless = () if question.search is Search.EXACT else question.list_excluded()  # which sees to it itself
        hits = typing.filter_hits(self.retriever.hits(candidates, unless))
        if question.search is Search.EXACT:  # what holds the words itself before what stands below them
            hits.sort(key=lambda hit: (-hit.score, not holds(question.expression, hit.passage)))
        else:
            hits = [hit for hit in hits if hit.layer is Layer.TOPIC or not says_nothing(hit.passage)]
        hits = group_hits(hits, MAX_LIMIT if question.types else question.per_source)[: 3 * most_hits(question)]
        hits += self._find_topics(question, hits, typing)
        hits, replaced = self._with_approval(hits)
        ordered = with_precedence(hits, self.retriever.alikeness(hits), replaced)[: most_hits(question)]
        return Answer(ordered, self._note(question, is_found=bool(ordered)), found.terms, found.confidence)

    def _find_topics(self, question: Question, hits: Sequence[Hit], typing: Typing) -> list[Hit]:
        """The topics that say the same as hits among sessions alone, each with what speaks for its answering."""
        topics = [hit for hit in typing.deciding(hits) if not hit.outside]
        if not topics:
            return []
        _, ranking = self.rank(replace(question, filter=Filter(layers=(Layer.TOPIC,))), self.retriever, TOPICS)
        candidates = self.retriever.list_candidates(ranking)
        parts = {hit.chunk: hit.parts for hit in self.retriever.hits(candidates)}
        return [replace(hit, parts=parts.get(hit.chunk, hit.parts)) for hit in topics]

    def _with_approval(self, hits: Sequence[Hit]) -> tuple[list[Hit], Mapping[SourcePath, SourcePath]]:
        """Hits marked where nobody has answered for them, and what replaces their sources: never what is so marked,
        nor what does not hold today.
        """
        superseded = self.retriever.snapshot.superseded
        replaced = {hit.path: superseded[hit.path] for hit in hits if hit.path in superseded}
        topics = {*(hit.path for hit in hits if hit.layer is Layer.TOPIC), *replaced.values()}
        unapproved, outside = self._unapproved(topics), self.retriever.outside(replaced.values())
        marked = [_with_approved_title(hit, unapproved) for hit in hits]
        doubted = {path for path, approved in unapproved.items() if approved == LEFT_OUT}
        return marked, {old: new for old, new in replaced.items() if new not in doubted and new not in outside}

    def _retrieve(self, question: Question) -> Retrieved:
        limit = most_hits(question) * max(question.per_source, 5)
        if question.search is Search.EXACT:
            return self._find_literal(question, limit)
        if question.search is Search.MEANING:
            near = self.retriever.near(question, limit)
            is_near = near and (near[0].parts["meaning"] >= MEANING_FLOOR or is_tiny(self.retriever))
            return Retrieved(near if is_near else ())
        return self._recall(question)

    def _find_literal(self, question: Question, limit: int) -> Retrieved:
        """What holds the words as one phrase, then what holds each of them; spread over a file, a few at most."""
        phrase = question.as_phrase()
        found = self.retriever.literal(phrase, limit) if phrase else []
        rows = {candidate.row for candidate in found}
        found += [one for one in self.retriever.literal(question, limit) if one.row not in rows]
        spread = [one for one in found if is_spread(one)]
        terms = [term.text for one in (phrase, question) if one for term in one.terms()]
        return Retrieved([*(one for one in found if one not in spread), *spread[:FEW_HITS]], tuple(terms))

    def _recall(self, question: Question) -> Retrieved:
        """By words and meaning; nothing where the memory does not answer the question.

        What is asked in nothing but identifiers is answered first by the passages that hold them letter by letter.
        """
        words, ranking = self.rank(question, self.retriever)
        names = all(map(is_identifier, question.terms()))
        literal = self.retriever.literal(question, most_hits(question)) if names else []
        is_silent = not literal and not self._may_answer(self.retriever, ranking)
        named = {candidate.row for candidate in literal}
        others = [] if is_silent else [one for one in self.retriever.list_candidates(ranking) if one.row not in named]
        return Retrieved([*literal, *others], tuple(term.word for term in words.terms), ranking.confidence)

    def _may_answer(self, retriever: Retriever, ranking: Ranking) -> bool:
        """Whether what was found is shown, if only as a perhaps."""
        return ranking.confidence >= self._floor or is_tiny(retriever)

    def rank(
        self, question: Question, retriever: Retriever, weights: Mapping[str, float] | None = None
    ) -> tuple[WordScores, Ranking]:
        """What recall's answer is made of: the question's words as looked up, and the passages in order.

        `weights`: others than the retriever's.
        """
        weights = BY_WORDS if self._unread(question.text) else weights
        ranker, near = retriever.make_ranker(question, weights)
        pool = ranker.fuse(near)
        ranking = ranker.rerank(pool) if self._rerank else ranker.order(pool)
        if self._cross:
            scores = self._cross(question.text, retriever.texts(ranking, CROSSED))
            ranking = ranker.add_cross_scores(ranking, scores.astype(np.float64))
        return ranker.words, ranking

    def _with_topic(self, question: Question, answer: Answer, above: Sequence[Hit]) -> Answer:
        """An answer that begins with the topic that answers the question, if one does. `above`: of the layers alone."""
        if not asks_topics(question) or not answer.hits or self._unread(question.text):
            return answer
        topic = next(filter(is_topic_page, self._leading(question, answer, above)), None)
        if topic is None:
            return answer
        topic = replace(topic, decides=not topic.unapproved)
        return with_topic(answer, topic, question.per_source, most_hits(question))

    def _leading(self, question: Question, answer: Answer, above: Sequence[Hit]) -> Sequence[Hit]:
        """Hits of which the first topic leads.

        In a tiny memory, whose scores say little, the first of the layers; where nothing but topics was found, their
        order stands.
        """
        first = [hit for hit in above if not hit.outside][:1]
        if is_tiny(self.retriever):
            return first
        if all(hit.layer is Layer.TOPIC for hit in answer.hits):
            return [hit for hit in first if says_enough(hit.parts)]
        return self._topics_alone(question.of_layers(Layer.TOPIC), above)

    def _topics_alone(self, question: Question, above: Sequence[Hit]) -> list[Hit]:
        """The best of the topics, where their scores say that they answer the question."""
        _, ranking = self.rank(question, self.retriever, TOPICS)
        candidates = self.retriever.list_candidates(ranking, FEW_TOPICS)
        answering = [candidate for candidate in candidates if says_enough(candidate.parts, select_sessions(above))]
        return self._with_approval(self.retriever.hits(answering, question.list_excluded()))[0]

    def _add_spoken(self, question: Question, answer: Answer) -> Answer:
        """An answer whose sessions show what was said in them, where that answers the question."""
        if self._stretches is None or not reads_spoken(question):
            return answer
        found = self._find_stretches(question, self._stretches)
        if not found.candidates:
            return answer
        hits = build_spoken_hits(self._stretches, found.candidates, question)
        terms, confidence = answer.terms or found.terms, max(answer.confidence, found.confidence)
        both = add_spoken(answer, hits, most_hits(question), self._stretches.snapshot.subjects)
        return replace(both, terms=terms, confidence=confidence)

    def _with_note(self, question: Question, answer: Answer) -> Answer:
        """An answer with the note of a session that fits best, never before the best of what was said."""
        if self._turns is None or question.search is not Search.RECALL or not reads_spoken(question):
            return answer  # they are made of the archive
        notes = replace(question, filter=replace(question.filter, layers=(Layer.REFERENCE,), kinds=(NOTE,)))
        if question.filter.kinds or not self.retriever.may_answer(notes):
            return answer
        _, ranking = self.rank(notes, self.retriever, SPOKEN)
        found = self.retriever.list_candidates(ranking, FEW_NOTES) if self._may_answer(self.retriever, ranking) else []
        known = {hit.path for hit in answer.hits}
        hits = list(answer.hits)
        of_sessions = [note for note in self.retriever.hits(found, question.list_excluded()) if is_of_session(note)]
        for note in of_sessions[:1]:
            if note.path not in known:
                worse = (place for place, hit in enumerate(hits) if place and fit(hit) < fit(note) - NOTE_AHEAD)
                hits.insert(next(worse, len(hits)), note)
        if hits and not answer.hits:
            answer = replace(answer, note="", confidence=ranking.confidence)
        return replace(answer, hits=tuple(hits[: most_hits(question)]))

    def _phrase_of_turns(self, question: Question, answer: Answer) -> Sequence[Hit]:
        """The archived turns that hold the words of a question as one phrase, where nothing above does."""
        phrase, layers = question.as_phrase(), question.filter.layers
        if phrase is None or self._turns is None or question.types or (layers and not question.asks_turns):
            return ()
        if any(holds(phrase.expression, hit.passage) for hit in answer.hits):
            return ()
        return self._turns.exact(phrase, FEW_HITS)

    def _find_stretches(self, question: Question, stretches: Retriever) -> Retrieved:
        """The stretches of what was said that answer a question, best first; none where they do not."""
        spoken = question.of_layers(Layer.RAW)
        if question.search is Search.MEANING:
            near = stretches.near(spoken, JOINED_HITS)
            return Retrieved(near if near and near[0].parts["meaning"] >= MEANING_FLOOR else ())
        words, ranking = self.rank(spoken, stretches)
        if not (question.asks_turns or self._may_answer(stretches, ranking)):
            return Retrieved(())
        terms = tuple(term.word for term in words.terms)
        return Retrieved(stretches.list_candidates(ranking), terms, ranking.confidence)

    def _with_time(self, question: Question, answer: Answer) -> Answer:
        """The sessions of a time where nothing else is asked for, the newest first, behind a topic that answers."""
        found = self.retriever.of_time(question)
        if not found or not reads_spoken(question):
            return answer
        deciding = [hit for hit in answer.hits if hit.decides]
        sessions = self.retriever.hits(found[: question.limit])
        return replace(answer, hits=(*deciding, *sessions), note="", confidence=1.0)

    def _with_turns(self, question: Question, answer: Answer) -> Answer:
        """An answer with what archived turns say, where they are asked for or where all above them is weak."""
        asks_turns, limit = question.asks_turns, most_hits(question)
        if question.search is Search.EXACT and (exact := self._phrase_of_turns(question, answer)):
            return replace(answer, hits=(*exact, *answer.hits)[:limit], note=TURNS_TOO)
        is_needed = asks_turns or (not question.filter.layers and not question.types and is_weak(answer))
        if not is_needed or self._turns is None:
            return answer
        if question.search is Search.EXACT:
            return append_hits(answer, self._turns.exact(question, limit), limit, TURNS_TOO)
        if not asks_turns:
            turns = self._turns.recall(question, limit, least_covered=SURE_COVERED)
            return append_hits(answer, turns, limit, TURNS_TOO)
        turns = self._turns.recall(question, JOINED_HITS)
        if self._stretches is None:
            return join_hits(answer, turns, [], [], limit)
        found = self._find_stretches(question, self._stretches)
        stretches = self._stretches.hits(found.candidates, question.list_excluded())
        shown = build_spoken_hits(self._stretches, found.candidates, question)
        return join_hits(replace(answer, terms=answer.terms or found.terms), turns, stretches, shown, limit)

    def _absent(self, question: Question) -> Absent:
        """The words of the question that stand nowhere, where recall asks all layers."""
        if not self._asks_for_words(question):
            return Absent()
        return find_absent([searched.terms(question.text) for searched in self._list_searchers()], self._projects())

    def _tell_unknown_filters(self, question: Question) -> list[str]:
        """A sentence for every word that was meant as a filter: what stands in the memory may be searched for."""
        return [
            NO_FILTER_OF_NAME % word
            for word in find_filter_like(question.typed)
            if not any(term.holders for searched in self._list_searchers() for term in searched.terms(word))
        ]

    def _indices(self) -> Sequence[Retriever]:
        return [searched for searched in (self.retriever, self._stretches) if searched is not None]

    def _list_searchers(self) -> Sequence[Retriever | RawSearcher]:
        return [*self._indices(), *([self._turns] if self._turns is not None else [])]

    def _asks_for_words(self, question: Question) -> bool:
        """Whether recall is asked for something of all layers; a time that is named is written like a name."""
        of_all = question.search is Search.RECALL and not (question.types or question.filter.layers)
        return of_all and not self.retriever.times(question.text) and self.retriever.of_time(question) is None

    def _projects(self) -> set[str]:
        return set().union(*(searched.projects() for searched in self._list_searchers()))

    def _with_nearest(self, question: Question) -> tuple[Question, str]:
        """The question with the nearest name in the place of a project's that there is not, and a word of it."""
        if not question.filter.projects:
            return question, ""
        wanted, note = with_nearest_projects(self._projects(), question.filter)
        return replace(question, filter=wanted), note

    def _with_rare(self, question: Question, answer: Answer) -> Answer:
        """An answer that shows what holds a rare name of the question, where no hit does.

        Where a question is a word or two, each is meant as a name is.
        """
        if not self._asks_for_words(question):
            return answer
        held = [term for one in self._list_searchers() for term in one.terms(question.text) if not term.is_stop]
        is_short = len({term.word for term in held}) <= SHORT_QUESTION
        shown = "\n".join(f"{hit.title}\n{hit.passage}" for hit in answer.hits).casefold()
        rare = (
            term.word
            for term in sorted(held, key=lambda term: term.holders)
            if 0 < term.holders <= RARE and (term.is_name or is_short) and term.word.casefold() not in shown
        )
        if (word := next(rare, None)) is None:
            return answer
        rare_question = replace(question, text=word, expression=Term(word))
        holding = self.retriever.hits(self.retriever.literal(rare_question, FEW_HITS), question.list_excluded())
        holding += self._turns.recall(rare_question, FEW_HITS) if self._turns else []
        if not any(word.casefold() in hit.passage.casefold() for hit in holding[:1]):
            holding.sort(key=lambda hit: not is_of_faded(hit))  # a file of which no passage is left may hold it too
        found = group_hits([hit for hit in holding if not is_mere_question(hit.passage)], 1)[
            : FEW_HITS if not shown else 1
        ]
        first = min(len(answer.hits), 1 if answer.confidence >= FLOOR else 0)  # an unsure answer may be none
        hits = [*answer.hits[:first], *found, *answer.hits[first:]]
        note = answer.note if answer.hits or not found else ""
        return replace(answer, hits=tuple(hits), note=note, terms=(*answer.terms, word))

    # -- what it rests on ---------------------------------------------------------------------------------------

    def _note(self, question: Question, *, is_found: bool) -> str:
        """What to tell the asker; not empty where nothing was found."""
        if is_found:
            return CUT if question.is_cut else ""
        if len(self.retriever.snapshot.passages) == 0:
            return EMPTY
        if not question.filter.is_empty and not self.retriever.may_answer(question):
            return " ".join(self.retriever.unknown_values(question)) or NOTHING_ALLOWED
        if reads_spoken(question) and self.retriever.of_time(question) == []:
            return NOTHING_THEN
        return f"{CUT} {NOTHING[question.search]}" if question.is_cut else NOTHING[question.search]


def is_spread(candidate: RankedPassage) -> bool:
    """Whether a passage merely stands for a file over which the words are spread."""
    return any(reason.detail == SPREAD for reason in candidate.why)


def is_mere_question(passage: str) -> bool:
    """Whether a turn is nothing but a question of the person."""
    return passage.startswith("person: ") and "?" in passage


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


def _with_approved_title(hit: Hit, unapproved: Mapping[SourcePath, str]) -> Hit:
    """A hit marked where nobody has answered for it; where its title alone differs, with the one that was approved."""
    approved = unapproved.get(hit.path)
    if approved is None:
        return hit
    return replace(hit, title=parse_document(hit.path, approved).title) if approved else replace(hit, unapproved=True)


def unsettle_merges(answer: Answer, is_in_merge: Callable[[SourcePath], bool]) -> Answer:
    """An answer in which topics with both sides of a merge are at most likely, decide nothing, and are named."""
    opened = {path for path in {hit.path for hit in answer.hits if hit.layer is Layer.TOPIC} if is_in_merge(path)}
    if not opened:
        return answer
    shown = [replace(hit, decides=hit.decides and hit.path not in opened) for hit in answer.hits]
    least = [Certainty.LIKELY if hit.path in opened else Certainty.SURE for hit in shown]
    words = [max(hit.certainty, one, key=ORDER.index) for hit, one in zip(shown, least, strict=True)]
    hits = tuple(falling(shown, words))
    others = format_unapproved_note([hit for hit in hits if hit.path not in opened])
    note = answer.note.replace(format_unapproved_note(answer.hits), others).strip()
    named = IN_MERGE % ", ".join(map(escape_line, sorted(opened)))
    return replace(answer, hits=hits, note=f"{note} {named}".lstrip())


def format_unapproved_note(hits: Sequence[Hit]) -> str:
    """What to do about files among the hits that nobody has answered for; empty where there are none."""
    paths = list(dict.fromkeys(hit.path for hit in hits if hit.unapproved))
    named, quoted = ", ".join(map(escape_line, paths)), escape_line(" ".join(map(shlex.quote, paths)))
    return UNAPPROVED % (named, quoted) if paths else ""


def context_last(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits in their order, but references, which are no authority, behind all others."""
    return tuple(sorted(hits, key=lambda hit: hit.layer is Layer.REFERENCE))


def is_weak(answer: Answer) -> bool:
    """Whether so little was found that the turns may know better; where these speak already, they do not."""
    if any(hit.layer is Layer.RAW for hit in answer.hits):
        return False
    return not answer.hits or answer.hits[0].score < WEAK


def is_of_faded(hit: Hit) -> bool:
    """Whether a hit was read in the archive, since nothing but the words of its session is indexed."""
    return any(reason.detail.endswith(OF_FADED) for reason in hit.why)
