"""Which words of a question stand nowhere in a memory, in none of its layers: what no search can answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_server.search.ranking.terms import IndexedTerm

NOWHERE = "Nowhere in this memory: %s."
MOST_WORDS = 4  # that are named
LEAST_HELD = 0.5  # of the other words; where fewer are held, the question may be of another language


@dataclass(frozen=True, slots=True)
class Absent:
    """Words of a question, as asked, that no passage of any layer holds."""

    names: tuple[str, ...] = ()  # written like one
    words: tuple[str, ...] = ()  # all others that tell something
    is_elsewhere: bool = False  # all names of the question are absent, and its other words are words of this memory

    def note(self, *, is_unsure: bool) -> str:
        """What is said of them; of other words than names only beside an answer that may be none."""
        told = [*self.names, *(self.words if is_unsure else ())][:MOST_WORDS]
        return NOWHERE % ", ".join(told) if told else ""


def find_absent(indices: Sequence[Sequence[IndexedTerm]]) -> Absent:
    """The words of one question that every index says it does not hold, given the question's terms in each of them."""
    content = [terms for terms in zip(*indices, strict=True) if not terms[0].is_stop]
    is_held = [any(term.holders for term in terms) for terms in content]
    names = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if terms[0].is_name]
    others = [(terms[0].word, held) for terms, held in zip(content, is_held, strict=True) if not terms[0].is_name]
    held_share = sum(held for _, held in others) / len(others) if others else 1.0
    return Absent(
        tuple(dict.fromkeys(word for word, held in names if not held)),
        tuple(dict.fromkeys(word for word, held in others if not held)),
        bool(names) and not any(held for _, held in names) and held_share >= LEAST_HELD,
    )
