"""What can be proven of the indices of a memory, each by asking them rather than by believing what they say."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory_server.document import Answer, ChunkId, Layer
from memory_server.index.indices import Indices
from memory_server.language.cues import says_nothing
from memory_server.machine.files import repairable
from memory_server.root.paths import MemoryRoot
from memory_server.search.pipeline import Pipeline
from memory_server.search.question import MAX_LIMIT, Question, Search, parse_query

INDEXED = (Layer.TOPIC, Layer.SESSION, Layer.REFERENCE)  # by words and meaning; turns have an index of their own


@dataclass(frozen=True, slots=True)
class Comparison:
    """The semantic index beside the ledger; never its own count."""

    held: int  # passages that the ledger says it holds
    wrong: int  # of these, missing or with another vector; and such as it holds unasked
    unreached: int  # sampled ones that are not found by their own vector


@dataclass(frozen=True, slots=True)
class Inspection:
    """The indices of one root under examination. Nothing is logged, repaired or waited for."""

    root: MemoryRoot
    indices: Indices
    pipeline: Callable[[], Pipeline]

    def damage(self) -> list[str]:
        """What SQLite and the keyword index find wrong with themselves."""
        return self.indices.ledger.integrity_problems()

    def counts(self) -> Mapping[str, int]:
        """Passages by the ledger: `searchable`, and how many of them are `semantic`."""
        return self.indices.ledger.counts()

    def unfound(self, sample: int) -> int:
        """How many of `sample` passages are not found by their own first words, asked for as a phrase."""
        return sum(not self._finds_words(name, passage) for name, passage in self.indices.ledger.sample(sample))

    def compare_indices(self, sample: int) -> Comparison:
        """What a query can return, beside what the ledger says. Call as the root's owner, with no run under way."""
        with repairable(self.root.derived_folder):
            return Comparison(self.indices.ledger.counts()["semantic"], *self.indices.count_wrong(sample))

    def search_itself(self) -> str:
        """Searches for a passage by its own text: what is wrong, in a sentence; empty where it is found.

        Looks again before it says so, since the indices may have changed between passage and answer.
        """
        return self._look_for_itself() and self._look_for_itself()

    def _look_for_itself(self) -> str:
        with self.indices.search_lock.searching():
            passage = self.pipeline().retriever.any_passage()
        if passage is None:
            return ""  # an empty memory is in order
        name, text = passage
        question = parse_query(text, Search.MEANING, limit=MAX_LIMIT, per_source=MAX_LIMIT)
        answer = self._answer(question.of_layers(*INDEXED))  # or turns stand for the session that they were said in
        is_found = says_nothing(text) or self._holds(answer, name)
        return "" if is_found else f"passage {name} is not found by its own text; run `oneiros doctor`"

    def _finds_words(self, name: ChunkId, passage: str) -> bool:
        words = " ".join(re.findall(r"\w+", passage)[:8])
        if not words:
            return True  # nothing but marks: no word to ask for
        question = parse_query(f'"{words}"', Search.EXACT, limit=MAX_LIMIT, per_source=MAX_LIMIT)
        answer = self._answer(question.of_layers(*INDEXED))
        return len(answer.hits) == MAX_LIMIT or self._holds(answer, name)

    def _answer(self, question: Question) -> Answer:
        with self.indices.search_lock.searching():
            return self.pipeline().answer(question)

    @staticmethod
    def _holds(answer: Answer, name: ChunkId) -> bool:
        return any(hit.chunk == name for hit in answer.hits)
