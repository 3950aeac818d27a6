"""Recall by type: the passages that hold a line which the recorder says is of that type.

The recorder's lines and the statements of a compressed session are made of the same sentences, so a passage is of a
type when it holds such a line. Lines of sessions that have no compressed file yet come behind, by their words.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from memory_server.document import Answer, ChunkId, Hit, Layer, LineRange, Reason, raw_path, session_of_path
from memory_server.fields import Filter
from memory_server.index.typed_lines import TypedLine, fold_text
from memory_server.layers.sessions import parse_id8
from memory_server.machine.clock import local_day
from memory_server.search.question import MAX_LIMIT, Question
from memory_server.search.raw_turns import RawSearcher
from memory_server.search.retrieval import RankedPassage, Retriever

NO_LINE = "No line of that type answers that. Ask recall without a type."
LINE_SCORE = 0.5  # of a line found by its words alone: behind what recall is sure of


class LinesOfTypes(Protocol):
    """What search asks of the recorder's lines; `TypedLines` says what each method gives."""

    def find(
        self, words: Sequence[str], types: Sequence[str], projects: Sequence[str], limit: int
    ) -> list[TypedLine]: ...

    def of_session(self, session_id: str, types: Sequence[str] = ()) -> list[TypedLine]: ...


class Typing:
    """The recorder's part in one question."""

    def __init__(
        self, typed_lines: LinesOfTypes, retriever: Retriever, question: Question, turns: RawSearcher | None = None
    ):
        """`turns`: where the lines stand, where there is an archive."""
        self._turns = turns
        self._typed_lines = typed_lines
        self._retriever = retriever
        self._question = question
        self._known: dict[str, list[tuple[str, TypedLine]]] = {}  # by session, since most hits are of few; folded

    @cached_property
    def _matching_lines(self) -> list[TypedLine]:
        """The lines of the types asked for, by the words of the question."""
        question = self._question
        if not question.types:
            return []
        words = [term.text for term in question.terms()]
        return self._typed_lines.find(words, question.types, question.filter.projects, MAX_LIMIT)

    def by_words(self) -> list[RankedPassage]:
        """The passages of sessions that hold such lines, whatever the ranking says of them."""
        rows = self._retriever.rows_holding(self._question, self._matching_lines)
        return [RankedPassage(row, LINE_SCORE, (Reason("keyword", "words of the line"),)) for row in rows]

    def filter_hits(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits that hold a line of the types asked for, and those that decide over one."""
        if not self._question.types:
            return list(hits)
        return [hit for hit in self.add_types(hits) if hit.type in self._question.types or hit.decides]

    def deciding(self, hits: Sequence[Hit]) -> list[Hit]:
        """The topics that decide over hits which stand among sessions alone, where no layer is asked for."""
        is_apart = self._question.types and not self._question.filter.layers
        return self._retriever.deciding(self._question, hits) if is_apart else []

    def with_lines(self, answer: Answer) -> Answer:
        """An answer of the types asked for alone, with the lines that no hit holds: of sessions without a file.

        A line knows its project alone, so under any other filter there are none.
        """
        question = self._question
        if not question.types:
            return answer
        hits = self.filter_hits(answer.hits)
        if question.filter == Filter(layers=question.filter.layers, projects=question.filter.projects):
            shown = "\n".join(fold_text(hit.passage) for hit in hits)
            hits += [self._hit(line) for line in self._matching_lines if fold_text(line.text) not in shown]
        return replace(answer, hits=tuple(hits), note=answer.note if hits else NO_LINE)

    def add_types(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Hits with what the recorder says of their passages."""
        return tuple(map(self._add_type, hits))

    def _add_type(self, hit: Hit) -> Hit:
        if any(reason.arm == "type" for reason in hit.why):
            return hit
        passage = fold_text(hit.passage)
        line = next((line for text, line in self._list_lines(hit.path) if text in passage), None)
        if line is None:
            return hit
        why = (*hit.why, Reason("type", f"{line.type}: {line.why}"))
        return replace(hit, type=line.type, why=why, time=line.time)

    def _hit(self, line: TypedLine) -> Hit:
        turn = self._turns.turn_holding(raw_path(line.session_id), line.text) if self._turns else 1
        return replace(_hit(line, turn), project=line.project)

    def _list_lines(self, path: str) -> list[tuple[str, TypedLine]]:
        session_id = session_of_path(path) or parse_id8(path)
        if session_id and session_id not in self._known:
            lines = self._typed_lines.of_session(session_id, self._question.types)
            self._known[session_id] = [(fold_text(line.text), line) for line in lines]
        return self._known.get(session_id, [])


def _hit(line: TypedLine, turn: int) -> Hit:
    # by its words, of which no two lines of a session are alike: its place changes with what comes before it
    name = hashlib.sha256(f"{line.session_id}/{line.text}".encode()).hexdigest()[:24]
    return Hit(
        chunk=ChunkId(name),
        passage=line.text,
        path=raw_path(line.session_id),
        lines=LineRange(turn, turn),
        layer=Layer.RAW,
        title=f"{line.type}: {line.why}",
        date=local_day(line.time) if line.time else None,
        score=LINE_SCORE,
        why=(Reason("keyword", line.why),),
        type=line.type,
        time=line.time,
    )
